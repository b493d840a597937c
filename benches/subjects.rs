//! Who may act on a resource, compared with what an actor may act on: lists of the same length.
//!
//! ```text
//! cargo bench --bench subjects
//! ```
//!
//! The service is the program itself, with the policy of `fixtures/example`. An organization has as many
//! readers as repositories, and a tree of folders as many members of nested groups as repositories; so a list
//! of resources and a list of actors take the same steps in opposite directions. The questions alternate, so
//! that the other work of the machine is the same for both. Every answer is checked for its length. It fails
//! if a list of actors takes more than 1.5 times as long as the list of resources, in the median.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement prints, and ends at the first error"
)]

#[path = "code_host/http.rs"]
mod http;
#[expect(dead_code, reason = "other measurements look at the memory")]
#[path = "code_host/service.rs"]
mod service;

use http::Client;
use serde_json::{Value as Json, json};
use service::serve;
use std::time::{Duration, Instant};

const POLICY: &str = include_str!("../fixtures/example/policy.polar");

/// The lengths of the lists.
const LENGTHS: [usize; 3] = [10, 1_000, 10_000];

/// How often each question is asked.
const ROUNDS: usize = 300;

/// The most that a list of actors may take, in lists of resources.
const MOST: f64 = 1.5;

/// Members of a group, and repositories of a folder.
const EACH: usize = 20;

fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let service = serve(folder.path(), &[]);
    let mut client = Client::new(service.caller.address());
    client.post("/policy", &json!({ "src": POLICY }).to_string());
    for length in LENGTHS {
        for facts in [organization(length), groups(length)].concat().chunks(10_000) {
            client.post("/bulk_load", &json!(facts).to_string());
        }
    }
    println!("| list of | through | resources | actors | actors of a type | ratio |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut worst = 0.0_f64;
    for length in LENGTHS {
        for through in ["organization", "groups"] {
            let asked = questions(length, through);
            let mut times: [Vec<Duration>; 3] = Default::default();
            for _ in 0..ROUNDS {
                for ((path, body, n), times) in asked.iter().zip(&mut times) {
                    let start = Instant::now();
                    let answer = client.post(path, body);
                    times.push(start.elapsed());
                    let answer: Json = serde_json::from_slice(answer).unwrap();
                    assert_eq!(answer["results"].as_array().unwrap().len(), *n, "{body}");
                }
            }
            let [resources, all, typed] = times.map(median);
            let ratio = all.max(typed).as_secs_f64() / resources.as_secs_f64();
            worst = worst.max(ratio);
            println!("| {length} | {through} | {resources:.1?} | {all:.1?} | {typed:.1?} | {ratio:.2} |");
        }
    }
    service.stop();
    assert!(worst <= MOST, "a list of actors took {worst:.2} times as long as the list of resources");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The list of resources of one of the actors, and the actors of one of the resources: of any type, and
/// users; each with its length.
fn questions(length: usize, through: &str) -> [(&'static str, String, usize); 3] {
    let name = |n: usize| format!("{through}-{length}-{n}");
    let list = json!({
        "actor_type": "User", "actor_id": name(0), "action": "read", "resource_type": "Repository",
    });
    let mut subjects = json!({
        "action": "read", "resource_type": "Repository", "resource_id": name(length - 1),
    });
    let all = subjects.to_string();
    subjects["actor_types"] = json!(["User"]);
    // The group that has the role is one of its actors.
    let n_groups = usize::from(through == "groups");
    [
        ("/list", list.to_string(), length),
        ("/list_subjects", all, length + n_groups),
        ("/list_subjects", subjects.to_string(), length),
    ]
}

/// An organization with this many readers and repositories.
fn organization(length: usize) -> Vec<Json> {
    let (organization, name) =
        (format!("Organization:{length}"), |n: usize| format!("organization-{length}-{n}"));
    let facts = (0..length).flat_map(|n| {
        [
            fact("has_role", [&format!("User:{}", name(n)), "String:reader", &organization]),
            fact("has_relation", [&format!("Repository:{}", name(n)), "String:organization", &organization]),
        ]
    });
    facts.collect()
}

/// A folder that a group may read, with this many members in its subgroups and repositories in its
/// subfolders.
fn groups(length: usize) -> Vec<Json> {
    let name = |n: usize| format!("groups-{length}-{n}");
    let (top, root) = (format!("Group:{length}"), format!("Folder:{length}"));
    let mut facts = vec![fact("has_role", [&top, "String:reader", &root])];
    for n in 0..length {
        let (group, inner) =
            (format!("Group:{length}-{}", n / EACH), format!("Folder:{length}-{}", n / EACH));
        if n % EACH == 0 {
            facts.push(fact("has_relation", [&top, "String:subgroup", &group]));
            facts.push(fact("has_relation", [&inner, "String:parent", &root]));
        }
        facts.push(fact("has_relation", [&group, "String:member", &format!("User:{}", name(n))]));
        facts.push(fact("has_relation", [&format!("Repository:{}", name(n)), "String:folder", &inner]));
    }
    facts
}

fn fact(predicate: &str, args: [&str; 3]) -> Json {
    let value = |arg: &str| {
        let (ty, id) = arg.split_once(':').unwrap();
        json!({ "type": ty, "id": id })
    };
    json!({ "predicate": predicate, "args": args.map(value) })
}
