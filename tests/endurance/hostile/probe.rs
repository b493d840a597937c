//! Puts one policy through everything, on a stack as small as a worker's and in limited time.

use portcullis_compiler::catalog::Catalog;
use portcullis_compiler::question::{CompileError, Shape};
use portcullis_compiler::{Dialect, compile};
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::notation;
use portcullis_testkit::outcome::Outcome;
use portcullis_testkit::policy;
use portcullis_testkit::processor::ThreadTime;
use portcullis_testkit::sql_limits;
use portcullis_testkit::statements::Statements;
use std::sync::mpsc;
use std::time::Duration;

/// The stack of a worker thread.
const STACK: usize = 2 << 20;

/// The processor time that checking a policy, or compiling one question of it, may take without optimisation.
/// What the optimised service needs is a tenth of it.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// What follows the expected answer of a question that may be refused.
pub(crate) const OR_TOO_LARGE: &str = ", or too large";

/// After which a run counts as hanging.
const HANGS: Duration = Duration::from_mins(5);

/// Runs something on a small stack; fails if it panics or does not end.
pub(crate) fn on_a_small_stack<T: Send + 'static>(name: &str, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(STACK).name(name.to_owned());
    thread.spawn(move || done.send(run())).unwrap();
    match ended.recv_timeout(HANGS) {
        Ok(result) => result,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Checks a policy and, if it is accepted, asks the questions in every way; returns what is
/// wrong. An outcome is written as in a fixture, many rows as their number.
pub(crate) fn complaints(policy: &str, facts: &str, asked: Vec<(String, String)>) -> Vec<String> {
    let mut complaints = Vec::new();
    let time = ThreadTime::start();
    let program = policy::program(policy);
    let taken = time.elapsed();
    if taken > BOUND {
        complaints.push(format!("checking took {taken:?}"));
    }
    let program = match program {
        Ok(program) => program,
        Err(message) => {
            complaints.push(format!("refused: {message}"));
            return complaints;
        }
    };
    let facts: Vec<_> = facts.lines().map(|line| notation::fact(line).unwrap()).collect();
    let catalog: Catalog = policy::tables(&facts);
    for (text, _) in &asked {
        let shape = Shape::of(&program, &notation::question(text).unwrap());
        for dialect in Dialect::ALL {
            let time = ThreadTime::start();
            let compiled = compile(&program, &catalog, &shape, dialect);
            let taken = time.elapsed();
            if taken > BOUND {
                complaints.push(format!("{text}: compiling took {taken:?}"));
            }
            match compiled {
                Err(bug @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => {
                    complaints.push(format!("{text}: {bug:?}"));
                }
                Err(CompileError::Refused(_)) => {}
                Ok(statement) => complaints.extend(sql_limits::check(&statement.sql, dialect).err()),
            }
        }
    }
    let hosted = Hosted::new(policy).and_then(|hosted| hosted.store(&facts).map(|()| hosted));
    let returned = Statements::new(&program, &facts, 1_700_000_000);
    let (hosted, returned) = match (hosted, returned) {
        (Ok(hosted), Ok(returned)) => (hosted, returned),
        (hosted, returned) => {
            complaints.extend(hosted.err().into_iter().chain(returned.err()));
            return complaints;
        }
    };
    for (text, expected) in asked {
        let question = notation::question(&text).unwrap();
        let ways = hosted.ask_every_way(&question, &[]).into_iter();
        for (way, found) in ways.chain(returned.ask_every_way(&question)) {
            if !is_expected(&expected, &found) {
                let found: String = found.to_string().chars().take(300).collect();
                complaints.push(format!("{text}: {way}: expected {expected}, found {found}"));
            }
        }
    }
    complaints
}

fn is_expected(expected: &str, found: &Outcome) -> bool {
    let answer = expected.strip_suffix(OR_TOO_LARGE);
    match found {
        Expected::Refused(message) => answer.is_some() && message.starts_with("the question "),
        Expected::Is(Answer::Rows(rows)) => {
            let n_rows = format!("{} rows", rows.len());
            [n_rows, Answer::Rows(rows.clone()).to_string()]
                .iter()
                .any(|found| *found == answer.unwrap_or(expected))
        }
        Expected::Is(Answer::Decision(decision)) => {
            answer.unwrap_or(expected) == Answer::Decision(*decision).to_string()
        }
    }
}
