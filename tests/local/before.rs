//! Which filters see a row as a statement leaves it, and which see it as it was before.
//!
//! A filter that reads the row's own columns decides by what they are where it stands. One that knows only
//! the row's id looks the rest up in the statement's snapshot: in a check of new or changed rows it decides
//! by the old ones. `docs/local-checks/README.md` says which is which and what to do; each test takes one
//! place. The places of nested folders are in `nested_folders`.

use super::nested_folders::{NESTED_PARENTS, NESTED_POLICY, nested_document};
use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;
use portcullis_testkit::postgres::WIRE;
use std::pin::pin;
use std::time::Duration;
use tokio::time::sleep;

/// Users who can write to a folder can edit its documents, unless a document is locked.
const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["writer"]; }
resource Doc {
  permissions = ["edit"];
  relations = { folder: Folder };
  "edit" if "writer" on "folder" and not locked(resource);
}
"#;

const FACTS: &str = "
facts:
  has_role(User:_, writer, Folder:_):
    query: SELECT user_id, folder_id FROM writers
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
  locked(Doc:_):
    query: SELECT id FROM docs WHERE locked
sql_types: { User: integer, Folder: integer, Doc: integer }
";

const TABLES: &str = "tables: { Doc: docs.id }\n";
const ALIASES: &str = "aliases: { new: docs, changed: docs, d: docs }\n";

/// User 1 writes folder 1 and not folder 2.
const SCHEMA: &str = "
CREATE TABLE writers (user_id INTEGER, folder_id INTEGER);
INSERT INTO writers VALUES (1, 1), (2, 2);
CREATE TABLE docs (id INTEGER PRIMARY KEY, folder_id INTEGER, locked BOOLEAN NOT NULL DEFAULT FALSE);
INSERT INTO docs VALUES (5, 1), (6, 2);
";

/// A database with the tables of this file.
fn database() -> Caller {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script(&SCHEMA.replace("CREATE TABLE", "CREATE TEMPORARY TABLE")).unwrap();
    caller
}

/// The filter of the documents that user 1 may edit, with these entries after the facts.
fn filter(entries: &str, over: &str) -> String {
    Service::new(POLICY, "", &format!("{FACTS}{entries}")).filter(r#"allow(User:1, "edit", Doc:?)"#, over)
}

/// What a statement returns, which is then undone.
fn undone(caller: &Caller, statement: &str) -> String {
    caller.script("BEGIN").unwrap();
    let returned = column(caller, statement);
    caller.script("ROLLBACK").unwrap();
    returned
}

/// Runs a statement that changes rows of a table, and undoes it: whether it was accepted. If so, it must have
/// changed a row; if not, the error must be the expected one.
pub(crate) fn is_accepted(caller: &Caller, table: &str, statement: &str, expected: &str) -> bool {
    let ran = caller.script(&format!("BEGIN; {statement}"));
    if ran.is_ok() {
        caller.script("RESET ROLE").unwrap();
        let changed = format!("SELECT count(*) FROM {table} WHERE xmin = pg_current_xact_id()::xid");
        assert_ne!(column(caller, &changed), "0", "{statement}");
    }
    caller.script("ROLLBACK").unwrap();
    ran.map_err(|error| assert!(error.contains(expected), "{error}")).is_ok()
}

/// Changes that user 1 may make, and others that need the new row to be refused.
const ALLOWED: &str = "INSERT INTO TABLE (id, folder_id) VALUES (7, 1)";
const FORBIDDEN: [&str; 3] = [
    "INSERT INTO TABLE (id, folder_id) VALUES (7, 2)",
    "UPDATE TABLE SET folder_id = 2 WHERE id = 5",
    "UPDATE TABLE SET locked = TRUE WHERE id = 5",
];

/// A check by the row's own columns is right. One by its id takes a changed row for what it was, and does not
/// know a new one.
fn checks_new_rows(accepts: &dyn Fn(&str) -> bool, is_right: bool, condition: &str) {
    assert_eq!(accepts(ALLOWED), is_right, "{condition}");
    let [inserted, changed @ ..] = FORBIDDEN;
    assert!(!accepts(inserted), "{condition}");
    for change in changed {
        assert_eq!(accepts(change), !is_right, "{change}: {condition}");
    }
}

#[test]
fn a_view_checks_new_rows_by_their_own_columns_with_tables_only() {
    for (entries, is_right) in [("", false), (TABLES, true)] {
        let caller = database();
        let condition = filter(entries, "docs.id");
        caller
            .script(&format!(
                "CREATE TEMPORARY VIEW mine AS SELECT * FROM docs WHERE {condition} WITH CHECK OPTION"
            ))
            .unwrap();
        let accepted = |change: &str| {
            let change = change.replace("TABLE", "mine");
            is_accepted(&caller, "docs", &change, "new row violates check option for view \"mine\"")
        };
        checks_new_rows(&accepted, is_right, &condition);
    }
}

#[test]
fn a_policy_checks_changed_rows_by_their_own_columns() {
    let caller = database();
    caller
        .script(
            "ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
             CREATE ROLE changer_of_docs;
             GRANT SELECT ON writers TO changer_of_docs;
             GRANT ALL ON docs TO changer_of_docs",
        )
        .unwrap();
    let condition = filter(TABLES, "docs.id");
    caller.script(&format!("CREATE POLICY allowed ON docs USING ({condition})")).unwrap();
    let accepted = |change: &str| {
        let as_user = format!("SET LOCAL ROLE changer_of_docs; {}", change.replace("TABLE", "docs"));
        is_accepted(&caller, "docs", &as_user, "new row violates row-level security policy")
    };
    checks_new_rows(&accepted, true, &condition);
    caller.script("DROP OWNED BY changer_of_docs; DROP ROLE changer_of_docs").unwrap();
}

#[test]
fn a_trigger_checks_new_rows_by_their_own_columns_under_a_declared_alias() {
    for (entries, is_right) in [(TABLES, false), (&*format!("{TABLES}{ALIASES}"), true)] {
        let caller = database();
        let condition = filter(entries, "new.id");
        caller
            .script(&format!(
                "CREATE FUNCTION pg_temp.check_doc() RETURNS trigger LANGUAGE plpgsql AS $check$
                   BEGIN IF ({condition}) IS NOT TRUE THEN RAISE 'not allowed'; END IF; RETURN new; END $check$;
                 CREATE TRIGGER check_doc BEFORE INSERT OR UPDATE ON docs
                   FOR EACH ROW EXECUTE FUNCTION pg_temp.check_doc()"
            ))
            .unwrap();
        let accepted =
            |change: &str| is_accepted(&caller, "docs", &change.replace("TABLE", "docs"), "not allowed");
        checks_new_rows(&accepted, is_right, &condition);
    }
}

/// Whether the rows that come back may be edited: the document is locked by then.
#[test]
fn returned_rows_are_those_after_the_change_where_their_own_columns_are_read() {
    let caller = database();
    let all = format!("{TABLES}{ALIASES}");
    let places = [
        ("docs", "UPDATE docs SET locked = TRUE WHERE id = 5 RETURNING FILTER"),
        ("d", "UPDATE docs AS d SET locked = TRUE WHERE id = 5 RETURNING FILTER"),
        (
            "changed",
            "WITH changed AS (UPDATE docs SET locked = TRUE WHERE id = 5 RETURNING *) SELECT FILTER FROM changed",
        ),
    ];
    for (name, statement) in places {
        let may_edit = |entries: &str| {
            undone(&caller, &statement.replace("FILTER", &filter(entries, &format!("{name}.id"))))
        };
        assert_eq!(may_edit(&all), "false", "{statement}");
        assert_eq!(may_edit(""), "true", "{statement}");
        if name != "docs" {
            assert_eq!(may_edit(TABLES), "true", "{statement}");
        }
    }
    // A new document in the user's own folder is not there yet.
    let inserted = |entries: &str| {
        let filter = filter(entries, "docs.id");
        undone(&caller, &format!("INSERT INTO docs VALUES (7, 1) RETURNING {filter}"))
    };
    assert_eq!((inserted(TABLES), inserted("")), ("true".to_owned(), "false".to_owned()));
}

/// Under `READ COMMITTED`, a statement that waited for another transaction tests the row once more.
#[test]
fn a_statement_that_waited_tests_the_rows_new_columns_where_it_reads_them() {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    let schema = "DROP SCHEMA IF EXISTS waited CASCADE; CREATE SCHEMA waited; SET search_path = waited";
    caller.script(&format!("{schema}; {SCHEMA}")).unwrap();
    let all = format!("{TABLES}{ALIASES}");
    let update = "UPDATE docs SET folder_id = folder_id WHERE id = 5 AND FILTER RETURNING id";
    let alias = "UPDATE docs AS d SET folder_id = folder_id WHERE id = 5 AND FILTER RETURNING id";
    let lock = "SELECT id FROM docs WHERE id = 5 AND FILTER FOR UPDATE";
    let insert = "INSERT INTO docs VALUES (8, 1) ON CONFLICT (id) DO UPDATE SET locked = FALSE
                  WHERE FILTER RETURNING id";
    let changes =
        ["UPDATE docs SET folder_id = 2 WHERE id = 5", "UPDATE docs SET locked = TRUE WHERE id = 5"];
    let mut tried = Vec::new();
    for change in changes {
        tried.extend([
            (change, update, "docs", TABLES, ""),
            (change, update, "docs", "", "5"),
            (change, alias, "d", &*all, ""),
            (change, alias, "d", TABLES, "5"),
            (change, lock, "docs", TABLES, ""),
            (change, lock, "docs", "", "5"),
        ]);
    }
    // The row that is in the way is not in the statement's snapshot.
    let inserted = ["INSERT INTO docs VALUES (8, 1)", "INSERT INTO docs VALUES (8, 2)"];
    tried.extend([
        (inserted[0], insert, "docs", TABLES, "8"),
        (inserted[0], insert, "docs", "", ""),
        (inserted[1], insert, "docs", TABLES, ""),
    ]);
    for (change, statement, name, entries, expected) in tried {
        let sql = statement.replace("FILTER", &filter(entries, &format!("{name}.id")));
        assert_eq!(after_waiting(&caller, change, &sql), expected, "{change}; {sql}");
    }
    caller.script("RESET search_path; DROP SCHEMA waited CASCADE").unwrap();
}

/// The rows of a statement that waits until another session has committed a change; all of it is undone.
fn after_waiting(setup: &Caller, change: &str, statement: &str) -> String {
    let session = || {
        let caller = Caller::new(Dialect::Postgresql).unwrap();
        caller.script("SET search_path = waited").unwrap();
        caller
    };
    let (first, second) = (session(), session());
    let pid = column(&second, "SELECT pg_backend_pid()");
    first.script(&format!("BEGIN; {change}")).unwrap();
    let (Caller::Postgresql(holder), Caller::Postgresql(waiter)) = (&first, &second) else { unreachable!() };
    // The server ends a statement that takes too long, so neither loop nor statement is endless.
    let rows = WIRE.block_on(async {
        let waits = format!("SELECT 1 FROM pg_locks WHERE NOT granted AND pid = {pid}");
        let seen = async {
            while holder.client().query(&waits, &[]).await.unwrap().is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let mut waiting = pin!(waiter.client().query(statement, &[]));
        tokio::select! {
            ended = &mut waiting => panic!("it did not wait: {ended:?}; {statement}"),
            () = seen => {}
        }
        let (rows, committed) = tokio::join!(waiting, holder.client().batch_execute("COMMIT"));
        committed.unwrap();
        rows.unwrap()
    });
    setup.script("TRUNCATE docs; INSERT INTO docs VALUES (5, 1), (6, 2)").unwrap();
    rows.iter().map(|row| row.get::<_, i32>(0).to_string()).collect::<Vec<_>>().join(" ")
}

/// `/explain_query` says so of each filter that decides by rows as they were, and of no other.
#[test]
fn a_filter_that_does_not_see_new_rows_has_a_note() {
    let documents = |entries: &str| {
        let document = format!("{FACTS}{entries}");
        (POLICY, document, r#"allow(User:1, "edit", Doc:?)"#)
    };
    let folders =
        |parents: &str| (NESTED_POLICY, nested_document(parents), r#"allow(User:1, "edit", Folder:?)"#);
    let by_id =
        Some("the filter takes only the id from its column, as `tables` has no entry for Doc. If one");
    let all = format!("{TABLES}{ALIASES}");
    let own = NESTED_PARENTS.replace("all_nested", "nested");
    let parent =
        Some("the filter decides by the Folder that its column names, as it was before the statement");
    let other_column = Some("the filter takes only the id from its column, and reads");
    let of_view = "the filter follows `has_relation(Folder:_, parent, Folder:_)` from one Folder to another. \
                   If `all_nested` reads `nested`";
    let no_entries = FACTS.split("sql_types").next().unwrap().to_owned();
    for ((policy, document, question), over, expected) in [
        (documents(TABLES), "docs.id", None),
        (documents(&all), "d.id", None),
        (documents(TABLES), "d.id", Some("the filter also reads other rows of `docs`")),
        (documents(""), "docs.id", by_id),
        ((POLICY, no_entries, r#"allow(User:1, "edit", Doc:?)"#), "docs.id", by_id),
        (folders(""), "nested.id", None),
        (folders(NESTED_PARENTS), "nested.id", Some(of_view)),
        (folders(NESTED_PARENTS), "nested.parent_id", parent),
        (folders(NESTED_PARENTS), "docs.folder_id", other_column),
        (folders(&own), "nested.id", Some("the filter also reads other rows of `nested`")),
    ] {
        let service = Service::new(policy, "", &document);
        let said = |dialect| notes_on_old_rows(&service, dialect, question, over);
        let on_postgres = said(Dialect::Postgresql);
        assert_eq!(on_postgres.len(), usize::from(expected.is_some()), "{over}: {document}\n{on_postgres:?}");
        let is_it = on_postgres.iter().all(|note| note.starts_with(expected.unwrap_or_default()));
        assert!(is_it, "{over}: {document}\n{on_postgres:?}");
        assert_eq!(said(Dialect::Sqlite), [""; 0], "{over}: {document}");
    }
    // A table whose rows are of another type is no view over this one's.
    let elsewhere = NESTED_PARENTS.replace("all_nested", "places");
    let document = format!(
        "{}  Place: places.id\n",
        nested_document(&elsewhere).replace("{ Folder: nested.id }", "\n  Folder: nested.id")
    );
    let document = document.replace("User: integer,", "User: integer, Place: integer,");
    let service = Service::new(NESTED_POLICY, "", &document);
    let question = r#"allow(User:1, "edit", Folder:?)"#;
    assert_eq!(
        notes_on_old_rows(&service, Dialect::Postgresql, question, "nested.id"),
        [""; 0],
        "{document}"
    );
}

/// The notes on a filter that say by which rows it decides.
fn notes_on_old_rows(service: &Service, dialect: Dialect, question: &str, over: &str) -> Vec<String> {
    let notes = service.explain_for(dialect, question, Way::List, over).notes;
    notes.into_iter().filter(|note| note.contains("before the statement")).collect()
}
