//! Diagnostics for mistakes that the grammar recognises and recovers from.
//!
//! The parser continues as if the correct text had been written, so the rest of the statement is still
//! checked.

use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::primitive::{Primitive, STRING, is_boolean};
use crate::source::Span;
use crate::spelling::{excerpt, quoted, unescape};
use crate::syntax::lexer;
use crate::syntax::token::Kind;

/// A missing `;`; `end` is the empty span after the statement's last token.
pub(in crate::syntax) fn missing_semicolon(statement: &str, end: Span) -> Diagnostic {
    let title = format!("`;` is missing at the end of {statement}");
    Diagnostic::new(Code::MissingSemicolon, title, end, "`;` is expected here").with_fix(
        "add a `;`",
        end,
        ";",
    )
}

/// A block, test or setup whose `}` is missing.
pub(in crate::syntax) fn unclosed_block(opener: Span, here: Span, at_end: bool) -> Diagnostic {
    let label = if at_end { "`}` is expected at the end" } else { "`}` is expected before this" };
    let found = Diagnostic::new(Code::UnclosedBracket, "`{` is never closed", opener, "opened here");
    found.with_label(here, label).with_help("close it with `}`")
}

/// A comma before a `)`; `next` is the token after it.
pub(in crate::syntax) fn trailing_comma(comma: Span, next: Span) -> Diagnostic {
    let title = "there is a comma after the last argument";
    let found = Diagnostic::new(Code::TrailingComma, title, comma, "nothing follows this comma");
    found.with_fix("remove the comma", Span { start: comma.start, end: next.start.max(comma.end) }, "")
}

/// More parameters than a predicate may have.
pub(in crate::syntax) fn too_many_parameters(number: usize, span: Span) -> Diagnostic {
    let limit = limits::PARAMETERS;
    let title = format!("{number} parameters are more than the {limit} that a predicate may have");
    let found = Diagnostic::new(Code::TooManyParameters, title, span, "too many");
    found.with_help("group related values into an object, and store its parts as facts about it")
}

/// `x` in place of a condition.
pub(in crate::syntax) fn lone_term(text: &str, span: Span) -> Diagnostic {
    let title = format!("`{}` alone is not a condition", excerpt(text));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "neither true nor false");
    found.with_help("compare it, as in `x = \"a\"`, or call a predicate, as in `is_public(x)`")
}

/// `foo(x: User)` in a condition.
pub(in crate::syntax) fn typed_argument(variable: &str, ty: &str, span: Span) -> Diagnostic {
    let title = format!("the argument `{}` of a call cannot have a type", excerpt(variable));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "types belong in the head of a rule");
    let (variable, ty) = (excerpt(variable), excerpt(ty));
    // `User:alice` is how facts are written outside of a policy.
    found.with_help(if variable.starts_with(char::is_uppercase) {
        format!("write an object as `{variable}{{\"{ty}\"}}`")
    } else {
        format!("write `{variable} matches {ty}` as a condition of its own")
    })
}

/// A type after something that is not a variable.
pub(in crate::syntax) fn typed_literal(literal: &str, span: Span) -> Diagnostic {
    let title = format!("`{}` is a value and cannot have a type", excerpt(literal));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "only a variable has a type");
    found.with_help("remove the type")
}

/// `"a" matches T`.
pub(in crate::syntax) fn matched_literal(literal: &str, span: Span) -> Diagnostic {
    let title = format!("`{}` is a value and cannot be matched with a type", excerpt(literal));
    Diagnostic::new(Code::UnexpectedToken, title, span, "`matches` needs a variable here")
}

/// The wrong kind of value in an object literal.
pub(in crate::syntax) fn object_id(ty: &str, found: &str, span: Span) -> Diagnostic {
    let primitive = Primitive::named(ty);
    let wanted = match primitive {
        Some(Primitive::Integer) => "a number",
        Some(Primitive::Boolean) => "`true` or `false`",
        Some(Primitive::String) | None => "a string",
    };
    let title = format!("`{}{{…}}` needs {wanted}, found `{}`", excerpt(ty), excerpt(found));
    let label = format!("{wanted} is expected here");
    let diagnostic = Diagnostic::new(Code::MalformedObject, title, span, label);
    let inner = found.trim_matches('"');
    let replacement = match primitive {
        Some(Primitive::Integer) => inner.parse::<i64>().ok().map(|number| number.to_string()),
        Some(Primitive::Boolean) => is_boolean(inner).then(|| inner.to_owned()),
        Some(Primitive::String) | None => (!found.starts_with('"')).then(|| quoted(found)),
    };
    match replacement {
        Some(text) => diagnostic.with_fix(format!("write {wanted}"), span, text),
        None => diagnostic,
    }
}

/// `User{}` or `User{id: "a"}`.
pub(in crate::syntax) fn object_shape(ty: &str, span: Span) -> Diagnostic {
    let ty = excerpt(ty);
    let title = format!("an object literal holds exactly one value, as in `{ty}{{\"id\"}}`");
    Diagnostic::new(Code::MalformedObject, title, span, "one value is expected between the braces")
}

/// A word close to a keyword, where a keyword is expected.
pub(in crate::syntax) fn misspelt_keyword(word: &str, near: &str, span: Span) -> Diagnostic {
    let title = format!("`{}` is not a keyword", excerpt(word));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "no statement begins with this word");
    found.with_fix("a keyword with a similar name exists", span, near)
}

/// A string in place of a name.
pub(in crate::syntax) fn quoted_name(literal: &str, span: Span) -> Diagnostic {
    let title = format!("expected a name, found the string `{}`", excerpt(literal));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "a name is written without quotes");
    let name = unescape(literal);
    if is_plain_name(&name) { found.with_fix("remove the quotes", span, name) } else { found }
}

/// `declare has_role(User, "admin", Org);`
pub(in crate::syntax) fn string_as_type(literal: &str, span: Span) -> Diagnostic {
    let title = format!("`declare` lists types, and `{}` is a string", excerpt(literal));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "a type is expected here");
    found.with_fix("write its type", span, STRING)
}

/// A role, permission or relation name without quotes in shorthand or after `on`.
pub(in crate::syntax) fn bare_string(name: &str, span: Span) -> Diagnostic {
    let title = format!("`{}` must be in quotes", excerpt(name));
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "a string is expected here");
    found.with_fix("put it in quotes", span, quoted(name))
}

/// `"a" on resource`, `"a" on actor`: rules in a block are already about its resource and the one who asks.
pub(in crate::syntax) fn on_no_relation(keyword: Kind, word: Span, clause: Span) -> Diagnostic {
    let is_actor = keyword == Kind::Actor;
    let what = if is_actor {
        "`actor` is the one who asks"
    } else {
        "`resource` is the resource of the block itself"
    };
    let title = format!("`on` needs a relation of the block, and {what}");
    let found = Diagnostic::new(Code::UnexpectedToken, title, word, "a relation in quotes is expected here");
    found.with_fix("remove it: rules in a block are about its resource and the one who asks", clause, "")
}

/// `"a" on "b" on "c"`.
pub(in crate::syntax) fn second_hop(span: Span) -> Diagnostic {
    let title = "`on` takes one relation only";
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "a second step");
    found.with_help("give the related block a permission of its own, and use that with one `on`")
}

/// A longhand rule inside a block.
pub(in crate::syntax) fn rule_in_block(name: &str, span: Span) -> Diagnostic {
    let title = format!("the rule `{}` is inside a block", excerpt(name));
    let found =
        Diagnostic::new(Code::UnexpectedToken, title, span, "a block holds declarations and shorthand");
    found.with_help("move the rule out of the block")
}

/// `role = […]`, `rolse = […]`.
pub(in crate::syntax) fn unknown_declaration(word: &str, near: Option<&str>, span: Span) -> Diagnostic {
    let title = format!("a block does not declare `{}`", excerpt(word));
    let label = "`roles`, `permissions` or `relations` is expected";
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, label);
    match near {
        Some(near) => found.with_fix("a declaration with a similar name exists", span, near),
        None => found,
    }
}

/// `roles = "admin"`, `roles = { … }`.
pub(in crate::syntax) fn not_a_list(keyword: &str, span: Span) -> Diagnostic {
    let title = format!("`{keyword}` needs a list of strings");
    let found = Diagnostic::new(Code::WrongDeclarationValue, title, span, "not a list");
    found.with_help(format!("write `{keyword} = [\"name\", …];`"))
}

/// An element of a list of names that is not a string.
pub(in crate::syntax) fn not_a_string(element: &str, span: Span) -> Diagnostic {
    let title = format!("names of roles and permissions are strings, found `{}`", excerpt(element));
    let found = Diagnostic::new(Code::WrongDeclarationValue, title, span, "not a string");
    if is_plain_name(element) { found.with_fix("put it in quotes", span, quoted(element)) } else { found }
}

/// `relations = [ … ]`.
pub(in crate::syntax) fn not_a_dictionary(span: Span) -> Diagnostic {
    let title = "`relations` needs names with their types in braces";
    let found = Diagnostic::new(Code::WrongDeclarationValue, title, span, "not in braces");
    found.with_help("write `relations = { name: Type, … };`")
}

/// `{ "owner": User }`, `{ owner: "User" }`.
pub(in crate::syntax) fn quoted_relation(what: &str, literal: &str, name: &str, span: Span) -> Diagnostic {
    let title = format!("the {what} `{}` in `relations` must not be in quotes", excerpt(literal));
    let found = Diagnostic::new(Code::WrongDeclarationValue, title, span, "a name is expected here");
    if is_plain_name(name) { found.with_fix("remove the quotes", span, name) } else { found }
}

/// `{ owner = User }`.
pub(in crate::syntax) fn equal_in_relations(span: Span) -> Diagnostic {
    let title = "a relation and its type are joined by `:`";
    let found = Diagnostic::new(Code::WrongDeclarationValue, title, span, "`:` is expected here");
    found.with_fix("write `:`", span, ":")
}

/// A `setup` after an assertion, or a second `setup`.
pub(in crate::syntax) fn setup_not_first(span: Span, first: Span) -> Diagnostic {
    let title = "`setup` is not the first part of its test";
    let found = Diagnostic::new(Code::SetupNotFirst, title, span, "comes too late");
    found
        .with_label(first, "the test already began with this")
        .with_help("put all facts into one `setup` at the top")
}

/// A test without an assertion.
pub(in crate::syntax) fn empty_test(name: &str, span: Span) -> Diagnostic {
    let title = format!("the test `{}` asserts nothing", excerpt(name));
    let found = Diagnostic::new(Code::EmptyTest, title, span, "no `assert` and no `assert_not` follow");
    found.with_help("add a line such as `assert allow(User{\"ada\"}, \"read\", Repo{\"compiler\"});`")
}

/// `assert p(x: T) if …`.
pub(in crate::syntax) fn assertion_if(span: Span) -> Diagnostic {
    let title = "the condition of an assertion begins with `iff`";
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "`iff` is expected here");
    found.with_note("the condition must agree with the answers in both directions").with_fix(
        "write `iff`",
        span,
        "iff",
    )
}

/// `assert not p(…)`; the span covers both words.
pub(in crate::syntax) fn assert_space_not(span: Span) -> Diagnostic {
    let title = "`assert not` is written `assert_not`";
    let found = Diagnostic::new(Code::UnexpectedToken, title, span, "two words");
    found.with_fix("write one word", span, "assert_not")
}

/// Whether this text, unquoted, would be read as one name.
fn is_plain_name(text: &str) -> bool {
    let (tokens, findings) = lexer::lex(text);
    findings.is_empty()
        && matches!(tokens.kinds.as_slice(), [kind] if kind.is_name())
        && tokens.spans.iter().all(|span| span.range() == (0..text.len()))
}
