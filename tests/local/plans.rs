//! The plans of local checks on PostgreSQL: the SQL scans no table that the expert's SQL does not.
//!
//! The questions, the expert's queries and the tables are those of `cargo bench --bench local`, with fewer
//! rows, but enough of each kind that the planner takes the same indexes as at full size. What it looks at is
//! fixed, so that its choice is the same each time: the rows come from a seed, statistics from all of them
//! and not from a sample. Our plans are kept under `snapshots/plans`, for a person to read when one changes.

use portcullis_testkit::expert::database::Database;
use portcullis_testkit::expert::questions::Question;
use portcullis_testkit::expert::{self, agree};
use std::collections::BTreeSet;
use std::path::Path;

/// As the benchmark, and statistics from every row: of 300 times the target all are looked at.
const SETTINGS: &[&str] = &["work_mem=64MB", "default_statistics_target=400"];

/// How many rows of each kind seed.sql makes.
const SCALE: &[&str] = &[
    "users=30000",
    "organizations=1000",
    "groups=5000",
    "folders=16000",
    "repositories=60000",
    "issues=100000",
];

#[test]
fn no_table_is_scanned_that_an_expert_does_not_scan() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let service = expert::service();
    let offenders = runtime.block_on(async {
        let database = Database::load(SETTINGS, SCALE).await;
        let mut offenders = Vec::new();
        for question in Question::all() {
            let (expert, ours) = (question.expert_sql(), question.around(&expert::sql(&service, &question)));
            agree::rows(&database, &question, &expert, &ours).await;
            let (their_scans, our_scans) = (scans(&database, &expert).await, scans(&database, &ours).await);
            for table in our_scans.difference(&their_scans) {
                offenders
                    .push(format!("{}: reads all of {table}, {} does not", question.name, question.file));
            }
            let plan = database.first_column(&format!("EXPLAIN (COSTS OFF) {ours}")).await;
            keep(question.name, &plan.join("\n"));
        }
        offenders
    });
    assert!(offenders.is_empty(), "an index would do\n  {}\n", offenders.join("\n  "));
}

pub(super) async fn scans(database: &Database, sql: &str) -> BTreeSet<String> {
    let json = database.first_column(&format!("EXPLAIN (COSTS OFF, FORMAT JSON) {sql}")).await;
    expert::scans::of(&serde_json::from_str(&json.concat()).unwrap())
}

/// Compares a plan with the one that was kept: of `check: own issue` in `check-own-issue`.
pub(super) fn keep(question: &str, plan: &str) {
    let words: Vec<String> =
        question.split(' ').map(|word| word.replace(|c: char| !c.is_alphanumeric(), "")).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/plans"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(words.join("-"), plan));
}
