//! `portcullis facts`: reads, adds and removes facts, and imports and exports those of an environment.
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

mod add;
mod chunks;
mod export;
mod folder;
mod get;
mod import;
mod input;
mod json_lines;
mod pattern;
mod pipeline;
mod remove;
mod resume;
mod service;
mod table;

pub(super) use resume::ResumeError;

use super::Verdict;
use super::error::CliError;
use super::origin::{FolderArgs, ServiceArgs};
use super::output::Format;
use super::service::Service;
use clap::{Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// Read, add and remove facts, and import and export all of an environment
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: FactsCommand,
}

#[derive(Debug, Subcommand)]
enum FactsCommand {
    Get(get::Args),
    Add(add::Args),
    Remove(remove::Args),
    Import(import::Args),
    Export(export::Args),
}

impl Args {
    /// The format of what is written, in which a failure is reported, too.
    pub(super) fn format(&self) -> Format {
        match &self.command {
            FactsCommand::Get(args) => args.output.format(),
            FactsCommand::Add(args) => args.output.format(),
            FactsCommand::Remove(args) => args.output.format(),
            FactsCommand::Import(_) | FactsCommand::Export(_) => Format::Text,
        }
    }
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    match args.command {
        FactsCommand::Get(args) => get::run(args),
        FactsCommand::Add(args) => add::run(args),
        FactsCommand::Remove(args) => remove::run(args),
        FactsCommand::Import(args) => import::run(args),
        FactsCommand::Export(args) => export::run(args),
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
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    folder: FolderArgs,
}

/// An environment that was found.
enum FoundEnvironment {
    Service(Service),
    Folder(PathBuf),
}

impl FactStore {
    fn find(self) -> Result<FoundEnvironment, CliError> {
        match self.folder.path()? {
            Some(folder) => Ok(FoundEnvironment::Folder(folder)),
            None => Ok(FoundEnvironment::Service(self.service.service()?)),
        }
    }
}
