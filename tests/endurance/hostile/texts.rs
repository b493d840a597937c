//! Texts that are not a policy, or only just one.

use super::probe::{BOUND, on_a_small_stack};
use portcullis_compiler::limits;
use portcullis_testkit::hosted::Hosted;
use portcullis_testkit::policy;
use portcullis_testkit::processor::ThreadTime;

/// Checks a text on a small stack and in time: accepted, or the messages.
fn checked(name: &str, text: String) -> Result<(), String> {
    on_a_small_stack(name, move || {
        let time = ThreadTime::start();
        let found = policy::program(&text).map(|_| ());
        let taken = time.elapsed();
        assert!(taken < BOUND, "checking took {taken:?}");
        found
    })
}

/// Parts that can be repeated until any size is reached.
const PARTS: &[&str] = &[
    "(",
    ")",
    "((",
    "[",
    "{",
    "}",
    "\"",
    "\\",
    "'",
    " ",
    "\n",
    "\r\n",
    "\t",
    "#",
    "# x\n",
    ";",
    ",",
    ":",
    "::",
    "a",
    "a ",
    "_",
    "1",
    "1 ",
    "-",
    "not ",
    "not(",
    "if ",
    "a and ",
    "a or ",
    "p(",
    "p(a, ",
    "p(x) if ",
    "p(x);",
    "p(x) if q(x);\n",
    "actor A {}\n",
    "resource R { ",
    "resource R { roles = [\"a\"];",
    "\"a\" if \"b\";",
    "global {",
    "declare p(A);",
    "test \"t\" { ",
    "setup {",
    "assert ",
    "iff ",
    "in [",
    "matches A ",
    "= ",
    "!= ",
    "extends A, ",
    "\u{0}",
    "\u{feff}",
    "é",
    "日",
    "👩‍👩‍👧",
    "\u{202e}",
    "\u{e0001}",
    "e\u{301}\u{301}",
];

#[test]
fn ten_megabytes_are_refused() {
    for part in PARTS {
        let text = part.repeat(10_000_000 / part.len());
        let message = checked("ten megabytes", text).unwrap_err();
        assert!(message.contains("more than the limit"), "{part:?}: {message}");
    }
}

#[test]
fn ten_megabytes_are_refused_by_the_engine() {
    let text = "has_permission(_: User, \"read\", _: Doc);\n".repeat(250_000);
    let message = Hosted::new(&text).err().unwrap();
    assert!(message.contains("more than the limit"), "{message}");
}

/// Any part very often: an answer in time, acceptance or refusal.
#[test]
fn a_part_again_and_again() {
    for part in PARTS {
        let text = part.repeat(limits::SOURCE_BYTES / 8 / part.len());
        if let Err(message) = checked("one part", text) {
            assert!(!message.is_empty(), "{part:?}");
            assert!(message.len() < 100_000, "{part:?}: {} bytes of messages", message.len());
        }
    }
}

#[test]
fn a_hundred_thousand_brackets() {
    for (open, inner, close) in [
        ("(", "a(x)", ")"),
        ("not (", "a(x)", ")"),
        ("not ", "a(x)", ""),
        ("a(", "x", ")"),
        ("[", "x", "]"),
        ("A{", "\"x\"", "}"),
    ] {
        for count in [limits::NESTING + 1, 1_000, 100_000] {
            let body = open.repeat(count) + inner + &close.repeat(count);
            let message = checked("brackets", format!("p(x: User) if {body};\nactor User {{}}")).unwrap_err();
            assert!(!message.is_empty(), "{count} {open:?}");
        }
    }
}

#[test]
fn as_deep_as_allowed() {
    let deep = |open: &str, count: usize| {
        let body = open.repeat(count) + "a(x)" + &")".repeat(open.matches('(').count() * count);
        checked("deep", format!("actor User {{}}\ndeclare a(User);\np(x: User) if {body};"))
    };
    // One bracket is the atom's own.
    deep("(", limits::NESTING - 1).unwrap();
    deep("not ", limits::NESTING - 1).unwrap();
    deep("(", limits::NESTING + 1).unwrap_err();
    deep("not ", limits::NESTING + 1).unwrap_err();
}

const SAMPLE: &str = r#"actor User {}
resource Doc {
  roles = ["reader", "writer"];
  relations = { parent: Doc };
  "reader" if "writer";
  "reader" if "reader" on "parent";
}
# who reads
has_permission(u: User, "read", d: Doc) if has_role(u, "reader", d) and not (banned(u) or d = Doc{"x"});
test "t" { setup { banned(User{"a"}); } assert_not allow(User{"a"}, "read", Doc{"x"}); }
"#;

/// Every text that a slip of the hand makes of a policy is read to its end.
#[test]
fn a_policy_cut_anywhere() {
    policy::program(SAMPLE).unwrap();
    for (at, _) in SAMPLE.char_indices() {
        for text in [&SAMPLE[..at], &SAMPLE[at..]] {
            if let Err(message) = policy::program(text) {
                assert!(!message.is_empty(), "{text}");
            }
        }
    }
}

#[test]
fn a_policy_with_something_in_it_anywhere() {
    let hostile = ["\0", "\u{feff}", "é", "👩‍👩‍👧", "\u{202e}", "\"", "(", ")", "{", "}", ";", "\\", "#", "not "];
    for (number, (at, _)) in SAMPLE.char_indices().enumerate() {
        let inserted = hostile[number % hostile.len()];
        let text = [&SAMPLE[..at], inserted, &SAMPLE[at..]].concat();
        if let Err(message) = policy::program(&text) {
            assert!(!message.is_empty(), "{text}");
        }
    }
}
