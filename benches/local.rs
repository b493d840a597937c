//! What the SQL of local checks costs on PostgreSQL, compared with what an expert writes by hand.
//!
//! ```sh
//! cargo bench --bench local               # a quarter of an hour, most of it for building and loading
//! cargo bench --bench local -- --help     # fewer rounds, some questions only, JSON, other statements
//! ```
//!
//! The database is the example of `docs/local-checks` with 200,000 repositories and a million issues, on a
//! server of its own. Both statements must return the same rows; then they run alternately under
//! `EXPLAIN (ANALYZE, TIMING OFF)`, so that the times are the server's. The ratio is that of planning and
//! execution together. The expert's queries, each with the reason for its shape, are in `local/expert`.
//! `tests/local/plans.rs` asks the same questions of fewer rows, and keeps the plans.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement prints, and ends at the first error"
)]

#[path = "code_host/http.rs"]
mod http;
#[path = "local/latency.rs"]
mod latency;
#[path = "local/measure.rs"]
mod measure;
#[path = "local/report.rs"]
mod report;

use clap::Parser;
use measure::{Pair, Rounds};
use portcullis_testkit::expert::database::Database;
use portcullis_testkit::expert::questions::Question;
use portcullis_testkit::expert::{self, agree};
use portcullis_testkit::server::Server;
use report::{Report, Row};
use std::path::PathBuf;
use std::time::Duration;

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Memory as on a small server of an application.
const SETTINGS: &[&str] =
    &["shared_buffers=1GB", "work_mem=64MB", "maintenance_work_mem=256MB", "max_wal_size=4GB"];

/// How many rows of each kind seed.sql makes.
const SCALE: &[&str] = &[
    "users=50000",
    "organizations=1000",
    "groups=5000",
    "folders=16000",
    "repositories=200000",
    "issues=1000000",
];

/// What the SQL of local checks costs on PostgreSQL, compared with what an expert writes by hand.
///
/// Starts a PostgreSQL of its own, loads a code host with a million issues, and takes nothing from elsewhere.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(name = "local", bin_name = "cargo bench --bench local --")]
struct Options {
    /// How often each pair of statements runs
    #[arg(long, value_name = "N", default_value_t = 41, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Ask only the questions whose name holds the word, as `list` or `banned`
    #[arg(long, value_name = "WORD", default_value = "", hide_default_value = true)]
    only: String,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Take our statements from files, `list_issues.sql` and so on, not from the service
    #[arg(long, value_name = "FOLDER", conflicts_with = "expert")]
    ours: Option<PathBuf>,
    /// Measure the expert's statements against themselves: how far apart equals are
    #[arg(long)]
    expert: bool,
    /// Use a database that was loaded before, as `host=/tmp/folder user=postgres dbname=large`
    #[arg(long, value_name = "CONFIG")]
    database: Option<String>,
    /// Measure only how fast SQL comes from a request: no database is needed
    #[arg(long, conflicts_with_all = ["database", "expert", "ours"])]
    requests: bool,
    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    let mut questions = Question::all();
    questions.retain(|question| question.name.contains(&options.only));
    assert!(!questions.is_empty(), "no question's name holds `{}`", options.only);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let service = expert::service();
    let mut report = Report::default();
    if !options.requests {
        let database = runtime.block_on(database(&options));
        for (number, question) in (1..).zip(&questions) {
            eprintln!("{number} of {}: {}", questions.len(), question.name);
            let ours = our_sql(question, &options, &service);
            report.rows.push(runtime.block_on(compare(&database, question, &ours, options.rounds)));
        }
    }
    if options.ours.is_none() && !options.expert {
        eprintln!("asking for statements over HTTP");
        report.latencies = latency::latencies(service.address, &questions);
    }
    println!("{}", if options.json { report.json() } else { report.table() });
}

/// The database that was named, or one of our own.
async fn database(options: &Options) -> Database {
    if let Some(config) = &options.database {
        return Database::connect(config).await;
    }
    eprintln!("starting PostgreSQL, and loading it, which takes a minute or two");
    Database::load(SETTINGS, SCALE).await
}

/// Our statement for a question.
fn our_sql(question: &Question, options: &Options, service: &Server) -> String {
    match &options.ours {
        Some(folder) => {
            let file = folder.join(question.file).with_extension("sql");
            let text = std::fs::read_to_string(&file);
            question.fill(&text.unwrap_or_else(|error| panic!("{}: {error}", file.display())))
        }
        None if options.expert => question.expert_sql(),
        None => question.around(&expert::sql(service, question)),
    }
}

/// Both statements return the same; what do they cost?
async fn compare(database: &Database, question: &Question, ours: &str, rounds: u16) -> Row {
    let expert = question.expert_sql();
    let n_rows = agree::rows(database, question, &expert, ours).await;
    let rounds = Rounds { unmeasured: 3, most: rounds, time: Duration::MAX };
    let pair = Pair::measure(database, &expert, ours, rounds).await.unwrap();
    Row { name: question.name, n_rows, pair }
}
