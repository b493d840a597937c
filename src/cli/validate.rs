//! `portcullis validate`: prints the errors and lints of policies.

use super::Verdict;
use super::error::CliError;
use super::output::{self, Format, FormatArgs};
use super::policy_file::{PolicyFile, UnreadFile};
use super::reason::Reason;
use super::shown::printable;
use portcullis_compiler::diagnostic::{Diagnostic, Label, Severity};
use portcullis_compiler::source::SourceMap;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Show every error and lint of policy files
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code 1 if a file has an error or cannot be read, but not for lints alone. The other files are \
validated in any case.

Examples:
  portcullis validate policy.polar
  portcullis validate policies/ --format json"
)]
pub(super) struct Args {
    /// The policy files, each a complete policy; of a folder, all `.polar` files below it are read, and `-`
    /// is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let files = PolicyFile::all(&args.files);
    let bad = files.iter().any(|file| file.as_ref().map_or(true, |file| file.program.is_none()));
    match args.output.format() {
        Format::Text => {
            for file in files {
                match file {
                    Ok(file) => show(&file)?,
                    Err(unread) => show_unread(unread)?,
                }
            }
        }
        Format::Json => {
            let files = files.into_iter().map(|file| file.map_or_else(unread_as_json, |file| as_json(&file)));
            output::to_stdout(&format!("{:#}", json!(files.collect::<Vec<Value>>())))?;
        }
    }
    Ok(if bad { Verdict::Bad } else { Verdict::Good })
}

fn show(file: &PolicyFile) -> Result<(), CliError> {
    for severity in [Severity::Error, Severity::Warning] {
        for text in file.rendered(severity) {
            output::to_stderr(&printable(&format!("{text}\n")));
        }
    }
    let count = |severity| file.diagnostics.iter().filter(|found| found.severity() == severity).count();
    let (n_errors, n_lints) = (count(Severity::Error), count(Severity::Warning));
    let name = printable(file.source.name());
    output::to_stdout(&match (n_errors, n_lints) {
        (0, 0) => format!("{name}: valid"),
        (0, _) => format!("{name}: valid, {}", plural(n_lints, "lint")),
        (_, 0) => format!("{name}: {}", plural(n_errors, "error")),
        (_, _) => format!("{name}: {}, {}", plural(n_errors, "error"), plural(n_lints, "lint")),
    })
}

fn show_unread(UnreadFile { path, error }: UnreadFile) -> Result<(), CliError> {
    output::to_stderr(&printable(&format!("{}\n", Reason::from(error).text)));
    output::to_stdout(&printable(&format!("{}: 1 error", path.display())))
}

/// A file that cannot be read, with a finding without a position.
fn unread_as_json(UnreadFile { path, error }: UnreadFile) -> Value {
    let message = error.to_string();
    let finding = json!({
        "code": error.code(), "severity": "error", "message": message, "labels": [], "notes": [], "help": null,
        "fix": null,
    });
    json!({ "file": path.display().to_string(), "valid": false, "diagnostics": [finding] })
}

fn as_json(file: &PolicyFile) -> Value {
    let diagnostics: Vec<Value> =
        file.diagnostics.iter().map(|found| diagnostic(&file.source, found)).collect();
    json!({ "file": file.source.name(), "valid": file.program.is_some(), "diagnostics": diagnostics })
}

/// A finding for programs.
pub(super) fn diagnostic(source: &SourceMap, found: &Diagnostic) -> Value {
    let label = |label: &Label, primary: bool| {
        let position = source.locate(label.span);
        json!({
            "start": label.span.start, "end": label.span.end,
            "line": position.line, "column": position.column,
            "primary": primary, "text": label.text,
        })
    };
    let secondary = found.secondary.iter().map(|other| label(other, false));
    let labels: Vec<Value> = std::iter::once(label(&found.primary, true)).chain(secondary).collect();
    let fix = found.fix.as_ref().map(|fix| {
        json!({
            "help": fix.help, "start": fix.span.start, "end": fix.span.end, "replacement": fix.replacement,
        })
    });
    json!({
        "code": found.code.as_str(),
        "severity": match found.severity() { Severity::Error => "error", Severity::Warning => "warning" },
        "message": found.title, "labels": labels, "notes": found.notes, "help": found.help, "fix": fix,
    })
}

/// A number with a noun.
pub(super) fn plural(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}
