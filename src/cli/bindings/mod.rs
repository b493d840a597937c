//! `portcullis bindings`: checks data bindings against the database that they describe.
//!
//! In: a bindings document and the address of a database. Every bound query is prepared there, but not run,
//! and the database's description of its columns is compared with what the document promises:
//!
//! ```text
//! document ─parse─▶ entries ─database─▶ columns with types and indexes ─judge─▶ findings ─report─▶ text
//! ```
//!
//! The service itself never connects to a caller's database; this command is for the author's machine, or a
//! check before a deployment. So drivers for foreign databases are used only here.

mod database;
mod judge;
mod libpq;
mod policy;
mod postgresql;
mod report;
mod sqlite;

use super::error::CliError;
use super::policy_file::PolicyFile;
use super::{Verdict, output, policy_file, serve};
use database::{Column, Database};
use judge::{Finding, Severity, SqlTypes};
use portcullis_compiler::bindings::{self, Binding, Bindings, Name, RowTable};
use portcullis_compiler::ir::Program;
use report::{Report, ReportRow};
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

Missing parts of a PostgreSQL address are completed as psql does, from PGHOST, PGPORT, PGUSER, PGDATABASE,
PGPASSWORD and ~/.pgpass, or else with this machine's socket and your user name.
The connection is not encrypted: use a tunnel for a database on another machine.

Examples:
  portcullis bindings check bindings.yaml --database postgresql:///app           # the socket of this machine
  portcullis bindings check bindings.yaml --database 'postgresql:///app?host=/run/elsewhere'
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app
  portcullis bindings check bindings.yaml --database sqlite:app.db --policy policy.polar
  portcullis bindings check bindings.yaml --database postgresql://app@localhost/app --json")]
struct CheckArgs {
    /// The data bindings
    file: PathBuf,
    /// The database: postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[NAME], or sqlite:FILE
    #[arg(long, value_name = "URL")]
    database: String,
    /// Also report bound facts that this policy does not use
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let Action::Check(args) = &args.action;
    let program = args.policy.as_deref().map(PolicyFile::program).transpose()?;
    let text = policy_file::read(&args.file)?;
    let bindings = bindings::parse(&text).map_err(|errors| {
        let lines = errors.iter().map(|error| format!("error: `{}`: {error}", args.file.display()));
        CliError::Bindings(lines.collect::<Vec<_>>().join("\n"))
    })?;
    let file = args.file.display().to_string();
    if let Some(note) = bindings.sync_note() {
        output::to_stderr(&format!("note: `{file}`: {note}"));
    }
    let report = serve::runtime()?.block_on(check(file, &bindings, &args.database, program.as_ref()))?;
    if args.json {
        output::to_stdout(&format!("{:#}", report.json()))?;
    } else {
        output::to_stdout(&report.text())?;
    }
    Ok(if report.count(Severity::Error) == 0 { Verdict::Good } else { Verdict::Bad })
}

async fn check(
    file: String,
    bindings: &Bindings,
    address: &str,
    program: Option<&Program>,
) -> Result<Report, CliError> {
    let database = Database::open(address).await?;
    let dialect = bindings.dialect.to_string();
    if database.dialect() != bindings.dialect {
        return Err(CliError::OtherDatabase { bound: dialect, found: database.dialect().to_string() });
    }
    let (mut sql_types, mut entries) = (SqlTypes::new(), Vec::new());
    for (ty, declared) in &bindings.sql_types {
        match database.ty(&declared.name).await? {
            Some(known) => drop(sql_types.insert(ty.clone(), known)),
            None => entries.push(unknown_type(ty, &declared.name)),
        }
    }
    for binding in &bindings.facts {
        entries.push(bound(&database, binding, &sql_types, program).await?);
    }
    for (ty, table) in &bindings.tables {
        entries.push(row_table(&database, ty, table, &sql_types).await?);
    }
    Ok(Report { file, dialect, entries })
}

fn unknown_type(ty: &str, name: &str) -> ReportRow {
    let message =
        format!("the database has no type `{name}`: write the type of the column that holds the ids");
    ReportRow {
        section: "sql_types",
        key: ty.to_owned(),
        line: None,
        columns: Vec::new(),
        findings: vec![Finding::new(Severity::Error, message)],
    }
}

async fn bound(
    database: &Database,
    binding: &Binding,
    sql_types: &SqlTypes,
    program: Option<&Program>,
) -> Result<ReportRow, CliError> {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    match database.columns(&binding.query.text).await? {
        Ok(mut found) => {
            doubt_outer_joins(binding, &mut found);
            findings.extend(judge::binding(binding, &found, sql_types));
            columns.extend(judge::column_types(binding).into_iter().map(str::to_owned).zip(found));
        }
        Err(refusal) => findings.push(Finding::new(Severity::Error, refusal)),
    }
    if program.is_some_and(|program| !policy::uses(program, binding)) {
        let message = "no rule of the policy reads such facts: compare the names and types with the policy";
        findings.push(Finding::new(Severity::Warning, message));
    }
    Ok(ReportRow { section: "facts", key: binding.key.clone(), line: Some(binding.line), columns, findings })
}

/// A column that is never NULL in its table may still be NULL after an outer join, which the database does
/// not report.
fn doubt_outer_joins(binding: &Binding, columns: &mut [Column]) {
    if !binding.query.words.iter().any(|word| ["left", "right", "full"].contains(&word.as_str())) {
        return;
    }
    for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
        origin.not_null = origin.not_null.filter(|not_null| !not_null);
    }
}

async fn row_table(
    database: &Database,
    ty: &str,
    RowTable { table, column }: &RowTable,
    sql_types: &SqlTypes,
) -> Result<ReportRow, CliError> {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    // The names are spelled and quoted as in the document, and its parser has read them.
    match database.columns(&format!("SELECT {column} FROM {}", Name::path(table))).await? {
        Ok(found) => {
            findings.extend(found.iter().flat_map(|column| judge::row_table(ty, column, sql_types)));
            columns.extend(found.into_iter().map(|column| (ty.to_owned(), column)));
        }
        Err(refusal) => findings.push(Finding::new(Severity::Error, refusal)),
    }
    Ok(ReportRow { section: "tables", key: ty.to_owned(), line: None, columns, findings })
}
