//! `portcullis environments`: the environments of a data folder or a database.
//!
//! They are listed by reading their stores, whether or not a service runs. A running service deletes one
//! itself, after its last request. In a database, the command deletes it, and the services refuse its keys.

use super::backup::described;
use super::data::{DataFolder, DataPlace};
use super::error::{CliError, ServiceError, of_store};
use super::output::{self, Format};
use super::{Verdict, admin, serve, shown};
use crate::admin::{AdminCommand, AdminReply, default_stays};
use crate::engine::{check_environment_name, environment_names};
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::postgres::StoreServers;
use crate::store::{Holdings, Snapshot, Store, StoreError, StoreOptions, postgres};
use clap::Subcommand;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

const EXPLAINED: &str =
    "Run it on the machine of the service, with the service's data folder; or anywhere with the same \
PORTCULLIS_STORE, if a PostgreSQL database is the store. The first key of a new environment creates the \
environment: see `portcullis keys create --help`.

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
    let place = args.data.place()?;
    match args.command {
        EnvironmentsCommand::List => list(&place, format),
        EnvironmentsCommand::Delete { name, yes: true } => delete(&place, &name, format),
        EnvironmentsCommand::Delete { name, yes: false } => preview(&place, &name, format),
    }
}

/// Lists the environments. One that cannot be read does not stop the others.
fn list(place: &DataPlace, format: Format) -> Result<Verdict, CliError> {
    let runtime = serve::runtime()?;
    let names = match place {
        DataPlace::Folder(data) => environment_names(data)?,
        DataPlace::Database(address) => runtime.block_on(postgres::names_at(address))?.into_iter().collect(),
    };
    let read = |name: String| {
        let held = holdings(&runtime, place, &name);
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

fn holdings(runtime: &Runtime, place: &DataPlace, name: &str) -> Result<Holdings, StoreError> {
    match place {
        DataPlace::Folder(data) => Snapshot::open(&data.join(name))?.holdings(),
        DataPlace::Database(address) => runtime.block_on(async {
            let servers = StoreServers::from(address.clone());
            let store = Store::connect(&servers, name, &StoreOptions::default()).await?;
            let policies = u64::try_from(store.policy_versions().await?.len()).unwrap_or(u64::MAX);
            let keys = u64::try_from(store.keys().len()).unwrap_or(u64::MAX);
            Ok(Holdings { offset: store.offset(), facts: store.stats().await?.total, policies, keys })
        }),
    }
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
fn preview(place: &DataPlace, name: &str, format: Format) -> Result<Verdict, CliError> {
    check_environment_name(name)?;
    if name == DEFAULT_ENVIRONMENT {
        return accepted(default_stays()).map(|()| Verdict::Bad);
    }
    let held = holdings(&serve::runtime()?, place, name)?;
    output::to_stdout(&match format {
        Format::Text => {
            format!("{}\nnothing was deleted: --yes deletes all of this", described(name, &held))
        }
        Format::Json => format!("{:#}", json!({ "deleted": false, "environment": as_json(name, Ok(held)) })),
    })?;
    Ok(Verdict::Bad)
}

fn delete(place: &DataPlace, name: &str, format: Format) -> Result<Verdict, CliError> {
    check_environment_name(name)?;
    let command = AdminCommand::DeleteEnvironment { environment: name.to_owned() };
    accepted(admin::carry_out(place, &command)?)?;
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
