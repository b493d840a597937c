//! What `bindings check` reports of the types and collations of columns. Where the document says a different
//! type than the column has, or the database finds different ids equal, an answer could be wrong.

use super::{TABLES, check, findings, postgresql, sqlite};

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
         is not used: store ids as text, or write `Doc: citext` under `sql_types`",
    ];
    assert_eq!((code, found.as_slice()), (1, expected.map(str::to_owned).as_slice()));
    let told = format!("{bindings}sql_types: {{Doc: text}}\n");
    let (_, found) = findings(folder.path(), &told, &database, &[]);
    let wrong = "error reads(User:_, Doc:_) doc: is `citext`, but `sql_types` says otherwise: write `Doc: citext` there";
    assert!(found.contains(&wrong.to_owned()), "{found:?}");
    let told = format!("{bindings}sql_types: {{Doc: citext}}\n");
    let (_, found) = findings(folder.path(), &told, &database, &[]);
    assert!(!found.iter().any(|line| line.contains(" doc: ")), "{found:?}");
    let (_, out, _) = check(folder.path(), bindings, &database, &["--fix"]);
    assert!(out.contains("+  Doc: citext"), "{out}");
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
    let expected = "error weighs(Doc:_, Integer:_) size: is `numeric`, but `sql_types` says otherwise: leave \
                    `Integer` out of it";
    assert_eq!((code, found), (1, vec![expected.to_owned()]));

    let priced = "CREATE TABLE docs (id text PRIMARY KEY, size numeric(10, 2) NOT NULL);";
    let undeclared = bindings.replace("sql_types: {Integer: bigint}\n", "");
    let (code, found) = findings(folder.path(), &undeclared, &postgresql("priced", priced), &[]);
    let expected = "warning weighs(Doc:_, Integer:_) size: is `numeric(10,2)`, so none of its values is an Integer: an \
                    order comparison ignores its rows, even in a denial, which then denies nothing; select \
                    `CAST(… AS bigint)`";
    assert_eq!((code, found), (0, vec![expected.to_owned()]));
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

const NUMBERS: &str = "
    CREATE TABLE docs (id bigint PRIMARY KEY, owner_id integer NOT NULL);
    CREATE INDEX ON docs (owner_id);
    CREATE TABLE grants (user_id bigint NOT NULL, doc_id bigint NOT NULL);
    CREATE INDEX ON grants (user_id); CREATE INDEX ON grants (doc_id);";

const OF_NUMBERS: &str = "facts:
  owns(User:_, Doc:_):
    query: SELECT owner_id, id FROM docs
  may_read(User:_, Doc:_):
    query: SELECT user_id, doc_id FROM grants
  is_open(Doc:_):
    query: SELECT id FROM docs
tables: {Doc: docs.id}
";

/// The advice is the entry that `--fix` writes.
#[test]
fn a_type_is_advised_once_and_for_all_columns() {
    let folder = tempfile::tempdir().unwrap();
    let database = postgresql("advised_once", NUMBERS);
    let of_types = |found: Vec<String>| -> Vec<String> {
        found.into_iter().filter(|line| line.contains("`sql_types`")).collect()
    };
    let (_, found) = findings(folder.path(), OF_NUMBERS, &database, &[]);
    let gain = "under `sql_types`, so that indexes are used and an id of another form is not an error";
    let expected = [
        format!(
            "warning owns(User:_, Doc:_) owner_id: is `integer`, but compared as text: add `User: bigint` {gain}; the \
             same holds for `grants.user_id` (`bigint`)"
        ),
        format!(
            "warning owns(User:_, Doc:_) id: is `bigint`, but compared as text: add `Doc: bigint` {gain}; the same \
             holds for `grants.doc_id` (`bigint`)"
        ),
    ];
    assert_eq!(of_types(found), expected);
    let wrong = format!("{OF_NUMBERS}sql_types: {{User: uuid, Doc: bigint}}\n");
    let (code, found) = findings(folder.path(), &wrong, &database, &[]);
    let expected = "error owns(User:_, Doc:_) owner_id: is `integer`, but `sql_types` says otherwise: write \
                    `User: bigint` there; the entry is not true of `grants.user_id` (`bigint`) either";
    assert_eq!((code, of_types(found)), (1, vec![expected.to_owned()]));
    for bindings in [OF_NUMBERS, &wrong] {
        let (_, out, _) = check(folder.path(), bindings, &database, &["--fix"]);
        assert!(out.contains("sql_types: User: bigint\n"), "{out}");
    }
}

/// No entry makes them comparable, so none is advised.
#[test]
fn columns_that_differ_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let tables = NUMBERS.replace("CREATE TABLE docs (id bigint", "CREATE TABLE docs (id numeric(10,2)");
    let database = postgresql("advised_none", &tables);
    let of_docs = |bindings: &str| -> Vec<String> {
        let (_, found) = findings(folder.path(), bindings, &database, &[]);
        found.into_iter().filter(|line| line.contains("numeric") || line.contains("`Doc")).collect()
    };
    let user = format!("{OF_NUMBERS}sql_types: {{User: bigint}}\n");
    let expected = "warning Doc -: its columns have types that do not compare without a cast, which prevents the use of \
                    indexes: `docs.id` is `numeric(10,2)`, `grants.doc_id` is `bigint`; give all of them one text, integer \
                    or uuid type, or select those that are not text as `CAST(… AS text)` and create an index over this \
                    expression";
    assert_eq!(of_docs(&user), [expected]);
    // If all have it, the advice is another type, and no entry.
    let alone =
        user.replace("  may_read(User:_, Doc:_):\n    query: SELECT user_id, doc_id FROM grants\n", "");
    let found = of_docs(&alone);
    assert!(found.len() == 1 && found[0].contains("with and without an entry"), "{found:?}");
    // An entry that is there is wrong for some column.
    let told = user.replace("{User: bigint}", "{User: bigint, Doc: bigint}");
    let wrong = "error owns(User:_, Doc:_) id: is `numeric(10,2)`, but `sql_types` says otherwise: leave `Doc` out of \
                 it, or give all columns of Doc one type";
    assert_eq!(of_docs(&told), [expected, wrong]);
}

/// Without a type for all of them, each column is reported with its own.
#[test]
fn columns_without_one_type_are_reported_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let tables = NUMBERS.replace("CREATE TABLE docs (id bigint", "CREATE TABLE docs (id numeric(38,0)");
    let database = postgresql("advised_apart", &tables);
    let (_, found) = findings(folder.path(), OF_NUMBERS, &database, &[]);
    let advised = |of: &str| found.iter().filter(|line| line.contains(of)).count();
    assert_eq!((advised("add `Doc: numeric(38,0)`"), advised("add `Doc: bigint`")), (1, 1), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("`Doc") && line.contains("the same holds")), "{found:?}");
}

/// The column under `tables` counts as well, though no bound query selects it.
#[test]
fn a_promised_column_of_another_type_is_no_reason_to_repeat_the_entry() {
    let folder = tempfile::tempdir().unwrap();
    let schema = format!("{NUMBERS}; CREATE TABLE keys (id uuid PRIMARY KEY)");
    let database = postgresql("promised_apart", &schema);
    let promised = OF_NUMBERS.replace("docs.id}", "keys.id}");
    let bindings = format!("{promised}sql_types: {{User: bigint, Doc: bigint}}\n");
    let (code, found) = findings(folder.path(), &bindings, &database, &[]);
    let of_promise: Vec<&String> = found.iter().filter(|line| line.contains("`uuid`")).collect();
    assert_eq!(code, 1, "{found:?}");
    assert!(of_promise.iter().any(|line| line.contains("leave `Doc` out of it")), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("write `Doc: bigint` there")), "{found:?}");
    let (_, out, _) = check(folder.path(), &promised, &database, &["--fix"]);
    assert!(!out.contains("\n+  Doc: bigint"), "{out}");
}

/// Also in ranges, arrays and composite types, and for names that depend on `search_path`.
#[test]
fn a_text_that_depends_on_the_session_is_found_in_every_type() {
    const DEPENDENT: &str = "date; timestamp(0); timestamptz; interval; float4; float8; money; bytea; birthday; \
        regclass; regproc; regprocedure; regoper; regoperator; regnamespace; regrole; regtype; regconfig; \
        regdictionary; regcollation; point; line; lseg; box; path; polygon; circle; daterange; tstzrange; \
        datemultirange; span; span_multirange; date[]; bytea[]; float8[]; days; pair; pair[]; datemultirange[]";
    const CONSTANT: &str = "text; varchar(9); bigint; bigint[]; int4range; numrange; nummultirange; jsonb; uuid; \
        cidr; xid; tid; oid; time; timetz; bit(4); name; mood; mood[]; plain";
    let all = || DEPENDENT.split("; ").chain(CONSTANT.split("; "));
    let columns: Vec<String> = all().enumerate().map(|(n, ty)| format!(", c{n} {ty} NOT NULL")).collect();
    let fact = |n: usize| format!("  f{n}(Doc:_, String:_):\n    query: SELECT id, c{n} FROM docs\n");
    let bindings = format!("facts:\n{}", (0..columns.len()).map(fact).collect::<Vec<_>>().concat());
    let tables = format!(
        "CREATE DOMAIN birthday AS date; CREATE DOMAIN days AS date[];
         CREATE TYPE span AS RANGE (subtype = date); CREATE TYPE pair AS (n integer, at days);
         CREATE TYPE mood AS ENUM ('sad'); CREATE TYPE plain AS (n integer, m mood);
         CREATE TABLE docs (id bigint PRIMARY KEY{});",
        columns.concat()
    );
    let folder = tempfile::tempdir().unwrap();
    let (_, found) = findings(folder.path(), &bindings, &postgresql("of_session", &tables), &[]);
    for (n, ty) in all().enumerate() {
        let about = format!("warning f{n}(Doc:_, String:_) c{n}: is `");
        let of_column = |line: &&String| line.starts_with(&about) && line.contains("settings of the session");
        let times = found.iter().filter(of_column).count();
        assert_eq!(times == 1, DEPENDENT.split("; ").any(|dependent| dependent == ty), "{ty}: {found:#?}");
    }
}

/// An upload refuses `Host: inet`, so the report does not advise it.
#[test]
fn an_address_under_another_type_has_one_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let tables = "CREATE TABLE blocks (host inet NOT NULL);
                  CREATE TABLE hosts (ip inet PRIMARY KEY);";
    let database = postgresql("addressed", tables);
    for told in ["text", "cidr"] {
        let bindings = format!(
            "facts:\n  blocked(Host:_):\n    query: SELECT host FROM blocks\nsql_types: {{Host: {told}}}\n"
        );
        let (code, found) = findings(folder.path(), &bindings, &database, &[]);
        let expected = "error blocked(Host:_) host: is `inet`, which PostgreSQL casts to a text with its mask, such as \
                        `10.0.0.2/32`: no id matches, so grants and bans are missed; select `host(host)`";
        assert_eq!((code, found), (1, vec![expected.to_owned()]));
    }
    let promised = "sql_types: {Host: text}\ntables: {Host: hosts.ip}\n";
    let (code, found) = findings(folder.path(), promised, &database, &[]);
    let expected = "error Host ip: is `inet`, which PostgreSQL casts to a text with its mask, such as `10.0.0.2/32`: no \
                    id matches; name a column of type text, such as one generated as `host(ip)`, or leave `Host` out of \
                    `tables` and filter by that expression";
    assert_eq!((code, found), (1, vec![expected.to_owned()]));
}

/// `--fix` removes an entry for Integers that no column keeps, and the report says the same.
#[test]
fn an_integer_over_text_is_left_out_of_the_types() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(folder.path(), "CREATE TABLE docs (id INTEGER PRIMARY KEY, size TEXT NOT NULL);");
    let bindings = "dialect: sqlite\nfacts:\n  weighs(Doc:_, Integer:_):\n    query: SELECT id, size FROM docs\n\
                    sql_types:\n  Doc: integer\n  Integer: integer\ntables: {Doc: docs.id}\n";
    let (code, found) = findings(folder.path(), bindings, &database, &[]);
    let expected = "error weighs(Doc:_, Integer:_) size: is `text`, but `sql_types` says otherwise: leave `Integer` out \
                    of it";
    assert_eq!((code, found), (1, vec![expected.to_owned()]));
    let (_, out, _) = check(folder.path(), bindings, &database, &["--fix"]);
    assert!(out.contains("\n-  Integer: integer\n") && !out.contains("+  Integer"), "{out}");
}
