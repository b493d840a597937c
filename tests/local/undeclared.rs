//! Filters over ids whose SQL types are not declared: they are compared as texts, on which PostgreSQL has no
//! statistics.

use super::service::Service;
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::expert::database::Database;
use serde_json::Value as Json;

/// Documents up to the value that another user, for whom the user stands in, may sign in their folder,
/// unless the other user owns them.
const POLICY: &str = r#"
actor User {}
resource Folder {}
resource Document {
  permissions = ["sign"];
  relations = { folder: Folder, owner: User };
}
has_permission(user: User, "sign", document: Document) if
  stands_in(user, other) and
  signs_up_to(other, folder, most) and
  has_relation(document, "folder", folder) and
  is_worth(document, value) and
  value <= most and
  has_relation(document, "owner", owner) and
  owner != other;
"#;

const DOCUMENT: &str = "
facts:
  stands_in(User:_, User:_):
    query: SELECT user_id, absent_id FROM stand_ins
  signs_up_to(User:_, Folder:_, Integer:_):
    query: SELECT user_id, folder_id, most FROM signers
  has_relation(Document:_, folder, Folder:_):
    query: SELECT id, folder_id FROM documents
  has_relation(Document:_, owner, User:_):
    query: SELECT id, owner_id FROM documents
  is_worth(Document:_, Integer:_):
    query: SELECT id, value FROM documents
";

const DOCUMENTS: u64 = 20_000;

/// User 1 is a stand-in for user 2, who may sign in a tenth of the folders. Half of the documents there are
/// within user 2's limit.
const SCHEMA: &str = "
CREATE TABLE documents (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, owner_id INTEGER, value INTEGER);
INSERT INTO documents SELECT g, 1 + g % 1000, g % 7, g / 1000 % 20 FROM generate_series(1, 20000) g;
CREATE TABLE stand_ins (user_id INTEGER, absent_id INTEGER, PRIMARY KEY (user_id, absent_id));
INSERT INTO stand_ins VALUES (1, 2), (2, 3), (3, 4);
CREATE TABLE signers (user_id INTEGER, folder_id INTEGER, most INTEGER, PRIMARY KEY (user_id, folder_id));
INSERT INTO signers SELECT g % 10, g, 9 FROM generate_series(1, 1000) g;
VACUUM ANALYZE;
";

const BY_HAND: &str = "
SELECT count(*) FROM documents d JOIN signers s USING (folder_id)
WHERE s.user_id = 2 AND d.value <= s.most AND d.owner_id <> 2";

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
        assert_eq!(database.first_column(&count).await, database.first_column(BY_HAND).await, "{count}");
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
