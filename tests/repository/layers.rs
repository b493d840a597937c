//! The layers that `compiler/ARCHITECTURE.md` describes, enforced by reading the source text.
//!
//! Every test prints all its offenders at once, as `file:line: what is wrong`. Comments do not count, and
//! neither do the unit tests at the end of a file, except where a test says otherwise.

use super::sources::{Source, everything, files, none, product, root};
use std::collections::BTreeSet;
use std::fs;

/// What each module of the compiler may import, in pipeline order: only what stands above it.
const COMPILER: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("source", &[]),
    ("catalog", &[]),
    ("primitive", &[]),
    ("builtin", &[]),
    ("spelling", &[]),
    ("compact", &["primitive"]),
    ("dialect", &["limits"]),
    ("id_vec", &[]),
    ("ordered", &[]),
    ("diagnostic", &["limits", "source"]),
    ("syntax", &["limits", "source", "primitive", "spelling", "diagnostic"]),
    ("ir", &["source", "id_vec", "primitive"]),
    (
        "resolve",
        &["limits", "source", "primitive", "builtin", "spelling", "id_vec", "diagnostic", "syntax", "ir"],
    ),
    ("refusal", &["source"]),
    ("question", &["ir", "refusal"]),
    ("datalog", &["id_vec", "ordered", "catalog", "ir", "refusal", "question"]),
    (
        "specialise",
        &["limits", "id_vec", "ordered", "source", "catalog", "ir", "refusal", "question", "datalog"],
    ),
    ("strata", &["source", "diagnostic", "ir", "ordered", "question", "datalog", "specialise"]),
    (
        "why",
        &["id_vec", "ordered", "builtin", "catalog", "primitive", "ir", "question", "datalog", "specialise"],
    ),
    ("rewrite", &["limits", "id_vec", "ordered", "builtin", "catalog", "ir", "refusal", "datalog"]),
    ("algebra", &["catalog", "primitive", "ir", "question", "datalog"]),
    (
        "plan",
        &[
            "limits", "id_vec", "builtin", "catalog", "ir", "refusal", "question", "datalog", "rewrite",
            "algebra",
        ],
    ),
    ("bindings", &["limits", "primitive", "spelling", "dialect"]),
    ("optimise", &["limits", "catalog", "ir", "question", "algebra", "dialect", "bindings"]),
    (
        "sql",
        &[
            "limits",
            "catalog",
            "primitive",
            "compact",
            "ir",
            "refusal",
            "question",
            "datalog",
            "algebra",
            "plan",
            "dialect",
            "bindings",
        ],
    ),
    ("compile", &["question", "specialise", "rewrite", "algebra", "plan", "optimise", "sql", "dialect"]),
    ("advice", &["question", "refusal", "plan", "compile"]),
    (
        "stages",
        &[
            "catalog",
            "ir",
            "question",
            "datalog",
            "specialise",
            "rewrite",
            "plan",
            "sql",
            "dialect",
            "compile",
        ],
    ),
    (
        "fitness",
        &["builtin", "catalog", "compile", "diagnostic", "ir", "plan", "primitive", "question", "source"],
    ),
    (
        "local",
        &[
            "limits",
            "catalog",
            "primitive",
            "ir",
            "refusal",
            "question",
            "datalog",
            "rewrite",
            "algebra",
            "plan",
            "optimise",
            "dialect",
            "bindings",
            "sql",
            "compile",
            "advice",
            "stages",
        ],
    ),
];

/// The same for the service. Of the store, `http` sees the errors and what a key may do, no more.
const SERVICE: &[(&str, &[&str])] = &[
    ("config", &[]),
    ("share", &[]),
    ("store", &["share"]),
    ("engine", &["share", "store"]),
    ("http", &["config", "share", "store", "engine"]),
    ("admin", &["store", "engine", "http"]),
    ("cli", &["config", "store", "engine", "http", "admin"]),
];

/// Where a crate or a part of the standard library may be named; everywhere else it may not.
const PLACES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["compiler/src/diagnostic/render.rs"]),
    ("chumsky", &["compiler/src/syntax/"]),
    // One reads what a bindings document says, the other where it says it.
    ("granit_parser", &["compiler/src/bindings/yaml.rs", "src/cli/bindings/fix/outline.rs"]),
    ("similar::", &["src/cli/bindings/fix/mod.rs"]),
    ("petgraph", &["compiler/src/datalog/graph.rs"]),
    ("stacker", &["compiler/src/bindings/reader.rs"]),
    // `sql/build` makes nodes; the rest of `sql` names the types of those that it is given and gives on.
    // `reader` reads bound queries; what is printed of them comes from our own tokens.
    ("sqlparser", &["compiler/src/sql/", "compiler/src/bindings/reader.rs"]),
    // The store knows only two things of the language: the compact form of values, and the names of
    // relations.
    ("portcullis_compiler", &["src/engine/", "src/cli/", "src/store/value.rs", "src/store/signature.rs"]),
    // The service's own store, and the commands that look at a caller's database, each driver in one file.
    ("rusqlite", &["src/store/", "src/cli/bindings/sqlite.rs"]),
    ("tokio_postgres", &["src/cli/bindings/postgresql.rs"]),
    ("csv::", &["src/cli/facts/table.rs", "src/cli/review/rows.rs"]),
    ("indicatif::", &["src/cli/progress.rs"]),
    ("axum", &["src/http/", "src/cli/serve.rs", "src/lib.rs"]),
    ("hyper", &["src/http/"]),
    ("hyper_util", &["src/http/"]),
    ("tower", &["src/http/"]),
    ("utoipa", &["src/http/"]),
    ("utoipa_axum", &["src/http/"]),
    ("utoipa_swagger_ui", &["src/http/openapi/page.rs"]),
    ("governor", &["src/http/rate.rs"]),
    // Secrets are compared in constant time: digests of keys by the one type that has no `==`, tags of pages
    // by `hmac`. All others digest what is no secret: a policy, a backup, a file that is imported.
    ("subtle", &["src/store/digest.rs"]),
    ("hmac", &["src/http/page.rs"]),
    (
        "sha2",
        &[
            "src/store/digest.rs",
            "src/http/page.rs",
            "src/store/policy.rs",
            "src/store/backup.rs",
            "src/cli/facts/input.rs",
        ],
    ),
    // The settings, and what the programs of a caller's database read.
    ("std::env", &["src/config.rs", "src/cli/bindings/libpq.rs"]),
    ("toml::de", &["src/config/file.rs"]),
    ("prometheus", &["src/http/metrics/"]),
    ("tokio_rustls", &["src/http/tls.rs"]),
    ("opentelemetry", &["src/http/traces.rs", "src/cli/telemetry.rs"]),
    ("ureq", &["src/cli/facts/service.rs", "src/cli/telemetry.rs", "src/http/decision_log/otlp.rs"]),
];

/// The compiler computes: no file, network, clock, environment, thread, global or randomness.
const NOT_IN_COMPILER: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::time",
    "std::env",
    "std::thread",
    "std::process",
    "std::sync",
    "std::cell",
    "println!",
    "eprintln!",
    "thread_local!",
    "static mut",
    "tracing",
    "log::",
    "rand",
    // Their order differs from run to run; `IndexMap`, `BTreeMap` and `FxHashMap` have one.
    "HashMap::new",
    "HashSet::new",
    "RandomState",
    // The syntax tree, the rules and the plan are ours; what goes over the wire is made in `src/http`.
    "serde",
    "Serialize",
];

/// Everything that the compiler depends on.
const COMPILER_NEEDS: &[&str] = &[
    "annotate-snippets",
    "chumsky",
    "granit-parser",
    "indexmap",
    "petgraph",
    "rustc-hash",
    "sqlparser",
    "stacker",
];

impl Source {
    /// The part of its crate to which the file belongs: `syntax` of `compiler/src/syntax/lexer/mod.rs`.
    fn module(&self) -> &str {
        let inside = self.path.split_once("src/").map_or(self.path.as_str(), |(_, inside)| inside);
        inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
    }

    /// The modules of its own crate that it names by `crate::…`, with their lines.
    fn imports(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let code = self.code();
        for (at, (number, line)) in code.iter().enumerate() {
            for (start, _) in line.match_indices("crate::") {
                let rest = line.get(start + "crate::".len()..).unwrap_or_default();
                if rest.starts_with('{') {
                    let below = code.iter().skip(at + 1).map(|(_, line)| *line);
                    let text: Vec<&str> = std::iter::once(rest).chain(below).collect();
                    found.extend(branches(&text.join("\n")).into_iter().map(|name| (*number, name)));
                } else {
                    found.push((*number, word(rest)));
                }
            }
        }
        found
    }
}

/// The identifier at the start of a text.
fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The first names in `{a::b, c::{d, e}}`.
fn branches(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (c == '{' || c == ',') {
            names.push(word(text.get(at + 1..).unwrap_or_default()));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Whether a line names something as a whole word.
fn names(line: &str, what: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let open_end = what.ends_with(is_part);
    line.match_indices(what).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + what.len()..).and_then(|text| text.chars().next());
        !(before.is_some_and(is_part) || open_end && after.is_some_and(is_part))
    })
}

#[test]
fn a_module_imports_only_what_it_may() {
    let mut offenders = Vec::new();
    for (folder, table) in [("compiler/src/", COMPILER), ("src/", SERVICE)] {
        for file in product().iter().filter(|file| file.path.starts_with(folder)) {
            let module = file.module();
            if matches!(module, "lib" | "main") {
                continue;
            }
            let Some((_, allowed)) = table.iter().find(|(name, _)| *name == module) else {
                offenders.push(format!("{}: `{module}` has no row in this test", file.path));
                continue;
            };
            for (line, import) in file.imports() {
                if import != module && !allowed.contains(&import.as_str()) {
                    offenders.push(format!("{}:{line}: `{module}` imports `{import}`", file.path));
                }
            }
        }
    }
    none(&offenders, "a module imports only what its row allows");
}

#[test]
fn the_rows_allow_no_cycle() {
    let mut offenders = Vec::new();
    for table in [COMPILER, SERVICE] {
        for (at, (module, allowed)) in table.iter().enumerate() {
            let above: Vec<&str> = table.iter().take(at).map(|(name, _)| *name).collect();
            let wrong = allowed.iter().filter(|name| !above.contains(name));
            offenders
                .extend(wrong.map(|name| format!("`{module}` may import `{name}`, which is not above it")));
        }
    }
    none(&offenders, "data flows in one direction");
}

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

#[test]
fn the_compiler_only_computes() {
    let mut offenders = Vec::new();
    for file in product().iter().filter(|file| file.path.starts_with("compiler/")) {
        for (number, line) in file.code() {
            let found = NOT_IN_COMPILER.iter().filter(|name| names(line, name));
            offenders.extend(found.map(|name| format!("{}:{number}: names `{name}`", file.path)));
        }
    }
    let manifest = fs::read_to_string(root().join("compiler/Cargo.toml")).unwrap();
    let needs = manifest.split_once("\n[dependencies]\n").unwrap().1;
    let needs = needs.split("\n[").next().unwrap().lines().filter(|line| !line.trim().is_empty());
    let needs = needs.filter_map(|line| line.split([' ', '=', '.']).next());
    let strangers = needs.filter(|name| !COMPILER_NEEDS.contains(name));
    offenders.extend(strangers.map(|name| format!("compiler/Cargo.toml: depends on `{name}`")));
    none(&offenders, "the compiler turns text into text, the same each time");
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
        let found = file.code().into_iter().filter(|(_, line)| names(line, "Dialect::"));
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

/// rustfmt sorts a block of imports, but only unstable options of it would split paths and join blocks.
#[test]
fn imports_are_one_block_of_one_path_a_line() {
    let private = |line: &str| line.starts_with("use ");
    let mut offenders = Vec::new();
    for file in ["compiler/src", "src"].iter().flat_map(|folder| files(folder, &[".rs"])) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let above =
                |n: usize| at.checked_sub(n).and_then(|at| lines.get(at)).copied().unwrap_or_default();
            let is_start = |line: &&&str| private(line) || line.starts_with("pub");
            let last = if above(2) == "};" { lines.iter().take(at).rev().find(is_start) } else { None };
            let last = last.copied().unwrap_or(above(2));
            let splits = private(line) && above(1).is_empty() && private(last);
            let import = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(super) ");
            let tree: String = lines.iter().skip(at).map(|line| format!("{line} ")).take(20).collect();
            let tree = tree.split(';').next().unwrap_or_default();
            let nests = import.starts_with("use ")
                && tree.split_once('{').is_some_and(|(_, branches)| branches.contains("::"));
            if splits || nests {
                offenders.push(format!("{}:{}", file.path, at + 1));
            }
        }
    }
    none(&offenders, "an import names one module, as in `use std::fmt;` or `use std::sync::{Arc, Weak};`");
}

/// In a binary that lists its trials itself, a function with this attribute compiles and never runs.
#[test]
fn what_never_runs_is_not_called_a_test() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let tests = manifest.split("\n[[test]]\n").skip(1);
    let own = tests.filter(|section| section.split("\n[").next().unwrap().contains("harness = false"));
    let own: Vec<String> =
        own.map(|section| format!("tests/{}", section.split('"').nth(1).unwrap())).collect();
    assert_eq!(own, ["tests/language", "tests/clients"]);
    let mut offenders = Vec::new();
    for file in own.iter().flat_map(|folder| files(folder, &[".rs"])) {
        let found = file.code().into_iter().filter(|(_, line)| line.contains("test]"));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: never runs", file.path)));
    }
    none(&offenders, "language and clients list their trials themselves");
}

/// What several binaries need is in the crate `tests/support`, and is compiled once.
#[test]
fn no_test_includes_another_folder() {
    let mut offenders = Vec::new();
    for file in files("tests", &[".rs"]) {
        let found = file.code().into_iter().filter(|(_, line)| line.starts_with("#[path"));
        offenders.extend(found.map(|(number, _)| format!("{}:{number}: includes a file", file.path)));
    }
    none(&offenders, "tests share code by the crate in tests/support");
}

#[test]
fn a_file_opens_with_what_it_is() {
    let mut offenders = Vec::new();
    for file in product() {
        // A crate's front page may be a file of its own.
        if !file.text.starts_with("//! ") && !file.text.starts_with("#![doc = ") {
            offenders.push(format!("{}:1: has no module documentation", file.path));
        }
    }
    none(&offenders, "the first line of a file says what it is for");
}

/// A snapshot that no page asks for is never compared, and one that is missing was never looked at.
#[test]
fn every_snapshot_is_asked_for_and_there() {
    let mut asked = BTreeSet::new();
    for page in files("fixtures/conformance", &[".md"]) {
        let name = page.path.trim_start_matches("fixtures/conformance/").trim_end_matches(".md");
        let requests = page.text.lines().filter_map(|line| line.strip_prefix("sql: "));
        for (number, request) in (1..).zip(requests) {
            let (_, dialects) = request.rsplit_once(" for ").unwrap();
            asked.extend(dialects.split(',').map(|dialect| {
                format!("snapshots/sql/{}__{number}__{}.snap", name.replace('/', "__"), dialect.trim())
            }));
        }
    }
    for file in files("tests/local", &[".rs"]) {
        for start in ["shape(\"", "shape: \""] {
            let shapes = file.text.split(start).skip(1).filter_map(|rest| rest.split('"').next());
            asked.extend(shapes.map(|name| format!("snapshots/local/{name}.snap")));
        }
    }
    let questions = fs::read_to_string(root().join("tests/support/expert/questions.rs")).unwrap();
    let (_, questions) = questions.split_once("vec![").unwrap();
    let lines = questions.lines().take_while(|line| line.trim() != "]");
    asked.extend(lines.filter_map(|line| line.split('"').nth(1)).map(|name| {
        let words = name.split(' ').map(|word| word.replace(|c: char| !c.is_alphanumeric(), ""));
        format!("snapshots/plans/{}.snap", words.collect::<Vec<_>>().join("-"))
    }));
    let there: BTreeSet<String> = files("snapshots", &[""]).into_iter().map(|file| file.path).collect();
    let orphans = there.difference(&asked).map(|path| format!("{path}: no page or test asks for it"));
    let missing = asked.difference(&there).map(|path| format!("{path}: is missing"));
    none(&orphans.chain(missing).collect::<Vec<_>>(), "snapshots and `sql:` lines belong together");
}

/// A route that is added by itself would be missing in the OpenAPI document.
#[test]
fn a_route_comes_with_its_description() {
    let mut offenders = Vec::new();
    for file in product().iter().filter(|file| file.path.starts_with("src/http/")) {
        let added = file
            .code()
            .into_iter()
            .filter(|(_, line)| line.contains(".route(") || line.contains("_service("));
        offenders.extend(added.map(|(number, _)| format!("{}:{number}: adds a route", file.path)));
    }
    none(&offenders, "routes are added by `routes!`, with the descriptions of their handlers");
}

/// What is not done is not promised in the source, and no test is switched off.
#[test]
fn nothing_is_put_off() {
    // Written in two halves, so that this file may be searched as well.
    let marks = [("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("#[ign", "ore"), ("unimpl", "emented!")];
    let marks = marks.map(|(start, end)| format!("{start}{end}"));
    let text = ["fixtures", "docs", "scripts"].iter().flat_map(|folder| files(folder, &[""]));
    let notes = files("compiler", &[".md"]);
    let mut offenders = Vec::new();
    for file in everything().into_iter().chain(text).chain(notes) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let found = marks.iter().filter(|mark| names(line, mark));
            offenders.extend(found.map(|mark| format!("{}:{number}: {mark}", file.path)));
        }
    }
    none(&offenders, "nothing is put off");
}
