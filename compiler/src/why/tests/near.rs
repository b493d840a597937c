//! Suggestions among very many values that a condition could have.

use super::bench::Bench;
use std::fmt::Write;

const CHAT: &str = r#"actor User {}
resource Workspace { roles = ["admin", "member"]; "member" if "admin"; }
resource Channel {
  roles = ["moderator", "participant"];
  permissions = ["read", "manage"];
  relations = { workspace: Workspace };
  "participant" if "moderator";
  "moderator" if "admin" on "workspace";
  "read" if "participant";
  "read" if "member" on "workspace" and not is_private(resource);
  "manage" if "moderator";
}
resource Message {
  permissions = ["delete"];
  relations = { channel: Channel };
  "delete" if "manage" on "channel";
}
usable(u: User, c: Channel) if not banned_now(u, c) and has_relation(c, "workspace", w) and not is_frozen(w);
banned_now(u: User, c: Channel) if is_banned(u, c);
allow(u: User, a: String, m: Message) if
  has_permission(u, a, m) and has_relation(m, "channel", c) and usable(u, c) and has_permission(u, "read", c);
declare is_private(Channel); declare is_banned(User, Channel); declare is_frozen(Workspace);
"#;

/// Of a thousand channels, that of the message counts. Looking at what the user might do in each of them
/// takes longer than a search may.
#[test]
fn a_search_that_ends_at_its_limit_is_repeated_near_the_question() {
    let mut facts = String::from("has_relation(Message:m, \"channel\", Channel:c7)\n");
    for n in 0..1_000 {
        writeln!(facts, "has_relation(Channel:c{n}, \"workspace\", Workspace:w{})", n % 5).unwrap();
    }
    let asked = |message: &str| {
        let why = Bench::new(CHAT, &facts).why(&format!(r#"allow(User:ada, "delete", Message:{message})"#));
        why.lines().filter(|line| line.contains("with ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let near = ["with has_role(User:ada, \"moderator\", Channel:c7)", "perhaps with others"];
    assert_eq!(asked("m"), near);
    // Nothing says in which channel another message is.
    assert_eq!(asked("n"), ["perhaps with others"]);
}
