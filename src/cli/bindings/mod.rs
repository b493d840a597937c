//! `portcullis bindings`: checks data bindings against the database that they describe.
//!
//! In: a bindings document and the address of a database. Every bound query is prepared there, but not run,
//! and the database's description of its columns is compared with what the document promises:
//!
//! ```text
//! document ─parse─▶ entries ─live─▶ columns with types and indexes ─judge─▶ findings ─report─▶ text
//!                                                                  └─fix─▶ corrected document ─▶ diff
//! policy, document ─explain─▶ the SQL of each question, with the database's plan
//! ```
//!
//! The service itself never connects to a caller's database; this command is for the author's machine, or a
//! check before a deployment. So drivers for foreign databases are used only here.
//! `portcullis why` reads through the same [`Database`].

mod advice;
mod column_types;
mod database;
mod document;
pub(super) mod editor;
mod entries;
mod explain;
mod finding;
mod fix;
mod format;
mod judge;
mod live;
mod postgresql;
mod predicate;
mod report;
mod sqlite;
mod texts;

use super::error::CliError;
use super::output::{self, Format, FormatArgs};
use super::policy_file::PolicyFile;
use super::{Verdict, local, policy_file, replace, serve};
pub(super) use database::Database;
use document::parse;
use explain::{Explanations, Subject};
use finding::Severity;
use fix::FixResult;
pub(super) use format::{formatted, is_document};
use live::Live;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;
use report::Report;
use std::path::PathBuf;

/// Check data bindings
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: BindingsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BindingsCommand {
    Check(CheckArgs),
}

/// Check data bindings against the database that they describe
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every bound query is prepared, but not run, in a read-only transaction. Errors are queries that
the database refuses, columns that do not fit the key, types other than `sql_types` says, and
tables whose column is not unique. Warnings are about indexes that cannot be used. Exit code 1
if there is an error, but not for warnings alone.

--fix works out what the document lacks: the types under `sql_types`, unique columns under
`tables`, and casts of single columns whose type differs from the others of their Polar type. It
shows the difference; --write also changes the file. Comments and the order of entries stay. The
report is then about the corrected document, and the exit code about the document in the file.

--explain prints, for each permission of the policy, the check and the list that the service
would return, with the database's plan of each: EXPLAIN does not run the statement. The ids are
the first that the database has, and the last if they get another plan, which takes a query for
each type. A list is planned as a whole: one page of it, with ORDER BY and LIMIT, may have another
plan, for which you can EXPLAIN the printed SQL with both. Steps that read or sort many rows,
comparisons through a cast, and statements that PostgreSQL would compile are marked, each with what
would help and the rules that read the table. Of lists of actors and of actions, only statements
with such steps are printed. --analyze also runs the statements.

Missing parts of a PostgreSQL address are completed as psql does, from PGHOST, PGPORT, PGUSER,
PGDATABASE, PGPASSWORD and ~/.pgpass, or else with this machine's socket and your user name. The
connection is not encrypted: use a tunnel for a database on another machine.

Examples:
  portcullis bindings check bindings.yaml --database postgresql:///app
  portcullis bindings check bindings.yaml --database 'postgresql:///app?host=/run/elsewhere'
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app
  portcullis bindings check bindings.yaml --database sqlite:app.db --policy policy.polar
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app --json
  portcullis bindings check bindings.yaml --database postgresql:///app --fix
  portcullis bindings check bindings.yaml --database postgresql:///app --fix --write
  portcullis bindings check bindings.yaml --database sqlite:app.db --policy policy.polar --explain"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct CheckArgs {
    /// The data bindings
    file: PathBuf,
    /// The database: postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[NAME], or sqlite:FILE
    #[arg(long, value_name = "URL")]
    database: String,
    /// Also report bound facts that this policy does not use
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Show the SQL of each permission of the policy with the database's plan, and mark what is slow
    #[arg(long, requires = "policy")]
    explain: bool,
    /// Also run each statement, for at most ten seconds, and show what its steps took
    #[arg(long, requires = "explain")]
    analyze: bool,
    /// Explain with these facts stored in the service: one per line, as for `compile`
    #[arg(long, value_name = "FILE", requires = "explain")]
    facts: Option<PathBuf>,
    /// Show how to correct the document
    #[arg(long)]
    fix: bool,
    /// Write the corrected document to the file
    #[arg(long, requires = "fix")]
    write: bool,
    #[command(flatten)]
    output: FormatArgs,
}

impl Args {
    /// The format of the output.
    pub(super) fn format(&self) -> Format {
        let BindingsCommand::Check(CheckArgs { output, .. }) = &self.command;
        output.format()
    }
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let BindingsCommand::Check(args) = &args.command;
    serve::runtime()?.block_on(check(args))
}

async fn check(args: &CheckArgs) -> Result<Verdict, CliError> {
    let program = args.policy.as_deref().map(PolicyFile::program).transpose()?;
    let text = policy_file::read(&args.file)?;
    let file = args.file.display().to_string();
    let bindings = parse(&file, &text)?;
    if let Some(note) = bindings.sync_note() {
        output::to_stderr(&format!("note: `{file}`: {note}"));
    }
    let database = Database::open_for(&args.database, &bindings).await?;
    let live = Live::read(&database, &bindings).await?;
    let report = Report::new(file.clone(), &bindings, &live, program.as_ref());
    let explain = async |text: &str, bindings: &Bindings, live: &Live| match &program {
        Some(program) if args.explain => {
            explained(args, program, text, bindings, live, &database).await.map(Some)
        }
        Some(_) | None => Ok(None),
    };
    if !args.fix {
        let explanations = explain(&text, &bindings, &live).await?;
        print(args, &report, None, explanations.as_ref())?;
        return Ok(verdict(&report));
    }
    let Some(fix) = fix::work_out(&file, &text, &bindings, &live)? else {
        let explanations = explain(&text, &bindings, &live).await?;
        print(args, &report, Some(&FixResult::nothing()), explanations.as_ref())?;
        return Ok(verdict(&report));
    };
    let fixed = parse(&file, &fix.text)?;
    let live = Live::read(&database, &fixed).await?;
    let explanations = explain(&fix.text, &fixed, &live).await?;
    let remaining = Report::new(file, &fixed, &live, program.as_ref());
    if args.write {
        replace::replace(&args.file, &text, &fix.text)?;
    }
    let outcome = FixResult { fix: Some(fix), is_written: args.write };
    print(args, &remaining, Some(&outcome), explanations.as_ref())?;
    // The verdict is on the document in the file.
    Ok(verdict(if args.write { &remaining } else { &report }))
}

/// The SQL of each question, with the database's plan.
async fn explained(
    args: &CheckArgs,
    program: &Program,
    text: &str,
    bindings: &Bindings,
    live: &Live,
    database: &Database,
) -> Result<Explanations, CliError> {
    let Some(policy) = &args.policy else { return Ok(Explanations::default()) };
    let engine = local::engine(policy, args.facts.as_deref()).await?;
    // A layout that cannot be corrected in place still shows what is missing.
    let changes = fix::changes(text, bindings, live);
    let subject = Subject { program, bindings, text, live, changes, runs: args.analyze };
    explain::explain(subject, &engine, database).await
}

fn verdict(report: &Report) -> Verdict {
    if report.count(Severity::Error) == 0 { Verdict::Good } else { Verdict::Bad }
}

/// Prints the difference, if a correction was asked for, the report, and the explanations.
fn print(
    args: &CheckArgs,
    report: &Report,
    outcome: Option<&FixResult>,
    explanations: Option<&Explanations>,
) -> Result<(), CliError> {
    if args.output.format() == Format::Json {
        let mut json = report.json();
        if let (Some(outcome), Some(members)) = (outcome, json.as_object_mut()) {
            members.insert("fix".to_owned(), outcome.json());
        }
        if let (Some(explanations), Some(members)) = (explanations, json.as_object_mut()) {
            members.insert("explain".to_owned(), explanations.json());
        }
        return output::to_stdout(&format!("{json:#}"));
    }
    let mut text = match outcome {
        None => report.text(),
        Some(outcome) => format!("{}{}\n{}", outcome.before(), report.text(), outcome.after(&report.file)),
    };
    if let Some(explanations) = explanations {
        text.push('\n');
        text.push_str(&explanations.text());
    }
    output::to_stdout(&text)
}
