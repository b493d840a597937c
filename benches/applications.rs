//! What the SQL of local checks costs in whole applications, compared with what an expert writes by hand.
//!
//! ```sh
//! cargo bench --bench applications -- --app patterns --variant full     # one application, one variant
//! cargo bench --bench applications -- --help                            # the other flags
//! ```
//!
//! Each folder of `benches/applications` is an application: tables with rows by `generate_series`, the
//! indexes that a good team has, policies, bindings, and questions with the expert's SQL, whose form is
//! described in `tests/support/applications/question.rs`. PostgreSQL runs with its default settings. Both
//! statements must return the same rows, or the run fails; then they run alternately under `EXPLAIN (ANALYZE,
//! TIMING OFF)`. The ratio is that of planning and execution together. Only the server's time counts, so any
//! build measures the same: `cargo bench --profile dev` saves building a release.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement prints, and ends at the first error"
)]

#[path = "applications/compare.rs"]
mod compare;
#[path = "local/measure.rs"]
mod measure;
#[path = "applications/report.rs"]
mod report;
#[path = "applications/sqlite.rs"]
mod sqlite;
#[path = "applications/variant.rs"]
mod variant;

use clap::{Parser, ValueEnum};
use compare::compare;
use measure::Rounds;
use portcullis_testkit::applications::question::Question;
use portcullis_testkit::applications::{Application, SCRIPTS};
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::expert::database::{Database, run_file};
use portcullis_testkit::server::Server;
use report::Row;
use serde_json::json;
use sqlite::SqliteCopy;
use std::process::ExitCode;
use std::time::Duration;
use variant::Variant;

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Other databases of the tests run without it.
const SETTINGS: &[&str] = &["jit=on"];

/// No further round of a question begins after this time.
const TIME_OF_ROUNDS: Duration = Duration::from_secs(2);

/// What the SQL of local checks costs in whole applications, compared with what an expert writes by hand.
///
/// Starts a PostgreSQL of its own with default settings, and makes a database for each application.
#[derive(Debug, Parser)]
#[command(name = "applications", bin_name = "cargo bench --bench applications --")]
struct Options {
    /// Measure only these applications
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    app: Vec<String>,
    /// Measure only these variants
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Variant::value_variants().to_vec())]
    variant: Vec<Variant>,
    /// Ask only the questions whose name holds the text, as `page` or `four_eyes`
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    only: String,
    /// How many rows the largest table has; the others grow with it [default: as data.sql says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10_000..))]
    rows: Option<u32>,
    /// How often each pair of statements runs at most
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// After how many seconds a statement is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    timeout: u16,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut applications = Application::all();
    if let Some(unknown) = options.app.iter().find(|name| !applications.iter().any(|a| a.name == **name)) {
        panic!("there is no application `{unknown}`");
    }
    applications.retain(|application| options.app.is_empty() || options.app.contains(&application.name));
    for application in &mut applications {
        for (_, questions) in &mut application.policies {
            questions.retain(|question| question.name.contains(&options.only));
        }
        application.policies.retain(|(_, questions)| !questions.is_empty());
    }
    applications.retain(|application| !application.policies.is_empty());
    assert!(!applications.is_empty(), "no question's name holds `{}`", options.only);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let cluster = Cluster::start(SETTINGS).unwrap_or_else(|message| panic!("{message}"));
    let service = Server::in_memory();
    let mut rows = Vec::new();
    for application in &applications {
        rows.extend(runtime.block_on(measure_all(application, &cluster, &service, &options)));
    }
    println!("{}", if options.json { report::json(&rows) } else { report::summaries(&rows) });
    if rows.iter().any(report::is_wrong) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Asks every question of an application in every variant; first in the one that wants fresh tables.
async fn measure_all(
    application: &Application,
    cluster: &Cluster,
    service: &Server,
    options: &Options,
) -> Vec<Row> {
    let database = load(application, cluster, options).await;
    let mut variants = options.variant.clone();
    variants.sort_by_key(|variant| *variant != Variant::Fresh);
    let mut rows = Vec::new();
    for variant in variants {
        if variant != Variant::Fresh {
            database.first_column("SET statement_timeout = 0").await;
            database.first_column("VACUUM (ANALYZE)").await;
        }
        database.first_column(&format!("SET statement_timeout = '{}s'", options.timeout)).await;
        if !options.json {
            println!("{}, {}\n{}", application.name, variant.name(), report::head());
        }
        let bindings = variant.bindings(application);
        let copy = match variant {
            Variant::Sqlite => Some(SqliteCopy::of(&database, options.timeout).await),
            Variant::Fresh | Variant::Full | Variant::Types | Variant::None => None,
        };
        for (policy, questions) in &application.policies {
            let answer = service.post("/api/policy", &json!({ "src": policy }));
            // 202: it is the policy of the question before.
            assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
            let is_asked = |question: &&Question| copy.is_none() || sqlite::expert(question).is_some();
            for question in questions.iter().filter(is_asked) {
                let rounds = Rounds { unmeasured: 0, most: options.rounds, time: TIME_OF_ROUNDS };
                let outcome = match &copy {
                    Some(copy) => copy.compare(service, question, &bindings, rounds),
                    None => compare(service, &database, question, &bindings, rounds).await,
                };
                let row = Row {
                    application: application.name.clone(),
                    variant,
                    question: question.name.clone(),
                    most_bytes: question.most_bytes(),
                    outcome,
                };
                if !options.json {
                    println!("{}", row.line());
                }
                rows.push(row);
            }
        }
        if !options.json {
            println!();
        }
    }
    rows
}

/// Makes the database of an application, without statistics.
async fn load(application: &Application, cluster: &Cluster, options: &Options) -> Database {
    let name = &application.name;
    let config = |database: &str| format!("host={} user=postgres dbname={database}", cluster.folder);
    let first = Database::connect(&config("postgres")).await;
    first.first_column(&format!("CREATE DATABASE {name}")).await;
    let rows = options.rows.map(|rows| format!("rows={rows}"));
    for script in SCRIPTS {
        run_file(cluster, name, &application.file(script), rows.as_deref().as_slice());
    }
    Database::connect(&config(name)).await
}
