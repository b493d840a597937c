//! Formatting keeps what a policy says, its comments and its paragraphs.

use super::*;
use crate::tests::processor::ThreadTime;
use std::time::Duration;

fn formatted(text: &str) -> String {
    match format(&source(text)) {
        Ok(formatted) => formatted,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn comments_and_paragraphs_are_kept() {
    let text = r#"
# Licence: MIT


# Who works here.
actor   User{ } # people
actor Group { # several
   relations={member:User}; }
resource Document {


  # what people do
  roles = ["owner", "editor",
    "viewer"];
  permissions = [
    "read", # to see it

    # to change it
    "write"
  ];
  relations = { # where it lies
    folder: Folder, owner: User };
  "read" if "viewer" or "editor"; # as always
  # the rest
  "write" if
    "editor";


  "viewer" if "owner";;
  # nothing more

}
has_role(u: User, "viewer", d: Document) if u matches User
  # the owner's friends
  and friend(u, o) # both know it
  and has_relation(d, "owner", o)
  # the end
  ;
is_public(d: Document) if published(d);

is_public(d: Document) if has_relation(d, "folder", f) and # of an open one
  is_open(f);
p(x, # first
  # second
  y) # third
  if # all
  q(x) and r(y);
test "nothing" { setup { # no facts
  } assert_not p(1, 2); }
test "owners read" { setup { # facts
    has_role(User{"a"}, "owner", Document{"d"});

    # one more
    published(Document{"e"}); }
  # what follows
  assert allow(User{"a"}, "read", Document{"d"});
  assert allow(User{"a"}, x: String, Document{"d"}) iff x in ["read", "write"];
}
# the end
"#;
    insta::assert_snapshot!(formatted(text), @r#"
    # Licence: MIT

    # Who works here.
    actor User {} # people

    actor Group { # several
      relations = { member: User };
    }

    resource Document {
      # what people do
      roles = ["owner", "editor", "viewer"];
      permissions = [
        "read", # to see it
        # to change it
        "write",
      ];
      relations = { # where it lies
        folder: Folder,
        owner: User,
      };
      "read" if "viewer" or "editor"; # as always
      # the rest
      "write" if
        "editor";

      "viewer" if "owner";
      # nothing more
    }

    has_role(u: User, "viewer", d: Document) if
      u matches User and
      # the owner's friends
      friend(u, o) and # both know it
      # the end
      has_relation(d, "owner", o);
    is_public(d: Document) if published(d);

    is_public(d: Document) if
      has_relation(d, "folder", f) and # of an open one
      is_open(f);
    # first
    # second
    # third
    p(x, y) if # all
      q(x) and r(y);

    test "nothing" {
      setup { # no facts
      }
      assert_not p(1, 2);
    }

    test "owners read" {
      setup { # facts
        has_role(User{"a"}, "owner", Document{"d"});

        # one more
        published(Document{"e"});
      }
      # what follows
      assert allow(User{"a"}, "read", Document{"d"});
      assert allow(User{"a"}, x: String, Document{"d"}) iff x in ["read", "write"];
    }
    # the end
    "#);
    assert_eq!(formatted(&formatted(text)), formatted(text));
}

#[test]
fn samples_stay_the_same_policy() {
    for sample in SAMPLES {
        let text = formatted(sample);
        assert_eq!(reprint(&text), reprint(sample), "{text}");
        assert_eq!(formatted(&text), text);
    }
}

#[test]
fn comments_keep_their_order() {
    let text = "a(x) if b(x)\n# 1\nand # 2\n# 3\nc(x, # 4\n# 5\nx) # 6\n# 7\n;";
    let numbers: String = formatted(text).chars().filter(char::is_ascii_digit).collect();
    assert_eq!(numbers, "1234567");
}

/// The limit is far above what these texts need, and far below what they took while the time grew with the
/// square of their length.
#[test]
fn a_long_text_takes_no_more_than_linear_time() {
    let time = ThreadTime::start();
    assert_eq!(formatted(&";".repeat(900_000)), "");
    let rules = "p(x)if a(x)and b(x);".repeat(10_000);
    assert_eq!(formatted(&rules).lines().count(), 10_000);
    let taken = time.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn a_text_with_mistakes_is_refused() {
    let error = format(&source("actor User {")).map_err(|error| matches!(error, FormatError::Unreadable(_)));
    assert_eq!(error, Err(true));
}
