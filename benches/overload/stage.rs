//! The service that is attacked, with what the probe and the attackers ask about.

use super::client::{ask, request};
use super::isolation::{Apart, Keys};
use super::service::{Memory, serve};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, portcullis};
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// An actor who may read the document that the probe asks about, and one who may not.
pub(crate) const PROBE_ALLOWED: &str = "ada";
pub(crate) const PROBE_DENIED: &str = "bob";

/// Rows of each side of a product.
const SIDE: usize = 20_000;

/// Facts of one request while the stage is set.
const LOADED: usize = 20_000;

/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

const POLICY: &str = r#"
actor User {}
resource Item {}
resource Doc { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
declare large(Item);
pair(x: Item, y: Item) if left(x) and right(y);
"#;

/// What an environment without attackers says.
const POLICY_APART: &str = r#"
actor User {}
resource Doc { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; }
"#;

/// The running service, and the keys of those who attack it.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    /// A key that may only read the environment of the probe.
    pub(crate) reader: String,
    /// A key that may only read another environment.
    pub(crate) stranger: String,
    /// A key that may write in that other environment.
    pub(crate) writer: String,
    /// An environment that no attacker has a key for.
    pub(crate) apart: Arc<Apart>,
    service: Service,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// Starts the service and loads `n_facts` facts for those who read them back.
    pub(crate) fn set(n_facts: usize) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let service = serve(folder.path(), &[]);
        let data = folder.path();
        let other = ["--environment", "other"];
        let address = service.caller.address();
        let (reader, writer) = (key(data, &["--read-only"]), key(data, &other));
        let (of_apart, revoked) = (key(data, &["--environment", "apart"]), revoked_key(data));
        let loads = [
            (DEVELOPMENT_KEY, POLICY, role(PROBE_ALLOWED)),
            (&writer, POLICY, role("eve")),
            (&of_apart, POLICY_APART, role(PROBE_DENIED)),
        ];
        for (key, policy, role) in loads {
            done(address, "/policy?force=true", key, &json!({ "src": policy }));
            done(address, "/bulk_load", key, &json!([role]));
        }
        let apart = Apart::of(address, Keys { apart: &of_apart, reader: &reader, revoked: &revoked });
        for (predicate, n) in [("left", SIDE), ("right", SIDE), ("large", n_facts)] {
            for first in (0..n).step_by(LOADED) {
                let facts: Vec<Json> =
                    (first..n.min(first + LOADED)).map(|n| fact(predicate, &n.to_string())).collect();
                done(address, "/bulk_load", DEVELOPMENT_KEY, &Json::from(facts));
            }
        }
        let stranger = key(data, &[&other[..], &["--read-only"]].concat());
        Self { address, reader, stranger, writer, apart: Arc::new(apart), service, _folder: folder }
    }

    /// Samples the service's memory until `stop` is set. Returns the peak, in MB.
    pub(crate) fn watch_memory(&self, stop: &Arc<AtomicBool>) -> JoinHandle<f64> {
        let (process, stop) = (self.service.program.id(), Arc::clone(stop));
        std::thread::spawn(move || {
            let mut most = 0.0_f64;
            while !stop.load(Ordering::Relaxed) {
                let memory = Memory::of(process);
                most = most.max(memory.own);
                std::thread::sleep(LOOK);
            }
            most
        })
    }

    /// Replaces the policy once a second until `stop` is set. Returns how many times.
    pub(crate) fn swap_policies(self: &Arc<Self>, stop: &Arc<AtomicBool>) -> JoinHandle<usize> {
        let (stage, stop) = (Arc::clone(self), Arc::clone(stop));
        std::thread::spawn(move || {
            let mut n_swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                let body = json!({ "src": format!("{POLICY}# {n_swaps}\n") }).to_string();
                let swap = request("POST", "/policy?force=true", DEVELOPMENT_KEY, &body);
                // An upload may have to wait for another one; then it is refused with 503.
                let answered = ask(stage.address, &swap).map_or(0, |(status, _)| status);
                assert!(matches!(answered, 200 | 503), "a policy swap was answered {answered}");
                n_swaps += usize::from(answered == 200);
                std::thread::sleep(Duration::from_secs(1));
            }
            n_swaps
        })
    }

    /// Waits until the service answers again, once the attack is over.
    pub(crate) fn rest(&self) {
        let health = request("GET", "/healthcheck", DEVELOPMENT_KEY, "");
        while ask(self.address, &health).map_or(0, |(status, _)| status) != 200 {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// A request that must succeed.
fn done(address: SocketAddr, path: &str, key: &str, body: &Json) {
    let (status, answer) = ask(address, &request("POST", path, key, &body.to_string())).unwrap();
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&answer));
}

/// Makes a key as an operator does.
fn key(data: &Path, args: &[&str]) -> String {
    let made = keys(data, &[&["create"], args].concat());
    made.split_whitespace().find(|word| word.starts_with("e_")).unwrap().to_owned()
}

/// A key that was valid once.
fn revoked_key(data: &Path) -> String {
    let key = key(data, &["--name", "revoked"]);
    let listed = keys(data, &["list"]);
    let id = listed.lines().find(|line| line.contains("revoked")).unwrap().split_whitespace().next();
    keys(data, &["revoke", id.unwrap()]);
    key
}

/// What a command about keys prints.
fn keys(data: &Path, args: &[&str]) -> String {
    let mut command = portcullis(data);
    command.arg("keys").args(args).arg("--data").arg(data);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A role on the document that the probe asks about.
fn role(user: &str) -> Json {
    json!({ "predicate": "has_role", "args": [value("User", user), value("String", "reader"),
        value("Doc", "probed")] })
}

fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

/// A fact over one item.
pub(crate) fn fact(predicate: &str, id: &str) -> Json {
    json!({ "predicate": predicate, "args": [value("Item", id)] })
}
