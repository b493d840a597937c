//! An import that is interrupted, or told to wait, goes on where it stopped.

use super::fake_service::{FakeService, Mood};
use super::program::{ENVIRONMENT, bad, good, key, key_file, note, set_policy, stored_facts};
use portcullis_testkit::program::{Service, portcullis};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// Notes of these numbers, as lines and as a table whose ids have line breaks.
fn write_both(folder: &Path, n_facts: usize) -> Vec<Json> {
    let facts: Vec<Json> = (0..n_facts).map(|n| note(&format!("u\r\n\"{n}\""), "x")).collect();
    let lines: Vec<String> = facts.iter().map(Json::to_string).collect();
    fs::write(folder.join("f.jsonl"), lines.join("\n")).unwrap();
    let rows: Vec<String> =
        (0..n_facts).map(|n| format!("note,User,\"u\r\n\"\"{n}\"\"\",String,x\r\n")).collect();
    fs::write(folder.join("f.csv"), format!("predicate,type1,id1,type2,id2\r\n{}", rows.concat())).unwrap();
    facts
}

/// The facts of all chunks, in the order of the file: two chunks are sent at a time.
fn in_order(mut chunks: Vec<Vec<Json>>, facts: &[Json]) -> Vec<Json> {
    // A fact that is none of these comes last.
    chunks.sort_by_key(|chunk| facts.iter().position(|fact| *fact == chunk[0]).unwrap_or(usize::MAX));
    chunks.concat()
}

#[test]
fn an_interrupted_import_goes_on_after_the_last_chunk_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key_file(folder, "key", "e_0123456789_1_x");
    let facts = write_both(folder, 100);
    for file in ["f.jsonl", "f.csv"] {
        let service = FakeService::start(&[]);
        service.refuse(Some(&facts[60]));
        let import = ["facts", "import", file, "--url", &service.url, "--key-file", "key", "--chunk", "20"];
        let resume = [&import[..], &["--resume"]].concat();
        let told = bad(folder, &import);
        assert!(told.ends_with("the service answers 500: as told"), "{told}");
        // The chunk after the refused one may have been under way.
        let taken = in_order(service.taken(), &facts);
        assert_eq!(taken[..60], facts[..60]);
        assert!(taken.len() == 60 || taken[60..] == facts[80..]);
        let state: Json =
            serde_json::from_slice(&fs::read(folder.join(format!("{file}.import"))).unwrap()).unwrap();
        assert_eq!(state["facts"], 60);

        // It fails again: the place and the lines it names are those of the whole file.
        service.refuse(Some(&facts[80]));
        let lines = if file == "f.csv" { "lines 162 to 200" } else { "lines 81 to 100" };
        let told = bad(folder, &resume);
        assert!(told.contains(lines), "{told}");
        assert_eq!(service.taken().concat(), facts[60..80]);
        service.refuse(None);
        let told = good(folder, &resume);
        assert!(
            told.starts_with("20 facts stored") && told.ends_with("after 80 before it was interrupted\n"),
            "{told}"
        );
        assert_eq!(service.taken().concat(), facts[80..]);
        assert!(!folder.join(format!("{file}.import")).exists());
        // Nothing is left to resume, so it begins.
        good(folder, &resume);
        assert_eq!(in_order(service.taken(), &facts), facts);
    }
}

#[test]
fn what_began_differently_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key_file(folder, "key", "e_0123456789_1_x");
    let facts = write_both(folder, 50);
    let service = FakeService::start(&[]);
    service.refuse(Some(&facts[20]));
    let import = ["facts", "import", "f.jsonl", "--url", &service.url, "--key-file", "key", "--chunk", "10"];
    bad(folder, &import);
    service.taken();
    service.refuse(None);
    let resume = [&import[..], &["--resume"]].concat();

    let whole = fs::read_to_string(folder.join("f.jsonl")).unwrap();
    for changed in [whole.replacen("\"x\"", "\"y\"", 1), whole.lines().take(15).collect(), String::new()] {
        fs::write(folder.join("f.jsonl"), changed).unwrap();
        assert!(bad(folder, &resume).contains("was changed after its import"));
    }
    // What comes after the place may have changed: it was never read.
    fs::write(folder.join("f.jsonl"), format!("{whole}\n{}", note("one more", "x"))).unwrap();
    let other = FakeService::start(&[]);
    let elsewhere: Vec<&str> =
        resume.iter().map(|arg| if *arg == service.url { other.url.as_str() } else { arg }).collect();
    assert!(bad(folder, &elsewhere).contains("went to http://"));
    key_file(folder, "other", "e_staging_1_x");
    let elsewhere: Vec<&str> = resume.iter().map(|arg| if *arg == "key" { "other" } else { arg }).collect();
    assert!(bad(folder, &elsewhere).contains("environment staging"));
    let other_format = [&resume[..], &["--format", "csv"]].concat();
    assert!(bad(folder, &other_format).contains("read jsonl, not csv"));
    assert!(good(folder, &resume).starts_with("31 facts stored"));
    assert_eq!(service.taken().concat().len(), 31);
    fs::write(folder.join("f.jsonl.import"), "{").unwrap();
    assert!(bad(folder, &resume).contains("is not a record of an import"));
    assert!(good(folder, &import).starts_with("51 facts stored"), "without --resume it begins anew");
    assert_eq!(in_order(service.taken(), &facts)[..50], facts);
    assert!(bad(folder, &["facts", "import", "--resume", "--data", "d"]).contains("the standard input"));
}

#[test]
fn a_service_that_asks_to_wait_or_loses_the_connection_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    key_file(folder, "key", "e_0123456789_1_x");
    let facts = write_both(folder, 30);
    let moods = [Mood::Wait(503), Mood::Wait(429), Mood::Take, Mood::TakeAndBreak];
    let service = FakeService::start(&moods);
    good(folder, &["facts", "import", "f.csv", "--url", &service.url, "--key-file", "key", "--chunk", "10"]);
    let taken = service.taken();
    assert_eq!(taken.len(), 4, "the chunk whose answer was lost came twice");
    let mut taken = in_order(taken, &facts);
    assert_eq!(taken.len(), 40, "a chunk is sent again as a whole");
    let place = |fact: &Json| facts.iter().position(|known| known == fact);
    taken.sort_by_key(place);
    taken.dedup();
    assert_eq!(taken, facts);
}

#[test]
fn a_killed_import_is_completed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let service = Service::start(folder, &[]);
    let key = key(folder, ENVIRONMENT);
    key_file(folder, "key", &key);
    set_policy(&service, &key);
    let facts = write_both(folder, 3_000);
    let import = [
        "facts",
        "import",
        "f.csv",
        "--url",
        &service.caller.url,
        "--key-file",
        "key",
        "--chunk",
        "5",
        "--resume",
    ];
    let mut child = portcullis(folder).args(import).stdout(Stdio::null()).spawn().unwrap();
    while !folder.join("f.csv.import").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(child.try_wait().unwrap().is_none(), "it was to be killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let n_stored = stored_facts(&service, &key).as_array().unwrap().len();
    assert!(n_stored < 3_000 && n_stored.is_multiple_of(5), "{n_stored}");
    let told = good(folder, &import);
    assert!(told.contains("before it was interrupted"), "{told}");
    let mut stored = stored_facts(&service, &key).as_array().unwrap().clone();
    let mut facts = facts;
    let by_text = |a: &Json, b: &Json| a.to_string().cmp(&b.to_string());
    stored.sort_by(by_text);
    facts.sort_by(by_text);
    assert_eq!(stored, facts);
}
