//! What `bindings check` reports of the types and collations of columns. Where the document says a different
//! type than the column has, or the database finds different ids equal, an answer could be wrong.

use super::{TABLES, findings, postgresql, sqlite};

#[test]
fn a_type_that_disagrees_is_named_with_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let bindings = "facts:
  owner(User:_, Repo:_):
    query: SELECT owner, id FROM repos
  named(Slug:_, Thing:_):
    query: SELECT slug, id FROM repos
sql_types: {User: text, Repo: integer}
";
    let database = postgresql("typed", TABLES);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let of = |part: &str| found.iter().filter(|line| line.contains(part)).count();
    assert_eq!(code, 1, "{found:?}");
    assert_eq!(
        of("error owner(User:_, Repo:_) owner: is `uuid`, but `sql_types` says otherwise"),
        1,
        "{found:?}"
    );
    // The width of an integer does not matter.
    assert_eq!(of("owner(User:_, Repo:_) id:"), 0, "{found:?}");
    assert_eq!(
        of("warning named(Slug:_, Thing:_) id: is `bigint`, but compared as text: add `Thing: bigint`"),
        1
    );
    assert_eq!(of("slug: is"), 0, "{found:?}");
    for (column, told, finding) in [
        ("id::int", "bigint", None),
        ("id::numeric(20)", "integer", Some("error")),
        ("id", "numeric", Some("warning")),
        ("id::numeric", "numeric", Some("error")),
        ("id::numeric", "integer", Some("error")),
        ("id::numeric(20)", "numeric", None),
        ("id::numeric(10, 2)", "numeric", Some("error")),
        ("id::numeric(10, 2)", "integer", Some("error")),
        ("id::numeric(10, 2)", "numeric(10, 2)", None),
        ("id::text", "bigint", Some("error")),
    ] {
        let told = bindings
            .replace("SELECT owner, id", &format!("SELECT owner, {column}"))
            .replace("Repo: integer", &format!("Repo: '{told}'"));
        let (_, found) = findings(folder.path(), &told, &database, &[]);
        let is_of_type = |line: &&String| {
            let is_about = line.contains("owner(User:_, Repo:_) id: is `") && line.contains("`sql_types`");
            is_about && !line.contains("with and without an entry")
        };
        let mut found_of = found.iter().filter(is_of_type);
        assert_eq!(found_of.next().map(|line| line.split(' ').next().unwrap()), finding, "{found:?}");
    }
    let unscaled = bindings.replace("SELECT owner, id", "SELECT owner, id::numeric AS id");
    let (_, found) = findings(folder.path(), &unscaled, &database, &[]);
    let expected = "error owner(User:_, Repo:_) id: is `numeric` without a scale, so it may contain `5.0`, which \
                    would equal the id `5`: give it an integer type or `numeric(38, 0)`, or leave `Repo` out of \
                    `sql_types`";
    assert!(found.contains(&expected.to_owned()), "{found:?}");
    let unknown = bindings.replace("User: text", "User: made_up");
    let (code, found) = findings(folder.path(), &unknown, &database, &[]);
    assert!(
        code == 1 && found[0].starts_with("error User -: the database has no type `made_up`"),
        "{found:?}"
    );
}

/// An id is its bytes; where the database finds others equal to it, a user would get another's rights.
#[test]
fn columns_in_which_different_ids_are_equal_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "
        CREATE EXTENSION citext;
        CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE readers (who text COLLATE loose NOT NULL, doc citext NOT NULL, PRIMARY KEY (who, doc));
        CREATE INDEX ON readers (doc);
        INSERT INTO readers VALUES ('ada', 'a');
    ";
    let bindings = "facts:\n  reads(User:_, Doc:_):\n    query: SELECT who, doc FROM readers\n";
    let database = postgresql("loose", tables);
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let expected = [
        "error reads(User:_, Doc:_) who: has the collation `loose`, which treats different ids as equal: give it a \
         deterministic one",
        "warning reads(User:_, Doc:_) doc: is compared as text, because ids are case-sensitive, so its index \
         is not used: store ids as text",
    ];
    assert_eq!((code, found.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    let told = format!("{bindings}sql_types: {{Doc: text}}\n");
    let (_, found) = findings(folder.path(), &told, &database, &[]);
    let wrong = "error reads(User:_, Doc:_) doc: is `citext`, but `sql_types` says otherwise: write `Doc: citext` there";
    assert!(found.contains(&wrong.to_owned()), "{found:?}");
}

#[test]
fn a_collation_over_which_recursions_are_refused_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let tables = r#"CREATE TABLE folders (id text COLLATE "C" PRIMARY KEY, parent_id text NOT NULL);
                    CREATE INDEX ON folders (parent_id);"#;
    let bindings =
        "facts:\n  has_relation(Folder:_, parent, Folder:_):\n    query: SELECT id, parent_id FROM folders\n";
    let (code, found) = findings(folder.path(), bindings, &postgresql("collated", tables), &[]);
    let expected = "warning has_relation(Folder:_, parent, Folder:_) id: has the collation `C`: PostgreSQL refuses a \
                    recursion over it, and a comparison with a column of another collation; if a question is refused for this \
                    reason, select `id COLLATE \"default\"`";
    assert_eq!((code, found), (0, vec![expected.to_owned()]));
}

#[test]
fn an_integer_over_numeric_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "CREATE TABLE docs (id text PRIMARY KEY, size numeric NOT NULL);";
    let bindings = "facts:\n  weighs(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\nsql_types: {Integer: bigint}\n";
    let (code, found) = findings(folder.path(), bindings, &postgresql("weighed", tables), &[]);
    let expected = "error weighs(Doc:_, Integer:_) size: is `numeric`, but `sql_types` says otherwise: write \
                    `Integer: numeric` there";
    assert_eq!((code, found), (1, vec![expected.to_owned()]));
}

#[test]
fn what_sqlite_converts_to_no_declared_type_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE marks (user TEXT NOT NULL, doc NOT NULL);
                                          CREATE INDEX of_user ON marks (user); CREATE INDEX of_doc ON marks (doc);");
    let bindings = "dialect: sqlite
facts:
  marked(User:_, Doc:_):
    query: SELECT user, doc FROM marks
  weighed(Doc:_, Integer:_):
    query: SELECT doc || '', length(user) FROM marks
  rated(User:_, String:_):
    query: SELECT user, CASE WHEN doc > 2 THEN 3 ELSE 1 END FROM marks
  known(User:_, Boolean:_):
    query: SELECT user, doc > 2 FROM marks
sql_types: {Doc: integer, Integer: integer, User: text, String: text, Boolean: boolean}
";
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let remedy = |what: &str, ty: &str| {
        format!(
            "{what}, so SQLite compares its values unconverted, not as `sql_types` says: select a column declared as that \
             type, or leave `{ty}` out of `sql_types`"
        )
    };
    for wrong in [
        format!("error marked(User:_, Doc:_) doc: {}", remedy("has no declared type", "Doc")),
        format!("error weighed(Doc:_, Integer:_) doc || '': {}", remedy("is computed", "Doc")),
        format!("error weighed(Doc:_, Integer:_) length(user): {}", remedy("is computed", "Integer")),
        format!(
            "error rated(User:_, String:_) CASE WHEN doc > 2 THEN 3 ELSE 1 END: {}",
            remedy("is computed", "String")
        ),
    ] {
        assert!(found.contains(&wrong), "{wrong}\n{found:#?}");
    }
    let untold =
        bindings.lines().filter(|line| !line.starts_with("sql_types")).collect::<Vec<_>>().join("\n");
    let (untold, _) = findings(folder.path(), &untold, &database, &[]);
    assert_eq!((code, untold), (1, 0));
}
