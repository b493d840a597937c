//! `portcullis explain`: every stage between a policy and the SQL of a question.
//!
//! With data bindings, it also prints the service's answer to `/explain_query` as text.

use super::error::CliError;
use super::local::LocalArgs;
use super::output::{self, Format, FormatArgs};
use super::{Verdict, compile, serve};
use crate::engine::{
    EngineError, LocalEmbedded, LocalExplanation, LocalProbe, LocalRule, LocalSet, LocalSlow, review_tables,
};
use crate::http::ExplanationOut;
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::{Dialect, Explained, Stage, explain};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Print every stage between a policy and the SQL of a question
#[derive(Debug, clap::Args)]
#[command(after_help = "The question and the tables are those of `portcullis compile`, see its --help.
With --format json the document has the stages, and with --bindings the answer to /explain_query.

Examples:
  portcullis explain policy.polar 'allow(User:alice, \"read\", Repo:?)'
  portcullis explain policy.polar 'allow(User:alice, \"read\", Repo:?)' --bindings bindings.yaml")]
pub(super) struct Args {
    /// The policy file
    policy: PathBuf,
    /// The question, for example 'allow(User:alice, "read", Repo:?)'
    question: String,
    /// The SQL dialect to write: sqlite or postgresql
    #[arg(long, default_value_t = Dialect::Sqlite)]
    dialect: Dialect,
    #[command(flatten)]
    local: LocalArgs,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    if let Some(bindings) = &args.local.bindings {
        let (stages, explanation) = serve::runtime()?.block_on(async {
            let (engine, request) = args.local.prepare(&args.policy, &args.question, bindings).await?;
            let stages = engine.local_stages(request.clone()).await?;
            Ok::<_, CliError>((stages, engine.explain_local(request).await?))
        })?;
        output::to_stdout(&match args.output.format() {
            Format::Text => local_text(&stages, &explanation),
            Format::Json => {
                let explanation = ExplanationOut::from(explanation);
                format!("{:#}", json!({ "stages": as_json(&stages), "explanation": explanation }))
            }
        })?;
        return Ok(Verdict::Good);
    }
    let (question, program) = compile::read(&args.question, &args.policy)?;
    let explanation = explain(&program, &review_tables(&program)?, &question, args.dialect, Deadline::NEVER)
        .map_err(|error| EngineError::uncompiled(error, &question))?;
    output::to_stdout(&match args.output.format() {
        Format::Text => text(&explanation),
        Format::Json => {
            let Explained { stages, sql } = explanation;
            format!("{:#}", json!({ "stages": as_json(&stages), "sql": sql }))
        }
    })?;
    Ok(Verdict::Good)
}

fn as_json(stages: &[Stage]) -> Vec<Json> {
    stages.iter().map(|Stage { title, text }| json!({ "title": title, "text": text })).collect()
}

fn text(Explained { stages, sql }: &Explained) -> String {
    sections(stages.iter().map(titled).chain([("the SQL", sql.as_str())]))
}

fn titled(Stage { title, text }: &Stage) -> (&str, &str) {
    (title, text)
}

fn local_text(stages: &[Stage], explanation: &LocalExplanation) -> String {
    let LocalExplanation {
        sql,
        dialect,
        // It is one of the stages.
        plan: _,
        rules,
        bindings,
        embedded,
        // One of the notes says it.
        stored_facts: _,
        sets,
        probes,
        slow,
        notes,
    } = explanation;
    let sets: Vec<String> = sets.iter().map(set).collect();
    let probes: Vec<String> = probes.iter().map(probe).collect();
    let slow: Vec<String> = slow.iter().map(slow_part).collect();
    let rules: Vec<String> =
        rules.iter().map(|LocalRule { line, text }| format!("line {line}: {text}")).collect();
    let embedded: Vec<String> = embedded
        .iter()
        .map(|LocalEmbedded { predicates, n_rows }| format!("{}: {n_rows}", predicates.join(", ")))
        .collect();
    let read = [
        ("the rules that took part", rules.join("\n")),
        ("the bindings that are read", bindings.join("\n")),
        ("the rows of stored facts in the SQL", embedded.join("\n")),
    ];
    let title = format!("the SQL for {dialect}");
    let made = [
        ("the sets that the SQL makes", sets.join("\n")),
        ("what it looks up for each row", probes.join("\n")),
        ("what is slow on a large database", slow.join("\n")),
        ("notes", notes.join("\n")),
        (&title, sql.clone()),
    ];
    sections(named(&read).chain(stages.iter().map(titled)).chain(named(&made)))
}

fn named<'t>(texts: &'t [(&'t str, String)]) -> impl Iterator<Item = (&'t str, &'t str)> {
    texts.iter().map(|(title, text)| (*title, text.as_str()))
}

fn set(LocalSet { name, holds, kind, why, reads }: &LocalSet) -> String {
    let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let holds = holds.as_ref().map(|holds| format!(" ({holds})")).unwrap_or_default();
    format!("{kind}{name}{holds}\n    reads {}\n    {why}", reads.join(", "))
}

fn probe(LocalProbe { reads, by }: &LocalProbe) -> String {
    let by = if by.is_empty() { String::new() } else { format!("\n    by {}", by.join(", ")) };
    format!("{}{by}", reads.join(", "))
}

fn slow_part(LocalSlow { what, help, is_of_rule: _ }: &LocalSlow) -> String {
    let help = help.as_ref().map(|help| format!("\n    help: {help}")).unwrap_or_default();
    format!("{what}{help}")
}

/// Texts with titles; empty ones say so.
fn sections<'t>(sections: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
    let section = |(title, text): (&str, &str)| {
        let text = if text.is_empty() { "(nothing)" } else { text.trim_end() };
        format!("== {title} ==\n\n{text}\n")
    };
    sections.into_iter().map(section).collect::<Vec<_>>().join("\n")
}
