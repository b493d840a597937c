//! `portcullis man`: the manual, a page for each command.

use super::error::CliError;
use super::{Cli, Verdict, output};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;
use std::path::{Path, PathBuf};

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
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write(&command, folder).map_err(failed)?;
    output::to_stdout(&format!("the pages are in {}", folder.display()))?;
    Ok(Verdict::Good)
}

/// Writes the pages of a command and of those below it.
fn write(command: &Command, folder: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write(command, folder)?;
    }
    // The generator runs the lines of a paragraph together, which breaks examples.
    let page = Man::new(command.clone().after_help(None::<&str>).after_long_help(None::<&str>));
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(notes) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        extra(&notes.to_string()).to_writer(&mut text)?;
    }
    std::fs::write(folder.join(page.get_filename()), text)
}

/// The text below the options: paragraphs of one line are wrapped, and those of several lines keep them.
fn extra(notes: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["NOTES"]);
    for paragraph in notes.split("\n\n") {
        section.control("PP", []);
        let is_laid_out = paragraph.contains('\n');
        if is_laid_out {
            section.control("nf", []);
        }
        for line in paragraph.lines() {
            section.text([roman(line)]);
        }
        if is_laid_out {
            section.control("fi", []);
        }
    }
    section
}
