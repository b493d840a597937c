//! Types, `extends` and metadata.

use super::*;
use insta::assert_snapshot;
use std::fmt::Write as _;

const FILES: &str = r#"
    actor User {}
    actor Admin extends User {}
    resource Node { roles = ["reader"]; permissions = ["read"]; relations = { parent: Node };
        "read" if "reader"; role if role on "parent"; }
    resource File extends Node { permissions = ["write"]; }
    resource Image extends File { roles = ["painter"]; "write" if "painter" and "reader" on "parent"; }
"#;

#[test]
fn a_type_admits_its_subtypes() {
    assert_snapshot!(print::types(&program(FILES)), @r"
    String = String
    Integer = Integer
    Boolean = Boolean
    Actor = {User, Admin}
    Resource = {User, Admin, Node, File, Image}
    User = {User, Admin}
    Admin = Admin
    Node = {Node, File, Image}
    File = {File, Image}
    Image = Image
    ");
}

#[test]
fn a_subtype_has_the_rules_of_its_supertypes() {
    assert_snapshot!(rules(FILES), @r#"
    has_permission(actor: {User, Admin}, "read", resource: {Node, File, Image}) :- has_role(actor, "reader", resource)
    has_role(actor: {User, Admin}, "reader", resource: {Node, File, Image}) :- has_relation(resource, "parent", parent: {Node, File, Image}), has_role(actor, "reader", parent)
    has_role(actor: {User, Admin}, "painter", resource: Image) :- has_relation(resource, "parent", parent: {Node, File, Image}), has_role(actor, "painter", parent)
    has_permission(actor: {User, Admin}, "write", resource: Image) :- has_role(actor, "painter", resource), has_relation(resource, "parent", parent: {Node, File, Image}), has_role(actor, "reader", parent)
    "#);
}

#[test]
fn metadata_has_inherited_names_and_always_global() {
    let mut shown = String::new();
    for block in program(FILES).blocks {
        let _ = writeln!(
            shown,
            "{}: {:?} {:?} {:?}",
            block.name, block.roles, block.permissions, block.relations
        );
    }
    assert_snapshot!(shown, @r#"
    Admin: [] [] []
    File: ["reader"] ["read", "write"] [("parent", "Node")]
    Image: ["painter", "reader"] ["read", "write"] [("parent", "Node")]
    Node: ["reader"] ["read"] [("parent", "Node")]
    User: [] [] []
    global: [] [] []
    "#);
}

#[test]
fn a_type_without_a_block_is_plain() {
    let text = r#"p(x: Lab, y: Resource) if q(x, Room{"1"}, y);"#;
    assert_snapshot!(print::types(&program(text)), @r"
    String = String
    Integer = Integer
    Boolean = Boolean
    Actor = {}
    Resource = {}
    Lab = Lab
    Room = Room
    ");
}

#[test]
fn a_diamond_of_supertypes_is_fine() {
    let text = r#"resource A { roles = ["a"]; } resource B extends A {} resource C extends A, { roles = ["a"]; }
        resource D extends B, C {} actor User {} p(x: A) if q(x);"#;
    assert_snapshot!(rules(text), @"p(x: {A, B, C, D}) :- q(x)");
}

#[test]
fn mistakes_of_extends_are_found() {
    let text = r"
        actor User extends Usr {}
        actor Usor {}
        resource A extends B {} resource B extends C {} resource C extends A {}
        resource D extends A {}
        resource E extends User {}
        resource F extends Resource {}
        resource String {}";
    assert_snapshot!(findings(text), @r"
    P0207 2:28 [Usr] `User` extends `Usr`, which has no block -> User
    P0208 4:18 [A] `A` extends itself
    P0209 6:28 [User] `E` is a resource, but `User` is an actor
    P0216 7:28 [Resource] `Resource` is a built-in type and cannot be extended
    P0216 8:18 [String] `String` is a built-in type and cannot have a block
    ");
}

#[test]
fn double_declarations_are_found() {
    let text = r#"
        actor User {} actor User {}
        global { roles = ["x"]; relations = { a: User }; } global {}
        resource R { roles = ["a", "a"]; roles = ["b"]; permissions = ["b"]; relations = { a: User, b: User, c: User, c: User };
            "b" if "a"; }
        resource S extends R { relations = { b: User, c: R }; }"#;
    assert_snapshot!(findings(text), @r#"
    P0205 2:29 [User] there are two blocks named `User`
    P0211 3:33 [relations = { a: User };] the `global` block cannot declare relations
    P0210 3:60 [global] there are two `global` blocks
    P0204 4:36 ["a"] `R` declares the role `a` twice
    P0204 4:42 [roles = ["b"];] `R` declares its `roles` twice
    P0206 4:72 ["b"] `b` is both a role and a permission of `R`
    P0206 4:92 [a] `a` is both a role and a relation of `R`
    P0206 4:101 [b] `b` is both a role and a relation of `R`
    P0204 4:119 [c] `R` declares the relation `c` twice
    P0206 6:18 [S] `b` is both a relation and an inherited role of `S`
    P0206 6:18 [S] `c` is both a relation and an inherited relation of `S`, to different types
    "#);
}
