//! A name means one thing: which names several types of a crate have.

use super::sources::{Source, none, product, word};
use std::collections::BTreeMap;

const COMPILER: &str = "compiler/src/";
const SERVICE: &str = "src/";

/// Names that several types have for a reason.
const SHARED: &[(&str, &str, &str)] = &[
    // The stages have the same parts: a rule of the syntax tree becomes one of the IR, and so on.
    (COMPILER, "Assertion", "of a test, in the syntax tree and in the IR"),
    (COMPILER, "Block", "in the syntax tree, and with the names that it declares"),
    (COMPILER, "Clause", "of the Datalog program, and while it is planned"),
    (COMPILER, "Condition", "in the syntax tree, and of a select"),
    (COMPILER, "Goal", "of the Datalog program, and while it is planned"),
    (COMPILER, "Relation", "of the catalog, of the Datalog program, and while it is planned"),
    (COMPILER, "Rule", "in the syntax tree and in the IR"),
    (COMPILER, "ScanArg", "of the Datalog program, and while it is planned"),
    (COMPILER, "Term", "in the syntax tree, in the IR, of the Datalog program, and while it is planned"),
    (COMPILER, "Test", "in the syntax tree and in the IR"),
    (SERVICE, "AdminSocket", "where there are such sockets, and where there are none"),
    (SERVICE, "Args", "the arguments of each command of the program"),
];

/// The names of types that occur in several files of a crate, each with these places.
fn repeated() -> BTreeMap<(&'static str, String), Vec<String>> {
    let files = product();
    let mut places: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for file in &files {
        let of = if file.path.starts_with(COMPILER) { COMPILER } else { SERVICE };
        for (number, name) in types(file) {
            places.entry((of, name)).or_default().push(format!("{}:{number}", file.path));
        }
    }
    assert!(places.len() > 900, "only {} types were found", places.len());
    places.retain(|_, places| places.len() > 1);
    places
}

/// The types that a file has outside functions, with their lines.
fn types(file: &Source) -> Vec<(usize, String)> {
    let named = file.code().into_iter().filter_map(|(number, line)| {
        let mut words = line.split(' ').skip_while(|word| word.starts_with("pub") || word.ends_with(')'));
        let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type");
        is_type.then(|| Some((number, word(words.next()?))))?
    });
    named.collect()
}

#[test]
fn a_name_is_the_name_of_one_type() {
    let repeated = repeated();
    let mut offenders = Vec::new();
    for ((of, name), places) in &repeated {
        let is_shared =
            SHARED.iter().any(|(shared_in, shared, _)| (shared_in, shared) == (of, &name.as_str()));
        if !is_shared {
            offenders.push(format!("{of}: several types are called `{name}`: {}", places.join(", ")));
        }
    }
    let listed = SHARED.iter().map(|(of, name, _)| (*of, *name));
    for (of, name) in listed.filter(|(of, name)| !repeated.contains_key(&(*of, (*name).to_owned()))) {
        offenders.push(format!("{of}: only one type is called `{name}`: remove it from the list"));
    }
    none(&offenders, "a name of a type means one thing in its crate");
}
