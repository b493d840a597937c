//! `portcullis fmt`: formats policies and data bindings.

use super::Verdict;
use super::bindings;
use super::error::{CliError, UsageError};
use super::output::{self, Format, FormatArgs};
use super::policy_file::{self, UnreadFile};
use super::reason::Reason;
use super::replace;
use super::validate::plural;
use portcullis_compiler::limits;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::syntax::{FormatError, format};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Format policies and data bindings
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Comments are kept, and so are single empty lines between statements. A list of a block or a \
condition that begins on a new line stays broken. A file with errors is not changed.

Files whose names end in `.yaml` or `.yml` are data bindings. Lists, values in braces and the lines of a query \
keep their layout. A document whose meaning would change is left as it is.

Exit code 1 if a file has an error, or with `--check` if a file would be changed.

Examples:
  portcullis fmt policy.polar
  portcullis fmt --check policies bindings.yaml
  portcullis fmt - < policy.polar"
)]
pub(super) struct Args {
    /// Policies and data bindings, or folders with all policies below them; `-` formats a policy from the
    /// standard input to the standard output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show what would change, without changing it
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

/// The result of formatting a file.
enum FormatOutcome {
    /// It is already formatted.
    Unchanged,
    /// It was or would be changed, with the diff if it is shown.
    Changed(Option<String>),
    /// It was not formatted.
    Refused(Vec<Reason>),
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    if args.files.iter().any(|path| path.as_os_str() == "-") {
        return standard_input(args);
    }
    // A file that cannot be read or written does not stop the others.
    let format_file = |found: Result<PathBuf, UnreadFile>| match found {
        Ok(path) => {
            let formatted = file(&path, args);
            (path, formatted.unwrap_or_else(|error| FormatOutcome::Refused(vec![error.into()])))
        }
        Err(UnreadFile { path, error }) => (path, FormatOutcome::Refused(vec![error.into()])),
    };
    let outcomes: Vec<(PathBuf, FormatOutcome)> =
        policy_file::files(&args.files).into_iter().map(format_file).collect();
    match args.output.format() {
        Format::Text => show(&outcomes, args.check)?,
        Format::Json => output::to_stdout(&as_json(&outcomes))?,
    }
    let is_good = |outcome: &FormatOutcome| match outcome {
        FormatOutcome::Unchanged => true,
        FormatOutcome::Changed(_) => !args.check,
        FormatOutcome::Refused(_) => false,
    };
    let good = outcomes.iter().all(|(_, outcome)| is_good(outcome));
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// Formats a file; with `--check`, only compares.
fn file(path: &Path, args: &Args) -> Result<FormatOutcome, CliError> {
    let text = policy_file::read(path)?;
    let source = SourceMap::new(path.display().to_string(), text);
    let formatted =
        if bindings::is_document(path) { bindings::formatted(&source) } else { formatted(&source) };
    let formatted = match formatted? {
        Ok(formatted) => formatted,
        Err(errors) => return Ok(FormatOutcome::Refused(errors)),
    };
    if formatted == source.text() {
        return Ok(FormatOutcome::Unchanged);
    }
    if !args.check {
        replace::replace(path, source.text(), &formatted)?;
    }
    let names = [source.name(), &format!("{} (formatted)", source.name())];
    let is_shown = args.check || args.output.format() == Format::Json;
    Ok(FormatOutcome::Changed(is_shown.then(|| replace::diff(source.text(), &formatted, names))))
}

/// The formatted text of a policy, or its errors.
fn formatted(source: &SourceMap) -> Result<Result<String, Vec<Reason>>, CliError> {
    match format(source) {
        Ok(text) => Ok(Ok(text)),
        Err(FormatError::Unreadable(findings)) => Ok(Err(Reason::errors(source, &findings))),
        Err(FormatError::TooLong(bytes)) => {
            let file = source.name().to_owned();
            Err(CliError::LongPolicy { file, bytes, limit: limits::SOURCE_BYTES })
        }
        Err(FormatError::Bug) => Err(CliError::Unformatted(source.name().to_owned())),
    }
}

fn standard_input(args: &Args) -> Result<Verdict, CliError> {
    if args.files.len() > 1 || args.check || args.output.format() == Format::Json {
        return Err(UsageError::FormattedInput.into());
    }
    let text = policy_file::read_from(std::io::stdin().lock(), Path::new("-"))?;
    match formatted(&SourceMap::new("-", text))? {
        Ok(text) => output::to_stdout_as_is(&text).map(|()| Verdict::Good),
        Err(errors) => Err(CliError::Policy(Reason::texts(&errors))),
    }
}

fn show(outcomes: &[(PathBuf, FormatOutcome)], check: bool) -> Result<(), CliError> {
    for (path, outcome) in outcomes {
        let name = path.display();
        match outcome {
            FormatOutcome::Unchanged => {}
            FormatOutcome::Changed(Some(diff)) => output::to_stdout(diff)?,
            FormatOutcome::Changed(None) => output::to_stdout(&format!("{name}: formatted"))?,
            FormatOutcome::Refused(errors) => {
                output::to_stderr(&Reason::texts(errors));
                output::to_stdout(&format!("{name}: {}, not formatted", plural(errors.len(), "error")))?;
            }
        }
    }
    let changed = outcomes.iter().filter(|(_, outcome)| matches!(outcome, FormatOutcome::Changed(_))).count();
    if check && changed > 0 {
        let them = if changed == 1 { "it" } else { "them" };
        output::to_stderr(&format!(
            "{} would be changed: `portcullis fmt` without `--check` formats {them}",
            plural(changed, "file")
        ));
    }
    Ok(())
}

fn as_json(outcomes: &[(PathBuf, FormatOutcome)]) -> String {
    let file = |(path, outcome): &(PathBuf, FormatOutcome)| {
        let (changed, reasons, diff) = match outcome {
            FormatOutcome::Unchanged => (false, &[][..], None),
            FormatOutcome::Changed(diff) => (true, &[][..], diff.as_ref()),
            FormatOutcome::Refused(reasons) => (false, reasons.as_slice(), None),
        };
        let errors: Vec<&Value> = reasons.iter().map(|reason| &reason.json).collect();
        json!({ "file": path, "changed": changed, "diff": diff, "errors": errors })
    };
    format!("{:#}", json!(outcomes.iter().map(file).collect::<Vec<_>>()))
}
