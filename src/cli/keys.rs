//! `portcullis keys`: the keys of an environment.
//!
//! A running service carries the command out, and its next request sees the change. In a database, the
//! command does it itself, and the services follow.

use super::data::DataFolder;
use super::error::{CliError, ServiceError};
use super::{Verdict, admin, output};
use crate::admin::{AdminCommand, AdminReply};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{StoreError, check_key_name};
use clap::Subcommand;

const EXPLAINED: &str =
    "Run it on the machine of the service, with the service's data folder; or anywhere with the same \
PORTCULLIS_STORE, if a PostgreSQL database is the store. A revoked key is refused from the next request \
on; a new one works at once, or with a database within a second.

Examples:
  portcullis keys create --name billing
  portcullis keys create --name dashboard --read-only --environment staging
  portcullis keys list
  portcullis keys revoke 5f1c0a9b2d3e4f60";

/// Create, list and revoke API keys, whether or not the service runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAINED)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataFolder,
    /// The environment of the keys
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ENVIRONMENT, global = true)]
    environment: String,
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Create a key and print it once; the first key of a new environment creates the environment
    #[command(after_help = EXPLAINED)]
    Create {
        /// Its name in `keys list`
        #[arg(long, default_value = "unnamed", value_parser = key_name)]
        name: String,
        /// Allow the key to read, but not to change anything
        #[arg(long)]
        read_only: bool,
    },
    /// List all keys without their secrets, with the days (UTC) of their creation and last use
    #[command(after_help = EXPLAINED)]
    List,
    /// Revoke a key
    #[command(after_help = EXPLAINED)]
    Revoke {
        /// Its id, as `keys list` shows it
        id: String,
    },
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { data, environment, command } = args;
    let place = data.place()?;
    check_environment_name(&environment)?;
    let command = match command {
        KeysCommand::Create { name, read_only } => AdminCommand::CreateKey { environment, name, read_only },
        KeysCommand::List => AdminCommand::ListKeys { environment },
        KeysCommand::Revoke { id } => AdminCommand::RevokeKey { environment, id },
    };
    show(admin::carry_out(&place, &command)?)
}

/// Checks a name before an environment is made for its key.
fn key_name(name: &str) -> Result<String, StoreError> {
    check_key_name(name).map(|()| name.to_owned())
}

/// The UTC date of a time in seconds since the epoch.
fn date(seconds: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(seconds)
        .map_or("?".to_owned(), |moment| moment.date().to_string())
}

fn show(reply: AdminReply) -> Result<Verdict, CliError> {
    match reply {
        AdminReply::KeyCreated { key } => output::to_stdout(&key)?,
        AdminReply::Keys { keys } => {
            for key in keys {
                let access = if key.read_only { "read-only " } else { "read-write" };
                let revoked = if key.revoked { "  revoked" } else { "" };
                let (created, used) = (date(key.created), key.used.map_or("never".to_owned(), date));
                let line = format!(
                    "{}  {access}  created {created}  last used {used:<10}  {}{revoked}",
                    key.id, key.name
                );
                output::to_stdout(&line)?;
            }
        }
        AdminReply::KeyRevoked | AdminReply::EnvironmentOpened | AdminReply::EnvironmentDeleted => {}
        AdminReply::Refused { message, code } => {
            return Err(ServiceError::BadRequest { message, code }.into());
        }
    }
    Ok(Verdict::Good)
}
