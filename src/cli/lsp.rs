//! `portcullis lsp`: the language server for editors.

use super::Verdict;
use super::error::CliError;
use crate::lsp;
use lsp_server::Connection;

/// Run the language server for editors
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The editor starts the command and speaks the Language Server Protocol with it on the \
standard input and output. docs/editors.md says how to set it up.

Examples:
  portcullis lsp
  nvim policy.polar    # with the lines of docs/editors.md in its settings"
)]
pub(super) struct Args {
    /// Use the standard input and output, which is the default; some editors pass this flag
    #[arg(long)]
    stdio: bool,
}

pub(super) fn run(Args { stdio: _ }: Args) -> Result<Verdict, CliError> {
    let (connection, threads) = Connection::stdio();
    lsp::serve(&connection)?;
    // The threads end when the connection does.
    drop(connection);
    threads.join().map_err(CliError::Editor)?;
    Ok(Verdict::Good)
}
