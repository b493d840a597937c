//! Syntax errors inside declarations, shorthand rules, block headers, rules and policy tests.

use super::*;
use insta::assert_snapshot;

#[test]
fn values_of_declarations() {
    let text = r#"
resource R {
  roles = "admin";
  roles = { a: B };
  roles = [admin, 3, true, member];
  permissions = admin, member;
  permissions = ['read'];
  relations = ["owner"];
  relations = { "owner": User, member = User, parent: "Folder" };
  relations = owner: User;
  relations = { owner User };
  role = ["x"];
  colours = ["red"];
  roles = ;
  permissions ["a"];
}"#;
    assert_snapshot!(findings(text), @r#"
    P0112 3:11 ["admin"] `roles` needs a list of strings
    P0112 4:11 [{ a: B }] `roles` needs a list of strings
    P0112 5:12 [admin] names of roles and permissions are strings, found `admin` -> "admin"
    P0112 5:19 [3] names of roles and permissions are strings, found `3`
    P0112 5:22 [true] names of roles and permissions are strings, found `true`
    P0112 5:28 [member] names of roles and permissions are strings, found `member` -> "member"
    P0112 6:17 [admin, member] `permissions` needs a list of strings
    P0103 7:18 ['read'] `'read'` is in single quotes -> "read"
    P0112 8:15 [["owner"]] `relations` needs names with their types in braces
    P0112 9:17 ["owner"] the name `"owner"` in `relations` must not be in quotes -> owner
    P0112 9:55 ["Folder"] the type `"Folder"` in `relations` must not be in quotes -> Folder
    P0112 10:15 [owner: User] `relations` needs names with their types in braces
    P0110 11:23 [User] expected `:`, found `User`
    P0110 12:3 [role] a block does not declare `role` -> roles
    P0110 13:3 [colours] a block does not declare `colours`
    P0110 14:11 [;] expected a list of strings, found `;`
    P0110 15:15 [[] expected `=` after `permissions`, found `[`
    "#);
}

#[test]
fn shorthand() {
    let text = r#"
resource R {
  read if "member";
  "read" if member and viewer on parent;
  "read" if "a" on "b" on "c" on "d";
  "read" "member";
  "read" if;
  "read" if role on;
  "read" if not;
  "read" if is_public(resource: R,);
  "read" if global;
  allow(x, y) if q(x);
}
"write" if "admin";"#;
    assert_snapshot!(findings(text), @r#"
    P0110 3:3 [read] `read` must be in quotes -> "read"
    P0110 4:13 [member] `member` must be in quotes -> "member"
    P0110 4:24 [viewer] `viewer` must be in quotes -> "viewer"
    P0110 4:34 [parent] `parent` must be in quotes -> "parent"
    P0110 6:10 ["member"] expected `if`, found `"member"`
    P0110 7:12 [;] expected a condition, found `;`
    P0110 8:20 [;] expected a string, found `;`
    P0110 9:16 [;] expected a condition, found `;`
    P0110 10:23 [resource: R] the argument `resource` of a call cannot have a type
    P0113 10:34 [,] there is a comma after the last argument -> 
    P0110 11:19 [;] expected a role, a permission or a relation, found `;`
    P0110 12:3 [allow] the rule `allow` is inside a block
    P0110 14:1 ["write"] expected a rule, a block, a `declare` or a `test`, found `"write"`
    "#);
}

#[test]
fn headers() {
    let text = "resourse A {}\nactr B { roles = [\"a\"]; }\nresource \"C\" {}\nresource {}\nresource D extends {}\ntset \"x\" { assert p(); }\ndeclare p;\ndeclare \"p\"(T);\ntest {}\ntest x { assert p(); }\ntest fixture \"f\" { p(); }\nglobl { }";
    assert_snapshot!(findings(text), @r#"
    P0110 1:1 [resourse] `resourse` is not a keyword -> resource
    P0110 2:1 [actr] `actr` is not a keyword -> actor
    P0110 3:10 ["C"] expected a name, found the string `"C"` -> C
    P0110 4:10 [{] expected a name or `(`, found `{`
    P0110 5:20 [{] expected a name, found `{`
    P0110 6:1 [tset] `tset` is not a keyword -> test
    P0110 7:10 [;] expected `(`, found `;`
    P0110 8:9 ["p"] expected a name, found the string `"p"` -> p
    P0110 9:6 [{] expected a string or `fixture`, found `{`
    P0110 10:6 [x] expected a string or `fixture`, found `x` -> "x"
    P0110 11:14 ["f"] expected a name, found the string `"f"` -> f
    P0110 12:1 [globl] `globl` is not a keyword -> global
    "#);
}

#[test]
fn rules_and_conditions() {
    let text = "p(x,);\np(,);\np(x y);\np(\"a\": String);\np(x) if x;\np(x) if \"a\" matches T;\np(x) if x matches T{\"a\"};\np(x) if x in y;\np(x) if q(x: T);\np(x) if ();\np(x) if q(x) or;\np x;\np(x) if if q(x);\np(U{}, U{id: \"a\"});\np(U{1}, U{a}, Integer{\"1\"}, Integer{\"x\"}, Boolean{1}, Boolean{\"true\"});";
    assert_snapshot!(findings(text), @r#"
    P0113 1:4 [,] there is a comma after the last argument -> 
    P0110 2:3 [,] expected a value or a variable or `)`, found `,`
    P0110 3:5 [y] expected `,` or `)`, found `y`
    P0110 4:3 ["a": String] `"a"` is a value and cannot have a type
    P0110 5:9 [x] `x` alone is not a condition
    P0110 6:9 ["a"] `"a"` is a value and cannot be matched with a type
    P0110 7:20 [{] expected `and`, `or` or `;`, found `{`
    P0110 8:14 [y] expected a list after `in`, found `y`
    P0110 9:11 [x: T] the argument `x` of a call cannot have a type
    P0110 10:10 [)] expected a condition, found `)`
    P0110 11:16 [;] expected a condition, found `;`
    P0110 12:3 [x] expected `(`, found `x`
    P0110 13:9 [if] expected a condition, found `if`
    P0118 14:5 [}] an object literal holds exactly one value, as in `U{"id"}`
    P0118 15:5 [1] `U{…}` needs a string, found `1` -> "1"
    P0118 15:11 [a] `U{…}` needs a string, found `a` -> "a"
    P0118 15:23 ["1"] `Integer{…}` needs a number, found `"1"` -> 1
    P0118 15:37 ["x"] `Integer{…}` needs a number, found `"x"`
    P0118 15:51 [1] `Boolean{…}` needs `true` or `false`, found `1`
    P0118 15:63 ["true"] `Boolean{…}` needs `true` or `false`, found `"true"` -> true
    "#);
}

#[test]
fn tests_and_fixtures() {
    let text = r#"
test "late" { assert p(); setup { q(); } }
test "twice" { setup { q(); } setup { r(); } assert p(); }
test "empty" { setup { q(); } }
test "words" { assert p(x: T) if x = T{"a"}; assert not p(); asert p(); assert p() iff; }
test "facts" { setup { p(x) if q(x); fixture; fixture "f"; q(T{"a"} T{"b"}); } assert p(); }
test fixture f { assert p(); p(); setup { q(); } r(); }
"#;
    assert_snapshot!(findings(text), @r#"
    P0114 2:27 [setup] `setup` is not the first part of its test
    P0114 3:31 [setup] `setup` is not the first part of its test
    P0115 4:6 ["empty"] the test `"empty"` asserts nothing
    P0110 5:46 [assert not] `assert not` is written `assert_not` -> assert_not
    P0110 5:62 [asert] `asert` is not a keyword -> assert
    P0110 5:87 [;] expected a condition, found `;`
    P0110 6:29 [if] expected `;`, found `if`
    P0110 6:45 [;] expected a name or `(`, found `;`
    P0110 6:55 ["f"] expected a name, found the string `"f"` -> f
    P0110 6:69 [T] expected `,` or `)`, found `T`
    P0110 7:18 [assert] expected a fact, found `assert`
    P0110 7:41 [{] expected `(`, found `{`
    "#);
}

#[test]
fn a_block_that_is_not_closed_ends_where_the_next_begins() {
    let text = "resource A {\n  roles = [\"a\"];\nactor B {}\nresource C {\n  roles = [\"c\"];\np(x) if q(x);\ntest \"t\" {\n  setup { q();\n  assert p();";
    assert_snapshot!(findings(text), @"
    P0111 1:12 [{] `{` is never closed
    P0111 4:12 [{] `{` is never closed
    P0111 7:10 [{] `{` is never closed
    P0111 8:9 [{] `{` is never closed
    ");
    assert_snapshot!(reprint(text), @r#"
    resource A {
      roles = ["a"];
    }

    actor B {}

    resource C {
      roles = ["c"];
    }

    p(x) if q(x);

    test "t" {
      setup {
        q();
      }
      assert p();
    }
    "#);
}
