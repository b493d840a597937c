//! Executes the commands of lenses. An editor shows a result as a message; one that knows the command can
//! show the response in another way.

use super::bindings::{LiveFinding, Schema};
use super::document::OpenDocument;
use super::question;
use gen_lsp_types::{MessageType, Uri};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Runs a test; its arguments are the document and the test's name.
pub(super) const RUN_TEST: &str = "portcullis.runTest";
/// Shows the SQL of a question about a rule; its arguments are the document and the rule's line, from 1.
pub(super) const SHOW_SQL: &str = "portcullis.showSql";

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How many assertions held.
    pub passed: usize,
    /// How many assertions the test has.
    pub total: usize,
    /// A line for each that failed.
    pub failures: Vec<String>,
}

/// What the rest of the program does for an editor.
pub trait Workbench {
    /// Runs the only test of a program.
    ///
    /// # Errors
    /// Why it was not run.
    fn run_test(&self, program: Program) -> Result<Ran, String>;

    /// Writes the SQL that answers a question.
    ///
    /// # Errors
    /// Why there is none.
    fn sql(&self, program: &Program, question: &Question) -> Result<String, String>;

    /// The tables of the database that the data bindings are for; empty without a database.
    ///
    /// # Errors
    /// Why they cannot be read.
    fn schema(&self) -> Result<Schema, String>;

    /// Compares a data-bindings document with the database on another thread, and calls `then` with what the
    /// database contradicts. Does nothing without a database, or if the document itself has mistakes.
    fn check_bindings(&self, text: String, then: Box<dyn FnOnce(Vec<LiveFinding>) + Send>);

    /// Reads the tables again on another thread, because a document was saved.
    fn refresh_schema(&self);
}

/// What a command found.
#[derive(Debug)]
pub(super) struct CommandOutcome {
    /// The kind of the message.
    pub(super) kind: MessageType,
    /// The result for people.
    pub(super) message: String,
    /// The result for programs.
    pub(super) result: Value,
}

/// Executes a command.
///
/// # Errors
/// Why it was not executed.
pub(super) fn execute(
    workbench: &dyn Workbench,
    documents: &HashMap<Uri, OpenDocument>,
    command: &str,
    arguments: &[Value],
) -> Result<CommandOutcome, String> {
    let document = |uri: &str| {
        let document = documents.get(&Uri(uri.to_owned()));
        document.ok_or_else(|| format!("`{uri}` is not open"))
    };
    match (command, arguments) {
        (RUN_TEST, [Value::String(uri), Value::String(test)]) => run_test(workbench, document(uri)?, test),
        (SHOW_SQL, [Value::String(uri), Value::Number(line)]) => {
            let line = line.as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or_default();
            show_sql(workbench, document(uri)?, line)
        }
        (RUN_TEST, _) => Err(format!("`{command}` takes a document and the name of a test")),
        (SHOW_SQL, _) => Err(format!("`{command}` takes a document and the line of a rule")),
        (_, _) => Err(format!("there is no command `{command}`")),
    }
}

fn run_test(
    workbench: &dyn Workbench,
    document: &OpenDocument,
    name: &str,
) -> Result<CommandOutcome, String> {
    let program = document.program().ok_or("the policy has errors, so that its tests cannot run")?;
    let mut program = program.clone();
    program.tests.retain(|test| test.name == name);
    if program.tests.is_empty() {
        return Err(format!("there is no test `{name}`"));
    }
    let Ran { passed, total, failures } = workbench.run_test(program)?;
    let assertions = if total == 1 { "assertion holds" } else { "assertions hold" };
    let summary = format!("test `{name}`: {passed} of {total} {assertions}");
    let lines: Vec<&str> =
        std::iter::once(summary.as_str()).chain(failures.iter().map(String::as_str)).collect();
    Ok(CommandOutcome {
        kind: if failures.is_empty() { MessageType::Info } else { MessageType::Error },
        message: lines.join("\n"),
        result: json!({ "test": name, "passed": passed, "total": total, "failures": failures }),
    })
}

fn show_sql(
    workbench: &dyn Workbench,
    document: &OpenDocument,
    line: usize,
) -> Result<CommandOutcome, String> {
    let program = document.sound_program().ok_or("no rule of the policy is without errors")?;
    let questions = question::about(program, line);
    let mut refusal = format!("the rule in line {line} has errors, or nothing can match it");
    for question in questions {
        match workbench.sql(program, &question) {
            Ok(sql) => {
                let question = question::shown(&question);
                return Ok(CommandOutcome {
                    kind: MessageType::Info,
                    message: format!("-- {question}\n{sql}"),
                    result: json!({ "question": question, "sql": sql }),
                });
            }
            Err(reason) => refusal = reason,
        }
    }
    Err(refusal)
}
