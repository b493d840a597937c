//! Which indexes `portcullis bindings check --explain` names: with them the step that lacked them is gone.

use super::explain::{FACTS, POLICY, TABLES, TYPES, explained_with, helps, slow, statement};
use super::postgresql;
use portcullis_testkit::postgres::WIRE;
use serde_json::Value as Json;
use tokio_postgres::NoTls;

/// Tables of which none but a key has an index.
const SCHEMA: &str = "
    CREATE TABLE docs (id integer PRIMARY KEY, owner_id integer, folder_id integer);
    INSERT INTO docs SELECT n, n % 5000, n % 4000 FROM generate_series(1, 20000) n;
    CREATE TABLE folder_roles (user_id integer NOT NULL, role text NOT NULL, folder_id integer);
    INSERT INTO folder_roles SELECT n % 5000, 'viewer', n % 4000 FROM generate_series(1, 20000) n;
    ANALYZE;
";

/// Runs statements.
fn run(database: &str, statements: &str) {
    WIRE.block_on(async {
        let (client, connection) = tokio_postgres::connect(database, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(statements).await.unwrap();
    });
}

/// What would help against reading the whole of a table.
fn against_reading(statement: &Json, table: &str) -> Vec<String> {
    let reads = format!("rows of `{table}`");
    slow(statement).into_iter().filter(|(what, _)| what.contains(&reads)).map(|(_, help)| help).collect()
}

#[test]
fn the_index_is_that_of_the_steps_own_filter() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("indexes_of_filter", SCHEMA);
    let bindings = [FACTS, TYPES, TABLES].concat();
    let explain = || explained_with(folder.path(), POLICY, &bindings, &database, &[]);
    let before = explain();
    let index = "CREATE INDEX ON folder_roles (user_id);";
    assert_eq!(against_reading(statement(&before, "list", "User", "read"), "folder_roles"), [index]);
    run(&database, index);
    let after = explain();
    let left = against_reading(statement(&after, "list", "User", "read"), "folder_roles");
    assert_eq!(left, Vec::<String>::new(), "{after}");
}

#[test]
fn each_side_of_an_or_needs_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("indexes_of_or", SCHEMA);
    let policy = POLICY.replace("\"share\" if \"owner\";", "\"share\" if \"owner\"; \"read\" if \"owner\";");
    let bindings = [FACTS, TYPES, TABLES].concat();
    let explain = || explained_with(folder.path(), &policy, &bindings, &database, &[]);
    let before = explain();
    let list = statement(&before, "list", "User", "read");
    let [help] = against_reading(list, "docs").try_into().unwrap();
    assert_eq!(help, "CREATE INDEX ON docs (folder_id); CREATE INDEX ON docs (owner_id);", "{list}");
    // Each is a line of its own among what helps.
    let helps = helps(&before);
    assert!(helps.contains(&"CREATE INDEX ON docs (folder_id);"), "{helps:?}");
    assert!(helps.iter().all(|help| help.matches("CREATE").count() <= 1), "{helps:?}");
    run(&database, &help);
    let after = explain();
    let list = statement(&after, "list", "User", "read");
    assert_eq!(against_reading(list, "docs"), Vec::<String>::new(), "{list}");
}
