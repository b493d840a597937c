//! The SQL for the applications of `benches/applications` stays short. No database runs it here; `cargo bench
//! --bench applications` does.

use portcullis_testkit::applications::Application;
use portcullis_testkit::applications::question::Question;
use portcullis_testkit::server::Server;
use serde_json::json;
use std::collections::BTreeSet;

/// The bindings that an application's questions are asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// The document as it is.
    Full,
    /// Without `tables`.
    Types,
    /// Without `sql_types` and `tables`.
    Undeclared,
    /// The document as it is, for SQLite.
    Sqlite,
}

const VARIANTS: [Variant; 4] = [Variant::Full, Variant::Types, Variant::Undeclared, Variant::Sqlite];

impl Variant {
    fn bindings(self, application: &Application) -> String {
        match self {
            Self::Full => application.bindings_without(&[]),
            Self::Types => application.bindings_without(&["tables:"]),
            Self::Undeclared => application.bindings_without(&["sql_types:", "tables:"]),
            Self::Sqlite => application.bindings_of_sqlite(),
        }
    }
}

/// The questions whose text is longer than it should be, with the most bytes that it may have: three roles
/// on a file, each of which a user may have on a folder above it, and by a group; a role on the study of a
/// sample, by a crew that works on it now, which three rules ask for; four eyes on a deal, whose ids are
/// texts that SQLite compares twice. Ids have up to 36 characters.
const LONGER: &[(&str, Variant, usize)] = &[
    ("one_file: actions", Variant::Full, 5_000),
    ("one_file: actions", Variant::Types, 5_500),
    ("one_file: actions", Variant::Sqlite, 8_500),
    ("one_deal: actions", Variant::Types, 4_300),
    ("one_deal: actions", Variant::Sqlite, 5_000),
    ("one_sample: check", Variant::Sqlite, 4_800),
    ("one_sample: actions", Variant::Full, 5_200),
    ("one_sample: actions", Variant::Types, 5_600),
    ("one_sample: actions", Variant::Undeclared, 11_000),
    ("one_sample: actions", Variant::Sqlite, 6_400),
];

/// The most bytes that the text of a question should have. Without `sql_types`, ids are compared as text,
/// and a number is looked at before it is compared, on both sides.
fn most_bytes(question: &Question, variant: Variant) -> usize {
    match variant {
        Variant::Full | Variant::Types | Variant::Sqlite => question.most_bytes(),
        Variant::Undeclared => 2 * question.most_bytes(),
    }
}

#[test]
fn every_question_becomes_a_short_text() {
    let service = Server::in_memory();
    let (mut n_questions, mut wrong, mut longer) = (0, Vec::new(), BTreeSet::new());
    for application in Application::all() {
        for (policy, questions) in &application.policies {
            let answer = service.post("/api/policy", &json!({ "src": policy }));
            assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
            for (question, variant) in questions.iter().flat_map(|question| VARIANTS.map(|it| (question, it)))
            {
                let (path, body) = question.request(&variant.bindings(&application));
                let answer = service.post(path, &body);
                assert_eq!(answer.status, 200, "{}: {}", question.name, answer.text);
                let n_bytes = answer.json()["sql"].as_str().unwrap().len();
                let is_longer = |(name, of, _): &&(&str, Variant, usize)| {
                    question.name.starts_with(name) && *of == variant
                };
                let exception = LONGER.iter().find(is_longer);
                let most = exception.map_or(most_bytes(question, variant), |(_, _, most)| *most);
                if n_bytes > most {
                    wrong.push(format!(
                        "{}, {}, {variant:?}: {n_bytes} bytes",
                        application.name, question.name
                    ));
                }
                if n_bytes > most_bytes(question, variant) {
                    longer.extend(exception.map(|(name, _, most)| (*name, *most)));
                }
                n_questions += 1;
            }
        }
    }
    assert!(n_questions > 1_000, "{n_questions} questions are too few");
    let is_used = |(name, _, most): &&(&'static str, Variant, usize)| longer.contains(&(*name, *most));
    assert_eq!(
        LONGER.iter().filter(is_used).count(),
        LONGER.len(),
        "an exception of {longer:?} is not needed"
    );
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}
