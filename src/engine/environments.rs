//! The environments of one process: each a separate policy and fact store.
//!
//! In: the data folder, or the address of a store. Out: an [`Engine`] for each environment in it. An
//! environment is a folder with its name in the data folder, or a schema in the database, so a name must
//! be safe and distinct on every file system, and must fit between the underscores of a key.

use super::{Engine, EngineError, EngineSettings};
use crate::store::postgres::{Address, StoreServers, names_at, prepare};
use crate::store::{StoreError, check_own_name, is_store, note_name};
use std::collections::BTreeSet;
use std::path::Path;

/// Opens every environment of a data folder, `default` first, which is created if it is missing.
pub async fn open_environments(
    data: &Path,
    default: &str,
    settings: &EngineSettings,
) -> Result<Vec<(String, Engine)>, EngineError> {
    check_name(default)?;
    let Folders { environments: mut others, strays } =
        folders(data).map_err(|error| unreadable(data, &error))?;
    others.remove(default);
    for (name, reason) in strays.iter().filter(|(name, _)| *name != default) {
        tracing::warn!(folder = %data.join(name).display(), "a folder in the data folder is not served: {reason}");
    }
    let mut environments = Vec::with_capacity(others.len() + 1);
    for name in std::iter::once(default.to_owned()).chain(others) {
        let engine = open_environment(data, &name, settings).await?;
        environments.push((name, engine));
    }
    Ok(environments)
}

/// Opens the environment with this name in a data folder; it is created if it is missing.
pub async fn open_environment(
    data: &Path,
    name: &str,
    settings: &EngineSettings,
) -> Result<Engine, EngineError> {
    check_name(name)?;
    let dir = data.join(name);
    check_own_name(&dir).map_err(EngineError::Store)?;
    let engine = Engine::open(&dir, settings.clone()).await?;
    if let Err(error) = note_name(&dir) {
        // For example, on a full disk. The store itself is intact.
        tracing::warn!(environment = name, %error, "cannot note the name of the environment in its folder");
    }
    Ok(engine)
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
    let folders = folders(data).map_err(|error| unreadable(data, &error))?;
    Ok(folders.environments)
}

fn unreadable(data: &Path, error: &std::io::Error) -> EngineError {
    EngineError::Store(StoreError::Unreadable { path: data.into(), reason: error.to_string() })
}

/// The folders in a data folder.
#[derive(Default)]
struct Folders {
    /// The environments.
    environments: BTreeSet<String>,
    /// The folders that are not served, each with the reason.
    strays: Vec<(String, String)>,
}

fn folders(data: &Path) -> std::io::Result<Folders> {
    let mut folders = Folders::default();
    let entries = match std::fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(folders),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        // Folders like `lost+found` have names that no environment can have.
        let Some(name) = entry.file_name().into_string().ok().filter(|name| check_name(name).is_ok()) else {
            continue;
        };
        if !is_store(&entry.path()) {
            folders.strays.push((name, "it has no files of a store".to_owned()));
        } else if let Err(error) = check_own_name(&entry.path()) {
            folders.strays.push((name, error.to_string()));
        } else {
            folders.environments.insert(name);
        }
    }
    Ok(folders)
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
    async fn every_folder_with_a_store_is_an_environment_and_the_default_is_made() {
        let data = tempfile::tempdir().expect("a folder");
        let settings = EngineSettings::default();
        for name in ["b", "a"] {
            drop(open_environment(data.path(), name, &settings).await.expect("an environment"));
        }
        for name in ["Not-One", "lost+found", "empty", "a.bak"] {
            std::fs::create_dir(data.path().join(name)).expect("a folder");
        }
        std::fs::write(data.path().join("c"), "a file").expect("a file");
        let opened = open_environments(data.path(), "main", &settings).await.expect("all of them");
        let names: Vec<&str> = opened.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["main", "a", "b"]);
        assert!(data.path().join("main").is_dir());
        let untouched = std::fs::read_dir(data.path().join("empty")).expect("the folder").count();
        assert_eq!(untouched, 0);
    }

    #[tokio::test]
    async fn a_copy_of_an_environment_is_neither_served_nor_changed() {
        let data = tempfile::tempdir().expect("a folder");
        let settings = EngineSettings::default();
        let [main, copy] = ["main", "main-copy"].map(|name| data.path().join(name));
        drop(open_environments(data.path(), "main", &settings).await.expect("the default"));
        std::fs::create_dir(&copy).expect("a folder");
        for file in std::fs::read_dir(&main).expect("the files") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
        let before = std::fs::read(copy.join("store.db")).expect("the copy");
        let opened = open_environments(data.path(), "main", &settings).await.expect("the default");
        assert_eq!(opened.len(), 1);
        assert_eq!(environment_names(data.path()).expect("names").len(), 1);
        assert_eq!(std::fs::read(copy.join("store.db")).expect("the copy"), before);
        drop(opened);
        let refused = open_environments(data.path(), "main-copy", &settings).await.expect_err("a copy");
        assert!(refused.to_string().contains("is a copy of the environment `main`"), "{refused}");
    }
}
