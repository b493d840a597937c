//! Every form of shorthand.

use super::*;
use insta::assert_snapshot;

/// Shorthand rules in a block with one declaration of each kind.
fn repo(lines: &str) -> String {
    rules(&format!(
        r#"
        actor User {{}}
        global {{ roles = ["admin"]; permissions = ["create"]; }}
        resource Org {{ roles = ["owner", "member"]; permissions = ["read", "audit"]; relations = {{ boss: User }}; }}
        resource Repo {{
            roles = ["member", "guest"];
            permissions = ["read", "update"];
            relations = {{ org: Org, parent: Repo, creator: User }};
            {lines}
        }}"#
    ))
}

#[test]
fn a_permission_if_a_role() {
    assert_snapshot!(repo(r#""read" if "member";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource)"#);
}

#[test]
fn a_role_if_a_role() {
    assert_snapshot!(repo(r#""member" if "guest";"#), @r#"has_role(actor: User, "member", resource: Repo) :- has_role(actor, "guest", resource)"#);
}

#[test]
fn a_permission_if_a_permission() {
    assert_snapshot!(repo(r#""read" if "update";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_permission(actor, "update", resource)"#);
}

#[test]
fn a_permission_if_a_relation_puts_the_resource_first() {
    assert_snapshot!(repo(r#""update" if "creator";"#), @r#"has_permission(actor: User, "update", resource: Repo) :- has_relation(resource, "creator", actor)"#);
}

#[test]
fn a_relation_may_be_granted() {
    assert_snapshot!(repo(r#""creator" if "member";"#), @r#"has_relation(resource: Repo, "creator", actor: User) :- has_role(actor, "member", resource)"#);
}

#[test]
fn on_looks_the_name_up_in_the_related_block() {
    assert_snapshot!(repo(r#""read" if "member" on "org";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "member", org)"#);
    assert_snapshot!(repo(r#""read" if "audit" on "org";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_permission(actor, "audit", org)"#);
    assert_snapshot!(repo(r#""read" if "boss" on "org";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_relation(org, "boss", actor)"#);
}

#[test]
fn role_on_gives_each_role_of_the_block() {
    assert_snapshot!(repo(r#"role if role on "org";"#), @r#"
    has_role(actor: User, "member", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "member", org)
    has_role(actor: User, "guest", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "guest", org)
    "#);
}

#[test]
fn role_on_in_the_body_alone_means_any_role() {
    assert_snapshot!(repo(r#""read" if role on "org";"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "owner", org)
    has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "member", org)
    "#);
    assert_snapshot!(repo(r#""read" if role;"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource)
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "guest", resource)
    "#);
}

#[test]
fn permission_gives_each_permission_of_the_block() {
    assert_snapshot!(repo(r#"permission if "owner" on "org";"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "owner", org)
    has_permission(actor: User, "update", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "owner", org)
    "#);
    assert_snapshot!(repo(r#"permission if permission on "parent";"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "parent", parent: Repo), has_permission(actor, "read", parent)
    has_permission(actor: User, "update", resource: Repo) :- has_relation(resource, "parent", parent: Repo), has_permission(actor, "update", parent)
    "#);
}

#[test]
fn a_global_condition_leaves_the_resource_free() {
    assert_snapshot!(repo(r#""read" if global "admin";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "admin")"#);
    assert_snapshot!(repo(r#""read" if global "create";"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_permission(actor, "create")"#);
    assert_snapshot!(repo(r#""read" if global role;"#), @r#"has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "admin")"#);
}

#[test]
fn calls_name_the_implied_variables() {
    assert_snapshot!(repo(r#""read" if is_public(resource);"#), @r#"has_permission(actor: User, "read", resource: Repo) :- is_public(resource)"#);
    assert_snapshot!(repo(r#""read" if trusted(actor, level, "x") and fits(level, resource);"#), @r#"has_permission(actor: User, "read", resource: Repo) :- trusted(actor, level, "x"), fits(level, resource)"#);
}

#[test]
fn and_or_not_and_parentheses_combine() {
    assert_snapshot!(repo(r#""read" if is_public(resource) and not "guest" or "creator";"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- is_public(resource), not has_role(actor, "guest", resource)
    has_permission(actor: User, "read", resource: Repo) :- has_relation(resource, "creator", actor)
    "#);
    assert_snapshot!(repo(r#""read" if "member" and ("creator" or "update");"#), @r#"
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource), has_relation(resource, "creator", actor)
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource), has_permission(actor, "update", resource)
    "#);
    assert_snapshot!(repo(r#""read" if "member" and not "owner" on "org";"#), @r#"
    'has_permission.1(actor: User, resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "owner", org)
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource), not 'has_permission.1(actor, resource)
    "#);
    assert_snapshot!(repo(r#""read" if "member" and not role on "org";"#), @r#"
    'has_permission.1(actor: User, resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "owner", org)
    'has_permission.2(actor: User, resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "member", org)
    has_permission(actor: User, "read", resource: Repo) :- has_role(actor, "member", resource), not 'has_permission.1(actor, resource), not 'has_permission.2(actor, resource)
    "#);
}

#[test]
fn a_name_may_imply_itself() {
    assert_snapshot!(repo(r#""member" if "member";"#), @r#"has_role(actor: User, "member", resource: Repo) :- has_role(actor, "member", resource)"#);
    assert_snapshot!(repo("role if role;"), @r#"
    has_role(actor: User, "member", resource: Repo) :- has_role(actor, "member", resource)
    has_role(actor: User, "guest", resource: Repo) :- has_role(actor, "guest", resource)
    "#);
}

#[test]
fn the_global_block_has_no_resource() {
    let text = r#"actor User {} global { roles = ["admin"]; permissions = ["create", "drop"];
        "create" if "admin"; permission if "admin" and not is_banned(actor); }"#;
    assert_snapshot!(rules(text), @r#"
    has_permission(actor: User, "create") :- has_role(actor, "admin")
    has_permission(actor: User, "create") :- has_role(actor, "admin"), not is_banned(actor)
    has_permission(actor: User, "drop") :- has_role(actor, "admin"), not is_banned(actor)
    "#);
}

#[test]
fn an_actor_block_has_shorthand_like_a_resource() {
    let text = r#"actor User { roles = ["manager"]; permissions = ["edit"]; relations = { boss: User };
        "edit" if "manager"; "edit" if "boss"; }
        actor Bot {}"#;
    assert_snapshot!(rules(text), @r#"
    has_permission(actor: {User, Bot}, "edit", resource: User) :- has_role(actor, "manager", resource)
    has_permission(actor: {User, Bot}, "edit", resource: User) :- has_relation(resource, "boss", actor)
    "#);
}

#[test]
fn every_related_type_may_be_plain_as_long_as_nothing_is_looked_up_there() {
    let text =
        r#"actor User {} resource Repo { roles = ["a"]; relations = { org: Org }; role if role on "org"; }"#;
    assert_snapshot!(rules(text), @r#"has_role(actor: User, "a", resource: Repo) :- has_relation(resource, "org", org: Org), has_role(actor, "a", org)"#);
}
