//! `portcullis backup`: a consistent copy of environments.
//!
//! This process reads the store itself, whether or not a service runs: SQLite gives it a snapshot, and the
//! service neither notices nor waits.

use super::data::DataFolder;
use super::error::CliError;
use super::progress::ProgressLine;
use super::validate::plural;
use super::{Verdict, output, private};
use crate::engine::{check_environment_name, environment_names};
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{Existing, Holdings, Snapshot};
use std::path::{Path, PathBuf};

/// Copy environments into files, whether or not the service runs
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A backup is a snapshot: it contains each batch completely or not at all, and every batch that was \
acknowledged before it began. It contains facts, policy versions, keys (hashed) and the secret of page \
tokens, in one SQLite file with its SHA-256 at the end. Existing files are not replaced unless --overwrite is \
given.

Examples:
  portcullis backup today.db                      # the default environment
  portcullis backup staging.db --environment staging
  portcullis backup backups/2026-03-01/           # every environment, each as NAME.db"
)]
pub(super) struct Args {
    /// The file to write, or a folder (an existing one, or a name that ends with `/`)
    #[arg(value_name = "FILE|DIR")]
    target: PathBuf,
    #[command(flatten)]
    data: DataFolder,
    /// The environment [default: all of them for a folder, 0123456789 for a file]
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Replace existing files, each once the new one is complete
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let data = args.data.find()?;
    if let Some(name) = &args.environment {
        check_environment_name(name)?;
    }
    let into_folder = is_folder(&args.target);
    let names: Vec<String> = match args.environment {
        Some(name) => vec![name],
        None if into_folder => environment_names(&data)?.into_iter().collect(),
        None => vec![DEFAULT_ENVIRONMENT.to_owned()],
    };
    if names.is_empty() {
        return Err(CliError::NoEnvironment(data));
    }
    if into_folder {
        private::create_folder(&args.target).map_err(|error| CliError::unwritable(&args.target, error))?;
    }
    for name in names {
        let file = if into_folder { args.target.join(format!("{name}.db")) } else { args.target.clone() };
        let snapshot = Snapshot::open(&data.join(&name))?;
        let progress = ProgressLine::of_parts("pages");
        progress.say(format!("of `{name}`"));
        let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
        let held = snapshot.back_up(&file, existing, |done, _| progress.reached(done))?;
        drop(progress);
        output::to_stdout(&format!("{}: {}", file.display(), described(&name, &held)))?;
    }
    Ok(Verdict::Good)
}

/// Whether a path names a folder.
pub(super) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR)
}

/// An environment and its content, in words.
pub(super) fn described(name: &str, held: &Holdings) -> String {
    let number = |n: u64, thing: &str| plural(usize::try_from(n).unwrap_or(usize::MAX), thing);
    let versions = number(held.policies, "policy version");
    format!("`{name}`, {}, {versions}, {}", number(held.facts, "fact"), number(held.keys, "key"))
}
