//! No circle of imports between the compiler's files: a file can be read with what it imports, and none
//! of them imports it back.
//!
//! An edge is a path in a file's code that names another file: in a `use` with all its branches, or written
//! out, from `crate`, `self`, `super` or a child module. A path belongs to the file with the longest
//! module path that it begins with, so what a `mod.rs` re-exports belongs to the `mod.rs`. `mod x;` alone and
//! the path of a visibility are not imports.

use super::sources::{Source, none, product};
use std::collections::{BTreeMap, BTreeSet};

/// A module: the names of its path below the crate's root.
type Module = Vec<String>;

/// For each module the modules that it imports, with the first line and path that does.
type Imports = BTreeMap<Module, BTreeMap<Module, String>>;

#[test]
fn no_files_of_the_compiler_import_each_other_in_a_circle() {
    let files: Vec<Source> =
        product().into_iter().filter(|file| file.path.starts_with("compiler/src/")).collect();
    none(&circles(&imports(&files, "compiler/src/")), "imports between files form no circle");
}

/// What each file below a folder imports of the others.
fn imports(files: &[Source], root: &str) -> Imports {
    let module = |file: &Source| -> Module {
        let inside = file.path.trim_start_matches(root).trim_end_matches(".rs");
        let names = inside.split('/').filter(|name| !matches!(*name, "mod" | "lib"));
        names.map(str::to_owned).collect()
    };
    let modules: BTreeSet<Module> = files.iter().map(module).collect();
    let mut imports = Imports::new();
    for file in files {
        let from = module(file);
        let mut found = BTreeMap::new();
        for (line, path) in paths(file) {
            if let Some(to) = target(&modules, &from, &path).filter(|to| *to != from) {
                found.entry(to).or_insert_with(|| format!("{}:{line} names {}", file.path, path.join("::")));
            }
        }
        imports.insert(from, found);
    }
    imports
}

/// Every path in the code of a file, with its line: those of imports branch by branch, then all others.
fn paths(file: &Source) -> Vec<(usize, Vec<String>)> {
    let mut lines: BTreeMap<usize, &str> = file.code().into_iter().collect();
    let mut found = Vec::new();
    let starts: Vec<(usize, &str)> = lines.iter().map(|(number, line)| (*number, *line)).collect();
    for (number, line) in starts {
        let Some((visibility, tree)) = line.trim_start().split_once("use ") else { continue };
        if !(visibility.is_empty() || visibility.starts_with("pub")) {
            continue;
        }
        let mut text = String::new();
        let mut next = Some((number, tree));
        while let Some((at, part)) = next {
            text.push_str(part.split(';').next().unwrap_or_default());
            let below = (!part.contains(';')).then(|| lines.range(at + 1..).next()).flatten();
            next = below.map(|(at, part)| (*at, *part));
            lines.remove(&at);
        }
        let mut branch = Vec::new();
        branches(&text, &mut branch, &mut |path| found.push((number, path.to_vec())));
    }
    for (number, line) in lines {
        // A macro may have a comment on the line of its call.
        let line = without_visibility(line.split("//").next().unwrap_or_default());
        let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let paths = words.filter(|word| word.contains("::"));
        let names =
            |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        found.extend(paths.map(|path| (number, names(path))));
    }
    found
}

/// Calls `visit` with each path of an import: `a::{b, c::{self, d}}` has `a::b`, `a::c::self` and `a::c::d`.
fn branches(tree: &str, above: &mut Vec<String>, visit: &mut dyn FnMut(&[String])) {
    let n_above = above.len();
    let (path, inner) = match tree.split_once('{') {
        Some((path, inner)) => (path, Some(inner.rsplit_once('}').map_or(inner, |(inner, _)| inner))),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    above.extend(path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    match inner {
        None => visit(above),
        Some(inner) => {
            let mut depth = 0_usize;
            let outermost = |c: char| {
                depth = (depth + usize::from(c == '{')).saturating_sub(usize::from(c == '}'));
                c == ',' && depth == 0
            };
            let parts = inner.split(outermost).filter(|part| !part.trim().is_empty());
            parts.for_each(|part| branches(part, above, visit));
        }
    }
    above.truncate(n_above);
}

/// A line without `in …` of `pub(in …)`: who may see an item is not an import.
fn without_visibility(line: &str) -> String {
    let mut parts = line.split("pub(in ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| line + part.split_once(')').map_or(part, |(_, rest)| rest))
}

/// The file to which a path in a module belongs; `None` if it belongs to another crate or to no file.
fn target(modules: &BTreeSet<Module>, from: &Module, path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let n_up = path.iter().take_while(|name| *name == "super").count();
    let mut whole: Module = match first.as_str() {
        "crate" => rest.to_vec(),
        "self" => from.iter().chain(rest).cloned().collect(),
        "super" => {
            from.iter().take(from.len().checked_sub(n_up)?).chain(path.iter().skip(n_up)).cloned().collect()
        }
        _ => {
            let child: Module = from.iter().chain([first]).cloned().collect();
            modules.contains(&child).then(|| child.iter().chain(rest).cloned().collect())?
        }
    };
    while !modules.contains(&whole) {
        whole.pop()?;
    }
    Some(whole)
}

/// The files that reach each other, one text for each such set, with the imports among them.
fn circles(imports: &Imports) -> Vec<String> {
    let reached = |from: &Module| {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            let new = imports.get(next).into_iter().flat_map(BTreeMap::keys);
            open.extend(new.filter(|module| found.insert((*module).clone())));
        }
        found
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|module| (module, reached(module))).collect();
    let reaches = |one: &Module, other: &Module| reached.get(one).is_some_and(|found| found.contains(other));
    let mutual = |one: &Module| {
        let others = imports.keys().filter(|other| reaches(one, other) && reaches(other, one));
        others.collect::<Vec<&Module>>()
    };
    let components: BTreeSet<Vec<&Module>> = imports.keys().map(mutual).collect();
    let described = |members: Vec<&Module>| {
        let names: Vec<String> = members.iter().map(|module| module.join("::")).collect();
        let within = members.iter().filter_map(|from| imports.get(*from)).flatten();
        let within = within.filter(|(to, _)| members.contains(to)).map(|(_, import)| import.as_str());
        std::iter::once(names.join(", ").as_str()).chain(within).collect::<Vec<_>>().join("\n    ")
    };
    components.into_iter().filter(|members| members.len() > 1).map(described).collect()
}

/// The circles among files with these paths and texts.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let source = |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
    let files: Vec<Source> = files.iter().map(source).collect();
    circles(&imports(&files, ""))
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let room = "mod part;\npub use part::{Part,\n    Whole};\n";
    for part in [
        "use super::Whole;",
        "pub(crate) use crate::room::Whole;",
        "use crate::{\n    other::{self, Other},\n    room::Whole,\n};",
        "fn part() -> super::Whole {}",
        "fn part(whole: &crate::room::Whole) {}",
    ] {
        let found = circles_of(&[("room/mod.rs", room), ("room/part.rs", part), ("other.rs", "")]);
        assert_eq!(found.len(), 1, "{part}");
        let lines: Vec<&str> = found[0].lines().map(str::trim).collect();
        assert_eq!(lines[..2], ["room, room::part", "room/mod.rs:2 names part::Part"], "{part}");
        assert!(lines[2].starts_with("room/part.rs:"), "{part}");
    }
    let found = circles_of(&[
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "fn b() { crate::c::c(); }"),
        ("c.rs", "use crate::a as first;"),
        ("d.rs", "use crate::a::A;"),
    ]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("a, b, c\n"), "{}", found[0]);
    assert_eq!(circles_of(&[("a/mod.rs", "fn a() { b::b(); }"), ("a/b.rs", "use super::A;")]).len(), 1);
}

#[test]
fn only_imports_close_circles() {
    let tests = "fn b() {}\n\n#[cfg(test)]\nmod tests {\n    use super::super::A;\n}\n";
    for part in ["// use super::A;", "pub(in crate::a) fn b() {}", "use self::B;", "use other::a::A;", tests]
    {
        let found = circles_of(&[("a/mod.rs", "mod b;\nuse b::B;"), ("a/b.rs", part)]);
        assert_eq!(found, Vec::<String>::new(), "{part}");
    }
    assert_eq!(circles_of(&[("a/mod.rs", "mod b;"), ("a/b.rs", "use super::A;")]), Vec::<String>::new());
}
