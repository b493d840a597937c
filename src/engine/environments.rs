//! The environments of one process: each a separate policy and fact store.
//!
//! In: the data folder, or the address of a store. Out: an [`Engine`] for each environment in it. An
//! environment is a folder with its name in the data folder, or a schema in the database, so a name must
//! be safe and distinct on every file system, and must fit between the underscores of a key.

use super::{Engine, EngineError, EngineSettings};
use crate::store::StoreError;
use crate::store::postgres::{Address, StoreServers, names_at, prepare};
use std::collections::BTreeSet;
use std::path::Path;

/// Opens every environment of a data folder, `default` first, which is created if it is missing.
pub async fn open_environments(
    data: &Path,
    default: &str,
    settings: &EngineSettings,
) -> Result<Vec<(String, Engine)>, EngineError> {
    check_name(default)?;
    let mut others = environment_names(data)?;
    others.remove(default);
    let mut environments = Vec::with_capacity(others.len() + 1);
    for name in std::iter::once(default.to_owned()).chain(others) {
        let engine = Engine::open(&data.join(&name), settings.clone()).await?;
        environments.push((name, engine));
    }
    Ok(environments)
}

/// Opens every environment of a store in a PostgreSQL database, `default` first, which is made if it is
/// missing. An empty database becomes a store.
pub async fn connect_environments(
    servers: &StoreServers,
    default: &str,
    settings: &EngineSettings,
) -> Result<Vec<(String, Engine)>, EngineError> {
    check_name(default)?;
    let names = prepare(&servers.primary, default).await?;
    let others = names.into_iter().filter(|name| name != default);
    let mut environments = Vec::new();
    for name in std::iter::once(default.to_owned()).chain(others) {
        let engine = Engine::connect(servers, &name, settings.clone()).await?;
        environments.push((name, engine));
    }
    Ok(environments)
}

/// The names of the environments of a store in a PostgreSQL database.
pub async fn environments_at(address: &Address) -> Result<Vec<String>, EngineError> {
    Ok(names_at(address).await?)
}

/// The names of the environments in a data folder, which need not exist.
pub fn environment_names(data: &Path) -> Result<BTreeSet<String>, EngineError> {
    names(data).map_err(|error| {
        EngineError::Store(StoreError::Unreadable { path: data.into(), reason: error.to_string() })
    })
}

fn names(data: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let entries = match std::fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && entry.file_type()?.is_dir()
            && check_name(&name).is_ok()
        {
            names.insert(name);
        }
    }
    Ok(names)
}

/// Refuses a name that could leave the data folder, collide with another on a case-insensitive file system,
/// or break the format of a key.
pub fn check_name(name: &str) -> Result<(), EngineError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    let text = format!("`{}` is not 1 to 64 characters out of a-z, 0-9 and `-`", name.escape_debug());
    Err(EngineError::BadRequest(format!("an environment cannot have this name: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_data_folder() {
        for name in ["", "..", "a/b", "A", "a.b", "a_b", "ä", "a\0", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["0123456789", "default", "a-b", &"x".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[tokio::test]
    async fn every_folder_is_an_environment_and_the_default_is_made() {
        let data = tempfile::tempdir().expect("a folder");
        let settings = EngineSettings::default();
        for name in ["b", "a", "Not-One"] {
            std::fs::create_dir(data.path().join(name)).expect("a folder");
        }
        std::fs::write(data.path().join("c"), "a file").expect("a file");
        let opened = open_environments(data.path(), "main", &settings).await.expect("all of them");
        let names: Vec<&str> = opened.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["main", "a", "b"]);
        assert!(data.path().join("main").is_dir());
    }
}
