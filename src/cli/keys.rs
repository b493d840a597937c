//! `portcullis keys`: the keys of an environment.
//!
//! A service that runs is told through its control socket, and the next request sees what became of it. While none
//! runs the store is opened here instead.

use super::data::DataFolder;
use super::error::CliError;
use super::{Verdict, orders, output, serve};
use crate::control::{ListedKey, Order, Outcome, unknown_key};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{Access, Key, Store, StoreError, StoreOptions};
use clap::Subcommand;
use std::path::Path;

const EXPLAINED: &str =
    "The data folder is that of the service, on the machine where it runs. A key can be used, and a \
revoked one is refused, from the next request on.

Examples:
  portcullis keys create --name billing
  portcullis keys create --name dashboard --read-only --environment staging
  portcullis keys list
  portcullis keys revoke 5f1c0a9b2d3e4f60";

/// Create, list and revoke API keys, while the service runs or not
#[derive(Debug, clap::Args)]
#[command(after_help = EXPLAINED)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataFolder,
    /// The environment whose keys they are; the first key of a new one makes it
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ENVIRONMENT, global = true)]
    environment: String,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, once
    #[command(after_help = EXPLAINED)]
    Create {
        /// What to call it, as `list` shows it
        #[arg(long, default_value = "unnamed", value_parser = one_line)]
        name: String,
        /// Let its bearer ask, but change nothing
        #[arg(long)]
        read_only: bool,
    },
    /// List all keys, without their secrets: when they were made and used last, by days in UTC
    #[command(after_help = EXPLAINED)]
    List,
    /// Refuse a key from now on
    #[command(after_help = EXPLAINED)]
    Revoke {
        /// Its id, as listed
        id: String,
    },
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { data, environment, action } = args;
    let data = data.find()?;
    check_environment_name(&environment)?;
    let order = match action {
        Action::Create { name, read_only } => Order::CreateKey { environment, name, read_only },
        Action::List => Order::ListKeys { environment },
        Action::Revoke { id } => Order::RevokeKey { environment, id },
    };
    let outcome = match orders::give(&data, &order)? {
        Some(outcome) => outcome,
        None => carry_out(&data, &order)?,
    };
    show(outcome)
}

/// A name that can stand in a list.
fn one_line(name: &str) -> Result<String, &'static str> {
    if name.trim().is_empty() || name.chars().any(char::is_control) || name.chars().count() > 200 {
        return Err("a name is a line of text, not empty and not over 200 characters");
    }
    Ok(name.to_owned())
}

/// Does without a service what it would have done.
fn carry_out(data: &Path, order: &Order) -> Result<Outcome, CliError> {
    let runtime = serve::runtime()?;
    let open = |environment: &str, make: bool| {
        let dir = data.join(environment);
        if !make && !dir.is_dir() {
            return Err(StoreError::Missing(dir));
        }
        Store::open(&dir, &StoreOptions::default())
    };
    Ok(match order {
        Order::CreateKey { environment, name, read_only } => {
            let access = if *read_only { Access::ReadOnly } else { Access::ReadWrite };
            let store = open(environment, true)?;
            let made = runtime.block_on(store.create_key(environment.clone(), name.clone(), access))?;
            Outcome::KeyCreated { key: made.text }
        }
        Order::ListKeys { environment } => {
            let store = open(environment, false)?;
            let listed = |key: Key| {
                let used = store.key_last_used(&key.id);
                ListedKey::new(key, used)
            };
            Outcome::Keys { keys: store.keys().into_iter().map(listed).collect() }
        }
        Order::RevokeKey { environment, id } => {
            let store = open(environment, false)?;
            if runtime.block_on(store.revoke_key(id.clone()))? {
                Outcome::KeyRevoked
            } else {
                unknown_key(environment, id)
            }
        }
        // Without a service there is nobody who would have to open it.
        Order::OpenEnvironment { .. } => Outcome::EnvironmentOpened,
    })
}

/// The day of a moment in seconds since the epoch, in UTC.
fn date(seconds: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(seconds)
        .map_or("?".to_owned(), |moment| moment.date().to_string())
}

fn show(outcome: Outcome) -> Result<Verdict, CliError> {
    match outcome {
        Outcome::KeyCreated { key } => output::to_stdout(&key)?,
        Outcome::Keys { keys } => {
            for key in keys {
                let access = if key.read_only { "read-only " } else { "read-write" };
                let revoked = if key.revoked { "  revoked" } else { "" };
                let (made, used) = (date(key.created), key.used.map_or("never".to_owned(), date));
                let line =
                    format!("{}  {access}  made {made}  used {used:<10}  {}{revoked}", key.id, key.name);
                output::to_stdout(&line)?;
            }
        }
        Outcome::KeyRevoked | Outcome::EnvironmentOpened => {}
        Outcome::Refused { message } => return Err(CliError::Refused(message)),
    }
    Ok(Verdict::Good)
}
