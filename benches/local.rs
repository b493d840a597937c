//! What the SQL of local checks costs on PostgreSQL, beside what an expert writes by hand.
//!
//! ```text
//! cargo bench --bench local [-- OPTION…]
//!   --rounds N           how often each pair of statements runs; 41 unless said otherwise
//!   --ours FOLDER        our statements from files named like the expert's, not from the service
//!   --expert             the expert's statements against themselves: how far apart equals are
//!   --database CONFIG    a database that was loaded before, as `host=/tmp/folder user=postgres dbname=large`
//!   --only WORD          the questions whose name holds the word
//!   --requests           only how fast SQL comes from a request: no database is needed
//!   --json               one JSON object instead of tables
//! ```
//!
//! The database is the example of `docs/local-checks` with 200,000 repositories and a million issues, on a
//! server of its own. Both statements must return the same rows; then they run in turns under
//! `EXPLAIN (ANALYZE, TIMING OFF)`, so that the times are the server's. The ratio is that of planning and
//! execution together. The expert's queries, each with the reason for its shape, are in `local/expert`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement prints, and ends at the first error"
)]

#[path = "../tests/support/cluster.rs"]
mod cluster;
#[path = "local/database.rs"]
mod database;
#[path = "code_host/http.rs"]
mod http;
#[path = "local/measure.rs"]
mod measure;
#[path = "local/questions.rs"]
mod questions;
#[path = "local/report.rs"]
mod report;
#[path = "local/service.rs"]
mod service;

use database::Database;
use measure::Pair;
use questions::{Ask, Question};
use report::{Report, Row};
use service::Service;
use std::path::PathBuf;

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The arguments.
struct Options {
    rounds: usize,
    ours: Source,
    database: Option<String>,
    only: String,
    requests: bool,
    json: bool,
}

/// Where our statements come from.
enum Source {
    Service,
    Folder(PathBuf),
    Expert,
}

impl Options {
    fn of(mut args: impl Iterator<Item = String>) -> Self {
        let mut options = Self {
            rounds: 41,
            ours: Source::Service,
            database: None,
            only: String::new(),
            requests: false,
            json: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--rounds" => options.rounds = value().parse().unwrap(),
                "--ours" => options.ours = Source::Folder(value().into()),
                "--expert" => options.ours = Source::Expert,
                "--database" => options.database = Some(value()),
                "--only" => options.only = value(),
                "--requests" => options.requests = true,
                "--json" => options.json = true,
                // What `cargo bench` tells every benchmark.
                "--bench" => {}
                _ => panic!("unknown argument {arg}"),
            }
        }
        options
    }
}

fn main() {
    let options = Options::of(std::env::args().skip(1));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let service = runtime.block_on(Service::start());
    let mut questions = Question::all();
    questions.retain(|question| question.name.contains(&options.only));
    let mut report = Report::default();
    if !options.requests {
        let database = runtime.block_on(async {
            match &options.database {
                Some(config) => Database::connect(config).await,
                None => Database::load().await,
            }
        });
        for question in &questions {
            let ours = our_sql(question, &options.ours, &service);
            report.rows.push(runtime.block_on(compare(&database, question, &ours, options.rounds)));
        }
    }
    if matches!(options.ours, Source::Service) {
        report.latencies = service.latencies(&questions);
    }
    println!("{}", if options.json { report.json() } else { report.table() });
}

/// Our statement for a question.
fn our_sql(question: &Question, source: &Source, service: &Service) -> String {
    match source {
        Source::Service => question.around(&service.sql(question)),
        Source::Folder(folder) => {
            let file = folder.join(question.file).with_extension("sql");
            let text = std::fs::read_to_string(&file);
            question.fill(&text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
        }
        Source::Expert => question.expert_sql(),
    }
}

/// Both statements return the same; what do they cost?
async fn compare(database: &Database, question: &Question, ours: &str, rounds: usize) -> Row {
    let expert = question.expert_sql();
    let mut their_rows = database.first_column(&expert).await;
    let mut our_rows = database.first_column(ours).await;
    match question.ask {
        Ask::Check { allowed, .. } => {
            assert_eq!(their_rows, [if allowed { "t" } else { "f" }], "{}", question.name);
        }
        Ask::Actions { .. } | Ask::Page { .. } => {}
        Ask::List { .. } => {
            their_rows.sort_unstable();
            our_rows.sort_unstable();
        }
    }
    assert!(their_rows == our_rows, "{}: not the rows of the expert\n{ours}", question.name);
    let pair = Pair::measure(database, &expert, ours, rounds).await;
    Row { name: question.name, n_rows: their_rows.len(), pair }
}
