//! `portcullis store`: a PostgreSQL database as the store.

mod check;
mod migrate;

use super::Verdict;
use super::error::{ArgumentError, CliError};
use super::output::Format;
use crate::store::postgres::Address;

/// Prepare and check a PostgreSQL database as the store
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    Migrate(migrate::MigrateArgs),
    Check(check::StoreCheckArgs),
}

/// Where the store is.
#[derive(Debug, clap::Args)]
struct StoreAddress {
    /// The database: postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST…]/DATABASE
    #[arg(value_name = "URL", env = "PORTCULLIS_STORE", hide_env_values = true)]
    url: String,
}

impl StoreAddress {
    fn read(&self) -> Result<Address, CliError> {
        Ok(Address::parse(&self.url).map_err(ArgumentError::StoreAddress)?)
    }
}

impl Args {
    /// The format of the output.
    pub(super) fn format(&self) -> Format {
        match &self.command {
            StoreCommand::Migrate(_) => Format::Text,
            StoreCommand::Check(args) => args.output.format(),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    match &args.command {
        StoreCommand::Migrate(args) => migrate::run(args),
        StoreCommand::Check(args) => check::run(args),
    }
}
