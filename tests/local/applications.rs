//! The SQL for the applications of `benches/applications` stays short. No database runs it here; `cargo bench
//! --bench applications` does.

use portcullis_compiler::Dialect;
use portcullis_testkit::applications::Application;
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::server::Server;
use serde_json::json;

/// The questions whose text is longer than it should be, with the most bytes that it may have: three roles
/// on a file, each of which a user may have on a folder above it, and by a group; a role on the study of a
/// sample, by a crew that works on it now, which three rules ask for; and on SQLite, where texts are
/// compared twice, four eyes on a deal. The ids have 36 characters.
const LONGER: &[(&str, Dialect, usize)] = &[
    ("one_file: actions", Dialect::Postgresql, 5_000),
    ("one_file: actions", Dialect::Sqlite, 8_500),
    ("one_deal: actions", Dialect::Sqlite, 5_000),
    ("one_sample: check", Dialect::Sqlite, 4_800),
    ("one_sample: actions", Dialect::Postgresql, 5_200),
    ("one_sample: actions", Dialect::Sqlite, 6_400),
];

#[test]
fn every_question_becomes_a_short_text() {
    let service = Server::in_memory();
    let (mut n_questions, mut wrong) = (0, Vec::new());
    for application in Application::all() {
        for (policy, questions) in &application.policies {
            let answer = service.post("/api/policy", &json!({ "src": policy }));
            assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
            for question in questions {
                for dialect in DIALECTS {
                    let bindings = match dialect {
                        Dialect::Postgresql => application.bindings_without(&[]),
                        Dialect::Sqlite => application.bindings_of_sqlite(),
                    };
                    let (path, body) = question.request(&bindings);
                    let answer = service.post(path, &body);
                    assert_eq!(answer.status, 200, "{}: {}", question.name, answer.text);
                    let n_bytes = answer.json()["sql"].as_str().unwrap().len();
                    let is_longer = |(name, of, _): &&(&str, Dialect, usize)| {
                        question.name.starts_with(name) && *of == dialect
                    };
                    let most =
                        LONGER.iter().find(is_longer).map_or(question.most_bytes(), |(_, _, most)| *most);
                    if n_bytes > most {
                        let name = &question.name;
                        wrong.push(format!("{}, {name}, {dialect}: {n_bytes} bytes", application.name));
                    }
                    n_questions += 1;
                }
            }
        }
    }
    assert!(n_questions > 100, "{n_questions} questions are too few");
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}
