//! What is asked about a random policy.
//!
//! In: a program made by [`generate`](super::generate), its words, and the spelling of its ids. Out: every
//! check over the known ids and an unknown one, every list and list of actions, and patterns with every kind
//! of variable, each with its text.

use super::notation;
use super::spelling::Spelling;
use super::vocabulary::{Predicate, Vocabulary};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;

/// The actors; one of them is never stored.
const ACTORS: [&str; 5] = ["User:a", "User:b", "User:zz", "Group:a", "Bot:a"];

const ACTIONS: [&str; 4] = ["p0", "p1", "p2", "p3"];

/// The most ids of a type of random words that are asked about, and of how many types all are.
const MOST_IDS: usize = 2;
const WHOLE_TYPES: usize = 1;

/// Questions that are neither checks nor lists of the entry point, and some that are, about all users: with
/// the fixed words.
const PATTERNS: &[&str] = &[
    "allow(User:?, \"p0\", Doc:?)",
    "allow(User:?, \"p1\", Doc:a)",
    "allow(?, \"p0\", Doc:a)",
    "allow(?, \"p1\", Doc:b)",
    "allow(?, \"p2\", Org:a)",
    "allow(Group:?, \"p0\", Doc:a)",
    "allow(Bot:?, \"p0\", Doc:zz)",
    "allow(Group:?, String:?, Org:?)",
    "allow(User:a, \"q0\")",
    "allow(Group:a, \"q0\")",
    "has_role(User:?, String:?, Doc:a)",
    "has_role(User:a, \"r1\", Doc:?)",
    "has_role(User:a, \"r0\")",
    "has_role(User:?, String:?)",
    "has_role(Group:?, \"r0\", Doc:_)",
    "has_permission(User:?, \"q0\")",
    "has_relation(Doc:a, \"parent\", Doc:?)",
    "has_relation(Doc:?, \"parent\", Doc:?)",
    "has_permission(User:a, \"p0\", Doc:?) and has_role(User:a, \"r0\", Doc:?)",
    "allow(User:?u, \"p0\", Doc:a) and allow(User:?u, \"p1\", Doc:a)",
    "d0(Doc:?)",
    "d0(Memo:?)",
    "d1(Doc:?, Doc:?)",
    "d1(Doc:a, Doc:?)",
    "d1(Doc:?, Memo:a)",
    "d1(Doc:zz, Doc:_)",
    "d1(Doc:?x, Doc:?x)",
    "d2(User:?, Doc:?)",
    "d2(User:a, Doc:?)",
    "d2(User:_, Doc:?)",
    "d2(User:?, Doc:zz)",
    "d3(Org:?)",
    "d4(User:?, Org:a)",
    "d4(User:b, Org:?)",
    "d5(Doc:?, Integer:?)",
    "d5(Doc:a, Integer:?)",
    "d5(Doc:?, 2)",
    "d5(Doc:?, 9223372036854775807)",
    "d6(User:?, String:?)",
    "d6(User:a, \"r0\")",
    "d6(User:?, \"p0\")",
    "d7()",
    "f3(User:?, Doc:?)",
    "f4(Doc:?, Integer:?)",
    "f8(User:?, \"r0\")",
    "f8(User:a, String:?)",
    "f9(Doc:?, true)",
    "d2(User:?u, Doc:?d) and d1(Doc:?d, Doc:a)",
    "d6(User:?u, String:?s) and has_role(User:?u, String:?s, Doc:?)",
    "d5(Doc:?d, Integer:?) and d1(Doc:?d, Doc:_)",
    "allow(User:[a, zz], \"p1\", Doc:[a, b, zz])",
    "allow(User:[b, zz], \"p0\", Doc:?)",
    "allow(Ghost:a, \"p0\", Castle:a)",
    "allow(Ghost:a, String:?, Castle:a)",
    "allow(Ghost:a, \"p1\", Castle:?)",
    "allow(Ghost:a, \"p0\", ?)",
];

/// Such questions with any words.
const GENERAL: &[&str] = &[
    "allow(User:?, \"p0\", R0:?)",
    "allow(User:?, \"p1\", R1:a)",
    "allow(?, \"p0\", R0:a)",
    "allow(?, \"p1\", R1:a)",
    "allow(Group:?, String:?, R0:?)",
    "allow(User:?, String:?, R1:?)",
    "allow(User:a, \"q0\")",
    "has_role(User:?, String:?, R0:a)",
    "has_role(User:a, \"r1\", R1:?)",
    "has_role(User:?, String:?)",
    "has_role(Group:?, \"r0\", R2:_)",
    "has_relation(R0:?, String:?, R1:?)",
    "has_permission(User:a, \"p0\", R0:?) and has_role(User:a, \"r0\", R0:?)",
    "allow(User:?u, \"p0\", R0:a) and allow(User:?u, \"p1\", R0:a)",
    "allow(User:[a, zz], \"p1\", R1:[a, b, zz])",
    "allow(User:[b, zz], \"p0\", R2:?)",
    "allow(Ghost:a, \"p0\", Castle:a)",
    "allow(Ghost:a, String:?, Castle:a)",
    "allow(Ghost:a, \"p1\", Castle:?)",
    "allow(Ghost:a, \"p0\", ?)",
];

/// Every question that the policy can be asked, with its text.
pub fn questions(program: &Program, words: &Vocabulary, spelling: Spelling) -> Vec<(String, Question)> {
    let types: Vec<&str> = words.resources().map(|block| block.name).collect();
    let mut resources: Vec<String> = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        let is_whole = words.is_fixed || at < WHOLE_TYPES;
        let ids = Vocabulary::ids(ty).iter().take(if is_whole { usize::MAX } else { MOST_IDS });
        resources.extend(ids.map(|id| format!("{ty}:{id}")));
    }
    let mut texts = Vec::new();
    for actor in ACTORS.iter().filter(|actor| words.is_fixed || !actor.ends_with("zz")) {
        for action in ACTIONS {
            texts.extend(resources.iter().map(|resource| format!("allow({actor}, {action:?}, {resource})")));
            texts.extend(types.iter().map(|ty| format!("allow({actor}, {action:?}, {ty}:?)")));
        }
        texts.extend(resources.iter().map(|resource| format!("allow({actor}, String:?, {resource})")));
        texts.push(format!("allow({actor}, String:?)"));
    }
    let patterns = if words.is_fixed { PATTERNS } else { GENERAL };
    texts.extend(patterns.iter().map(|&pattern| pattern.to_owned()));
    if !words.is_fixed {
        texts.extend(words.predicates.iter().flat_map(about));
    }
    let asked = texts.into_iter().map(|text| spelling.question(&notation::question(&text).unwrap()));
    asked
        .filter(|question| is_known(program, question))
        .map(|asked| (notation::written(&asked), asked))
        .collect()
}

/// Questions about a predicate: of all arguments, of all with the first given or the last left open, of some.
fn about(predicate: &Predicate) -> Vec<String> {
    let Predicate { name, types } = predicate;
    let given = |ty: &str| match ty {
        "Integer" => "2".to_owned(),
        "String" => "\"r0\"".to_owned(),
        ty => format!("{ty}:a"),
    };
    let call = |arg: &dyn Fn(usize, &str) -> String| {
        let args: Vec<String> = types.iter().enumerate().map(|(at, ty)| arg(at, ty)).collect();
        format!("{name}({})", args.join(", "))
    };
    let last = types.len().saturating_sub(1);
    vec![
        call(&|_, ty| format!("{ty}:?")),
        call(&|at, ty| if at == 0 { given(ty) } else { format!("{ty}:?") }),
        call(&|at, ty| if at == last { format!("{ty}:_") } else { format!("{ty}:?") }),
        call(&|at, ty| if at % 2 == 1 { format!("{ty}:?") } else { given(ty) }),
    ]
}

/// Whether the policy has the types and the predicates; those of the language itself it always has.
fn is_known(program: &Program, question: &Question) -> bool {
    let has_types =
        question.vars.iter().all(|var| var.ty.as_ref().is_none_or(|ty| program.type_id(ty).is_some()));
    has_types
        && question.atoms.iter().all(|atom| {
            matches!(atom.predicate.as_str(), "allow" | "has_permission" | "has_role" | "has_relation")
                || program.predicate_id(&atom.predicate, atom.args.len()).is_some()
        })
}
