//! `portcullis test`: runs the tests in policies.

mod coverage;
mod junit;
mod watch;

use super::error::CliError;
use super::output::{self, Format, FormatArgs};
use super::policy_file::{PolicyFile, UnreadFile};
use super::reason::Reason;
use super::shown::printable;
use super::validate::plural;
use super::{Verdict, serve};
use crate::engine::{
    Coverage, Engine, EngineError, EngineSettings, RefusedAssertion, RefusedQuestion, TestOutcome, TestReport,
};
use crate::http::ErrorCode;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Run the tests in policy files
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code 1 if a test fails, or a file does not validate or cannot be read. The other files are \
tested in any case.

With `--coverage`, a rule is used if it is in the proof of an assertion's query. If the query does not hold, only \
the rules that prove a condition under `not` are used. Of several proofs, one of the least height counts.

Examples:
  portcullis test policy.polar
  portcullis test policies/ --fail-fast --format json
  portcullis test policies/ --filter owner --watch
  portcullis test policies/ --junit results.xml
  portcullis test policy.polar --coverage-min 90"
)]
pub(super) struct Args {
    /// The policy files, each a complete policy; of a folder, all `.polar` files below it are read, and `-`
    /// is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Run only tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Stop a file at its first failing test
    #[arg(long)]
    fail_fast: bool,
    /// Run the tests again whenever a file changes, until the command is interrupted
    #[arg(long, conflicts_with_all = ["format", "json"])]
    watch: bool,
    /// Also write the results to this file, as the XML that build servers read
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also show which rules the tests use
    #[arg(long)]
    coverage: bool,
    /// Fail if the tests use less than this percentage of the rules of all files; implies --coverage
    #[arg(long, value_name = "PERCENT", value_parser = coverage::percent)]
    coverage_min: Option<f64>,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

impl Args {
    fn wants_coverage(&self) -> bool {
        self.coverage || self.coverage_min.is_some()
    }
}

/// A file with the result of its tests.
struct Tested {
    file: String,
    outcome: FileOutcome,
}

/// The result of a file's tests.
enum FileOutcome {
    /// The file cannot be read, or the engine failed.
    Failed(Reason),
    /// The policy does not validate.
    Invalid(Vec<Reason>),
    /// They ran.
    Ran(TestReport, Option<Coverage>),
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let runtime = serve::runtime()?;
    if args.watch {
        return watch::again_and_again(&args.files, |files| tested(args, &runtime, files).map(drop));
    }
    tested(args, &runtime, PolicyFile::all(&args.files))
}

/// Runs the tests of these files, and writes the results.
fn tested(
    args: &Args,
    runtime: &Runtime,
    files: Vec<Result<PolicyFile, UnreadFile>>,
) -> Result<Verdict, CliError> {
    let all: Vec<Tested> = files.into_iter().map(|file| tests_of(file, args, runtime)).collect();
    if let Some(path) = &args.junit {
        let written = junit::document(&all).and_then(|document| std::fs::write(path, document));
        written.map_err(|error| CliError::unwritable(path, error))?;
    }
    let is_without_test = |tested: &Tested| match &tested.outcome {
        FileOutcome::Failed(_) | FileOutcome::Invalid(_) => false,
        FileOutcome::Ran(report, _) => report.tests.is_empty(),
    };
    if let Some(filter) = args.filter.as_ref().filter(|_| all.iter().all(is_without_test)) {
        return Err(CliError::NoTest(filter.clone()));
    }
    match args.output.format() {
        // Watching ends when its output is closed.
        Format::Text if args.watch => {
            all.iter().try_for_each(|tested| output::to_open_stdout(&shown(tested)))?;
        }
        Format::Text => all.iter().try_for_each(|tested| output::to_stdout(&shown(tested)))?,
        Format::Json => {
            let files: Vec<Value> = all.iter().map(as_json).collect();
            output::to_stdout(&format!("{:#}", json!(files)))?;
        }
    }
    let is_good = |tested: &Tested| match &tested.outcome {
        FileOutcome::Failed(_) | FileOutcome::Invalid(_) => false,
        FileOutcome::Ran(report, _) => report.success(),
    };
    let is_covered = args.coverage_min.is_none_or(|least| coverage::is_enough(&all, least));
    let good = all.iter().all(is_good) && is_covered;
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

fn tests_of(file: Result<PolicyFile, UnreadFile>, args: &Args, runtime: &Runtime) -> Tested {
    match file {
        Ok(file) => {
            let name = file.source.name().to_owned();
            let outcome = outcome(file, args, runtime);
            Tested { file: name, outcome: outcome.unwrap_or_else(|error| FileOutcome::Failed(error.into())) }
        }
        Err(UnreadFile { path, error }) => {
            Tested { file: path.display().to_string(), outcome: FileOutcome::Failed(error.into()) }
        }
    }
}

fn outcome(file: PolicyFile, args: &Args, runtime: &Runtime) -> Result<FileOutcome, CliError> {
    let Some(mut program) = file.program else {
        return Ok(FileOutcome::Invalid(Reason::errors(&file.source, &file.diagnostics)));
    };
    let is_wanted = |name: &str| args.filter.as_ref().is_none_or(|text| name.contains(text));
    program.tests.retain(|test| is_wanted(&test.name));
    let (report, coverage) = runtime.block_on(async {
        // No time limit: the user can interrupt it.
        let settings = EngineSettings { policy_test_time: Duration::MAX, ..EngineSettings::default() };
        let engine = Engine::in_memory(settings).await?;
        let program = Arc::new(program);
        let report = engine.test_policy(&program, args.fail_fast).await?;
        let coverage = if args.wants_coverage() { Some(engine.coverage(&program).await?) } else { None };
        Ok::<_, EngineError>((report, coverage))
    })?;
    Ok(FileOutcome::Ran(report, coverage))
}

/// The results as text; what failed goes to the standard error.
fn shown(Tested { file, outcome }: &Tested) -> String {
    let (report, coverage) = match outcome {
        FileOutcome::Failed(reason) => return shown_untested(file, std::slice::from_ref(reason)),
        FileOutcome::Invalid(reasons) => return shown_untested(file, reasons),
        FileOutcome::Ran(report, coverage) => (report, coverage),
    };
    let tests = &report.tests;
    let mut text = format!("{file}\n");
    let width = tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
    for test in tests {
        let mark = if test.passed == test.total { "ok    " } else { "FAILED" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {mark}  {:width$}  {}/{}", test.name, test.passed, test.total);
    }
    for error in report.errors() {
        output::to_stderr(&printable(&error));
    }
    let n_failed = tests.iter().filter(|test| test.passed < test.total).count();
    let _ = write!(text, "{}, {n_failed} failed", plural(tests.len(), "test"));
    if let Some(coverage) = coverage {
        text.push_str(&coverage::table(file, coverage));
    }
    printable(&text)
}

/// A file without results as text; the reasons go to the standard error.
fn shown_untested(file: &str, reasons: &[Reason]) -> String {
    output::to_stderr(&printable(&Reason::texts(reasons)));
    printable(&format!("{file}: {}, no test was run", plural(reasons.len(), "error")))
}

fn as_json(Tested { file, outcome }: &Tested) -> Value {
    let no_tests = TestReport::default();
    let (report, reasons) = match outcome {
        FileOutcome::Failed(reason) => (&no_tests, std::slice::from_ref(reason)),
        FileOutcome::Invalid(reasons) => (&no_tests, reasons.as_slice()),
        FileOutcome::Ran(report, _) => (report, &[][..]),
    };
    let code = match outcome {
        FileOutcome::Failed(reason) => Some(&*reason.code),
        FileOutcome::Invalid(_) => Some(ErrorCode::InvalidPolicy.as_str()),
        FileOutcome::Ran(report, _) if !report.success() => Some(ErrorCode::PolicyTestsFailed.as_str()),
        FileOutcome::Ran(..) => None,
    };
    let test = |test: &TestOutcome| json!({ "name": test.name, "passed": test.passed, "total": test.total });
    let refused = |RefusedAssertion { test, line, question }: &RefusedAssertion| {
        let RefusedQuestion { refusal, message } = question;
        json!({ "test": test, "line": line, "code": refusal.code(), "message": message })
    };
    let mut object = json!({
        "file": file, "code": code,
        "invalid": reasons.iter().map(|reason| &reason.json).collect::<Vec<_>>(),
        "tests": report.tests.iter().map(test).collect::<Vec<_>>(),
        "failures": report.errors(),
        "refused": report.refused.iter().map(refused).collect::<Vec<_>>(),
    });
    if let (FileOutcome::Ran(_, Some(coverage)), Some(fields)) = (outcome, object.as_object_mut()) {
        fields.insert("coverage".to_owned(), coverage::as_json(coverage));
    }
    object
}
