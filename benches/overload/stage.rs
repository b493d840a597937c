//! The service that is attacked, with what the probe and the attackers ask about.

use super::client::{ask, request};
use super::service::{Memory, Service};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::portcullis;
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Who may read the document that the probe asks about, and who may not.
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

/// The running service, and the keys of those who attack it.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    /// A key that may only read the environment of the probe.
    pub(crate) reader: String,
    /// A key that may only read another environment.
    pub(crate) stranger: String,
    /// A key that may write in that other environment.
    pub(crate) writer: String,
    service: Service,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// Starts the service and loads so many facts for those who read them back.
    pub(crate) fn set(n_facts: usize) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let service = Service::start(folder.path());
        let data = folder.path();
        let other = ["--environment", "other"];
        let stage = Self {
            address: service.address,
            reader: key(data, &["--read-only"]),
            writer: key(data, &other),
            stranger: key(data, &[&other[..], &["--read-only"]].concat()),
            service,
            _folder: folder,
        };
        for key in [DEVELOPMENT_KEY, &stage.writer] {
            stage.done("/policy?force=true", key, &json!({ "src": POLICY }));
        }
        let role = json!({ "predicate": "has_role", "args": [value("User", PROBE_ALLOWED),
            value("String", "reader"), value("Doc", "probed")] });
        stage.done("/bulk_load", DEVELOPMENT_KEY, &json!([role]));
        for (predicate, n) in [("left", SIDE), ("right", SIDE), ("large", n_facts)] {
            for first in (0..n).step_by(LOADED) {
                let facts: Vec<Json> =
                    (first..n.min(first + LOADED)).map(|n| fact(predicate, &n.to_string())).collect();
                stage.done("/bulk_load", DEVELOPMENT_KEY, &Json::from(facts));
            }
        }
        stage
    }

    /// A request that must succeed.
    fn done(&self, path: &str, key: &str, body: &Json) {
        let (status, answer) = ask(self.address, &request("POST", path, key, &body.to_string())).unwrap();
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&answer));
    }

    /// Samples the service's memory until `stop` is set. Returns the peak, in MB.
    pub(crate) fn watch_memory(&self, stop: &Arc<AtomicBool>) -> JoinHandle<f64> {
        let (process, stop) = (self.service.process(), Arc::clone(stop));
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

    /// Waits until the service answers again, when nobody attacks it any more.
    pub(crate) fn rest(&self) {
        let health = request("GET", "/healthcheck", DEVELOPMENT_KEY, "");
        while ask(self.address, &health).map_or(0, |(status, _)| status) != 200 {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// Makes a key as an operator does.
fn key(data: &Path, args: &[&str]) -> String {
    let mut command = portcullis(data);
    command.args(["keys", "create", "--data"]).arg(data).args(args);
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = String::from_utf8(made.stdout).unwrap();
    told.split_whitespace().find(|word| word.starts_with("e_")).unwrap().to_owned()
}

fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

/// A fact over one item.
pub(crate) fn fact(predicate: &str, id: &str) -> Json {
    json!({ "predicate": predicate, "args": [value("Item", id)] })
}
