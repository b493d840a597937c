//! A filter as a policy of row-level security, on PostgreSQL.
//!
//! Under a policy the tables that the policy's condition reads have policies, too. So a condition may not
//! read the table whose policy it is; the tests show the error of the database, and the remedies.

use super::catalogue::{DOCUMENT, Pattern, patterns};
use super::embeddings::{USERS, database, filter, service};
use super::service::{Service, column};
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

/// All tables of the catalogue.
const TABLES: &str = "documents, folders, tenants, folder_roles, bans, blocks, limits, role_limits, tenant_members, staff, quotas, deputies, parents, role_permissions, loans";

/// Rows that a user may try to insert; the last one has no id.
const NEW_ROWS: [&str; 5] = [
    "(100, 1, 10, 0, 'final', 5)",
    "(101, 2, 12, 1, 'draft', 20)",
    "(102, NULL, 11, NULL, 'final', 1)",
    "(103, 1, NULL, 0, NULL, NULL)",
    "(NULL, 1, 10, 0, 'final', 5)",
];

/// A database whose `role` may read and change all tables.
fn database_for(role: &str) -> Caller {
    let caller = database();
    let script = format!("CREATE ROLE {role}; GRANT SELECT, INSERT, UPDATE ON {TABLES} TO {role};");
    caller.script(&script).unwrap();
    caller
}

/// Roles are the server's, not the session's.
fn drop_role(caller: &Caller, role: &str) {
    caller.script(&format!("DROP OWNED BY {role}; DROP ROLE {role};")).unwrap();
}

/// No query around a policy's condition renames the table, so the filter's column is named as in the table.
#[test]
fn policies_of_row_level_security_show_the_rows_that_an_expert_shows() {
    let caller = database_for("reader_of_documents");
    caller.script("ALTER TABLE documents ENABLE ROW LEVEL SECURITY").unwrap();
    let shown = |condition: &str, command: &str, sql: &str| {
        let script = format!(
            "BEGIN; CREATE POLICY allowed ON documents FOR {command} USING ({condition});
             SET LOCAL ROLE reader_of_documents; {sql}"
        );
        caller.script(&script).unwrap_or_else(|error| panic!("{error}"));
        let rows = column(&caller, "SELECT concat(id, ':', size) FROM documents ORDER BY id");
        caller.script("ROLLBACK").unwrap();
        rows
    };
    let mut n_rows = 0;
    for pattern in patterns() {
        let service = service(pattern);
        for user in USERS {
            let ours = filter(&service, user, "documents");
            if reads_its_table(&service, pattern, &ours) {
                continue;
            }
            let expert = pattern.expert(user, "documents");
            for (command, sql) in
                [("SELECT", ""), ("ALL", "UPDATE documents AS changed SET status = status;")]
            {
                let rows = shown(&ours, command, sql);
                assert_eq!(rows, shown(&expert, command, sql), "{}: {ours}", pattern.shape);
                n_rows += rows.split(' ').filter(|row| !row.is_empty()).count();
            }
        }
    }
    assert!(n_rows > 50, "{n_rows} rows are too few to say anything");
    drop_role(&caller, "reader_of_documents");
}

/// A row is inserted if the filter passes it.
#[test]
fn policies_accept_the_new_rows_that_an_expert_accepts() {
    let caller = database_for("writer_of_documents");
    caller.script("ALTER TABLE documents ENABLE ROW LEVEL SECURITY").unwrap();
    let accepted = |condition: &str| {
        NEW_ROWS.map(|row| {
            let script = format!(
                "BEGIN; CREATE POLICY allowed ON documents FOR INSERT WITH CHECK ({condition});
                 SET LOCAL ROLE writer_of_documents; INSERT INTO documents VALUES {row}"
            );
            let inserted = caller.script(&script);
            caller.script("ROLLBACK").unwrap();
            match inserted {
                Ok(()) => true,
                Err(error) => {
                    assert!(error.contains("new row violates row-level security policy"), "{error}");
                    false
                }
            }
        })
    };
    let mut n_accepted = 0;
    for pattern in patterns() {
        let service = service(pattern);
        for user in USERS {
            let ours = filter(&service, user, "documents");
            if reads_its_table(&service, pattern, &ours) {
                continue;
            }
            let rows = accepted(&ours);
            assert_eq!(rows, accepted(&pattern.expert(user, "documents")), "{}: {ours}", pattern.shape);
            n_accepted += rows.into_iter().filter(|is_accepted| *is_accepted).count();
        }
    }
    assert!(n_accepted > 20, "{n_accepted} rows are too few to say anything");
    drop_role(&caller, "writer_of_documents");
}

/// Without `tables`, a filter looks the row up in its own table.
#[test]
fn a_policy_needs_the_promise_that_the_row_is_of_its_table() {
    let caller = database_for("reader_without_promises");
    caller.script("ALTER TABLE documents ENABLE ROW LEVEL SECURITY").unwrap();
    let pattern = pattern("pattern-own-or-viewed");
    let without_promises = DOCUMENT.split("tables:").next().unwrap();
    let shown = |document: &str| {
        let service = Service::new(&pattern.policy(), "", document);
        let condition = filter(&service, "1", "documents");
        let role = "reader_without_promises";
        visible(&caller, role, "documents", &condition)
    };
    let error = shown(without_promises).unwrap_err();
    assert!(error.contains("infinite recursion detected in policy for relation \"documents\""), "{error}");
    assert_eq!(shown(DOCUMENT).unwrap(), "1 2 3 5 6 8 9");
    drop_role(&caller, "reader_without_promises");
}

/// A policy on folders that walks from folder to folder reads folders. A view reads them with the rights of
/// its owner, for whom no policy holds; so does a function that is a `SECURITY DEFINER`.
#[test]
fn a_policy_reads_its_own_table_through_a_view() {
    let caller = database_for("reader_of_folders");
    caller
        .script(
            "CREATE TEMPORARY TABLE nested (id INTEGER UNIQUE, parent_id INTEGER);
             INSERT INTO nested VALUES (10, NULL), (20, 10), (30, 20), (11, NULL);
             ALTER TABLE nested ENABLE ROW LEVEL SECURITY;
             CREATE TEMPORARY VIEW all_nested AS SELECT id, parent_id FROM nested;
             CREATE FUNCTION pg_temp.nested_parents() RETURNS TABLE (id INTEGER, parent_id INTEGER)
               LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT id, parent_id FROM nested';
             GRANT SELECT ON nested, all_nested TO reader_of_folders;",
        )
        .unwrap();
    let policy = pattern("pattern-hierarchy").policy();
    let shown = |query: &str| {
        let document = DOCUMENT
            .replace("SELECT folder_id, parent_id FROM parents", query)
            .replace("Folder: folders.id", "Folder: nested.id");
        let service = Service::new(&policy, "", &document);
        let question = "allow(User:1, \"read\", Folder:?)";
        let condition = service.filter(question, "nested.id");
        let notes = service.explain_over(question, Way::List, "nested.id").notes;
        let says_so =
            notes.iter().any(|note| note.starts_with("the filter also reads other rows of `nested`"));
        assert_eq!(says_so, query.ends_with("FROM nested"), "{notes:?}");
        visible(&caller, "reader_of_folders", "nested", &condition)
    };
    let error = shown("SELECT id, parent_id FROM nested").unwrap_err();
    assert!(error.contains("infinite recursion detected in policy for relation \"nested\""), "{error}");
    for query in
        ["SELECT id, parent_id FROM all_nested", "SELECT id, parent_id FROM pg_temp.nested_parents()"]
    {
        assert_eq!(shown(query).unwrap(), "10 20 30", "{query}");
    }
    drop_role(&caller, "reader_of_folders");
}

fn pattern(shape: &str) -> &'static Pattern {
    patterns().find(|pattern| pattern.shape == shape).unwrap()
}

/// Whether a filter reads the documents that it filters. As a policy, the database refuses it for rows that
/// are read, and it does not see rows that are inserted.
fn reads_its_table(service: &Service, pattern: &Pattern, filter: &str) -> bool {
    let reads = filter.contains("documents AS");
    let lists = [
        "pattern-flag-in-a-hierarchy",
        "pattern-container-of-the-users-rows",
        "pattern-guard-behind-deputies-on-each-user",
        "pattern-two-choices-of-a-deputy",
        "pattern-inherited-role-of-a-deputy-under-a-guard",
    ];
    assert_eq!(reads, lists.contains(&pattern.shape), "{}: {filter}", pattern.shape);
    let explained = service.explain_over("allow(User:1, \"read\", Document:?)", Way::List, "documents.id");
    let says_so = |note: &String| note.starts_with("the filter also reads other rows of `documents`");
    assert_eq!(reads, explained.notes.iter().any(says_so), "{}: {:?}", pattern.shape, explained.notes);
    let of_old_rows = explained.notes.iter().filter(|note| note.contains("before the statement")).count();
    assert_eq!(of_old_rows, usize::from(reads), "{}: {:?}", pattern.shape, explained.notes);
    reads
}

/// The ids that a role sees in a table under a policy with this condition.
fn visible(caller: &Caller, role: &str, table: &str, condition: &str) -> Result<String, String> {
    let script = format!(
        "BEGIN; CREATE POLICY allowed ON {table} FOR SELECT USING ({condition}); SET LOCAL ROLE {role};
         SELECT count(*) FROM {table}"
    );
    let ran = caller.script(&script);
    let rows =
        ran.map(|()| column(caller, &format!("SELECT id FROM {table} WHERE id IS NOT NULL ORDER BY id")));
    caller.script("ROLLBACK").unwrap();
    rows
}
