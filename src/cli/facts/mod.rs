//! `portcullis facts`: imports and exports the facts of an environment.
//!
//! ```text
//! file ─(json_lines | table)─▶ facts ─check against the policy─▶ chunks ─(service | folder)─▶ stored
//! environment, at one moment ─(service | folder)─▶ facts ─(json_lines | table)─▶ file
//! ```
//!
//! There are two formats. JSON lines are facts as the HTTP interface sends them, one per line. A table is CSV
//! with the header `predicate,type1,id1,…,type5,id5`, quoted as in RFC 4180. Empty cells at the end of a row
//! are ignored, because types and ids are never empty. In both formats an id is any text, including line
//! breaks.

mod chunks;
mod export;
mod folder;
mod import;
mod input;
mod json_lines;
mod resume;
mod service;
mod table;

use super::Verdict;
use super::error::CliError;
use crate::config::{Config, Flags, Secret};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use clap::{Subcommand, ValueEnum};
pub(super) use service::{Service, ServiceReply};
use std::path::{Path, PathBuf};

/// Import and export the facts of an environment
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Import(import::Args),
    Export(export::Args),
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    match args.action {
        Action::Import(args) => import::run(args),
        Action::Export(args) => export::run(args),
    }
}

/// The format of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FactFormat {
    /// One JSON object per line.
    Jsonl,
    /// A table with a header.
    Csv,
}

impl FactFormat {
    /// The requested format, or else the one that the file name implies.
    fn of(asked: Option<Self>, file: Option<&Path>) -> Self {
        let ending = file.and_then(Path::extension).is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        asked.unwrap_or(if ending { Self::Csv } else { Self::Jsonl })
    }
}

/// The arguments for the environment.
#[derive(Debug, clap::Args)]
struct FactStore {
    /// The service; by default the one on this machine, as the settings describe it
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    url: Option<String>,
    /// A file that contains the key; by default the key in the settings, for example in `PORTCULLIS_API_KEY`
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    key_file: Option<PathBuf>,
    /// The settings file; by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,
    /// A data folder to use instead of a service
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The environment in the data folder (a service determines it by the key)
    #[arg(long, value_name = "NAME", requires = "data", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
}

/// An environment that was found.
enum FoundEnvironment {
    Service(Service),
    Folder(PathBuf),
}

impl FactStore {
    fn find(self) -> Result<FoundEnvironment, CliError> {
        if let Some(data) = self.data {
            check_environment_name(&self.environment)?;
            return Ok(FoundEnvironment::Folder(data.join(self.environment)));
        }
        let config = Config::load(self.config, Flags::new())?.config;
        let url = self.url.unwrap_or_else(|| format!("{}://{}", config.scheme(), config.listen));
        let key = key(self.key_file, config.api_key)?;
        Ok(FoundEnvironment::Service(Service::new(&url, key)?))
    }
}

/// The key in a file, or else that of the settings.
pub(super) fn key(file: Option<PathBuf>, configured: Option<Secret>) -> Result<Secret, CliError> {
    let Some(file) = file else {
        let missing = "no key: set PORTCULLIS_API_KEY, or give --key-file";
        return configured.ok_or_else(|| CliError::Refused(missing.to_owned()));
    };
    let text = std::fs::read_to_string(&file).map_err(|error| CliError::unreadable(&file, error))?;
    Ok(Secret(text.trim().to_owned()))
}
