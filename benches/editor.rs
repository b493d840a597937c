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

use portcullis_testkit::lsp::{Editor, URI};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const LINES: usize = 2_000;

const KEYSTROKES: usize = 300;

/// The most that the median may take.
const MOST: Duration = Duration::from_millis(50);

/// What is typed into a block in the middle, character by character.
const TYPED: &str = "  \"reader\" if \"owner\" on \"parent\" and not is_banned(actor, resource);";

fn main() {
    let mut editor = Editor::start();
    let text = policy();
    println!("policy of {} lines, {} kB", text.lines().count(), text.len() / 1_000);
    assert_eq!(editor.open(&text), Vec::<Value>::new(), "the policy has no finding");
    let (before, after) = text.split_once("# here\n").unwrap();
    let mut times = Vec::new();
    let mut n_found = 0;
    for keystroke in 0..KEYSTROKES {
        let typed = TYPED.get(..keystroke % (TYPED.len() + 1)).unwrap();
        let text = format!("{before}{typed}\n{after}");
        let params = json!({
            "textDocument": { "uri": URI, "version": keystroke + 2 },
            "contentChanges": [{ "text": text }],
        });
        let start = Instant::now();
        editor.notify("textDocument/didChange", &params);
        n_found += editor.findings().len();
        times.push(start.elapsed());
    }
    editor.end();
    assert!(n_found > KEYSTROKES / 2, "most unfinished lines are mistakes");
    times.sort_unstable();
    let [median, slow, slowest] = [50, 95, 100].map(|percent| times[(times.len() - 1) * percent / 100]);
    println!("{KEYSTROKES} keystrokes           p50 {median:.1?}, p95 {slow:.1?}, slowest {slowest:.1?}");
    assert!(median <= MOST, "the median is over {MOST:?}");
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
