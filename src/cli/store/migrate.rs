//! `portcullis store migrate`: makes the store in a database, or brings it to this release's format.

use super::StoreAddress;
use crate::cli::error::CliError;
use crate::cli::{Verdict, output, serve};
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::postgres::{self, MigratedSchema};

/// Make the store in a database, or bring it to the format of this release
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A new store has the default environment. The role needs the right to create schemas in the
database; who else uses the store needs the same role, or one that is a member of it. Run it again
after each upgrade: it does only what is left to do, and a killed run leaves a complete format.
Other processes that migrate at the same time wait. `serve --store` makes a new store by itself.

Missing parts of the address are completed as psql does, from PGHOST, PGPORT, PGUSER, PGDATABASE,
PGPASSWORD and ~/.pgpass. The connection is encrypted if the server can; with sslmode=require,
always; with sslmode=verify-full, only to a server whose certificate is trusted by the system or
by sslrootcert=FILE. Other users of the machine can read arguments: give the address in
PORTCULLIS_STORE, or the password in ~/.pgpass.

Examples:
  portcullis store migrate postgres://portcullis@db.internal/portcullis?sslmode=verify-full
  portcullis store migrate postgres://portcullis@db1,db2/portcullis     # whichever is the primary
  PORTCULLIS_STORE=postgres:///portcullis portcullis store migrate"
)]
pub(super) struct MigrateArgs {
    #[command(flatten)]
    store: StoreAddress,
}

pub(super) fn run(args: &MigrateArgs) -> Result<Verdict, CliError> {
    let address = args.store.read()?;
    let migrated = serve::runtime()?.block_on(postgres::migrate(&address, DEFAULT_ENVIRONMENT))?;
    let done = match migrated {
        MigratedSchema { from: None, to } => format!("a new store of format {to}"),
        MigratedSchema { from: Some(from), to } if from == to => format!("already of format {to}"),
        MigratedSchema { from: Some(from), to } => format!("migrated from format {from} to {to}"),
    };
    output::to_stdout(&format!("{address}: {done}"))?;
    Ok(Verdict::Good)
}
