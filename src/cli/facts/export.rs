//! `portcullis facts export`: writes every fact of an environment, as of one moment.

use super::table::TableWriter;
use super::{FactFormat, FoundEnvironment, json_lines};
use crate::cli::error::CliError;
use crate::cli::output::output_error;
use crate::cli::progress::ProgressLine;
use crate::cli::validate::plural;
use crate::cli::{Verdict, output, private};
use crate::engine::Fact;
use crate::store::Snapshot;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Write every fact of an environment, as of one moment
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The formats are those of `portcullis facts import`, which can store the facts again. Facts are \
written in a fixed order: by predicate and argument types, then ids, numbers first. A file gets its name when it \
is complete. With --data the folder is read directly, whether or not its service runs, without holding \
the facts in memory: better for millions of facts.

Examples:
  portcullis facts export facts.jsonl --key-file key.txt
  portcullis facts export facts.csv --url https://authz.example.com
  portcullis facts export --data /var/lib/portcullis --environment staging | gzip > staging.jsonl.gz"
)]
pub(super) struct Args {
    /// The file; `-` or nothing means the standard output
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The format of the facts [default: csv for a name that ends with .csv, else jsonl]
    #[arg(long, value_enum)]
    format: Option<FactFormat>,
    #[command(flatten)]
    place: super::FactStore,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let file = args.file.filter(|file| file.as_os_str() != "-");
    let format = FactFormat::of(args.format, file.as_deref());
    let from = args.place.find()?;
    let Some(file) = file else {
        write(&from, format, io::stdout().lock()).map_err(|error| error.of("the standard output"))?;
        return Ok(Verdict::Good);
    };
    let part = part(&file);
    let name = format!("`{}`", part.display());
    // It lists who may do what.
    let opened = private::create_file(&part).map_err(|error| CliError::unwritable(&part, error))?;
    let written = write(&from, format, opened).map_err(|error| error.of(&name));
    if written.is_err() {
        // The first error is the one that explains.
        let _ = fs::remove_file(&part);
    }
    let n_facts = written?;
    fs::rename(&part, &file).map_err(|error| CliError::unwritable(&file, error))?;
    output::to_stdout(&format!("{}: {}", file.display(), plural(n_facts, "fact")))?;
    Ok(Verdict::Good)
}

fn part(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Why the export failed.
enum ExportError {
    Source(CliError),
    Target(io::Error),
}

impl ExportError {
    fn of(self, target: &str) -> CliError {
        match self {
            Self::Source(error) => error,
            Self::Target(error) => output_error(target, error),
        }
    }
}

/// Writes every fact; returns how many there are.
fn write(from: &FoundEnvironment, format: FactFormat, to: impl Write) -> Result<usize, ExportError> {
    let mut writer = FactWriter::new(format, BufWriter::new(to)).map_err(ExportError::Target)?;
    let progress = ProgressLine::of_parts("facts");
    let (mut n_facts, mut failed) = (0_usize, None);
    let each = |fact: Fact| {
        if let Err(error) = writer.write(fact) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        n_facts += 1;
        progress.reached(n_facts as u64);
        ControlFlow::Continue(())
    };
    let read = match from {
        FoundEnvironment::Service(service) => service.facts(&[], each),
        FoundEnvironment::Folder(dir) => {
            Snapshot::open(dir).and_then(|snapshot| snapshot.facts(each)).map_err(CliError::from)
        }
    };
    if let Some(error) = failed {
        return Err(ExportError::Target(error));
    }
    read.map_err(ExportError::Source)?;
    writer.finish().map_err(ExportError::Target)?;
    Ok(n_facts)
}

/// Writes facts in one of the formats.
enum FactWriter<W: Write> {
    Lines(BufWriter<W>),
    Table(Box<TableWriter<BufWriter<W>>>),
}

impl<W: Write> FactWriter<W> {
    fn new(format: FactFormat, to: BufWriter<W>) -> io::Result<Self> {
        Ok(match format {
            FactFormat::Jsonl => Self::Lines(to),
            FactFormat::Csv => Self::Table(Box::new(TableWriter::new(to)?)),
        })
    }

    fn write(&mut self, fact: Fact) -> io::Result<()> {
        match self {
            Self::Lines(to) => json_lines::write(fact, to),
            Self::Table(to) => to.write(&fact),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Lines(mut to) => to.flush(),
            Self::Table(to) => to.finish()?.flush(),
        }
    }
}
