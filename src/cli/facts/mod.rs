//! `portcullis facts`: all facts of an environment, into it and out of it.
//!
//! ```text
//! file ─(json_lines | table)─▶ facts ─check against the policy─▶ chunks ─(service | folder)─▶ stored
//! environment, at one moment ─(service | folder)─▶ facts ─(json_lines | table)─▶ file
//! ```
//!
//! Two formats, the same both ways. JSON lines are the wire's facts, one a line. A table is CSV with the header
//! `predicate,type1,id1,…,type5,id5`; quoting is that of RFC 4180, and empty cells at a row's end do not count, as no
//! type or id is empty. In either an id is any text, line breaks included.

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
use service::Service;
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

/// How facts are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FactFormat {
    /// One JSON object a line.
    Jsonl,
    /// A table with a header.
    Csv,
}

impl FactFormat {
    /// What was asked for, else what the name of the file says.
    fn of(asked: Option<Self>, file: Option<&Path>) -> Self {
        let ending = file.and_then(Path::extension).is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
        asked.unwrap_or(if ending { Self::Csv } else { Self::Jsonl })
    }
}

/// Where the environment is.
#[derive(Debug, clap::Args)]
struct FactStore {
    /// The service, by default the one that the settings place on this machine
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    url: Option<String>,
    /// A file that holds the key; without it that of the settings, so `PORTCULLIS_API_KEY`, is the key
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    key_file: Option<PathBuf>,
    /// The file with settings, by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,
    /// A data folder to use instead of a service
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The environment in the data folder; a service knows it by the key
    #[arg(long, value_name = "NAME", requires = "data", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
}

/// A place that was found.
enum Found {
    Service(Service),
    Folder(PathBuf),
}

impl FactStore {
    fn find(self) -> Result<Found, CliError> {
        if let Some(data) = self.data {
            check_environment_name(&self.environment)?;
            return Ok(Found::Folder(data.join(self.environment)));
        }
        let config = Config::load(self.config, Flags::new())?.config;
        let url = self.url.unwrap_or_else(|| format!("{}://{}", config.scheme(), config.listen));
        let key = match self.key_file {
            Some(file) => {
                let text = std::fs::read_to_string(&file).map_err(|error| CliError::file(&file, error))?;
                Secret(text.trim().to_owned())
            }
            None => config.api_key.ok_or_else(|| {
                CliError::Refused("no key: set PORTCULLIS_API_KEY, or give --key-file".to_owned())
            })?,
        };
        Ok(Found::Service(Service::new(&url, key)?))
    }
}
