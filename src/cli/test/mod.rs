//! `portcullis test`: runs the tests in policies.

mod junit;
mod watch;

use super::error::CliError;
use super::output::{self, Format};
use super::policy_file::PolicyFile;
use super::reason::Reason;
use super::shown::printable;
use super::validate::plural;
use super::{Verdict, serve};
use crate::engine::{Engine, EngineSettings, RefusedAssertion, RefusedQuestion, TestReport};
use crate::http::ErrorCode;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Run the tests in policy files
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 1 if a test fails or a file does not validate.

Examples:
  portcullis test policy.polar
  portcullis test policies/ --fail-fast --format json
  portcullis test policies/ --filter owner --watch
  portcullis test policies/ --junit results.xml")]
pub(super) struct Args {
    /// The policy files, each a complete policy; a folder stands for the `.polar` files below it, and `-` for
    /// the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run only tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Stop a file at its first failing test
    #[arg(long)]
    fail_fast: bool,
    /// Run the tests again whenever a file changes, until the command is interrupted
    #[arg(long, conflicts_with = "format")]
    watch: bool,
    /// Also write the results to this file, as the XML that build servers read
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// How to write the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

/// The results of a file's tests.
struct Tested {
    file: String,
    /// Why there is no report.
    invalid: Vec<Reason>,
    report: TestReport,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let runtime = serve::runtime()?;
    if args.watch {
        return watch::again_and_again(&args.files, |files| tested(args, &runtime, files).map(drop));
    }
    tested(args, &runtime, PolicyFile::all(&args.files)?)
}

/// Runs the tests of these files, and writes the results.
fn tested(args: &Args, runtime: &Runtime, files: Vec<PolicyFile>) -> Result<Verdict, CliError> {
    let all = files.into_iter().map(|file| tests_of(file, args, runtime));
    let all = all.collect::<Result<Vec<Tested>, CliError>>()?;
    if let Some(path) = &args.junit {
        let written = junit::document(&all).and_then(|document| std::fs::write(path, document));
        written.map_err(|error| CliError::unwritable(path, error))?;
    }
    let is_without_test = |tested: &Tested| tested.invalid.is_empty() && tested.report.tests.is_empty();
    if let Some(filter) = args.filter.as_ref().filter(|_| all.iter().all(is_without_test)) {
        return Err(CliError::NoTest(filter.clone()));
    }
    match args.format {
        // Watching ends when nobody reads the results.
        Format::Text if args.watch => {
            all.iter().try_for_each(|tested| output::to_open_stdout(&shown(tested)))?;
        }
        Format::Text => all.iter().try_for_each(|tested| output::to_stdout(&shown(tested)))?,
        Format::Json => {
            let files: Vec<Value> = all.iter().map(as_json).collect();
            output::to_stdout(&format!("{:#}", json!(files)))?;
        }
    }
    let good = all.iter().all(|tested| tested.invalid.is_empty() && tested.report.success());
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

fn tests_of(mut file: PolicyFile, args: &Args, runtime: &Runtime) -> Result<Tested, CliError> {
    let invalid = Reason::errors(&file.source, &file.diagnostics);
    let report = match file.program.take() {
        None => TestReport::default(),
        Some(mut program) => {
            let is_wanted = |name: &str| args.filter.as_ref().is_none_or(|text| name.contains(text));
            program.tests.retain(|test| is_wanted(&test.name));
            runtime.block_on(async {
                // No time limit: the user can interrupt it.
                let settings =
                    EngineSettings { policy_test_time: Duration::MAX, ..EngineSettings::default() };
                let engine = Engine::in_memory(settings).await?;
                engine.test_policy(&Arc::new(program), args.fail_fast).await
            })?
        }
    };
    Ok(Tested { file: file.source.name().to_owned(), invalid, report })
}

/// The results as text; what failed goes to the standard error.
fn shown(tested: &Tested) -> String {
    if !tested.invalid.is_empty() {
        output::to_stderr(&printable(&Reason::texts(&tested.invalid)));
        let errors = plural(tested.invalid.len(), "error");
        return printable(&format!("{}: {errors}, no test was run", tested.file));
    }
    let TestReport { tests, .. } = &tested.report;
    let mut text = format!("{}\n", tested.file);
    let width = tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
    for test in tests {
        let mark = if test.passed == test.total { "ok    " } else { "FAILED" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark}  {:width$}  {}/{}", test.name, test.passed, test.total);
    }
    for error in tested.report.errors() {
        output::to_stderr(&printable(&error));
    }
    let n_failed = tests.iter().filter(|test| test.passed < test.total).count();
    let _ = write!(text, "{}, {n_failed} failed", plural(tests.len(), "test"));
    printable(&text)
}

fn as_json(tested: &Tested) -> Value {
    let TestReport { tests, refused } = &tested.report;
    let errors = tested.report.errors();
    let tests: Vec<Value> = tests
        .iter()
        .map(|test| json!({ "name": test.name, "passed": test.passed, "total": test.total }))
        .collect();
    let refused = refused.iter().map(|RefusedAssertion { test, line, question }| {
        let RefusedQuestion { refusal, message } = question;
        json!({ "test": test, "line": line, "code": refusal.code(), "message": message })
    });
    let refused: Vec<Value> = refused.collect();
    let code = match (tested.invalid.is_empty(), errors.is_empty()) {
        (false, _) => Some(ErrorCode::InvalidPolicy),
        (true, false) => Some(ErrorCode::PolicyTestsFailed),
        (true, true) => None,
    };
    let invalid: Vec<&Value> = tested.invalid.iter().map(|reason| &reason.json).collect();
    json!({
        "file": tested.file, "code": code, "invalid": invalid, "tests": tests, "failures": errors,
        "refused": refused,
    })
}
