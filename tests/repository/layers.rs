//! The layers that `compiler/ARCHITECTURE.md` describes, enforced by reading the source text.
//!
//! Every test prints all its offenders at once, as `file:line: what is wrong`. Comments do not count, and
//! neither do the unit tests at the end of a file, except where a test says otherwise.

use super::sources::{Source, names, none, product, root, word};
use std::fs;

/// What each module of the compiler may import, in pipeline order: only what is earlier in the list.
const COMPILER: &[(&str, &[&str])] = &[
    ("limits", &[]),
    ("source", &[]),
    ("id_vec", &[]),
    ("catalog", &["id_vec"]),
    ("primitive", &[]),
    ("builtin", &[]),
    ("spelling", &[]),
    ("compact", &["primitive"]),
    ("dialect", &["limits"]),
    ("ordered", &[]),
    ("others", &[]),
    ("diagnostic", &["limits", "source"]),
    ("syntax", &["limits", "source", "primitive", "spelling", "diagnostic"]),
    ("ir", &["source", "id_vec", "primitive"]),
    (
        "resolve",
        &["limits", "source", "primitive", "builtin", "spelling", "id_vec", "diagnostic", "syntax", "ir"],
    ),
    ("refusal", &["source", "id_vec", "ir"]),
    ("deadline", &[]),
    ("question", &["id_vec", "catalog", "deadline", "ir", "refusal"]),
    ("pass", &["deadline", "question"]),
    ("datalog", &["id_vec", "ordered", "catalog", "ir", "refusal", "question"]),
    (
        "specialise",
        &[
            "limits", "id_vec", "ordered", "source", "catalog", "ir", "refusal", "question", "datalog",
            "deadline",
        ],
    ),
    (
        "strata",
        &["limits", "source", "diagnostic", "id_vec", "ir", "ordered", "question", "datalog", "specialise"],
    ),
    (
        "why",
        &[
            "id_vec",
            "ordered",
            "builtin",
            "catalog",
            "primitive",
            "ir",
            "refusal",
            "question",
            "datalog",
            "specialise",
            "deadline",
        ],
    ),
    (
        "rewrite",
        &[
            "limits", "id_vec", "ordered", "others", "builtin", "catalog", "ir", "refusal", "datalog",
            "pass", "deadline", "question",
        ],
    ),
    ("algebra", &["id_vec", "catalog", "primitive", "ir", "question", "datalog"]),
    (
        "plan",
        &[
            "limits", "id_vec", "builtin", "catalog", "ir", "refusal", "question", "datalog", "rewrite",
            "algebra", "deadline",
        ],
    ),
    (
        "bindings",
        &["limits", "id_vec", "diagnostic", "catalog", "primitive", "builtin", "spelling", "dialect"],
    ),
    ("keys", &["catalog", "ir", "algebra", "bindings"]),
    (
        "optimise",
        &[
            "limits",
            "id_vec",
            "others",
            "primitive",
            "catalog",
            "ir",
            "question",
            "algebra",
            "dialect",
            "bindings",
            "keys",
            "pass",
            "deadline",
        ],
    ),
    ("text", &["limits", "refusal", "question", "dialect"]),
    (
        "sql",
        &[
            "limits",
            "id_vec",
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
            "keys",
            "text",
            "deadline",
        ],
    ),
    (
        "compile",
        &[
            "id_vec",
            "question",
            "specialise",
            "rewrite",
            "algebra",
            "plan",
            "optimise",
            "sql",
            "dialect",
            "pass",
            "deadline",
        ],
    ),
    ("advice", &["question", "refusal", "plan", "compile"]),
    (
        "stages",
        &[
            "id_vec",
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
            "pass",
        ],
    ),
    (
        "fitness",
        &[
            "builtin",
            "catalog",
            "compile",
            "diagnostic",
            "dialect",
            "ir",
            "plan",
            "primitive",
            "question",
            "source",
            "deadline",
        ],
    ),
    (
        "local",
        &[
            "limits",
            "id_vec",
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
            "keys",
            "text",
            "sql",
            "compile",
            "advice",
            "stages",
            "pass",
            "deadline",
        ],
    ),
];

/// The same for the service. Of the store, `http` sees the errors and what a key may do, no more.
const SERVICE: &[(&str, &[&str])] = &[
    ("percent", &[]),
    ("config", &["percent"]),
    ("share", &[]),
    ("libpq", &[]),
    ("store", &["percent", "share", "libpq"]),
    ("engine", &["share", "store"]),
    ("lsp", &[]),
    ("http", &["percent", "config", "share", "store", "engine", "lsp"]),
    ("admin", &["store", "engine", "http"]),
    ("cli", &["config", "libpq", "store", "engine", "http", "admin", "lsp"]),
];

/// The files of the store that know all others. Of those beside them, none knows the code for a database,
/// which in turn knows only them.
const STORE: &[&str] = &[
    "src/store/mod.rs",
    "src/store/asking.rs",
    "src/store/consistent_read.rs",
    "src/store/reader.rs",
    "src/store/reading.rs",
];

/// The folders of the store with the code for a database each. Neither names the other.
const ENGINES: &[&str] = &["embedded", "postgres"];

/// The only file of the compiler that may read a clock.
const CLOCK: &str = "compiler/src/deadline.rs";

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

    /// The last name of its module.
    fn name(&self) -> String {
        self.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned()
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
            let earlier: Vec<&str> = table.iter().take(at).map(|(name, _)| *name).collect();
            let wrong = allowed.iter().filter(|name| !earlier.contains(name));
            offenders.extend(wrong.map(|name| format!("`{module}` may import `{name}`, which comes later")));
        }
    }
    none(&offenders, "data flows in one direction");
}

#[test]
fn the_code_for_a_database_knows_only_what_stores_share() {
    let mut files = product();
    files.retain(|file| file.path.starts_with("src/store/"));
    let of_database = |file: &&Source| ENGINES.iter().any(|name| file.path.contains(&format!("/{name}/")));
    let shared = |file: &&Source| !of_database(file) && !STORE.contains(&file.path.as_str());
    let names_of_shared: Vec<String> = files.iter().filter(shared).map(Source::name).collect();
    let mut offenders = Vec::new();
    for file in files.iter().filter(|file| !STORE.contains(&file.path.as_str())) {
        for (number, line) in file.code() {
            let paths = line.match_indices("crate::store::");
            let mut named = paths.map(|(at, path)| word(line.get(at + path.len()..).unwrap_or_default()));
            if named.any(|name| !names_of_shared.contains(&name)) {
                offenders.push(format!("{}:{number}: imports what knows all of the store", file.path));
            }
            let has = |it: &str| names(line, &format!("{it}::")) || names(line, &format!("super::{it}"));
            let other = |name: &&&str| has(name) && !file.path.contains(&format!("/{name}/"));
            if let Some(name) = ENGINES.iter().find(other) {
                offenders.push(format!("{}:{number}: names `{name}`", file.path));
            }
        }
    }
    none(&offenders, "what stores share knows no database, and the code for a database only that");
}

#[test]
fn the_compiler_only_computes() {
    let mut offenders = Vec::new();
    for file in product().iter().filter(|file| file.path.starts_with("compiler/")) {
        let is_allowed = |name: &str| name == "std::time" && file.path == CLOCK;
        for (number, line) in file.code() {
            let found = NOT_IN_COMPILER.iter().filter(|name| names(line, name) && !is_allowed(name));
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
