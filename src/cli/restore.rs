//! `portcullis restore`: restores backups as environments of a data folder.
//!
//! An environment that is being served cannot be replaced. One that is new to a running service is served
//! immediately.

use super::backup::{described, is_folder};
use super::data::DataFolder;
use super::error::CliError;
use super::{Verdict, admin, output};
use crate::admin::{AdminCommand, AdminReply};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{Existing, StoreError, restore};
use std::path::{Path, PathBuf};

/// Restore backups as environments of a data folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A backup is checked first, and refused if it is damaged. An existing environment is not replaced \
unless --overwrite is given. An environment that a service has open is never replaced: stop the service, \
or restore under a new name, which a running service then serves. Keys are included, and work only for an \
environment with their own name; a key that was revoked after the backup is valid again.

Examples:
  portcullis restore today.db
  portcullis restore today.db --overwrite         # after stopping the service
  portcullis restore today.db --environment look  # in addition to what is served
  portcullis restore backups/2026-03-01/          # every NAME.db as the environment NAME"
)]
pub(super) struct Args {
    /// A backup, or a folder of backups
    #[arg(value_name = "FILE|DIR")]
    source: PathBuf,
    #[command(flatten)]
    data: DataFolder,
    /// The environment [default: all of a folder's, 0123456789 for a file]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Replace an existing environment
    #[arg(long)]
    overwrite: bool,
}

/// Why a backup is not restored, or not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum RestoreError {
    /// A folder without backups.
    #[error("there is no backup in `{}`: name a folder with files like `0123456789.db`, or one file", .0.display())]
    NoBackup(PathBuf),
    /// A service has the environment open.
    #[error(
        "the environment `{0}` is being served and cannot be replaced: stop the service and restore again, or \
         restore under a new name with --environment"
    )]
    Served(String),
    /// The environment is there.
    #[error(
        "the environment `{0}` already exists: give --overwrite to replace it, or another name with --environment"
    )]
    Exists(String),
    /// The running service cannot open what was restored.
    #[error("restored, but the running service cannot open it: {message}; start the service again")]
    NotServed {
        /// Why it cannot open it.
        message: String,
        /// The code in the service's answer.
        code: String,
    },
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let data = args.data.find()?;
    if let Some(name) = &args.environment {
        check_environment_name(name)?;
    }
    let named = |name: String| (args.source.join(format!("{name}.db")), name);
    let backups: Vec<(PathBuf, String)> = match args.environment {
        Some(name) if is_folder(&args.source) => vec![named(name)],
        Some(name) => vec![(args.source, name)],
        None if is_folder(&args.source) => backups(&args.source)?.into_iter().map(named).collect(),
        None => vec![(args.source, DEFAULT_ENVIRONMENT.to_owned())],
    };
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    for (file, name) in backups {
        let held = restore(&file, &data.join(&name), existing).map_err(|error| explained(error, &name))?;
        output::to_stdout(&format!("{}: {}", data.join(&name).display(), described(&name, &held)))?;
        if let Some(AdminReply::Refused { message, code }) =
            admin::send(&data, &AdminCommand::OpenEnvironment { environment: name })?
        {
            return Err(RestoreError::NotServed { message, code }.into());
        }
    }
    Ok(Verdict::Good)
}

/// The environments whose backups are in a folder.
fn backups(folder: &Path) -> Result<Vec<String>, CliError> {
    let io = |error| CliError::unreadable(folder, error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let file = entry.map_err(io)?.file_name();
        if let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".db"))
            && check_environment_name(name).is_ok()
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(RestoreError::NoBackup(folder.into()).into());
    }
    Ok(names)
}

/// What to do about an environment that already exists.
fn explained(error: StoreError, name: &str) -> CliError {
    match error {
        StoreError::Locked(_) => RestoreError::Served(name.to_owned()).into(),
        StoreError::Exists(_) => RestoreError::Exists(name.to_owned()).into(),
        other => other.into(),
    }
}
