//! `portcullis completions`: a script that completes commands and options in a shell.

use super::error::CliError;
use super::{Cli, Verdict, output};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a script that completes commands in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis completions bash > /etc/bash_completion.d/portcullis
  portcullis completions zsh > ~/.zfunc/_portcullis
  portcullis completions fish > ~/.config/fish/completions/portcullis.fish")]
pub(super) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "portcullis", &mut script);
    output::to_stdout_as_is(&String::from_utf8_lossy(&script))?;
    Ok(Verdict::Good)
}
