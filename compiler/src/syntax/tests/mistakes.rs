//! Messages about syntax errors.

use super::*;
use insta::assert_snapshot;

#[test]
fn all_mistakes_of_a_policy_are_reported_and_the_rest_is_read() {
    let text = r#"
resource Repo {
  roles = ["admin" "member"];
  permissions = ["read"]
  "read" if "admin" and;
  "read" if "admin";
}
allow(a, b) if foo(a,, b);
good(x) if fine(x);
test "t" { setup { has_role(; ok(User{"a"}); } assert ; assert fine(User{"a"}); }
"#;
    assert_snapshot!(findings(text), @r#"
    P0110 3:20 ["member"] expected `,` or `]`, found `"member"`
    P0109 4:25 [] `;` is missing at the end of the declaration -> ;
    P0110 5:24 [;] expected a condition, found `;`
    P0110 8:22 [,] expected a value or a variable or `)`, found `,`
    P0111 10:28 [(] `(` is never closed -> )
    P0110 10:55 [;] expected a name, found `;`
    "#);
    assert_snapshot!(reprint(text), @r#"
    resource Repo {
      roles = ["admin", "member"];
      permissions = ["read"];
      "read" if "admin";
    }

    good(x) if fine(x);

    test "t" {
      setup {
        ok(User{"a"});
      }
      assert fine(User{"a"});
    }
    "#);
}

#[test]
fn unreadable_characters() {
    assert_snapshot!(findings("p($$, ~);\nq(\u{0}) if `x`;\nr(x);"), @"
    P0101 1:3 [$$] unexpected character `$`
    P0101 1:7 [~] unexpected character `~`
    P0101 2:3 [␀] unexpected control character U+0000
    P0101 2:9 [`] unexpected backtick
    P0101 2:11 [`] unexpected backtick
    ");
}

#[test]
fn strings() {
    assert_snapshot!(findings("p(\"a);\nq('b', 'it\\'s \"x\"');\nr('c);\ns(\"d"), @r#"
    P0102 1:3 ["a)] a string is not closed on its line
    P0103 2:3 ['b'] `'b'` is in single quotes -> "b"
    P0103 2:8 ['it\'s "x"'] `'it's "x"'` is in single quotes -> "it's \"x\""
    P0103 3:3 ['c)] a single quote is never closed
    P0102 4:3 ["d] a string is not closed on its line
    "#);
}

#[test]
fn numbers() {
    let text = "p(9223372036854775808, -9223372036854775809, 1.5, 2e9, .5, 3.e, 1abc);\nq(0);";
    assert_snapshot!(findings(text), @"
    P0104 1:3 [9223372036854775808] `9223372036854775808` does not fit into a 64-bit integer
    P0104 1:24 [-9223372036854775809] `-9223372036854775809` does not fit into a 64-bit integer
    P0105 1:46 [1.5] `1.5` is a number with a fraction
    P0105 1:51 [2e9] `2e9` is a number with a fraction
    P0105 1:56 [.5] `.5` is a number with a fraction
    P0105 1:60 [3.e] `3.e` is a number with a fraction
    P0116 1:65 [1abc] `1abc` begins with a digit
    ");
}

#[test]
fn words_that_cannot_be_names() {
    let text = "forall(x);\np(x) if cut and print(x);\nin(x);\nq(not: User);\np(x) if declare(x);\nresource test {}\nr(new: T);\nq(x) if test(x);";
    assert_snapshot!(findings(text), @"
    P0107 1:1 [forall] `forall` is a reserved word and cannot be a name
    P0107 2:9 [cut] `cut` is a reserved word and cannot be a name
    P0107 2:17 [print] `print` is a reserved word and cannot be a name
    P0107 3:1 [in] `in` is a reserved word and cannot be a name
    P0107 4:3 [not] `not` is a reserved word and cannot be a name
    P0107 5:9 [declare] `declare` is a reserved word and cannot be a name
    P0107 6:10 [test] `test` is a reserved word and cannot be a name
    P0107 7:3 [new] `new` is a reserved word and cannot be a name
    P0107 8:9 [test] `test` is a reserved word and cannot be a name
    ");
}

#[test]
fn words_with_an_at_sign() {
    assert_snapshot!(findings("@flag p(x);\np(x) if x < @current_unix_tme and y < @now;\np(@ x);"), @"
    P0108 1:1 [@flag] `@flag` before a rule is reserved
    P0108 2:13 [@current_unix_tme] `@current_unix_tme` is unknown -> @current_unix_time
    P0108 2:39 [@now] `@now` is unknown
    P0108 3:3 [@] `@` is not followed by a word
    ");
}

#[test]
fn habits_from_other_languages() {
    let text = "p(x) if x == 1 && !q(x) || x <> 2;\n// comment\np(x) :- q(x); /* more\n */ p(x) if x.y = 1;\np(x) if x = y + 1;\np(x) if x = y -1;\np([1], *rest);\np(x) if q(r(x));\na::(x);";
    assert_snapshot!(findings(text), @"
    P0106 1:11 [==] `==` is written `=` -> =
    P0117 1:16 [&&] `&&` is written `and` -> and
    P0117 1:19 [!] `!` is written `not` -> not 
    P0117 1:25 [||] `||` is written `or` -> or
    P0117 1:30 [<>] `<>` is written `!=` -> !=
    P0117 2:1 [// comment] a comment begins with `#` -> #
    P0117 3:6 [:-] `:-` is written `if` -> if
    P0117 3:15 [/* more
     */] a comment begins with `#`
    P0117 4:14 [.] `.` has no meaning
    P0117 5:15 [+] `+` is arithmetic
    P0117 6:15 [-1] `-1` after a value is arithmetic
    P0117 7:3 [[] a list cannot be a value
    P0117 7:8 [*] `*` has no meaning
    P0117 8:11 [r] the call `r(…)` cannot be an argument
    P0116 9:1 [a::] `a::` has no name after `::`
    ");
}

#[test]
fn a_mistake_elsewhere_does_not_make_facts_in_the_first_column_wrong() {
    let test =
        "test \"t\" {\nsetup {\nf(U{\"a\"});\ng(U{\"a\"} 1);\nh(U{\"a\"});\n}\nassert p(U{\"a\"});\n}\n";
    assert_snapshot!(findings(&format!("{test}p(x) if f(x) and;\n")), @"
    P0110 4:10 [1] expected `,` or `)`, found `1`
    P0110 9:17 [;] expected a condition, found `;`
    ");
    assert_snapshot!(findings("test \"t\" {\n  setup {\n    f(U{\"a\"});\n  assert p(U{\"a\"});\np(x) if f(x);\n"), @"
    P0111 1:10 [{] `{` is never closed
    P0111 2:9 [{] `{` is never closed
    ");
}

#[test]
fn the_resource_of_a_block_and_the_actor_are_not_its_relations() {
    let text = "resource R {\n  \"edit\" if \"creator\" on resource;\n  \"own\" if \"owner\" on actor;\n  \"read\" if \"a\" and not \"b\" # why\n    on resource and \"c\" on owner;\n}";
    assert_snapshot!(findings(text), @r#"
    P0110 2:26 [resource] `on` needs a relation of the block, and `resource` is the resource of the block itself -> 
    P0110 3:23 [actor] `on` needs a relation of the block, and `actor` is the one who asks -> 
    P0110 5:8 [resource] `on` needs a relation of the block, and `resource` is the resource of the block itself -> 
    P0110 5:28 [owner] `owner` must be in quotes -> "owner"
    "#);
    assert_snapshot!(reprint(text), @r#"
    resource R {
      "edit" if "creator";
      "own" if "owner";
      "read" if "a" and not "b" and "c" on "owner";
    }
    "#);
}

#[test]
fn a_declaration_lists_types() {
    let text = "declare has_role(User, \"banned\", Doc);\np(x) if f(\"a\") and x = T{\"a\"};";
    assert_snapshot!(findings(text), @r#"P0110 1:24 ["banned"] `declare` lists types, and `"banned"` is a string -> String"#);
}

#[test]
fn a_line_of_a_block_ends_where_another_one_clearly_begins() {
    let text = r#"resource R { roles = ["a"] permissions = ["p"] "p" if "a" "a" if "b" and "c" }"#;
    assert_snapshot!(findings(text), @"
    P0109 1:27 [] `;` is missing at the end of the declaration -> ;
    P0109 1:47 [] `;` is missing at the end of the declaration -> ;
    P0109 1:58 [] `;` is missing at the end of the rule -> ;
    P0109 1:77 [] `;` is missing at the end of the rule -> ;
    ");
}

#[test]
fn a_missing_semicolon_is_reported_where_it_belongs() {
    let text = "p(x)\nq(x) if r(x) # why\n\ndeclare s(T)\nresource R {\n  roles = [\"a\"]\n  \"a\" if \"b\"\n}\ntest \"t\" {\n  setup { f(U{\"a\"}) }\n  assert p(x: T) iff x = T{\"a\"}\n}\nlast(x)";
    assert_snapshot!(findings(text), @"
    P0109 1:5 [] `;` is missing at the end of the rule -> ;
    P0109 2:13 [] `;` is missing at the end of the rule -> ;
    P0109 4:13 [] `;` is missing at the end of the declaration -> ;
    P0109 6:16 [] `;` is missing at the end of the declaration -> ;
    P0109 7:13 [] `;` is missing at the end of the rule -> ;
    P0109 10:20 [] `;` is missing at the end of the fact -> ;
    P0109 11:32 [] `;` is missing at the end of the assertion -> ;
    P0109 13:8 [] `;` is missing at the end of the rule -> ;
    ");
}

#[test]
fn a_statement_that_goes_on_is_not_ended() {
    assert_snapshot!(findings("p(x) if q(x) r(x);\np(x)\n  if q(x)\n  and r(x);\np(x) q(x)"), @"
    P0110 1:14 [r] expected `and`, `or` or `;`, found `r`
    P0110 5:6 [q] expected `if` or `;`, found `q`
    ");
}

#[test]
fn brackets() {
    let text = "p(x;\np(x) if q(x;\np(x) if (q(x) and r(x);\np(x) if x in [1, 2;\np(x]);\np(x));\n}\np(U{\"a\");\nresource R { relations = { a: B; \"a\" if \"b\"; }\nresource S { roles = [\"a\";\nactor T {}";
    assert_snapshot!(findings(text), @"
    P0111 1:2 [(] `(` is never closed -> )
    P0111 2:10 [(] `(` is never closed -> )
    P0111 3:9 [(] `(` is never closed -> )
    P0111 4:14 [[] `[` is never closed -> ]
    P0111 5:2 [(] `(` is never closed
    P0111 6:5 [)] `)` closes nothing
    P0111 7:1 [}] `}` closes nothing
    P0111 8:4 [{] `{` is never closed -> }
    P0111 9:26 [{] `{` is never closed -> }
    P0111 10:12 [{] `{` is never closed
    P0111 10:22 [[] `[` is never closed -> ]
    ");
}

#[test]
fn an_object_without_its_type_is_no_open_bracket() {
    let text = "test \"t\" { assert p({\"1\"}); assert p(U{\"1\"}, {\"2\"}); }";
    assert_snapshot!(findings(text), @"
    P0110 1:21 [{] expected a value or a variable or `)`, found `{`
    P0110 1:46 [{] expected a value or a variable or `)`, found `{`
    ");
}

#[test]
fn nesting_is_bounded() {
    let deep = |n: usize| format!("p(x) if {}q(x){};", "(".repeat(n), ")".repeat(n));
    assert_eq!(findings(&deep(62)), "");
    assert_snapshot!(findings(&format!("{}\n{}\np(", deep(64), deep(100_000))), @"
    P0602 1:74 [(] brackets and `not`s are nested more than 64 deep
    P0602 2:73 [(] brackets and `not`s are nested more than 64 deep
    P0111 3:2 [(] `(` is never closed -> )
    ");
    let nots = |n: usize| format!("p(x) if {}q(x);", "not ".repeat(n));
    assert_eq!(findings(&nots(63)), "");
    assert_snapshot!(findings(&format!("{}\n{}", nots(64), nots(100_000))), @"P0602 2:265 [not] brackets and `not`s are nested more than 64 deep");
}

#[test]
fn a_policy_of_more_than_a_megabyte_is_refused_unread() {
    assert_eq!(findings(&" ".repeat(1_000_000)), "");
    assert_snapshot!(findings(&"$".repeat(1_000_001)), @"P0601 1:1 [] the policy has 1000001 bytes, more than the limit of 1000000");
}

#[test]
fn a_mended_statement_is_read_so_that_others_may_speak_of_it() {
    let text = "resourse A { roles = [\"a\" \"b\"]; relations = { r: B s: C }; }\nactor \"D\" extends A {}";
    assert_snapshot!(findings(text), @r#"
    P0110 1:1 [resourse] `resourse` is not a keyword -> resource
    P0110 1:27 ["b"] expected `,` or `]`, found `"b"`
    P0110 1:52 [s] expected `,` or `}`, found `s`
    P0110 2:7 ["D"] expected a name, found the string `"D"` -> D
    "#);
    assert_snapshot!(reprint(text), @r#"
    resource A {
      roles = ["a", "b"];
      relations = { r: B, s: C };
    }

    actor D extends A {}
    "#);
}
