//! `portcullis facts import`: stores the facts of a file.

use super::chunks::{self, Chunk, ChunkForm};
use super::folder::Folder;
use super::input::{Input, InputPosition};
use super::pipeline;
use super::resume::{self, ResumeError, ResumeState};
use super::{FactFormat, FoundEnvironment};
use crate::cli::active_policy::ActivePolicy;
use crate::cli::error::{CliError, UsageError};
use crate::cli::progress::ProgressLine;
use crate::cli::service::Service;
use crate::cli::validate::plural;
use crate::cli::{Verdict, output};
use std::fs::File;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Store the facts of a file, in chunks that are each stored completely or not at all
#[derive(Debug, clap::Args)]
#[command(after_help = "Formats:
  jsonl  one fact per line: {\"predicate\":\"is_public\",\"args\":[{\"type\":\"Repo\",\"id\":\"site\"}]}
  csv    the header predicate,type1,id1,type2,id2,… (up to 5), then one fact per row

Every fact is checked against the active policy before its chunk is sent, and errors name the line. While a file \
is imported, FILE.import records the progress: an interrupted import continues from there \
with --resume. Importing a file twice changes nothing.

The folder of --data must already contain a store with a policy, and no service may use it meanwhile. To create \
one, run `portcullis serve --data new --policy policy.polar` and stop it again. `portcullis backup` and \
`restore` copy an environment with its policy.

Over https, this machine must trust the certificate of the service. SSL_CERT_FILE names a PEM \
file with other authorities to trust instead.

Examples:
  portcullis facts import facts.jsonl --key-file key.txt
  portcullis facts import facts.csv --url https://authz.example.com --resume
  portcullis facts export --data old | portcullis facts import --data new
  portcullis facts import facts.csv --dry-run     # checks the facts, but stores nothing")]
pub(super) struct Args {
    /// The file; `-` or nothing means the standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The format of the facts [default: csv for a name that ends with .csv, else jsonl]
    #[arg(long, value_enum)]
    format: Option<FactFormat>,
    #[command(flatten)]
    place: super::FactStore,
    /// The number of facts in a chunk
    #[arg(long, value_name = "COUNT", default_value = "50000")]
    chunk: NonZeroUsize,
    /// Continue an interrupted import of this file; start from the beginning if there is none
    #[arg(long)]
    resume: bool,
    /// Check every fact, but store none
    #[arg(long)]
    dry_run: bool,
}

/// The end of a chunk.
struct ChunkEnd {
    n_facts: usize,
    /// The start of what follows it.
    place: InputPosition,
    /// The digest of everything before that.
    sha256: String,
}

/// The record of the import, as far as it was stored.
struct Record<'f> {
    /// The file; `None` if nothing can be recorded.
    file: Option<&'f Path>,
    format: FactFormat,
    /// How many facts an interrupted import had stored before.
    before: u64,
    /// How many were stored since.
    n_facts: usize,
}

impl Record<'_> {
    /// Notes that everything up to here is stored.
    fn note(&mut self, ChunkEnd { n_facts, place, sha256 }: ChunkEnd, target: &Target) {
        self.n_facts += n_facts;
        let Some(path) = self.file else { return };
        let InputPosition { bytes, lines } = place;
        let (format, facts) = (resume::name(self.format).to_owned(), self.before + self.n_facts as u64);
        let state = ResumeState { target: target.name(), format, bytes, lines, facts, sha256 };
        if let Err(error) = resume::write(path, &state) {
            output::to_stderr(&format!(
                "warning: this import cannot be resumed if it is interrupted: {error}"
            ));
            self.file = None;
        }
    }
}

/// The environment that receives the facts.
enum Target {
    Service(Service),
    Folder(Folder, String),
}

impl Target {
    fn name(&self) -> String {
        match self {
            Self::Service(service) => service.name(),
            Self::Folder(_, name) => name.clone(),
        }
    }

    /// What it stores chunks from.
    fn form(&self) -> ChunkForm {
        match self {
            Self::Service(_) => ChunkForm::Body,
            Self::Folder(..) => ChunkForm::Facts,
        }
    }

    fn policy(&self) -> Result<ActivePolicy, CliError> {
        match self {
            Self::Service(service) => service.policy(),
            Self::Folder(folder, _) => folder.policy(),
        }
    }

    fn store(&self, chunk: Chunk, place: &str, progress: &ProgressLine) -> Result<(), CliError> {
        match self {
            Self::Service(service) => service.store(&chunk, place, progress),
            Self::Folder(folder, _) => folder.store(chunk, place),
        }
    }
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let file = args.file.filter(|file| file.as_os_str() != "-");
    if args.resume && file.is_none() {
        return Err(UsageError::ResumedInput.into());
    }
    let format = FactFormat::of(args.format, file.as_deref());
    let target = match args.place.find()? {
        FoundEnvironment::Service(service) => Target::Service(service),
        FoundEnvironment::Folder(dir) => Target::Folder(Folder::open(&dir)?, dir.display().to_string()),
    };
    let policy = target.policy()?;
    let name = file.as_ref().map_or("the standard input".to_owned(), |file| format!("`{}`", file.display()));
    let (source, bytes) = opened(file.as_deref())?;
    // Only an input that can be read again can be resumed.
    let file = file.filter(|_| bytes.is_some());
    let (mut input, before) = match &file {
        Some(path) if args.resume => resumed(source, path, format, &target.name())?,
        Some(_) | None => (Input::new(source, format), 0),
    };
    let progress = ProgressLine::of_bytes(bytes);
    progress.reached(input.place().bytes);
    let mut record = Record { file: file.as_deref().filter(|_| !args.dry_run), format, before, n_facts: 0 };
    let form = target.form();
    let mut next = || -> Result<Option<(Chunk, ChunkEnd)>, CliError> {
        let chunk = chunks::next(&mut input, &policy, args.chunk.get(), form);
        let Some(chunk) = chunk.map_err(|fault| fault.within(&name))? else { return Ok(None) };
        // The digest must advance even without a record, because that frees the bytes.
        let end = ChunkEnd { n_facts: chunk.n_facts, place: input.place(), sha256: input.digest() };
        Ok(Some((chunk, end)))
    };
    let mut stored = |end: ChunkEnd| {
        progress.reached(end.place.bytes);
        record.note(end, &target);
    };
    if args.dry_run {
        while let Some((_, end)) = next()? {
            stored(end);
        }
    } else {
        let store = |chunk: Chunk| {
            let place = chunk.place(&name);
            target.store(chunk, &place, &progress)
        };
        pipeline::run(next, &store, stored)?;
    }
    let Record { file: noted, n_facts, .. } = record;
    drop(progress);
    if let Some(path) = noted {
        resume::remove(path)?;
    }
    let done = if args.dry_run { "can be stored in" } else { "stored in" };
    let earlier =
        if before > 0 { format!(", after {before} before it was interrupted") } else { String::new() };
    output::to_stdout(&format!("{} {done} {}{earlier}", plural(n_facts, "fact"), target.name()))?;
    Ok(Verdict::Good)
}

/// A file or the standard input, and how many bytes it has if it can be read again.
fn opened(file: Option<&Path>) -> Result<(Box<dyn Read>, Option<u64>), CliError> {
    let Some(path) = file else { return Ok((Box::new(std::io::stdin()), None)) };
    let opened = File::open(path).map_err(|error| CliError::unreadable(path, error))?;
    let known = opened.metadata().ok().filter(std::fs::Metadata::is_file);
    Ok((Box::new(opened), known.map(|known| known.len())))
}

/// The rest of an interrupted import, and how many facts are already stored.
fn resumed(
    source: Box<dyn Read>,
    path: &Path,
    format: FactFormat,
    target: &str,
) -> Result<(Input, u64), CliError> {
    let Some(state) = resume::read(path)? else { return Ok((Input::new(source, format), 0)) };
    state.check(target, format, path)?;
    let (input, digest) =
        Input::from(source, state.place(), format).map_err(|error| CliError::unreadable(path, error))?;
    if digest != state.sha256 {
        return Err(ResumeError::Changed(path.into()).into());
    }
    Ok((input, state.facts))
}
