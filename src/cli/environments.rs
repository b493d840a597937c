//! `portcullis environments`: the environments of a data folder.
//!
//! They are listed by reading their stores, whether or not a service runs. A running service deletes one
//! itself, after its last request.

use super::backup::described;
use super::data::{DataFolder, DataPlace};
use super::error::{CliError, ServiceError, of_store};
use super::output::{self, Format};
use super::{Verdict, admin, shown};
use crate::admin::{AdminCommand, AdminReply, default_stays};
use crate::engine::{check_environment_name, environment_names};
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{Holdings, Snapshot, StoreError};
use clap::Subcommand;
use serde_json::{Value as Json, json};
use std::path::Path;

const EXPLAINED: &str =
    "Run it on the machine of the service, with the service's data folder. The first key of a \
new environment creates the environment: see `portcullis keys create --help`.

Examples:
  portcullis environments list
  portcullis environments list --data /var/lib/portcullis --format json
  portcullis environments delete staging          # says what would be deleted
  portcullis environments delete staging --yes";

/// List and delete environments, whether or not the service runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAINED)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataFolder,
    /// How to write the result
    #[arg(long, value_enum, default_value_t, global = true)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format", global = true)]
    json: bool,
    #[command(subcommand)]
    command: EnvironmentsCommand,
}

#[derive(Debug, Subcommand)]
enum EnvironmentsCommand {
    /// List all environments with what they store
    #[command(after_help = EXPLAINED)]
    List,
    /// Delete an environment with its facts, policies and keys
    #[command(after_help = EXPLAINED)]
    Delete {
        /// Its name, as `environments list` shows it
        name: String,
        /// Delete it; otherwise the command only says what would be deleted
        #[arg(long)]
        yes: bool,
    },
}

impl Args {
    /// The format of the output.
    pub(super) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let format = args.format();
    let data = args.data.find()?;
    match args.command {
        EnvironmentsCommand::List => list(&data, format),
        EnvironmentsCommand::Delete { name, yes: true } => delete(&data, &name, format),
        EnvironmentsCommand::Delete { name, yes: false } => preview(&data, &name, format),
    }
}

/// Lists the environments. One that cannot be read does not stop the others.
fn list(data: &Path, format: Format) -> Result<Verdict, CliError> {
    let names = environment_names(data)?;
    let read = |name: String| {
        let held = holdings(data, &name);
        (name, held)
    };
    let found: Vec<(String, Result<Holdings, StoreError>)> = names.into_iter().map(read).collect();
    let verdict = if found.iter().all(|(_, held)| held.is_ok()) { Verdict::Good } else { Verdict::Bad };
    match format {
        Format::Text => {
            for (name, held) in found {
                match held {
                    Ok(held) => output::to_stdout(&described(&name, &held))?,
                    Err(error) => output::to_stderr(&shown::printable(&format!("error: `{name}`: {error}"))),
                }
            }
        }
        Format::Json => {
            let found: Vec<Json> = found.into_iter().map(|(name, held)| as_json(&name, held)).collect();
            output::to_stdout(&format!("{:#}", json!(found)))?;
        }
    }
    Ok(verdict)
}

fn holdings(data: &Path, name: &str) -> Result<Holdings, StoreError> {
    Snapshot::open(&data.join(name))?.holdings()
}

fn as_json(name: &str, held: Result<Holdings, StoreError>) -> Json {
    match held {
        Ok(Holdings { facts, policies, keys, .. }) => {
            json!({ "name": name, "facts": facts, "policy_versions": policies, "keys": keys })
        }
        Err(error) => {
            let message = error.to_string();
            json!({ "name": name, "error": { "message": message, "code": of_store(error) } })
        }
    }
}

/// Says what would be deleted.
fn preview(data: &Path, name: &str, format: Format) -> Result<Verdict, CliError> {
    check_environment_name(name)?;
    if name == DEFAULT_ENVIRONMENT {
        return accepted(default_stays()).map(|()| Verdict::Bad);
    }
    let held = holdings(data, name)?;
    output::to_stdout(&match format {
        Format::Text => {
            format!("{}\nnothing was deleted: --yes deletes all of this", described(name, &held))
        }
        Format::Json => format!("{:#}", json!({ "deleted": false, "environment": as_json(name, Ok(held)) })),
    })?;
    Ok(Verdict::Bad)
}

fn delete(data: &Path, name: &str, format: Format) -> Result<Verdict, CliError> {
    check_environment_name(name)?;
    let command = AdminCommand::DeleteEnvironment { environment: name.to_owned() };
    accepted(admin::carry_out(&DataPlace::Folder(data.to_owned()), &command)?)?;
    output::to_stdout(&match format {
        Format::Text => format!("`{name}` was deleted"),
        Format::Json => format!("{:#}", json!({ "deleted": true, "environment": { "name": name } })),
    })?;
    Ok(Verdict::Good)
}

/// Turns a refusal into an error.
fn accepted(reply: AdminReply) -> Result<(), CliError> {
    match reply {
        AdminReply::Refused { message, code } => Err(ServiceError::BadRequest { message, code }.into()),
        AdminReply::KeyCreated { .. }
        | AdminReply::Keys { .. }
        | AdminReply::KeyRevoked
        | AdminReply::EnvironmentOpened
        | AdminReply::EnvironmentDeleted => Ok(()),
    }
}
