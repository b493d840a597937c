//! How long an editor waits for diagnostics after a keystroke.
//!
//! ```text
//! cargo bench --bench editor
//! ```
//!
//! The server is the program itself, as an editor starts it. The policy has 2,000 lines: resource blocks of
//! twenty lines with inherited roles, relations and permissions, rules in longhand, and tests. Each keystroke
//! adds a character to a rule, or begins it again, and sends the whole text; the time ends when the
//! diagnostics have arrived. It fails if the median is over 50 ms.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement prints, and ends at the first error"
)]

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const URI: &str = "file:///policy.polar";

const LINES: usize = 2_000;

const KEYSTROKES: usize = 300;

/// The most that the median may take.
const MOST: Duration = Duration::from_millis(50);

/// What is typed into a block in the middle, character by character.
const TYPED: &str = "  \"reader\" if \"owner\" on \"parent\" and not is_banned(actor, resource);";

fn main() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_portcullis"))
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut editor =
        Editor { input: server.stdin.take().unwrap(), output: BufReader::new(server.stdout.take().unwrap()) };
    editor.write(&json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
    editor.read();
    editor.write(&json!({ "method": "initialized", "params": {} }));
    let text = policy();
    println!("policy of {} lines, {} kB", text.lines().count(), text.len() / 1_000);
    let document = json!({ "uri": URI, "languageId": "polar", "version": 0, "text": text });
    let (_, found) = editor.wait_after("textDocument/didOpen", &json!({ "textDocument": document }));
    assert_eq!(found, 0, "the policy has no finding");
    let (before, after) = text.split_once("# here\n").unwrap();
    let mut times = Vec::new();
    let mut n_found = 0;
    for keystroke in 0..KEYSTROKES {
        let typed = TYPED.get(..keystroke % (TYPED.len() + 1)).unwrap();
        let text = format!("{before}{typed}\n{after}");
        let params = json!({
            "textDocument": { "uri": URI, "version": keystroke },
            "contentChanges": [{ "text": text }],
        });
        let (time, found) = editor.wait_after("textDocument/didChange", &params);
        times.push(time);
        n_found += found;
    }
    editor.write(&json!({ "id": 2, "method": "shutdown" }));
    editor.read();
    editor.write(&json!({ "method": "exit" }));
    assert!(server.wait().unwrap().success());
    assert!(n_found > KEYSTROKES / 2, "most unfinished lines are mistakes");
    times.sort_unstable();
    let [median, slow, slowest] = [50, 95, 100].map(|percent| times[(times.len() - 1) * percent / 100]);
    println!("{KEYSTROKES} keystrokes           p50 {median:.1?}, p95 {slow:.1?}, slowest {slowest:.1?}");
    assert!(median <= MOST, "the median is over {MOST:?}");
}

/// An editor's side of the connection.
struct Editor {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Editor {
    fn write(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut header = String::new();
        self.output.read_line(&mut header).unwrap();
        let length = header.trim_end().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        self.output.read_line(&mut header).unwrap();
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The time until the diagnostics arrive, and their number.
    fn wait_after(&mut self, method: &str, params: &Value) -> (Duration, usize) {
        let start = Instant::now();
        self.write(&json!({ "method": method, "params": params }));
        let told = self.read();
        (start.elapsed(), told["params"]["diagnostics"].as_array().unwrap().len())
    }
}

fn policy() -> String {
    let mut text = String::from(
        "actor User {}\nactor Group { relations = { member: User }; }\n\
         resource Base {\n  roles = [\"owner\", \"reader\"];\n  permissions = [\"read\", \"write\"];\n  \
         \"reader\" if \"owner\";\n  \"read\" if \"reader\";\n  \"write\" if \"owner\";\n}\n\
         declare is_banned(User, Base);\n",
    );
    let mut block = 0;
    while text.lines().count() < LINES {
        let _ = write!(
            text,
            r#"is_open(r: R{block}) if is_listed(r) and
  not is_closed(r);
allow(u: User, "read", r: R{block}) if
  is_open(r) and
  not is_banned(u, r);
test "owners of R{block} write" {{
  setup {{
    has_role(User{{"ada"}}, "owner", R{block}{{"one"}});
    is_listed(R{block}{{"two"}});
  }}
  assert allow(User{{"ada"}}, "write", R{block}{{"one"}});
  assert allow(User{{"bob"}}, "read", R{block}{{"two"}});
}}
resource R{block} extends Base {{
  relations = {{ parent: R{block}, team: Group }};
  "reader" if "member" on "team";
  "reader" if "reader" on "parent";
  "owner" if "owner" on "parent";
}}
"#
        );
        if text.lines().count() > LINES / 2 && !text.contains("# here") {
            text.push_str("resource Here extends Base {\n  relations = { parent: Here };\n  \"owner\" if \"owner\" on \"parent\";\n# here\n}\n");
        }
        block += 1;
    }
    text
}
