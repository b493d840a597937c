//! `portcullis man`: the manual, a page for each command.

use super::error::CliError;
use super::{Cli, Verdict, output};
use clap::CommandFactory;
use std::path::PathBuf;

/// Write the manual, a page for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis man ~/.local/share/man/man1 && man portcullis-serve")]
pub(super) struct Args {
    /// The folder for the pages, which is created if it is missing
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let folder = &args.folder;
    let failed = |error| CliError::unwritable(folder, error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    output::to_stdout(&format!("the pages are in {}", folder.display()))?;
    Ok(Verdict::Good)
}
