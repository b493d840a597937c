//! Filters over ids whose SQL types are not declared: they are compared as texts, on which PostgreSQL has no
//! statistics.

use super::service::Service;
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::expert::database::Database;
use serde_json::Value as Json;

/// Documents up to a value that a user may sign in their folder.
const POLICY: &str = r#"
actor User {}
resource Folder {}
resource Document {
  permissions = ["sign"];
  relations = { folder: Folder };
}
has_permission(user: User, "sign", document: Document) if
  signs_up_to(user, folder, most) and
  has_relation(document, "folder", folder) and
  is_worth(document, value) and
  value <= most;
"#;

const DOCUMENT: &str = "
facts:
  signs_up_to(User:_, Folder:_, Integer:_):
    query: SELECT user_id, folder_id, most FROM signers
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  is_worth(Document:_, Integer:_):
    query: SELECT id, value FROM documents
";

const DOCUMENTS: u64 = 20_000;

/// The user 1 signs in a tenth of the folders, and half of their documents are worth little enough.
const SCHEMA: &str = "
CREATE TABLE documents (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, value INTEGER);
INSERT INTO documents SELECT g, 1 + g % 1000, g / 1000 % 20 FROM generate_series(1, 20000) g;
CREATE TABLE signers (user_id INTEGER, folder_id INTEGER, most INTEGER, PRIMARY KEY (user_id, folder_id));
INSERT INTO signers SELECT g % 10, g, 9 FROM generate_series(1, 1000) g;
VACUUM ANALYZE;
";

/// A join of two readings of a table would be planned for a hundred times its rows.
#[test]
fn nothing_is_planned_for_more_rows_than_a_table_has() {
    let service = Service::new(POLICY, "", DOCUMENT);
    let filter = service.filter("allow(User:1, \"sign\", Document:?)", "documents.id");
    let count = format!("SELECT count(*) FROM documents WHERE {filter}");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::start(&["autovacuum=off"]).unwrap();
        let database =
            Database::connect(&format!("host={} user=postgres dbname=postgres", cluster.folder)).await;
        for statement in SCHEMA.split(';') {
            database.first_column(statement).await;
        }
        assert_eq!(database.first_column(&count).await, ["1000"], "{count}");
        let plan = database.first_column(&format!("EXPLAIN (FORMAT JSON) {count}")).await.concat();
        let most = most_rows(&serde_json::from_str::<Json>(&plan).unwrap()[0]["Plan"]);
        assert!(most <= DOCUMENTS, "planned for {most} rows: {plan}");
    });
}

/// The most rows that a step of a plan is expected to have.
fn most_rows(step: &Json) -> u64 {
    let inner = step["Plans"].as_array().into_iter().flatten().map(most_rows);
    inner.chain(step["Plan Rows"].as_u64()).max().unwrap_or_default()
}
