//! Printing is the inverse of parsing.

use super::*;

/// The tree without its spans.
fn shape(policy: &ast::Policy) -> String {
    let debug = format!("{policy:?}");
    let mut shape = String::new();
    let mut rest = debug.as_str();
    // A span is printed as `12..34`.
    while let Some(at) = rest.find("..") {
        let (before, after) = rest.split_at(at);
        shape.push_str(before.trim_end_matches(|c: char| c.is_ascii_digit()));
        rest = after.trim_start_matches("..").trim_start_matches(|c: char| c.is_ascii_digit());
    }
    shape + rest
}

#[test]
fn a_printed_policy_reads_as_the_same_tree() {
    for sample in SAMPLES {
        let (policy, _) = parse(&source(sample));
        let text = print(&policy);
        let (again, findings) = parse(&source(&text));
        assert_eq!(findings, [], "{text}");
        assert_eq!(shape(&again), shape(&policy), "{text}");
        assert_eq!(print(&again), text);
    }
}

#[test]
fn what_is_left_of_a_broken_policy_can_be_printed_too() {
    for sample in SAMPLES {
        for prefix in prefixes(sample) {
            let left = parse(&source(prefix)).0;
            let text = print(&left);
            let again = parse(&source(&text)).0;
            assert_eq!(print(&again), text, "{prefix}");
        }
    }
}

#[test]
fn the_canonical_text_of_blocks() {
    insta::assert_snapshot!(reprint(SAMPLES[2]), @r#"
    actor User {}

    actor Group {
      relations = { member: User, parent: Group };
    }

    resource Organization {
      roles = ["admin", "member"];
      permissions = ["read", "repo.create"];
      "member" if "admin";
      "read" if "member";
    }

    resource Repository extends Item, Billing::Thing {
      roles = ["reader", "maintainer"];
      permissions = [];
      relations = { organization: Organization, creator: User };
      role if role on "organization";
      permission if permission on "organization";
      "reader" if
        (role on "organization" or "creator") and
        not ("banned" or not "member" on "organization");
      "maintainer" if global "admin" or is_public(resource) and allowed(actor, "x", 3, true, User{"a"});
      "owner" if "owner";
    }

    global {
      roles = ["admin"];
      permissions = ["create"];
      "create" if "admin";
    }
    "#);
}

#[test]
fn the_canonical_text_of_rules() {
    insta::assert_snapshot!(reprint(SAMPLES[3]), @r#"
    has_role(team: Team, "reader", repo: Repository) if
      has_relation(repo, "team", team) and
      not is_archived?(repo) and
      (team = Team{"a"} or team != Team{"b\"c"});

    has_permission(_: User, "read", _: Organization);

    allow(_actor, action, resource) if
      action in ["read", "write"] and
      x in [] and
      resource matches Repository and
      actor matches! User and
      3 <= x and
      x >= -3 and
      y < @current_unix_time and
      y > 1 and
      true and
      not not false;

    is_big(x: Integer) if x = Integer{1} or x = Boolean{true} or x = String{"s"};

    zero() if true;

    über_größe(ä: Ünïcode, "日本", 🦀);

    declare is_public(Repository);
    declare nothing();
    "#);
}

#[test]
fn the_canonical_text_of_tests() {
    insta::assert_snapshot!(reprint(SAMPLES[4]), @r#"
    test fixture base {
      has_role(User{"a"}, "admin", Organization{"o"});
      flag();
      is_closed(Issue{"i"}, true);
    }

    test fixture empty {}

    test "the \"name\"" {
      setup {
        fixture base;
        fixture(User{"a"});
        count(Repo{"r"}, 3);
      }
      assert allow(User{"a"}, "read", Organization{"o"});
      assert_not allow(User{"a"}, "read", Repo{"r"});
      assert allow(User{"a"}, action: String, Repo{"r"}) iff action in ["read", "write"];
      assert allow(User{"a"}, "read", r: Repo) iff not r = Repo{"x"} and r != Repo{"y"};
    }
    "#);
}
