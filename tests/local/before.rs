//! Which filters see a row as a statement leaves it, and which see it as it was before.
//!
//! A filter that reads the row's own columns decides by what they are where it stands. One that knows only
//! the row's id looks the rest up in the statement's snapshot: in a check of new or changed rows it decides
//! by the old ones. `docs/local-checks/README.md` says which is which and what to do; each test takes one
//! place.

use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;
use portcullis_testkit::postgres::WIRE;
use std::time::Duration;
use tokio::time::sleep;

/// Documents in folders: whoever may write a folder edits its documents, except those that are locked.
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

/// Runs a statement and undoes it: whether it was accepted. If not, the error must be the expected one.
fn is_accepted(caller: &Caller, statement: &str, expected: &str) -> bool {
    let ran = caller.script(&format!("BEGIN; {statement}"));
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
            is_accepted(&caller, &change, "new row violates check option for view \"mine\"")
        };
        assert_eq!(accepted(ALLOWED), is_right, "{condition}");
        assert!(!accepted(FORBIDDEN[0]), "{condition}");
        for change in &FORBIDDEN[1..] {
            assert_eq!(accepted(change), !is_right, "{change}: {condition}");
        }
    }
}

#[test]
fn a_trigger_checks_new_rows_by_their_own_columns_under_a_declared_alias() {
    for (entries, is_right) in [(TABLES, false), (&*format!("{TABLES}{ALIASES}"), true)] {
        let caller = database();
        let condition = filter(entries, "new.id");
        caller
            .script(&format!(
                "CREATE FUNCTION pg_temp.check_doc() RETURNS trigger LANGUAGE plpgsql AS $check$
                   BEGIN IF NOT ({condition}) THEN RAISE 'not allowed'; END IF; RETURN new; END $check$;
                 CREATE TRIGGER check_doc BEFORE INSERT OR UPDATE ON docs
                   FOR EACH ROW EXECUTE FUNCTION pg_temp.check_doc()"
            ))
            .unwrap();
        let accepted = |change: &str| is_accepted(&caller, &change.replace("TABLE", "docs"), "not allowed");
        assert_eq!(accepted(ALLOWED), is_right, "{condition}");
        assert!(!accepted(FORBIDDEN[0]), "{condition}");
        for change in &FORBIDDEN[1..] {
            assert_eq!(accepted(change), !is_right, "{change}: {condition}");
        }
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
        ("docs", "INSERT INTO docs VALUES (7, 1, TRUE) RETURNING FILTER"),
    ];
    for (name, statement) in places {
        let may_edit = |entries: &str| {
            undone(&caller, &statement.replace("FILTER", &filter(entries, &format!("{name}.id"))))
        };
        assert_eq!(may_edit(&all), "false", "{statement}");
        let of_old_row = if statement.starts_with("INSERT") { "false" } else { "true" };
        assert_eq!(may_edit(""), of_old_row, "{statement}");
        if name != "docs" {
            assert_eq!(may_edit(TABLES), of_old_row, "{statement}");
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
    caller.script(&format!("CREATE SCHEMA waited; SET search_path = waited; {SCHEMA}")).unwrap();
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
    let inserted = "INSERT INTO docs VALUES (8, 2, TRUE)";
    tried.push((inserted, insert, "docs", TABLES, ""));
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
    let rows = WIRE.block_on(async {
        let committed = async {
            let waits = format!("SELECT 1 FROM pg_locks WHERE NOT granted AND pid = {pid}");
            while holder.client().query(&waits, &[]).await.unwrap().is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
            holder.client().batch_execute("COMMIT").await.unwrap();
        };
        let (rows, ()) = tokio::join!(waiter.client().query(statement, &[]), committed);
        rows.unwrap()
    });
    setup.script("TRUNCATE docs; INSERT INTO docs VALUES (5, 1), (6, 2)").unwrap();
    rows.iter().map(|row| row.get::<_, i32>(0).to_string()).collect::<Vec<_>>().join(" ")
}

const NESTED_POLICY: &str = r#"
actor User {}
resource Folder {
  roles = ["writer"];
  permissions = ["edit"];
  relations = { parent: Folder };
  "edit" if "writer";
  role if role on "parent";
}
"#;

const NESTED_PARENTS: &str = "
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM all_nested";

/// The document for nested folders, with the parents or without.
fn nested_document(parents: &str) -> String {
    format!(
        "facts:
  has_role(User:_, writer, Folder:_):
    query: SELECT user_id, folder_id FROM writers{parents}
sql_types: {{ User: integer, Folder: integer }}
tables: {{ Folder: nested.id }}
"
    )
}

/// The folders that user 1 may edit.
fn nested(parents: &str, over: &str) -> String {
    Service::new(NESTED_POLICY, "", &nested_document(parents))
        .filter(r#"allow(User:1, "edit", Folder:?)"#, over)
}

/// Folder 1 is the user's own, and 2 lies in it; 9 is another's, and 3 with a role of the user lies in 9.
fn nested_folders(role: &str) -> Caller {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller
        .script(&format!(
            "CREATE TEMPORARY TABLE writers (user_id INTEGER, folder_id INTEGER);
             INSERT INTO writers VALUES (1, 1), (1, 3), (2, 9);
             CREATE TEMPORARY TABLE nested (id INTEGER PRIMARY KEY, parent_id INTEGER, name TEXT);
             INSERT INTO nested VALUES (1, NULL), (2, 1), (9, NULL), (3, 9);
             CREATE TEMPORARY VIEW all_nested AS SELECT id, parent_id FROM nested;
             ALTER TABLE nested ENABLE ROW LEVEL SECURITY;
             CREATE ROLE {role};
             GRANT SELECT ON writers, all_nested TO {role};
             GRANT ALL ON nested TO {role};"
        ))
        .unwrap();
    caller
}

/// Statements on nested folders, and whether user 1 may do that.
const NESTED_CHANGES: [(&str, bool); 15] = [
    ("UPDATE nested SET name = 'a' WHERE id = 2", true),
    ("UPDATE nested SET parent_id = 9 WHERE id = 2", false),
    ("UPDATE nested SET parent_id = NULL WHERE id = 2", false),
    ("UPDATE nested SET parent_id = 3 WHERE id = 2", true),
    ("UPDATE nested SET parent_id = 404 WHERE id = 2", false),
    // A role on the row itself stays, wherever the row is moved.
    ("UPDATE nested SET name = 'a' WHERE id = 1", true),
    ("UPDATE nested SET name = 'a' WHERE id = 3", true),
    ("UPDATE nested SET parent_id = NULL WHERE id = 3", true),
    ("INSERT INTO nested VALUES (4, 1)", true),
    ("INSERT INTO nested VALUES (4, 2) RETURNING id", true),
    ("INSERT INTO nested VALUES (4, 1), (5, 4)", false),
    ("INSERT INTO nested VALUES (4, 9)", false),
    ("INSERT INTO nested VALUES (4, NULL)", false),
    ("INSERT INTO nested VALUES (4, 4)", false),
    ("INSERT INTO nested VALUES (2, 9) ON CONFLICT (id) DO UPDATE SET parent_id = 9", false),
];

/// The policy for folders in folders asks for the parent that the new row names, or for a role on the row.
#[test]
fn a_policy_over_the_parent_refuses_to_move_a_folder_to_where_it_may_not_be() {
    let caller = nested_folders("mover_of_folders");
    let accepted = |change: &str| {
        let as_user = format!("SET LOCAL ROLE mover_of_folders; {change}");
        is_accepted(&caller, &as_user, "new row violates row-level security policy")
    };
    let ours = format!("{} OR {}", nested(NESTED_PARENTS, "nested.parent_id"), nested("", "nested.id"));
    let expert = "parent_id IN (
          WITH RECURSIVE mine AS (
            SELECT folder_id AS id FROM writers WHERE user_id = 1
            UNION SELECT all_nested.id FROM all_nested JOIN mine ON all_nested.parent_id = mine.id)
          SELECT id FROM mine)
        OR id IN (SELECT folder_id FROM writers WHERE user_id = 1)";
    for condition in [&*ours, expert] {
        caller.script(&format!("CREATE POLICY allowed ON nested USING ({condition})")).unwrap();
        for (change, is_allowed) in NESTED_CHANGES {
            assert_eq!(accepted(change), is_allowed, "{change}: {condition}");
        }
        caller.script("BEGIN; SET LOCAL ROLE mover_of_folders").unwrap();
        assert_eq!(column(&caller, "SELECT id FROM nested ORDER BY id"), "1 2 3", "{condition}");
        caller.script("ROLLBACK; DROP POLICY allowed ON nested").unwrap();
    }
    // A view checks new rows by the same condition, for everyone.
    caller
        .script(&format!("CREATE TEMPORARY VIEW mine AS SELECT * FROM nested WHERE {ours} WITH CHECK OPTION"))
        .unwrap();
    for (change, is_allowed) in NESTED_CHANGES {
        let of_view = change.replace("nested", "mine");
        let accepted = is_accepted(&caller, &of_view, "new row violates check option for view");
        assert_eq!(accepted, is_allowed, "{of_view}: {ours}");
    }
    caller.script("DROP VIEW mine").unwrap();
    // By its id alone, a folder stays the user's own wherever it is moved, and a new one is nobody's.
    let by_id = nested(NESTED_PARENTS, "nested.id");
    caller.script(&format!("CREATE POLICY allowed ON nested USING ({by_id})")).unwrap();
    for (change, of_old_row) in [(NESTED_CHANGES[1].0, true), (NESTED_CHANGES[8].0, false)] {
        assert_eq!(accepted(change), of_old_row, "{change}: {by_id}");
    }
    // As a policy for reading it hides the new row from `RETURNING`.
    let both = "DROP POLICY allowed ON nested; CREATE POLICY shown ON nested FOR SELECT USING (SHOWN);
                CREATE POLICY added ON nested FOR INSERT WITH CHECK (OURS)";
    caller.script(&both.replace("SHOWN", &by_id).replace("OURS", &ours)).unwrap();
    for (change, is_allowed) in [NESTED_CHANGES[8], (NESTED_CHANGES[9].0, false)] {
        assert_eq!(accepted(change), is_allowed, "{change}: {by_id}");
    }
    caller.script("DROP OWNED BY mover_of_folders; DROP ROLE mover_of_folders").unwrap();
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
    let by_id = Some("the filter takes only the id from its column");
    let all = format!("{TABLES}{ALIASES}");
    let own = NESTED_PARENTS.replace("all_nested", "nested");
    let no_entries = FACTS.split("sql_types").next().unwrap().to_owned();
    for ((policy, document, question), over, expected) in [
        (documents(TABLES), "docs.id", None),
        (documents(&all), "d.id", None),
        (documents(TABLES), "d.id", Some("the filter also reads other rows of `docs`")),
        (documents(""), "docs.id", by_id),
        ((POLICY, no_entries, r#"allow(User:1, "edit", Doc:?)"#), "docs.id", by_id),
        (folders(""), "nested.id", None),
        (folders(NESTED_PARENTS), "nested.id", Some("the filter follows `has_relation(Folder:_, parent")),
        (folders(NESTED_PARENTS), "nested.parent_id", by_id),
        (folders(&own), "nested.id", Some("the filter also reads other rows of `nested`")),
    ] {
        let notes = Service::new(policy, "", &document).explain_over(question, Way::List, over).notes;
        let said: Vec<&String> = notes.iter().filter(|note| note.contains("before the statement")).collect();
        assert_eq!(said.len(), usize::from(expected.is_some()), "{over}: {document}\n{notes:?}");
        let is_it = said.iter().all(|note| note.starts_with(expected.unwrap_or_default()));
        assert!(is_it, "{over}: {document}\n{said:?}");
    }
}
