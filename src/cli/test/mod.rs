//! `portcullis test`: runs the tests in policies.

use super::error::CliError;
use super::output::{self, Format};
use super::policy_file::PolicyFile;
use super::validate::plural;
use super::{Verdict, serve};
use crate::engine::{Engine, EngineSettings, RefusedAssertion, RefusedQuestion, TestReport};
use crate::http::ErrorCode;
use portcullis_compiler::diagnostic::Severity;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Run the tests in policy files
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code 1 if a test fails or a file does not validate.

Examples:
  portcullis test policy.polar
  portcullis test policies/*.polar --fail-fast --format json")]
pub(super) struct Args {
    /// The policy files, each a complete policy
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Stop a file at its first failing test
    #[arg(long)]
    fail_fast: bool,
    /// How to write the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
}

/// The results of a file's tests.
struct Tested {
    file: String,
    /// Why there is no report, rendered.
    invalid: Vec<String>,
    report: TestReport,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let runtime = serve::runtime()?;
    let mut all = Vec::with_capacity(args.files.len());
    for path in &args.files {
        let mut file = PolicyFile::read(path)?;
        let invalid = file.rendered(Severity::Error);
        let report = match file.program.take() {
            None => TestReport::default(),
            Some(program) => runtime.block_on(async {
                // No time limit: the user can interrupt it.
                let settings =
                    EngineSettings { policy_test_time: Duration::MAX, ..EngineSettings::default() };
                let engine = Engine::in_memory(settings).await?;
                engine.test_policy(&Arc::new(program), args.fail_fast).await
            })?,
        };
        all.push(Tested { file: file.source.name().to_owned(), invalid, report });
    }
    match args.format {
        Format::Text => all.iter().try_for_each(show)?,
        Format::Json => {
            let files: Vec<Value> = all.iter().map(as_json).collect();
            output::to_stdout(&format!("{:#}", json!(files)))?;
        }
    }
    let good = all.iter().all(|tested| tested.invalid.is_empty() && tested.report.success());
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

fn show(tested: &Tested) -> Result<(), CliError> {
    if !tested.invalid.is_empty() {
        output::to_stderr(&tested.invalid.join("\n\n"));
        return output::to_stdout(&format!(
            "{}: {}, no test was run",
            tested.file,
            plural(tested.invalid.len(), "error")
        ));
    }
    let TestReport { errors, tests, .. } = &tested.report;
    let mut text = format!("{}\n", tested.file);
    let width = tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
    for test in tests {
        let mark = if test.passed == test.total { "ok    " } else { "FAILED" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark}  {:width$}  {}/{}", test.name, test.passed, test.total);
    }
    for error in errors {
        output::to_stderr(error);
    }
    let n_failed = tests.iter().filter(|test| test.passed < test.total).count();
    let _ = write!(text, "{}, {n_failed} failed", plural(tests.len(), "test"));
    output::to_stdout(&text)
}

fn as_json(tested: &Tested) -> Value {
    let TestReport { errors, tests, refused } = &tested.report;
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
    json!({
        "file": tested.file, "code": code, "invalid": tested.invalid, "tests": tests, "failures": errors,
        "refused": refused,
    })
}
