//! Texts that look like something else, wherever a request may carry a text.

use portcullis_compiler::question::{Domain, Question, QuestionVar};
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::hosted::{FAULT, Hosted};
use portcullis_testkit::hostile_texts::TEXTS;
use portcullis_testkit::notation::{self, Cell, Fact, Value};
use portcullis_testkit::outcome::Outcome;
use portcullis_testkit::policy;
use portcullis_testkit::statements::Statements;
use std::fmt::Write;

const POLICY: &str = r#"
actor User {}
resource Doc {
  roles = ["reader"];
  permissions = ["read"];
  relations = { parent: Doc };
  "reader" if "reader" on "parent";
  "read" if "reader";
}
"#;

fn hosted(policy: &str, facts: &[Fact]) -> Hosted {
    let hosted = Hosted::new(policy).unwrap();
    hosted.store(facts).unwrap();
    hosted
}

fn role(user: &str, doc: &str) -> Fact {
    let args = vec![Value::new("User", user), Value::new("String", "reader"), Value::new("Doc", doc)];
    Fact { predicate: "has_role".into(), args }
}

fn allow(actor: (&str, &str), action: &str, resource: QuestionVar) -> Question {
    let actor = QuestionVar::given("actor", actor.0, actor.1);
    Question::atom("allow", vec![actor, QuestionVar::given("action", "String", action), resource])
}

fn only(ty: &str, id: &str) -> Outcome {
    Expected::Is(Answer::Rows([vec![Cell::Value(Value::new(ty, id))]].into()))
}

/// Each text reads what it was given, in the engine and on both databases, in every form.
#[test]
fn an_id_is_itself() {
    let facts: Vec<Fact> = TEXTS.iter().map(|text| role(text, text)).collect();
    let stored = hosted(POLICY, &facts);
    let program = policy::program(POLICY).unwrap();
    let returned = Statements::new(&program, &facts, 0).unwrap();
    for text in TEXTS {
        let list = allow(("User", text), "read", QuestionVar::wanted("resource", Some("Doc")));
        let check = allow(("User", text), "read", QuestionVar::given("resource", "Doc", text));
        let context = [role(text, text)];
        let empty = hosted(POLICY, &[]);
        for (question, expected) in [(list, only("Doc", text)), (check, Expected::Is(Answer::Decision(true)))]
        {
            let ways = stored.ask_every_way(&question, &[]).into_iter();
            let ways = ways.chain(empty.ask_every_way(&question, &context));
            for (way, found) in ways.chain(returned.ask_every_way(&question)) {
                assert_eq!(found, expected, "{text:?}: {way}");
            }
        }
    }
}

/// Ids of all kinds in one list, with the integers and UUIDs next to which a store's form of them changes.
#[test]
fn ids_are_listed_in_order() {
    let mut ids: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    for bits in (7..64).step_by(8) {
        let number = 1_i128 << bits;
        let near = [number - 1, number, number + 1].into_iter().flat_map(|number| [number, -number]);
        ids.extend(near.map(|number| number.to_string()));
        ids.push(format!("{:08x}-0000-0000-0000-{bits:012x}", 0xFF << (bits - 7).min(24)));
    }
    ids.extend(
        ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"].map(Into::into),
    );
    ids.sort_unstable();
    ids.dedup();
    let facts: Vec<Fact> = ids.iter().map(|id| role("ada", id)).collect();
    let stored = hosted(POLICY, &facts);
    let program = policy::program(POLICY).unwrap();
    let returned = Statements::new(&program, &facts, 0).unwrap();
    let docs = |ids: &[String]| -> Outcome {
        let rows = ids.iter().map(|id| vec![Cell::Value(Value::new("Doc", id))]);
        Expected::Is(Answer::Rows(rows.collect()))
    };
    let list = allow(("User", "ada"), "read", QuestionVar::wanted("resource", Some("Doc")));
    let several = Domain::GivenOneOf(ids.clone());
    let of_several = QuestionVar { domain: several, ..QuestionVar::wanted("resource", Some("Doc")) };
    for question in [list, allow(("User", "ada"), "read", of_several)] {
        let ways = stored.ask_every_way(&question, &[]).into_iter().chain(returned.ask_every_way(&question));
        for (way, found) in ways {
            assert_eq!(found, docs(&ids), "{way}");
        }
    }
}

/// A text as an action, a type, a predicate or a variable is unknown or refused, and nothing else happens.
#[test]
fn a_name_is_a_name() {
    let stored = hosted(POLICY, &[role("ada", "memo")]);
    for text in TEXTS {
        let doc = || QuestionVar::given("resource", "Doc", "memo");
        let mut questions = vec![
            allow(("User", "ada"), text, doc()),
            allow((text, "ada"), "read", doc()),
            allow(("User", "ada"), "read", QuestionVar::given("resource", text, "memo")),
            allow(("User", "ada"), "read", QuestionVar::wanted("resource", Some(text))),
        ];
        questions.push(Question::atom(text, vec![QuestionVar::given("x", "Doc", "memo")]));
        for question in questions {
            for (way, found) in stored.ask_every_way(&question, &[]) {
                let is_nothing = match &found {
                    Expected::Is(Answer::Decision(decision)) => !decision,
                    Expected::Is(Answer::Rows(rows)) => rows.is_empty(),
                    Expected::Refused(message) => !message.starts_with(FAULT),
                };
                assert!(is_nothing, "{text:?}: {way}: {found}");
            }
        }
        let mut named = allow(("User", "ada"), "read", QuestionVar::wanted("resource", Some("Doc")));
        for var in &mut named.vars {
            if var.domain == Domain::Wanted {
                (*text).clone_into(&mut var.name);
            }
        }
        for (way, found) in stored.ask_every_way(&named, &[]) {
            let is_fine = match &found {
                Expected::Refused(message) => !message.starts_with(FAULT),
                Expected::Is(_) => found == only("Doc", "memo"),
            };
            assert!(is_fine, "{text:?}: {way}: {found}");
        }
        let hostile = [
            Fact { predicate: (*text).to_owned(), args: role("ada", "memo").args },
            Fact { predicate: "has_role".into(), args: vec![Value::new(text, "x"); 3] },
            Fact { predicate: "has_role".into(), args: vec![Value::new(text, text); 2] },
        ];
        for fact in hostile {
            let refused = stored.store(std::slice::from_ref(&fact)).unwrap_err();
            assert!(!refused.contains("internal error"), "{fact:?}: {refused}");
        }
        let still = notation::question("has_role(?, ?, ?)").unwrap();
        for (way, found) in stored.ask_every_way(&still, &[]) {
            let row = role("ada", "memo").args.into_iter().map(Cell::Value).collect();
            assert_eq!(found, Expected::Is(Answer::Rows([row].into())), "{text:?}: {way}");
        }
    }
}

/// NUL is refused wherever it stands, and nothing is stored.
#[test]
fn nul_is_refused() {
    let stored = hosted(POLICY, &[]);
    for text in ["\0", "a\0", "\0a", "a\0b"] {
        stored.store(&[role(text, "memo")]).unwrap_err();
        stored.store(&[role("ada", text)]).unwrap_err();
        let question = allow(("User", text), "read", QuestionVar::wanted("resource", Some("Doc")));
        for (way, found) in stored.ask_every_way(&question, &[]) {
            let is_fine = match &found {
                Expected::Refused(message) => !message.starts_with(FAULT),
                Expected::Is(Answer::Rows(rows)) => rows.is_empty(),
                Expected::Is(Answer::Decision(_)) => false,
            };
            assert!(is_fine, "{way}: {found}");
        }
    }
}

/// The author's own literals: roles, permissions and ids of any text.
#[test]
fn a_literal_is_itself() {
    // The resolver and the language have their own say on what a role may be called; ids may be anything.
    let mut policy = POLICY.to_owned();
    let printable = TEXTS.iter().filter(|text| text.chars().all(|c| !c.is_control()));
    let printable: Vec<&str> = printable.copied().collect();
    for text in &printable {
        let literal = Value::new("String", text);
        writeln!(policy, "has_permission(User{{{literal}}}, {literal}, Doc{{{literal}}});").unwrap();
        writeln!(policy, "has_permission(u: User, {literal}, d: Doc) if label(u, {literal}, d);").unwrap();
    }
    let label = |text: &str| Fact {
        predicate: "label".into(),
        args: vec![Value::new("User", "ada"), Value::new("String", text), Value::new("Doc", text)],
    };
    let facts: Vec<Fact> = printable.iter().map(|text| label(text)).collect();
    let stored = hosted(&policy, &facts);
    let program = policy::program(&policy).unwrap();
    let returned = Statements::new(&program, &facts, 0).unwrap();
    for text in &printable {
        for actor in [text, "ada"] {
            let list = allow(("User", actor), text, QuestionVar::wanted("resource", Some("Doc")));
            let ways = stored.ask_every_way(&list, &[]).into_iter().chain(returned.ask_every_way(&list));
            for (way, found) in ways {
                assert_eq!(found, only("Doc", text), "{text:?} of {actor:?}: {way}");
            }
        }
    }
}
