//! Tests of reading and printing policies.

mod accepted;
mod formatting;
mod mistakes;
mod mistakes_in_blocks;
mod printing;
mod robustness;

use super::*;
use crate::source::SourceMap;

/// Valid policies that together use every production of the grammar.
const SAMPLES: &[&str] = &[
    "",
    "# only a comment",
    r#"
actor User {}
actor Group { relations = { member: User, parent: Group, }; }
resource Organization {
  roles = ["admin", "member",];
  permissions = ["read", "repo.create"];
  "member" if "admin";
  "read" if "member";
}
resource Repository extends Item, Billing::Thing, {
  roles = ["reader", "maintainer"];
  permissions = [];
  relations = { organization: Organization, creator: User };
  role if role on "organization";
  permission if permission on "organization";
  "reader" if (role on "organization" or "creator") and not ("banned" or not "member" on "organization");
  "maintainer" if global "admin" or is_public(resource) and allowed(actor, "x", 3, true, User{"a"});
  "owner" if "owner";
};
global { roles = ["admin"]; permissions = ["create"]; "create" if "admin"; }
"#,
    r#"
has_role(team: Team, "reader", repo: Repository) if
  has_relation(repo, "team", team) and # a comment
  not is_archived?(repo) and (team = Team{"a"} or team != Team{"b\"c"});
has_permission(_: User, "read", _: Organization);
allow(_actor, action, resource) if action in ["read", "write",] and x in [] and resource matches Repository
  and actor matches! User and 3 <= x and x >= -3 and y < @current_unix_time and y > 1 and true and not not false;
is_big(x: Integer) if x = Integer{1} or x = Boolean{true} or x = String{"s"};
zero() if true;
über_größe(ä: Ünïcode, "日本", 🦀);
declare is_public(Repository);
declare nothing();
"#,
    r#"
test fixture base { has_role(User{"a"}, "admin", Organization{"o"}); flag(); is_closed(Issue{"i"}, true); }
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
"#,
    r#"
actor actor { roles = ["x"]; }
resource resource { relations = { role: roles, permission: permissions, relation: relations, actor: actor }; "x" if role(resource); }
role(role: role, permission, relation: setup) if actor(role) and setup(permission) and fixture(relation);
actor(actor);
resource(resource);
setup(setup: fixture);
permissions(roles, relations);
"#,
];

fn source(text: &str) -> SourceMap {
    SourceMap::new("p.polar", text)
}

/// One finding per line: code, position, the text under the carets, the title, and the fixed text.
fn findings(text: &str) -> String {
    let source = source(text);
    let mut lines = Vec::new();
    for found in parse(&source).1 {
        let at = source.locate(found.primary.span);
        let under = source.snippet(found.primary.span).replace('\0', "␀");
        let fix = found.fix.as_ref().map_or(String::new(), |fix| format!(" -> {}", fix.replacement));
        lines.push(format!("{} {}:{} [{under}] {}{fix}", found.code, at.line, at.column, found.title));
    }
    lines.join("\n")
}

/// Every prefix of a text.
fn prefixes(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().filter_map(|(at, _)| text.get(..at))
}

/// The canonical text of what was parsed.
fn reprint(text: &str) -> String {
    print(&parse(&source(text)).0)
}
