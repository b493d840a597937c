//! A service with a policy, stored facts and a document, with the databases that the document is about.

use portcullis::engine::{LocalExplanation, LocalQuestion};
use portcullis_compiler::Dialect;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::caller::{Caller, Statements, printed};
use portcullis_testkit::local::ways::{self, Way};
use portcullis_testkit::notation::{self, Fact};
use portcullis_testkit::refusal::NoAnswer;
use std::path::Path;

/// Organizations and roles in the store; repositories, issues and folders in the caller's tables.
pub(crate) const POLICY: &str = r#"
actor User {}
global { roles = ["admin"]; }
resource Organization {
  roles = ["member", "owner"];
  permissions = ["see"];
  "member" if "owner";
  "see" if "member";
}
resource Folder {
  roles = ["reader"];
  relations = { parent: Folder };
  "reader" if "reader" on "parent";
}
resource Repository {
  roles = ["reader", "writer"];
  permissions = ["read", "write", "delete", "watch"];
  relations = { organization: Organization, folder: Folder };
  "reader" if "writer";
  "reader" if "member" on "organization";
  "reader" if "reader" on "folder";
  "read" if "reader";
  "read" if is_public(resource);
  "write" if "writer" and not is_archived(resource);
  "delete" if global "admin";
}
resource Issue {
  permissions = ["read", "close"];
  relations = { repository: Repository, creator: User };
  "read" if "read" on "repository";
  "close" if "creator";
}
has_permission(u: User, "watch", r: Repository) if watches(u, r);
"#;

/// What the store holds.
pub(crate) const FACTS: &str = r#"
has_role(User:ada, "member", Organization:1)
has_role(User:ada, "writer", Repository:4)
has_role(User:bob, "owner", Organization:2)
has_role(User:bob, "reader", Folder:top)
has_role(User:root, "admin")
has_role(User:cyd, "reader", Repository:404)
"#;

/// The caller's tables; the last row of a table has no id.
pub(crate) const SCHEMA: &str = "
CREATE TEMPORARY TABLE repositories (
  id INTEGER UNIQUE, organization_id INTEGER, folder TEXT, public INTEGER, archived_at TEXT, note TEXT);
INSERT INTO repositories (id, organization_id, folder, public, archived_at) VALUES
  (1, 1, NULL, 0, NULL), (2, 2, NULL, 0, NULL), (3, NULL, 'deep', 0, NULL), (4, NULL, NULL, 0, NULL),
  (5, NULL, NULL, 1, NULL), (6, NULL, NULL, 0, 'now'), (NULL, 1, 'deep', 1, NULL);
CREATE TEMPORARY TABLE issues (id UUID, repository_id INTEGER, creator TEXT);
INSERT INTO issues VALUES
  ('00000000-0000-4000-8000-000000000001', 1, 'ada'), ('00000000-0000-4000-8000-000000000002', 2, 'ada'),
  ('00000000-0000-4000-8000-000000000003', NULL, 'bob'), (NULL, 1, 'ada');
CREATE TEMPORARY TABLE folders (id TEXT, parent_id TEXT);
INSERT INTO folders VALUES ('top', NULL), ('mid', 'top'), ('deep', 'mid');
CREATE TEMPORARY TABLE watchers (who TEXT, repository_id INTEGER);
INSERT INTO watchers VALUES ('ada', 1), ('ada', 1), ('ada', 6), (NULL, 2);
";

/// How the tables hold facts.
pub(crate) const DOCUMENT: &str = "
facts:
  has_relation(Repository:_, organization, Organization:_):
    query: SELECT id, organization_id FROM repositories
  has_relation(Repository:_, folder, Folder:_):
    query: SELECT id, folder FROM repositories
  has_relation(Folder:_, parent, Folder:_):
    query: SELECT id, parent_id FROM folders
  is_public(Repository:_):
    query: SELECT id FROM repositories WHERE public = 1
  is_archived(Repository:_):
    query: SELECT id FROM repositories WHERE archived_at IS NOT NULL
  has_relation(Issue:_, repository, Repository:_):
    query: SELECT id, repository_id FROM issues
  has_relation(Issue:_, creator, User:_):
    query: SELECT id, creator FROM issues
  watches(User:_, Repository:_):
    query: SELECT who, repository_id FROM watchers
sql_types:
  Organization: integer
  Repository: integer
  Issue: uuid
";

/// An engine and a document for each database.
pub(crate) struct Service {
    hosted: Hosted,
    document: String,
}

impl Service {
    /// The one of this file.
    pub(crate) fn usual() -> Self {
        Self::new(POLICY, FACTS, DOCUMENT)
    }

    /// Any other.
    pub(crate) fn new(policy: &str, stored: &str, document: &str) -> Self {
        let service = Self { hosted: Hosted::new(policy).unwrap(), document: document.to_owned() };
        service.store(&facts(stored));
        service
    }

    /// Stores more facts.
    pub(crate) fn store(&self, facts: &[Fact]) {
        self.hosted.store(facts).unwrap();
    }

    /// The SQL for PostgreSQL; `column` is what a filter is over.
    pub(crate) fn sql(&self, question: &str, way: Way, column: &str) -> String {
        self.sql_for(Dialect::Postgresql, question, way, column)
    }

    /// The SQL for a database.
    pub(crate) fn sql_for(&self, dialect: Dialect, question: &str, way: Way, column: &str) -> String {
        let question = notation::question(question).unwrap();
        let asked = ways::local(&question, way, column);
        self.ask(dialect, asked, &[]).unwrap_or_else(|message| panic!("{question:?}: {message}"))
    }

    /// The filter of a list, for PostgreSQL.
    pub(crate) fn filter(&self, question: &str, column: &str) -> String {
        self.sql(question, Way::List, column)
    }

    /// Runs the filters of lists on each database, over tables that a script makes: those of a question must
    /// pass the rows of `table` with these ids, whichever of `names` the filter's column is called by.
    pub(crate) fn passes(&self, schema: &str, table: &str, names: &[&str], expected: &[(String, &str)]) {
        for dialect in DIALECTS {
            let caller = Caller::new(dialect).unwrap();
            caller.script(schema).unwrap();
            for (question, expected) in expected {
                for name in names {
                    let filter = self.sql_for(dialect, question, Way::List, name);
                    let ids = column(&caller, &format!("SELECT id FROM {table} WHERE {filter} ORDER BY id"));
                    assert_eq!(ids, *expected, "{question} {name} {dialect}: {filter}");
                }
            }
        }
    }

    /// Why there is no SQL.
    pub(crate) fn refusal(&self, question: &str, way: Way, column: &str) -> String {
        let asked = ways::local(&notation::question(question).unwrap(), way, column);
        self.ask(Dialect::Postgresql, asked, &[]).unwrap_err()
    }

    /// The SQL for PostgreSQL and how it came about.
    pub(crate) fn explain(&self, question: &str, way: Way) -> LocalExplanation {
        self.explain_over(question, way, "")
    }

    /// The same for a filter over a column.
    pub(crate) fn explain_over(&self, question: &str, way: Way, column: &str) -> LocalExplanation {
        self.explain_for(Dialect::Postgresql, question, way, column)
    }

    /// The same for a database.
    pub(crate) fn explain_for(
        &self,
        dialect: Dialect,
        question: &str,
        way: Way,
        column: &str,
    ) -> LocalExplanation {
        let asked = ways::local(&notation::question(question).unwrap(), way, column);
        self.hosted.explain_local(&format!("dialect: {dialect}\n{}", self.document), asked).unwrap()
    }

    /// The SQL or why there is none.
    pub(crate) fn ask(
        &self,
        dialect: Dialect,
        question: LocalQuestion,
        context: &[Fact],
    ) -> Result<String, String> {
        let document = format!("dialect: {dialect}\n{}", self.document);
        self.hosted.local(&document, question, context).map_err(NoAnswer::into_message)
    }
}

/// Facts as they are written, one a line.
pub(crate) fn facts(text: &str) -> Vec<Fact> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| notation::fact(line).unwrap()).collect()
}

/// A database with the usual tables.
pub(crate) fn caller(dialect: Dialect) -> Caller {
    let caller = Caller::new(dialect).unwrap();
    caller.script(SCHEMA).unwrap();
    caller
}

/// A PostgreSQL with the usual tables.
pub(crate) fn postgres() -> Caller {
    caller(Dialect::Postgresql)
}

/// What a statement returns, each cell as text, NULL as `-`.
pub(crate) fn rows(caller: &Caller, sql: &str) -> Vec<Vec<String>> {
    let returned = caller.run(sql).unwrap_or_else(|error| panic!("{error}"));
    let cells = |row: Vec<Option<String>>| row.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into()));
    returned.rows.into_iter().map(|row| cells(row).collect()).collect()
}

/// Whether a check is answered yes, or why the database refuses it.
pub(crate) fn decision(caller: &Caller, sql: &str) -> Result<bool, String> {
    printed(caller, sql).map(|rows| matches!(rows[0][0].as_deref(), Some("t" | "1")))
}

/// The only column of a statement, its cells joined by blanks.
pub(crate) fn column(caller: &Caller, sql: &str) -> String {
    rows(caller, sql).concat().join(" ")
}

/// Everything that a statement returns.
pub(crate) fn returned(caller: &Caller, sql: &str) -> Statements {
    caller.run(sql).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares a text with its snapshot.
pub(crate) fn shape(name: &str, sql: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots/local"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, sql));
}
