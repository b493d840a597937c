//! `portcullis bindings`: checks data bindings against the database that they describe.
//!
//! In: a bindings document and the address of a database. Every bound query is prepared there, but not run,
//! and the database's description of its columns is compared with what the document promises:
//!
//! ```text
//! document ─parse─▶ entries ─live─▶ columns with types and indexes ─judge─▶ findings ─report─▶ text
//!                                                                  └─fix─▶ corrected document ─▶ diff
//! ```
//!
//! The service itself never connects to a caller's database; this command is for the author's machine, or a
//! check before a deployment. So drivers for foreign databases are used only here.

mod advice;
mod database;
mod entries;
mod fix;
mod judge;
mod libpq;
mod live;
mod policy;
mod postgresql;
mod report;
mod sqlite;
mod write;

use super::error::CliError;
use super::policy_file::PolicyFile;
use super::{Verdict, output, policy_file, serve};
use database::Database;
use fix::Outcome;
use judge::Severity;
use live::Live;
use portcullis_compiler::bindings::{self, Bindings};
use report::Report;
use std::path::PathBuf;

/// Check data bindings
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Check(CheckArgs),
}

/// Check data bindings against the database that they describe
#[derive(Debug, clap::Args)]
#[command(after_help = "Every bound query is prepared, but not run, in a read-only transaction.
Errors are queries that the database refuses, columns that do not fit the key, types other than
`sql_types` says, and tables whose column is not unique. Warnings are about indexes that cannot
be used. Exit code 1 if there is an error, but not for warnings alone.

--fix works out what the document lacks: the types under `sql_types`, unique columns under `tables`, and casts
of single columns whose type differs from the others of their Polar type. It shows the difference; --write
also changes the file. Comments and the order of entries stay. The report is then about the corrected
document, and the exit code about the document in the file.

Missing parts of a PostgreSQL address are completed as psql does, from PGHOST, PGPORT, PGUSER, PGDATABASE,
PGPASSWORD and ~/.pgpass, or else with this machine's socket and your user name.
The connection is not encrypted: use a tunnel for a database on another machine.

Examples:
  portcullis bindings check bindings.yaml --database postgresql:///app           # the socket of this machine
  portcullis bindings check bindings.yaml --database 'postgresql:///app?host=/run/elsewhere'
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app
  portcullis bindings check bindings.yaml --database sqlite:app.db --policy policy.polar
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app --json
  portcullis bindings check bindings.yaml --database postgresql:///app --fix            # shows the corrections
  portcullis bindings check bindings.yaml --database postgresql:///app --fix --write    # and makes them")]
struct CheckArgs {
    /// The data bindings
    file: PathBuf,
    /// The database: postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[NAME], or sqlite:FILE
    #[arg(long, value_name = "URL")]
    database: String,
    /// Also report bound facts that this policy does not use
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Show how to correct the document
    #[arg(long)]
    fix: bool,
    /// Write the corrected document to the file
    #[arg(long, requires = "fix")]
    write: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let Action::Check(args) = &args.action;
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
    let database = open(&args.database, &bindings).await?;
    let live = Live::read(&database, &bindings).await?;
    let report = Report::new(file.clone(), &bindings, &live, program.as_ref());
    if !args.fix {
        print(args, &report, None)?;
        return Ok(verdict(&report));
    }
    let Some(fix) = fix::work_out(&file, &text, &bindings, &live)? else {
        print(args, &report, Some(&Outcome::nothing()))?;
        return Ok(verdict(&report));
    };
    let fixed = parse(&file, &fix.text)?;
    let live = Live::read(&database, &fixed).await?;
    let remaining = Report::new(file, &fixed, &live, program.as_ref());
    if args.write {
        write::replace(&args.file, &text, &fix.text)?;
    }
    print(args, &remaining, Some(&Outcome { fix: Some(fix), is_written: args.write }))?;
    // The verdict is on the document in the file.
    Ok(verdict(if args.write { &remaining } else { &report }))
}

fn verdict(report: &Report) -> Verdict {
    if report.count(Severity::Error) == 0 { Verdict::Good } else { Verdict::Bad }
}

/// Prints the difference, if a correction was asked for, and the report.
fn print(args: &CheckArgs, report: &Report, outcome: Option<&Outcome>) -> Result<(), CliError> {
    if args.json {
        let mut json = report.json();
        if let (Some(outcome), Some(members)) = (outcome, json.as_object_mut()) {
            members.insert("fix".to_owned(), outcome.json());
        }
        return output::to_stdout(&format!("{json:#}"));
    }
    match outcome {
        None => output::to_stdout(&report.text()),
        Some(outcome) => {
            let text = format!("{}{}\n{}", outcome.before(), report.text(), outcome.after(&report.file));
            output::to_stdout(&text)
        }
    }
}

fn parse(file: &str, text: &str) -> Result<Bindings, CliError> {
    bindings::parse(text).map_err(|errors| {
        let lines = errors.iter().map(|error| format!("error: `{file}`: {error}"));
        CliError::Bindings(lines.collect::<Vec<_>>().join("\n"))
    })
}

async fn open(address: &str, bindings: &Bindings) -> Result<Database, CliError> {
    let database = Database::open(address).await?;
    if database.dialect() != bindings.dialect {
        let (bound, found) = (bindings.dialect.to_string(), database.dialect().to_string());
        return Err(CliError::OtherDatabase { bound, found });
    }
    Ok(database)
}
