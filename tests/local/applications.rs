//! The SQL for the applications of `benches/applications` stays short. No database runs it here; `cargo bench
//! --bench applications` does.

use super::application::{Application, Variant};
use portcullis_testkit::server::Server;
use serde_json::json;

/// The questions whose text is longer than it should be, with the most bytes that it may have: eight roles in
/// files, folders and groups, each of them by three ways.
const LONGER: &[(&str, Variant, usize)] =
    &[("one_file: actions", Variant::Full, 5_000), ("one_file: actions", Variant::Sqlite, 8_000)];

#[test]
fn every_question_becomes_a_short_text() {
    let service = Server::in_memory();
    let (mut n_questions, mut wrong) = (0, Vec::new());
    for application in Application::all() {
        for (policy, questions) in &application.policies {
            let answer = service.post("/api/policy", &json!({ "src": policy }));
            assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
            for question in questions {
                for variant in [Variant::Full, Variant::Sqlite] {
                    let (path, body) = question.request(&application.bindings(variant));
                    let answer = service.post(path, &body);
                    assert_eq!(answer.status, 200, "{}: {}", question.name, answer.text);
                    let n_bytes = answer.json()["sql"].as_str().unwrap().len();
                    let is_longer = |(name, of, _): &&(&str, Variant, usize)| {
                        question.name.starts_with(name) && *of == variant
                    };
                    let most =
                        LONGER.iter().find(is_longer).map_or(question.most_bytes(), |(_, _, most)| *most);
                    if n_bytes > most {
                        let (name, variant) = (&question.name, variant.name());
                        wrong.push(format!("{}, {name}, {variant}: {n_bytes} bytes", application.name));
                    }
                    n_questions += 1;
                }
            }
        }
    }
    assert!(n_questions > 100, "{n_questions} questions are too few");
    assert!(wrong.is_empty(), "too long:\n{}", wrong.join("\n"));
}
