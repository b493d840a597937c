//! `portcullis init`: a small application to start from, of which every part runs.

use super::error::CliError;
use super::{Verdict, output};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The files, each with its text.
const FILES: [(&str, &str); 4] = [
    ("policy.polar", include_str!("policy.polar")),
    ("facts.txt", include_str!("facts.txt")),
    ("bindings.yaml", include_str!("bindings.yaml")),
    ("schema.sql", include_str!("schema.sql")),
];

/// What to do with them.
const NEXT: &str = "  portcullis test policy.polar
  portcullis authorize User:1 read Document:10 --policy policy.polar --facts facts.txt
  portcullis why policy.polar 'allow(User:1, \"read\", Document:10)' --facts facts.txt

SQL for a database of your own:
  sqlite3 app.db < schema.sql
  portcullis bindings check bindings.yaml --policy policy.polar --database sqlite:app.db
  portcullis compile policy.polar 'allow(User:1, \"read\", Document:?)' \\
    --bindings bindings.yaml --filter documents.id

A service that stores facts and answers over HTTP:
  portcullis serve --dev --policy policy.polar";

/// Write a policy with tests, facts, data bindings and a schema to start from
#[derive(Debug, clap::Args)]
#[command(after_help = "If one of the files exists already, nothing is written.

Examples:
  portcullis init
  portcullis init authorization")]
pub(super) struct Args {
    /// The folder, which is created if it is missing
    #[arg(default_value = ".")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|error| CliError::unwritable(folder, error))?;
    let paths = FILES.map(|(name, _)| folder.join(name));
    if let Some(there) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(CliError::Exists(there.clone()));
    }
    for (path, (_, text)) in paths.iter().zip(FILES) {
        create(path, text)?;
    }
    let names = FILES.map(|(name, _)| name).join(", ");
    let (within, cd) = if folder == Path::new(".") {
        (String::new(), String::new())
    } else {
        (format!(" in `{}`", folder.display()), format!("  cd {}\n", folder.display()))
    };
    output::to_stdout(&format!("wrote {names}{within}\n\nTry:\n{cd}{NEXT}"))?;
    Ok(Verdict::Good)
}

/// Writes a file that must not exist.
fn create(path: &Path, text: &str) -> Result<(), CliError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| CliError::unwritable(path, error))
}
