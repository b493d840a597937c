//! How PostgreSQL runs each pattern of the catalogue over 50,000 documents, and the page that shows them all.
//!
//! The plans are kept under `snapshots/plans`. A pattern whose rows an index can find must not read all
//! documents, nor all rows of any other table but a small one; the statistics are taken from every row, so
//! that the planner chooses the same each time.

use super::catalogue::{DOCUMENT, Pattern, at_fixed_time, patterns};
use super::plans::{keep, scans};
use super::service::Service;
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::expert::database::Database;
use portcullis_testkit::markdown::anchor;
use portcullis_testkit::repository;
use std::fmt::Write;

/// Tables of a few pages, which a plan may read as a whole to hash them.
const SMALL: [&str; 6] = ["role_permissions", "staff", "role_limits", "tenants", "folders", "parents"];

const SCHEMA: &str = "
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, owner_id INTEGER, folder_id INTEGER, deleted INTEGER, status TEXT, size INTEGER);
INSERT INTO documents SELECT g, g % 1009, g % 2003, CASE WHEN g % 7 = 0 THEN 1 ELSE 0 END,
  CASE g % 3 WHEN 0 THEN 'draft' ELSE 'final' END, g % 1000 FROM generate_series(1, 50000) g;
CREATE INDEX ON documents (owner_id);
CREATE INDEX ON documents (folder_id);
CREATE INDEX ON documents ((folder_id + 0));
CREATE TABLE folders (id INTEGER PRIMARY KEY, tenant_id INTEGER, archived INTEGER, keeper_id INTEGER);
INSERT INTO folders SELECT g, g % 101, CASE WHEN g % 11 = 0 THEN 1 ELSE 0 END, g % 97 FROM generate_series(0, 2002) g;
CREATE TABLE parents (folder_id INTEGER, parent_id INTEGER);
INSERT INTO parents SELECT g, g / 4 FROM generate_series(1, 2002) g;
CREATE INDEX ON parents (folder_id);
CREATE INDEX ON parents (parent_id);
CREATE TABLE tenants (id INTEGER PRIMARY KEY, suspended INTEGER);
INSERT INTO tenants SELECT g, CASE WHEN g % 13 = 0 THEN 1 ELSE 0 END FROM generate_series(0, 100) g;
CREATE TABLE folder_roles (user_id INTEGER, role TEXT, folder_id INTEGER);
INSERT INTO folder_roles SELECT g % 1009, CASE g % 4 WHEN 0 THEN 'editor' ELSE 'viewer' END, (g::bigint * 7919) % 2003
  FROM generate_series(1, 5000) g;
CREATE INDEX ON folder_roles (user_id);
CREATE TABLE blocks (document_id INTEGER, user_id INTEGER);
INSERT INTO blocks SELECT (g::bigint * 7919) % 50000, g % 1009 FROM generate_series(1, 50000) g;
CREATE INDEX ON blocks (document_id, user_id);
CREATE INDEX ON blocks (user_id);
CREATE TABLE quotas (user_id INTEGER, folder_id INTEGER, kind TEXT, most INTEGER);
INSERT INTO quotas SELECT g % 1009, (g::bigint * 7919) % 2003, CASE g % 2 WHEN 0 THEN 'view' ELSE 'edit' END, g % 900
  FROM generate_series(1, 5000) g;
CREATE INDEX ON quotas (user_id, folder_id);
CREATE TABLE deputies (user_id INTEGER, deputy_id INTEGER, active INTEGER);
INSERT INTO deputies SELECT g % 1009, (g * 31) % 1009, g % 2 FROM generate_series(1, 2000) g;
CREATE INDEX ON deputies (deputy_id);
CREATE INDEX ON deputies (user_id);
CREATE TABLE loans (user_id INTEGER, folder_id INTEGER, until BIGINT);
INSERT INTO loans SELECT g % 1009, (g::bigint * 7919) % 2003, CASE g % 2 WHEN 0 THEN 99999999999 ELSE 1000000000 END
  FROM generate_series(1, 5000) g;
CREATE INDEX ON loans (user_id);
CREATE TABLE tenant_members (user_id INTEGER, tenant_id INTEGER);
INSERT INTO tenant_members SELECT g % 1009, g % 101 FROM generate_series(1, 2000) g;
CREATE INDEX ON tenant_members (user_id);
CREATE TABLE staff (user_id INTEGER PRIMARY KEY);
INSERT INTO staff SELECT g * 100 FROM generate_series(1, 9) g;
CREATE TABLE limits (user_id INTEGER, most INTEGER);
INSERT INTO limits SELECT g % 1009, g % 1000 FROM generate_series(1, 2000) g;
CREATE INDEX ON limits (user_id);
CREATE TABLE role_limits (role TEXT, most INTEGER);
INSERT INTO role_limits VALUES ('viewer', 100), ('editor', 500);
CREATE TABLE bans (user_id INTEGER, folder_id INTEGER);
INSERT INTO bans SELECT g % 1009, 500 + (g::bigint * 7919) % 1503 FROM generate_series(1, 2000) g;
CREATE INDEX ON bans (user_id);
CREATE TABLE role_permissions (role TEXT, permission TEXT);
INSERT INTO role_permissions SELECT CASE g % 2 WHEN 0 THEN 'viewer' ELSE 'editor' END, 'p' || g FROM generate_series(1, 40) g;
INSERT INTO role_permissions VALUES ('viewer', 'read'), ('owner', 'read');
ANALYZE;";

/// A user with every role, quota and loan of every folder, whom the statistics do not know.
const MANY: &str = "2000";
const GRANTS_OF_MANY: &str = "
INSERT INTO folder_roles SELECT 2000, role, g FROM generate_series(0, 2002) g, (VALUES ('viewer'), ('editor')) r (role);
INSERT INTO quotas SELECT 2000, g, kind, 900 FROM generate_series(0, 2002) g, (VALUES ('view'), ('edit')) k (kind);
INSERT INTO loans SELECT 2000, g, 99999999999 FROM generate_series(0, 2002) g;";

const STATEMENTS: [(&str, &str); 3] = [
    ("page", "SELECT * FROM documents WHERE FILTER ORDER BY id DESC LIMIT 50"),
    ("count", "SELECT count(*) FROM documents WHERE FILTER"),
    ("update", "UPDATE documents SET size = size + 1 WHERE FILTER"),
];

#[test]
fn indexes_find_the_rows_of_every_pattern_that_has_one() {
    let filters: Vec<(&Pattern, String)> =
        patterns().map(|pattern| (pattern, filter(pattern, "1"))).collect();
    let wrong = with_database(async |database| {
        let mut wrong = Vec::new();
        for (pattern, filter) in filters {
            let sql = format!("SELECT count(*) FROM documents WHERE {filter}");
            let plan = database.first_column(&format!("EXPLAIN (COSTS OFF) {sql}")).await;
            keep(&pattern.shape.replace('-', " "), &at_fixed_time(&plan.join("\n")));
            let mut scans = scans(database, &sql).await;
            if scans.remove("documents") != pattern.reads_each_row {
                wrong.push(format!("{}: reads_each_row is not {}", pattern.shape, pattern.reads_each_row));
            }
            scans.retain(|table| !SMALL.contains(&table.as_str()));
            wrong.extend(scans.iter().map(|table| format!("{}: reads all of {table}", pattern.shape)));
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The other statements of an application, and a user who sees much: no statement reads a table from end to
/// end that the expert's does not, and none looks one column up in two arrays, which PostgreSQL compares
/// element by element.
#[test]
fn every_statement_of_every_user_is_planned_as_an_experts() {
    let statements: Vec<(&Pattern, &str, String)> = patterns()
        .flat_map(|pattern| ["1", MANY].map(|user| (pattern, user, filter(pattern, user))))
        .collect();
    let wrong = with_database(async |database| {
        database.first_column(GRANTS_OF_MANY).await;
        let mut wrong = Vec::new();
        for (pattern, user, filter) in statements {
            for (kind, around) in STATEMENTS {
                let (ours, expert) = [&filter, &pattern.expert(user, "documents")]
                    .map(|text| around.replace("FILTER", text))
                    .into();
                let (ours_scans, their_scans) =
                    (scans(database, &ours).await, scans(database, &expert).await);
                let name = format!("{}, {kind}, user {user}", pattern.shape);
                let more =
                    ours_scans.difference(&their_scans).filter(|table| !SMALL.contains(&table.as_str()));
                wrong.extend(more.map(|table| format!("{name}: reads all of {table}")));
                let plan = database.first_column(&format!("EXPLAIN (COSTS OFF) {ours}")).await;
                let quadratic = plan.iter().filter(|line| compares_arrays(line));
                wrong.extend(quadratic.map(|line| format!("{name}: {}", line.trim())));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a line of a plan compares one column with two arrays that the database makes.
fn compares_arrays(line: &str) -> bool {
    let line = line.trim();
    let columns: Vec<&str> = line
        .match_indices(" = ANY ($")
        .map(|(at, _)| line.split_at(at).0.rsplit(['(', ' ']).next().unwrap_or_default())
        .collect();
    // The alternatives of an OR have an array each.
    let is_of_one_row =
        line.starts_with("Index Cond: ") || line.starts_with("Filter: ") && !line.contains(" OR ");
    is_of_one_row && columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column))
}

/// Runs over a database with the tables.
fn with_database<T>(run: impl AsyncFnOnce(&Database) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let settings =
            ["random_page_cost=1.1", "max_parallel_workers_per_gather=0", "default_statistics_target=400"];
        let cluster = Cluster::start(&settings).unwrap();
        let database =
            Database::connect(&format!("host={} user=postgres dbname=postgres", cluster.folder)).await;
        database.first_column(SCHEMA).await;
        run(&database).await
    })
}

/// `docs/local-checks/patterns.md` is generated from the catalogue. `UPDATE_FIXTURES=1 cargo test --test
/// local -- pattern_plans` writes it.
#[test]
fn the_page_of_patterns_is_the_catalogue() {
    let place = repository().join("docs/local-checks/patterns.md");
    let page = page();
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(&place, &page).unwrap();
    }
    let known = std::fs::read_to_string(&place).unwrap_or_default();
    assert!(known == page, "run UPDATE_FIXTURES=1 cargo test --test local -- pattern_plans");
}

/// `compiler/LOCAL.md` follows a guard through the planner, and shows what an expert writes.
#[test]
fn the_page_of_local_checks_shows_the_experts_guard() {
    let pattern = patterns().find(|pattern| pattern.shape == "pattern-guard-on-the-container").unwrap();
    let page = std::fs::read_to_string(repository().join("compiler/LOCAL.md")).unwrap();
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expert = in_one_line(&pattern.expert("1", "documents"));
    let (condition, _) = expert.rsplit_once(" AND documents.id IS NOT NULL").unwrap();
    let condition = condition.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap();
    assert!(in_one_line(&page).contains(condition), "the page lacks {condition}");
}

fn filter(pattern: &Pattern, user: &str) -> String {
    let service = Service::new(&pattern.policy(), "", DOCUMENT);
    service.filter(&format!("allow(User:{user}, \"read\", Document:?)"), "documents.id")
}

fn page() -> String {
    let mut page = String::from(
        "# Patterns of rules, and the SQL that they become\n\n\
         One table of documents, and a policy that differs in a line. For each kind of rule: the lines of the policy, why \
         the\nSQL is fast or what it costs, and the filter for `documents.id` and the user `1` on PostgreSQL. `owner` and \
         `folder`\nare columns of `documents`; `tests/local/catalogue` has the rest of the policy, the data bindings, which \
         declare\n`sql_types` and `tables`, and an expert's condition for each pattern. The tests compare the rows of both on \
         PostgreSQL\nand SQLite (`tests/local/patterns.rs`), also without the declarations, and keep PostgreSQL's plans over \
         50,000 documents\nunder `snapshots/plans` (`tests/local/pattern_plans.rs`, which writes this page). *Index* says \
         whether the\nindexes of `documents` on its key, `owner_id` and `folder_id` find its rows.\n",
    );
    for Pattern { title, .. } in patterns() {
        write!(page, "\n- [{title}](#{})", anchor(title)).unwrap();
    }
    page.push('\n');
    for pattern in patterns() {
        let Pattern { title, why, shorthand, rule, reads_each_row, .. } = pattern;
        let index = if *reads_each_row { "none; reads every document" } else { "yes" };
        let shorthand: Vec<&str> = shorthand.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut policy = Vec::new();
        if !shorthand.is_empty() {
            policy.push(format!("resource Document {{\n  # …\n  {}\n}}", shorthand.join("\n  ")));
        }
        if !rule.trim().is_empty() {
            policy.push(rule.trim().to_owned());
        }
        let (policy, sql) = (policy.join("\n"), at_fixed_time(&filter(pattern, "1")));
        let why = wrapped(why);
        write!(page, "\n## {title}\n\n```text\n{policy}\n```\n\n{why}\n\nIndex: {index}.\n").unwrap();
        write!(page, "\n```text\n{sql}\n```\n").unwrap();
    }
    page
}

/// A paragraph in lines of up to 120 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if lines.last().is_some_and(|line| line.len() + word.len() >= 120) {
            lines.push(String::new());
        }
        let line = lines.last_mut().unwrap();
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.join("\n")
}
