//! What may be named or written only in its own place. A foreign crate has its files, and text becomes SQL in
//! one folder. A dialect is asked for its features and not for its name. Every test prints all its offenders
//! at once, as `file:line: what is wrong`. Comments do not count, and neither do the unit tests at the end of
//! a file.

use super::sources::{files, names, none, product, word};

/// Where a crate or a part of the standard library may be named; everywhere else it may not.
const PLACES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["compiler/src/diagnostic/render.rs"]),
    ("chumsky", &["compiler/src/syntax/"]),
    // One reads what a bindings document says, the other where it says it.
    (
        "granit_parser",
        &[
            "compiler/src/bindings/yaml.rs",
            "compiler/src/bindings/format/mod.rs",
            "src/cli/bindings/fix/outline.rs",
        ],
    ),
    ("similar::", &["src/cli/replace.rs"]),
    ("petgraph", &["compiler/src/datalog/graph.rs"]),
    ("stacker", &["compiler/src/bindings/reader.rs"]),
    // `sql/build` makes nodes; the rest of `sql` names the types of those that it receives and passes on.
    // `reader` reads bound queries; what is printed of them comes from our own tokens. `predicate` reads what
    // PostgreSQL prints of indexes.
    ("sqlparser", &["compiler/src/sql/", "compiler/src/bindings/reader.rs", "src/cli/bindings/predicate.rs"]),
    // The store knows only three things of the language: the compact form of values, the names of relations,
    // and what its statements are written in.
    (
        "portcullis_compiler",
        &[
            "src/engine/",
            "src/cli/",
            "src/lsp/",
            "src/store/mod.rs",
            "src/store/embedded/value.rs",
            "src/store/postgres/value.rs",
            "src/store/signature.rs",
        ],
    ),
    // The service's own stores, a folder each; the commands that look at a caller's database, each driver in
    // one file; and how an address of PostgreSQL is completed.
    ("rusqlite", &["src/store/embedded/", "src/cli/bindings/sqlite.rs"]),
    ("tokio_postgres", &["src/libpq/config.rs", "src/store/postgres/", "src/cli/bindings/postgresql.rs"]),
    ("clap_complete", &["src/cli/completions.rs"]),
    ("clap_mangen", &["src/cli/man.rs"]),
    ("quick_xml", &["src/cli/test/junit.rs"]),
    ("csv::", &["src/cli/facts/table.rs", "src/cli/review/rows.rs"]),
    ("indicatif::", &["src/cli/progress.rs"]),
    ("axum", &["src/http/", "src/cli/serve.rs", "src/lib.rs"]),
    ("hyper", &["src/http/"]),
    ("hyper_util", &["src/http/"]),
    ("tower", &["src/http/"]),
    ("utoipa", &["src/http/"]),
    ("utoipa_axum", &["src/http/"]),
    ("utoipa_swagger_ui", &["src/http/openapi/page.rs"]),
    ("governor", &["src/http/rate.rs", "src/http/studio/sign_ins.rs"]),
    // Secrets are compared in constant time: digests of keys by the one type that has no `==`, tags of pages
    // and decisions by `hmac`. All others digest what is not secret: a policy, a backup, a file that is
    // imported.
    ("subtle", &["src/store/digest.rs"]),
    ("hmac", &["src/http/page.rs", "src/http/parity/peers.rs"]),
    (
        "sha2",
        &[
            "src/store/digest.rs",
            "src/http/page.rs",
            "src/http/parity/peers.rs",
            "src/store/policy.rs",
            "src/http/studio/files.rs",
            "src/store/embedded/backup.rs",
            "src/cli/facts/input.rs",
        ],
    ),
    // The settings, what the programs of a caller's database read, and whether a person wants no colours.
    ("std::env", &["src/config.rs", "src/libpq/mod.rs", "src/cli/output.rs"]),
    ("toml::de", &["src/config/file.rs"]),
    ("prometheus", &["src/http/metrics/"]),
    ("tokio_rustls", &["src/http/tls.rs", "src/store/postgres/tls.rs"]),
    ("rustls_platform_verifier", &["src/store/postgres/tls.rs"]),
    ("opentelemetry", &["src/http/traces.rs", "src/cli/telemetry.rs"]),
    (
        "lsp_server",
        &["src/lsp/server.rs", "src/lsp/requests.rs", "src/cli/lsp.rs", "src/http/studio/socket.rs"],
    ),
    ("crossbeam_channel", &["src/http/studio/socket.rs"]),
    ("gen_lsp_types", &["src/lsp/"]),
    (
        "ureq",
        &[
            "src/cli/facts/service.rs",
            "src/cli/service.rs",
            "src/cli/telemetry.rs",
            "src/http/collector.rs",
            "src/http/decision_log/otlp.rs",
        ],
    ),
];

#[test]
fn a_foreign_crate_stays_in_its_place() {
    let mut offenders = Vec::new();
    for file in product() {
        for (name, places) in PLACES {
            if places.iter().any(|place| file.path.starts_with(place)) {
                continue;
            }
            let found = file.code().into_iter().filter(|(_, line)| names(line, name));
            offenders.extend(found.map(|(line, _)| format!("{}:{line}: names `{name}`", file.path)));
        }
    }
    none(&offenders, "a foreign crate is named only where it has its place");
}

/// sqlparser's printer does not escape, so quoted text is made next to the tests that know about it.
#[test]
fn text_becomes_sql_in_one_place() {
    let quoted = [
        "SingleQuotedString",
        "DoubleQuotedString",
        "EscapedStringLiteral",
        "with_quote",
        "quote_style",
        "Ident::new",
        "Ident {",
    ];
    let mut offenders = Vec::new();
    for file in product().iter().filter(|file| !file.path.starts_with("compiler/src/sql/build/")) {
        for (number, line) in file.code() {
            let found = quoted.iter().filter(|name| names(line, name));
            offenders.extend(found.map(|name| format!("{}:{number}: makes `{name}`", file.path)));
        }
    }
    none(&offenders, "a user's text reaches SQL through `lit` and `ident` of sql/build, or as a parameter");
}

/// The rest of `sql` names the types of nodes, to take them and to give them on.
#[test]
fn syntax_nodes_are_made_in_one_place() {
    let mut offenders = Vec::new();
    for file in files("compiler/src/sql", &[".rs"]).iter().filter(|file| !file.path.contains("/build/")) {
        let code = file.code();
        let imports = code.iter().filter_map(|(_, line)| line.split_once("sqlparser::ast::{"));
        let types = imports.flat_map(|(_, list)| list.split([',', '}', ';']));
        let types: Vec<String> = types
            .map(|ty| word(ty.rsplit(" as ").next().unwrap_or(ty)))
            .filter(|ty| !ty.is_empty() && ty != "BinaryOperator")
            .collect();
        for (number, line) in code.iter().filter(|(_, line)| !line.contains("-> ")) {
            let makes = |ty: &&String| names(line, &format!("{ty}::")) || names(line, &format!("{ty} {{"));
            let made = types.iter().filter(makes);
            offenders.extend(made.map(|ty| format!("{}:{number}: makes a `{ty}`", file.path)));
        }
    }
    none(&offenders, "only sql/build makes nodes of sqlparser");
}

/// A dialect is a row of data: outside its file, code asks for a feature.
#[test]
fn no_code_asks_which_database_it_is() {
    let mut offenders = Vec::new();
    let inside = |path: &str| path.starts_with("compiler/src/") && path != "compiler/src/dialect/mod.rs";
    for file in product().iter().filter(|file| inside(&file.path)) {
        let is_named = |line: &str| {
            ["Dialect::", "StoreDialect::Sqlite", "StoreDialect::Postgresql"]
                .iter()
                .any(|name| names(line, name))
        };
        let found = file.code().into_iter().filter(|(_, line)| is_named(line));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: names a dialect", file.path)));
    }
    none(&offenders, "the compiler asks for features, see dialect/mod.rs");
}

/// The examples of the HTTP interface are written as a client writes them.
#[test]
fn a_primitive_type_is_named_in_one_place() {
    let mut offenders = Vec::new();
    let inside = |path: &str| path != "compiler/src/primitive.rs" && !path.starts_with("src/http/");
    for file in product().iter().filter(|file| inside(&file.path)) {
        let written = ["\"String\"", "\"Integer\"", "\"Boolean\""];
        let found =
            file.code().into_iter().filter(|(_, line)| written.iter().any(|name| line.contains(name)));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: spells a type's name", file.path)));
    }
    none(&offenders, "the names of primitive types are constants of primitive.rs");
}

/// A route that is added by itself would be missing in the OpenAPI document. Those of the studio's page are:
/// they change with the page.
#[test]
fn a_route_comes_with_its_description() {
    let mut offenders = Vec::new();
    let described = |path: &str| path.starts_with("src/http/") && !path.starts_with("src/http/studio/");
    for file in product().iter().filter(|file| described(&file.path)) {
        let added = file
            .code()
            .into_iter()
            .filter(|(_, line)| line.contains(".route(") || line.contains("_service("));
        offenders.extend(added.map(|(number, _)| format!("{}:{number}: adds a route", file.path)));
    }
    none(&offenders, "routes are added by `routes!`, with the descriptions of their handlers");
}
