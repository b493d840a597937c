//! `portcullis keys`: the keys of an environment.
//!
//! One process at a time serves a data folder, so keys are made and revoked while the service is stopped.

use super::error::CliError;
use super::{Verdict, output, serve};
use crate::config::{Config, Flags};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::{Access, Store, StoreOptions};
use clap::Subcommand;
use std::path::PathBuf;

/// Create, list and revoke API keys, while the service is stopped
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis keys create --name billing
  portcullis keys create --name dashboard --read-only --environment staging
  portcullis keys list
  portcullis keys revoke 5f1c0a9b2d3e4f60")]
pub(super) struct Args {
    /// The data folder, by default that of the settings
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
    /// The file with settings, by default that of `PORTCULLIS_CONFIG`
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// The environment whose keys they are; the first key of a new one makes it
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ENVIRONMENT, global = true)]
    environment: String,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, once
    Create {
        /// What to call it
        #[arg(long)]
        name: String,
        /// Let its bearer ask, but change nothing
        #[arg(long)]
        read_only: bool,
    },
    /// List all keys, without their secrets
    List,
    /// Refuse a key from now on
    Revoke {
        /// Its id, as listed
        id: String,
    },
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let data = match args.data {
        Some(data) => data,
        None => Config::load(args.config, Flags::new())?.config.data,
    };
    check_environment_name(&args.environment)?;
    let runtime = serve::runtime()?;
    let store = Store::open(&data.join(&args.environment), &StoreOptions::default())?;
    match args.action {
        Action::Create { name, read_only } => {
            let access = if read_only { Access::ReadOnly } else { Access::ReadWrite };
            let created = runtime.block_on(store.create_key(args.environment, name, access))?;
            output::to_stdout(&created.text)?;
            Ok(Verdict::Good)
        }
        Action::List => {
            for key in store.keys() {
                let access = match key.access {
                    Access::ReadWrite => "read-write",
                    Access::ReadOnly => "read-only ",
                };
                let revoked = if key.revoked { "  revoked" } else { "" };
                output::to_stdout(&format!("{}  {access}  {}{revoked}", key.id, key.name))?;
            }
            Ok(Verdict::Good)
        }
        Action::Revoke { id } => {
            if runtime.block_on(store.revoke_key(id.clone()))? {
                return Ok(Verdict::Good);
            }
            output::to_stderr(&format!("error: the environment `{}` has no key `{id}`", args.environment));
            Ok(Verdict::Bad)
        }
    }
}
