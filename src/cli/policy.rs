//! `portcullis policy`: reads, replaces and compares the policy of a service.

use super::active_policy::NO_POLICY;
use super::error::{CliError, ServiceError};
use super::origin::ServiceArgs;
use super::output::{self, Format, FormatArgs, to_stdout_as_is};
use super::service::PolicySource;
use super::{Verdict, policy_file, replace, shown};
use clap::Subcommand;
use serde::Deserialize;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Read, replace and compare the policy of a service
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    Get(GetArgs),
    Push(PushArgs),
    Diff(DiffArgs),
}

/// Print the active policy
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis policy get > policy.polar
  portcullis policy get --version-id 3 --url https://authz.example.com")]
struct GetArgs {
    /// An older version; `portcullis stats` lists them
    #[arg(long, value_name = "ID")]
    version_id: Option<u64>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Replace the active policy
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A policy that does not validate, or whose tests fail, is refused, and the active one stays.

Examples:
  portcullis policy diff policy.polar; portcullis policy push policy.polar
  portcullis policy push policy.polar --url https://authz.example.com --key-file key.txt"
)]
struct PushArgs {
    /// The policy file; `-` is the standard input
    file: PathBuf,
    /// Replace it even if its tests fail
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// Show what a push would change
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 1 if the file is not the active policy.

Examples:
  portcullis policy diff policy.polar
  portcullis policy diff policy.polar --url https://authz.example.com")]
struct DiffArgs {
    /// The policy file; `-` is the standard input
    file: PathBuf,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    output: FormatArgs,
}

/// What the service says to a new policy.
#[derive(Deserialize)]
struct PushReply {
    message: String,
}

impl Args {
    /// The format of what is written, in which a failure is reported, too.
    pub(super) fn format(&self) -> Format {
        match &self.command {
            PolicyCommand::Get(args) => args.output.format(),
            PolicyCommand::Push(args) => args.output.format(),
            PolicyCommand::Diff(args) => args.output.format(),
        }
    }
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    match args.command {
        PolicyCommand::Get(args) => get(args),
        PolicyCommand::Push(args) => push(args),
        PolicyCommand::Diff(args) => diff(args),
    }
}

fn get(GetArgs { version_id, service, output }: GetArgs) -> Result<Verdict, CliError> {
    match service.service()?.policy_source(version_id)? {
        Some(PolicySource { filename, src }) => match output.format() {
            Format::Text => to_stdout_as_is(&src)?,
            Format::Json => {
                output::to_stdout(&format!("{:#}", json!({ "filename": filename, "src": src })))?;
            }
        },
        None => return Err(ServiceError::NoPolicy.into()),
    }
    Ok(Verdict::Good)
}

fn push(PushArgs { file, force, service, output }: PushArgs) -> Result<Verdict, CliError> {
    let src = policy_file::text(&file)?;
    let path = if force { "policy?force=true" } else { "policy" };
    let body = json!({ "filename": file.display().to_string(), "src": src });
    let PushReply { message } = service.service()?.ask(path, &body)?;
    output::to_stdout(&match output.format() {
        Format::Text => message,
        Format::Json => format!("{:#}", json!({ "message": message })),
    })?;
    Ok(Verdict::Good)
}

fn diff(DiffArgs { file, service, output }: DiffArgs) -> Result<Verdict, CliError> {
    let new = policy_file::text(&file)?;
    let file = shown::printable_name(&file.display().to_string());
    let active = service.service()?.policy_source(None)?;
    let (name, old) = match active {
        Some(PolicySource { src, .. }) if src == new => {
            match output.format() {
                Format::Text => output::to_stderr(&format!("`{file}` is the active policy")),
                Format::Json => output::to_stdout(&format!("{:#}", json!({ "diff": null })))?,
            }
            return Ok(Verdict::Good);
        }
        Some(PolicySource { filename, src }) => (format!("active: {filename}"), src),
        None => (NO_POLICY.to_owned(), String::new()),
    };
    let names = [&*shown::printable_name(&name), &*file];
    let diff = replace::diff(&old, &new, names);
    if output.format() == Format::Json {
        output::to_stdout(&format!("{:#}", json!({ "diff": diff })))?;
        return Ok(Verdict::Bad);
    }
    // A file gets every character as it is.
    let shown = if io::stdout().is_terminal() { shown::printable(&diff) } else { diff };
    to_stdout_as_is(&shown)?;
    Ok(Verdict::Bad)
}
