//! Text columns in which different texts are equal: collations that ignore case or blanks, and `citext`.

use super::columns::readers;
use super::service::{Service, column};
use portcullis_compiler::Dialect;
use portcullis_compiler::question::QuestionVarId;
use portcullis_testkit::local::caller::Caller;
use portcullis_testkit::local::ways::Way;

const FOLDERS: &str = r#"
actor User {}
resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
}
"#;

/// `Ada` is not `ada`, though SQLite's column finds them equal; nor is one of them lost where both are.
#[test]
fn a_column_that_ignores_case_is_compared_by_its_bytes() {
    for told in ["", "  User: text\n  Doc: text\n"] {
        let rows = "('ada', 'Doc'), ('ADA', 'doc'), ('bob  ', 'x')";
        let (service, caller) = readers(Dialect::Sqlite, "TEXT COLLATE NOCASE", rows, told);
        for (user, doc, answer) in [
            ("ada", "Doc", "1"),
            ("ADA", "doc", "1"),
            ("ada", "doc", "0"),
            ("Ada", "Doc", "0"),
            ("bob", "x", "0"),
        ] {
            let question = format!("allow(User:{user:?}, \"read\", Doc:{doc:?})");
            let sql = service.sql_for(Dialect::Sqlite, &question, Way::Authorize, "");
            assert_eq!(column(&caller, &sql), answer, "{question}\n{sql}");
        }
        let filter =
            service.sql_for(Dialect::Sqlite, "allow(User:ada, \"read\", Doc:?)", Way::List, "readers.doc");
        let sql = format!("SELECT doc FROM readers WHERE {filter}");
        assert_eq!(column(&caller, &sql), "Doc", "{sql}");
        let sql = service.sql_for(Dialect::Sqlite, "has_role(User:?, \"reader\", Doc:?)", Way::Select, "");
        assert_eq!(caller.run(&sql).unwrap().rows.len(), 3, "{sql}");
    }
    let document =
        "facts:\n  has_relation(Folder:_, parent, Folder:_):\n    query: SELECT id, parent FROM folders\n";
    for told in ["", "sql_types:\n  Folder: text\n"] {
        let service =
            Service::new(FOLDERS, "has_role(User:ada, \"reader\", Folder:a)", &format!("{document}{told}"));
        let caller = Caller::new(Dialect::Sqlite).unwrap();
        caller
            .script(
                "CREATE TABLE folders (id TEXT COLLATE NOCASE, parent TEXT COLLATE NOCASE);
                 INSERT INTO folders VALUES ('b', 'a'), ('B', 'A'), ('c', 'b'), ('d', 'B'), ('A', 'b');",
            )
            .unwrap();
        let question = "has_role(User:ada, \"reader\", Folder:?)";
        let filter = service.sql_for(Dialect::Sqlite, question, Way::Filter(QuestionVarId(2)), "id");
        let sql = format!("SELECT id FROM folders WHERE {filter} ORDER BY id COLLATE BINARY");
        // a has b, which has A and c; A has B, which has d.
        assert_eq!(column(&caller, &sql), "A B b c d", "{sql}");
    }
}

/// Saying that bytes count costs no index of a column that has no other collation.
#[test]
fn bytes_are_compared_by_the_usual_index() {
    for told in ["", "  User: text\n  Doc: text\n"] {
        let (service, caller) = readers(Dialect::Sqlite, "TEXT", "('ada', 'Doc')", told);
        caller
            .script("CREATE INDEX temp.by_who ON readers (who); CREATE INDEX temp.by_doc ON readers (doc)")
            .unwrap();
        let sql = service.sql_for(Dialect::Sqlite, "allow(User:ada, \"read\", Doc:Doc)", Way::Authorize, "");
        let plan = caller.run(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap().rows;
        let plan: Vec<String> = plan.into_iter().filter_map(|mut row| row.pop().flatten()).collect();
        let plan = plan.join("\n");
        // Without a type both are compared as text, and a column under a cast has no index.
        assert_eq!(plan.contains("SEARCH t1 USING INDEX"), !told.is_empty(), "{sql}\n{plan}");
    }
}

/// Alternatives use the indexes of their columns, with any collation. The bundled SQLite 3.54.1 would
/// read the whole table for an `OR` with a `COLLATE`.
#[test]
fn alternatives_of_text_columns_are_found_by_their_indexes() {
    let policy = r#"
actor User {}
resource Folder { roles = ["reader", "editor"]; "reader" if "editor"; }
resource File {
  permissions = ["read"];
  relations = { owner: User, folder: Folder };
  "read" if "owner";
  "read" if "reader" on "folder" and is_final(resource);
}
is_final(file: File) if has_status(file, "final");
"#;
    let document = r"
facts:
  has_relation(File:_, owner, User:_):
    query: SELECT id, owner FROM files
  has_relation(File:_, folder, Folder:_):
    query: SELECT id, folder FROM files
  has_status(File:_, String:_):
    query: SELECT id, status FROM files
  has_role(User:_, reader, Folder:_):
    query: SELECT who, folder FROM readers
  has_role(User:_, editor, Folder:_):
    query: SELECT who, folder FROM editors
sql_types: { User: text, Folder: text, File: text, String: text }
tables:
  File: files.id
";
    let service = Service::new(policy, "", document);
    for collation in ["", "COLLATE NOCASE"] {
        let caller = Caller::new(Dialect::Sqlite).unwrap();
        let text = format!("TEXT {collation}");
        caller
            .script(&format!(
                "CREATE TABLE files (id {text} PRIMARY KEY, owner {text}, folder {text}, status {text});
                 CREATE TABLE readers (who {text}, folder {text}, PRIMARY KEY (who, folder));
                 CREATE TABLE editors (who {text}, folder {text}, PRIMARY KEY (who, folder));
                 CREATE INDEX by_owner ON files (owner);
                 CREATE INDEX by_folder ON files (folder);
                 INSERT INTO files VALUES ('1', 'ada', 'x', 'draft'), ('2', 'Ada', 'a', 'final'), ('3', 'x', 'A', 'final'),
                   ('4', 'x', 'a', 'Final'), ('5', 'ADA', 'x', 'final');
                 INSERT INTO readers VALUES ('ada', 'a'), ('bob', 'A');
                 INSERT INTO editors VALUES ('ada', 'b');
                 INSERT INTO files VALUES ('6', 'x', 'b', 'final'), ('7', 'x', 'B', 'final');",
            ))
            .unwrap();
        let filter =
            service.sql_for(Dialect::Sqlite, "allow(User:ada, \"read\", File:?)", Way::List, "files.id");
        let sql = format!("SELECT id FROM files WHERE {filter} ORDER BY id");
        assert_eq!(column(&caller, &sql), "1 2 6", "{sql}");
        let plan = caller.run(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap().rows;
        let plan: Vec<String> = plan.into_iter().filter_map(|mut row| row.pop().flatten()).collect();
        let plan = plan.join("\n");
        assert!(
            plan.contains("by_owner (owner=?)") && plan.contains("by_folder (folder=?)"),
            "{sql}\n{plan}"
        );
    }
}

/// `citext` finds `Ada` and `ada` equal, but they are two ids, whether the document declares the type or not.
#[test]
fn citext_is_compared_by_its_bytes() {
    for told in ["", "  User: citext\n  Doc: citext\n"] {
        let (service, caller) = readers(Dialect::Postgresql, "TEXT", "", told);
        caller
            .script(
                "BEGIN; CREATE EXTENSION IF NOT EXISTS citext; DROP TABLE readers;
                 CREATE TEMPORARY TABLE readers (who citext, doc citext);
                 INSERT INTO readers VALUES ('ada', 'Doc'), ('ADA', 'doc');",
            )
            .unwrap();
        for (user, doc, answer) in [("ada", "Doc", "true"), ("ada", "doc", "false"), ("Ada", "Doc", "false")]
        {
            let sql = service.sql(&format!("allow(User:{user}, \"read\", Doc:{doc})"), Way::Authorize, "");
            assert_eq!(column(&caller, &sql), answer, "{sql}");
        }
        let filter = service.filter("allow(User:ada, \"read\", Doc:?)", "doc");
        assert_eq!(
            column(&caller, &format!("SELECT CAST(doc AS TEXT) FROM readers WHERE {filter}")),
            "Doc",
            "{filter}"
        );
        caller.script("ROLLBACK").unwrap();
    }
}
