//! A filter inside the statements that an application writes, next to what an expert would write there.
//!
//! Each pattern of `patterns` in each place, on PostgreSQL: under an alias, over a derived table and a view,
//! in a join, a lateral and a correlated subquery, in statements that change rows, and as the condition of a
//! view; `row_security` has policies. Both conditions must pass, or change, the same rows. The last test has
//! the places in which a filter fails, and the errors of the database.

use super::catalogue::{DOCUMENT, Pattern, SCHEMA, at_fixed_time, patterns};
use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_testkit::local::caller::Caller;

pub(crate) const USERS: [&str; 2] = ["1", "2"];

/// A query of ids, with `FILTER` where the condition stands.
struct Place {
    /// What the query calls the row.
    row: &'static str,
    query: &'static str,
}

const fn place(row: &'static str, query: &'static str) -> Place {
    Place { row, query }
}

const QUERIES: &[Place] = &[
    place("documents", "SELECT documents.id FROM documents WHERE FILTER ORDER BY 1"),
    // Under another name.
    place("d", "SELECT d.id FROM documents d WHERE FILTER ORDER BY 1"),
    place("d", "SELECT d.id FROM ONLY documents AS d WHERE d.id > 1 AND (FILTER) ORDER BY 1"),
    // Rows that are not read from the table itself, but have its columns.
    place("documents", "SELECT documents.id FROM (SELECT * FROM documents) AS documents WHERE FILTER ORDER BY 1"),
    place("d", "SELECT d.id FROM (SELECT * FROM documents WHERE size > 5) AS d WHERE FILTER ORDER BY 1"),
    place("documents", "SELECT documents.id FROM large_documents AS documents WHERE FILTER ORDER BY 1"),
    place("large_documents", "SELECT large_documents.id FROM large_documents WHERE FILTER ORDER BY 1"),
    place(
        "documents",
        "WITH part AS (SELECT * FROM documents) SELECT documents.id FROM part AS documents WHERE FILTER ORDER BY 1",
    ),
    // In a larger statement.
    place(
        "documents",
        "SELECT o.id FROM documents o WHERE o.id IN (SELECT documents.id FROM documents WHERE FILTER) ORDER BY 1",
    ),
    place(
        "documents",
        "SELECT o.id FROM documents o
         WHERE EXISTS (SELECT 1 FROM documents WHERE documents.id = o.id AND (FILTER)) ORDER BY 1",
    ),
    place(
        "documents",
        "SELECT documents.id FROM folders LEFT JOIN documents ON documents.folder_id = folders.id AND (FILTER)
         WHERE documents.id IS NOT NULL ORDER BY 1",
    ),
    place(
        "documents",
        "SELECT x.id FROM folders, LATERAL (
           SELECT documents.id FROM documents WHERE documents.folder_id = folders.id AND (FILTER)
           ORDER BY documents.id LIMIT 2) AS x ORDER BY 1",
    ),
    place(
        "d",
        "SELECT x.id FROM folders CROSS JOIN LATERAL (
           SELECT d.id FROM documents AS d WHERE d.folder_id = folders.id AND (FILTER)) AS x ORDER BY 1",
    ),
    place("documents", "SELECT documents.id FROM documents WHERE FILTER ORDER BY documents.id FOR UPDATE"),
    place(
        "documents",
        "SELECT documents.id FROM documents WHERE FILTER UNION ALL SELECT 0 ORDER BY 1 LIMIT 100",
    ),
    place("documents", "SELECT CAST(array_agg(documents.id ORDER BY documents.id) filter (WHERE FILTER) AS TEXT) FROM documents"),
];

/// Statements that change rows; those that are changed get the size -1.
const CHANGES: &[Place] = &[
    place("documents", "UPDATE documents SET size = -1 WHERE FILTER"),
    place("d", "UPDATE documents AS d SET size = -1 WHERE FILTER"),
    place(
        "documents",
        "UPDATE documents SET size = -1 FROM folders WHERE folders.id = documents.folder_id AND (FILTER)",
    ),
    place("documents", "DELETE FROM documents WHERE FILTER"),
    place("d", "DELETE FROM documents AS d USING folders WHERE folders.id = d.folder_id AND (FILTER)"),
    place(
        "documents",
        "MERGE INTO documents USING incoming ON incoming.id = documents.id AND (FILTER)
         WHEN MATCHED THEN UPDATE SET size = -1",
    ),
    place(
        "d",
        "MERGE INTO documents AS d USING incoming AS i ON i.id = d.id AND (FILTER)
         WHEN MATCHED AND d.size > 5 THEN DELETE WHEN MATCHED THEN UPDATE SET size = -1",
    ),
    place(
        "documents",
        "MERGE INTO documents USING incoming ON incoming.id = documents.id
         WHEN MATCHED AND (FILTER) THEN UPDATE SET size = -1 WHEN MATCHED AND documents.size > 5 THEN DELETE",
    ),
    place(
        "documents",
        "INSERT INTO documents (id, size) SELECT id, 0 FROM incoming
         ON CONFLICT (id) DO UPDATE SET size = -1 WHERE FILTER",
    ),
    place("large_documents", "UPDATE large_documents SET size = -1 WHERE FILTER"),
];

/// A database with the tables, a view over one of them, and rows to merge.
pub(crate) fn database() -> Caller {
    let caller = Caller::new(Dialect::Postgresql).unwrap();
    caller.script(SCHEMA).unwrap();
    let more = "CREATE TEMPORARY VIEW large_documents AS SELECT * FROM documents WHERE size > 5;
                CREATE TEMPORARY TABLE incoming (id INTEGER);
                INSERT INTO incoming SELECT id FROM documents WHERE id <> 2;";
    caller.script(more).unwrap();
    caller
}

pub(crate) fn service(pattern: &Pattern) -> Service {
    Service::new(&pattern.policy(), "", DOCUMENT)
}

/// A service that does not know the alias of the table, and one that does.
fn services(pattern: &Pattern) -> [Service; 2] {
    let with_alias = format!("{DOCUMENT}aliases:\n  d: documents\n");
    [service(pattern), Service::new(&pattern.policy(), "", &with_alias)]
}

pub(crate) fn filter(service: &Service, user: &str, row: &str) -> String {
    service.filter(&format!("allow(User:{user}, \"read\", Document:?)"), &format!("{row}.id"))
}

#[test]
fn queries_pass_the_rows_that_an_expert_passes() {
    let caller = database();
    let mut n_rows = 0;
    for pattern in patterns() {
        let services = services(pattern);
        for (user, Place { row, query }) in
            USERS.iter().flat_map(|user| QUERIES.iter().map(move |at| (user, at)))
        {
            let expert = column(&caller, &query.replace("FILTER", &pattern.expert(user, row)));
            let n_services = if *row == "d" { 2 } else { 1 };
            for service in &services[..n_services] {
                let ours = query.replace("FILTER", &filter(service, user, row));
                assert_eq!(column(&caller, &ours), expert, "{}: {ours}", pattern.shape);
            }
            n_rows += expert.split(' ').filter(|id| !id.is_empty()).count();
        }
        // Under a declared alias the text is the same, but for the name.
        let of_alias = at_fixed_time(&filter(&services[1], "1", "d")).replace("d.", "documents.");
        let of_table = at_fixed_time(&filter(&services[0], "1", "documents"));
        assert_eq!(of_alias, of_table, "{}", pattern.shape);
    }
    assert!(n_rows > 500, "{n_rows} rows are too few to say anything");
}

#[test]
fn statements_change_the_rows_that_an_expert_changes() {
    let caller = database();
    let changed = |sql: &str| {
        caller.script(&format!("BEGIN; {sql};")).unwrap_or_else(|error| panic!("{error}"));
        let rows = column(&caller, "SELECT concat(id, ':', size) FROM documents ORDER BY id, size");
        caller.script("ROLLBACK").unwrap();
        rows
    };
    let before = changed("SELECT 1");
    let mut n_changed = 0;
    for pattern in patterns() {
        let services = services(pattern);
        for (user, Place { row, query }) in
            USERS.iter().flat_map(|user| CHANGES.iter().map(move |at| (user, at)))
        {
            let expert = changed(&query.replace("FILTER", &pattern.expert(user, row)));
            let n_services = if *row == "d" { 2 } else { 1 };
            for service in &services[..n_services] {
                let ours = query.replace("FILTER", &filter(service, user, row));
                assert_eq!(changed(&ours), expert, "{}: {ours}", pattern.shape);
            }
            n_changed += usize::from(expert != before);
        }
    }
    assert!(n_changed > 100, "{n_changed} changes are too few to say anything");
}

#[test]
fn views_show_the_rows_that_an_expert_shows() {
    let caller = database();
    let shown = |condition: &str| {
        let view = format!(
            "BEGIN; CREATE TEMPORARY VIEW allowed AS SELECT * FROM documents WHERE {condition};
             CREATE TEMPORARY VIEW small AS SELECT d.id AS id FROM allowed AS d WHERE d.size < 100;"
        );
        caller.script(&view).unwrap_or_else(|error| panic!("{error}"));
        let rows =
            ["allowed", "small"].map(|view| column(&caller, &format!("SELECT id FROM {view} ORDER BY id")));
        caller.script("ROLLBACK").unwrap();
        rows
    };
    for pattern in patterns() {
        let service = service(pattern);
        for user in USERS {
            let ours = filter(&service, user, "documents");
            let expert = shown(&pattern.expert(user, "documents"));
            assert_eq!(shown(&ours), expert, "{}: {ours}", pattern.shape);
        }
    }
}

/// Where the row's own columns are not there, or no subquery may stand, the database says so.
#[test]
fn a_place_that_does_not_fit_is_an_error_of_the_database() {
    let caller = database();
    let pattern = patterns().find(|pattern| pattern.shape == "pattern-own-or-viewed").unwrap();
    let service = service(pattern);
    let of = |row: &str| filter(&service, "1", row);
    for (statement, reason) in [
        (
            "SELECT documents.id FROM (SELECT id FROM documents) AS documents WHERE FILTER",
            "column documents.owner_id does not exist",
        ),
        ("SELECT d.id FROM documents d WHERE FILTER", "invalid reference to FROM-clause entry for table"),
        (
            "SELECT documents.id FROM documents GROUP BY documents.id HAVING FILTER",
            "must appear in the GROUP BY clause",
        ),
        ("ALTER TABLE documents ADD CHECK (FILTER)", "cannot use subquery in check constraint"),
        ("CREATE INDEX ON documents (id) WHERE FILTER", "cannot use subquery in index predicate"),
    ] {
        let sql = statement.replace("FILTER", &of("documents"));
        let error = caller.script(&sql).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    // Over a column that is not the promised one, the filter needs no other column of the row.
    for sql in [
        "SELECT d.id FROM (SELECT id AS id FROM documents) AS d WHERE FILTER ORDER BY 1",
        "SELECT d.id FROM (SELECT id, count(*) FROM documents GROUP BY id) AS d WHERE FILTER ORDER BY 1",
    ] {
        let expected = "SELECT d.id FROM documents d WHERE FILTER ORDER BY 1";
        let expected = column(&caller, &expected.replace("FILTER", &pattern.expert("1", "d")));
        let without_promises = DOCUMENT.split("tables:").next().unwrap();
        for document in [DOCUMENT, without_promises] {
            let service = Service::new(&pattern.policy(), "", document);
            let ours = sql.replace("FILTER", &filter(&service, "1", "d"));
            assert_eq!(column(&caller, &ours), expected, "{ours}");
        }
    }
}
