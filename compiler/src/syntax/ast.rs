//! The syntax tree of a policy: the text as written, with spans, before names are resolved.
//!
//! Data types only. The tree has no ids and nothing is desugared; [`crate::resolve`] does both.

use crate::source::Span;

/// A value with its position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its position.
    pub span: Span,
}

/// An identifier with its position.
pub type Name = Spanned<String>;

/// A whole policy, in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Everything at top level.
    pub items: Vec<Item>,
}

/// One top-level item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `actor X {…}`, `resource X {…}` or `global {…}`.
    Block(Block),
    /// `head(…) if body;`
    Rule(Rule),
    /// `declare name(T, …);`
    Declare(Declare),
    /// `test fixture name {…}`
    Fixture(Fixture),
    /// `test "name" {…}`
    Test(Test),
}

impl Item {
    /// Its whole text.
    pub fn span(&self) -> Span {
        match self {
            Self::Block(block) => block.span,
            Self::Rule(rule) => rule.span,
            Self::Declare(declare) => declare.span,
            Self::Fixture(fixture) => fixture.span,
            Self::Test(test) => test.span,
        }
    }
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// `actor X`
    Actor,
    /// `resource X`
    Resource,
    /// `global`
    Global,
}

/// A block with its declarations and shorthand rules, in source order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Actor, resource or global.
    pub kind: BlockKind,
    /// The block's name; for `global` the keyword itself.
    pub name: Name,
    /// The names after `extends`.
    pub extends: Vec<Name>,
    /// The contents of the braces.
    pub members: Vec<Member>,
    /// From the first keyword to the closing brace.
    pub span: Span,
}

/// One line of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// `roles = […];`
    Roles(NameList),
    /// `permissions = […];`
    Permissions(NameList),
    /// `relations = { name: Type, … };`
    Relations(Relations),
    /// `"a" if …;`
    Shorthand(Shorthand),
}

/// A list of declared strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameList {
    /// The strings, unescaped.
    pub names: Vec<Name>,
    /// The whole declaration.
    pub span: Span,
}

/// Declared relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relations {
    /// Relation name and related type.
    pub relations: Vec<(Name, Name)>,
    /// The whole declaration.
    pub span: Span,
}

/// A shorthand rule of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shorthand {
    /// The role or permission that is granted.
    pub head: Spanned<Short>,
    /// The condition.
    pub body: ShortCondition,
    /// The whole rule with its `;`.
    pub span: Span,
}

/// A name in shorthand: a string, or a keyword that means every role or permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Short {
    /// `"name"`
    Name(String),
    /// `role`
    Role,
    /// `permission`
    Permission,
}

/// A shorthand condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortCondition {
    /// `a or b or …`, two or more.
    Or(Vec<ShortCondition>, Span),
    /// `a and b and …`, two or more.
    And(Vec<ShortCondition>, Span),
    /// `not a`
    Not(Box<ShortCondition>, Span),
    /// `( a )`, kept so that lints can distinguish explicit from implied precedence.
    Paren(Box<ShortCondition>, Span),
    /// `"b"`, `"b" on "parent"`, `role on "org"`
    Short {
        /// The role, permission or relation to hold.
        name: Spanned<Short>,
        /// The relation after `on`.
        on: Option<Name>,
        /// The whole atom.
        span: Span,
    },
    /// `global "admin"`
    Global {
        /// The global role or permission.
        name: Spanned<Short>,
        /// The whole atom.
        span: Span,
    },
    /// `is_public(resource)`
    Call(Call),
}

/// A longhand rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The predicate.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The condition; `None` for a rule without `if`.
    pub body: Option<Condition>,
    /// The whole rule with its `;`.
    pub span: Span,
}

/// One parameter of a rule head or an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Variable or literal.
    pub term: Spanned<Term>,
    /// `: Type`, only after a variable.
    pub ty: Option<Name>,
}

/// A term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// `"text"`, unescaped.
    String(String),
    /// `42`
    Integer(i64),
    /// `true` or `false`
    Boolean(bool),
    /// `Type{"id"}`, `Integer{1}`, `Boolean{true}`: the type and the text of the value.
    Object {
        /// The type's name.
        ty: Name,
        /// The value as text, unescaped.
        id: Spanned<String>,
    },
    /// `@current_unix_time`
    CurrentUnixTime,
    /// A variable; `_` is anonymous.
    Variable(String),
}

/// `name(term, …)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The predicate.
    pub name: Name,
    /// Its arguments.
    pub args: Vec<Spanned<Term>>,
    /// The whole call.
    pub span: Span,
}

/// The six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A rule's condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `a or b or …`, two or more.
    Or(Vec<Condition>, Span),
    /// `a and b and …`, two or more.
    And(Vec<Condition>, Span),
    /// `not a`
    Not(Box<Condition>, Span),
    /// `( a )`
    Paren(Box<Condition>, Span),
    /// `a < b`
    Compare {
        /// The operator.
        op: Comparison,
        /// Left side.
        left: Spanned<Term>,
        /// Right side.
        right: Spanned<Term>,
        /// The whole comparison.
        span: Span,
    },
    /// `x in [a, b]`
    In {
        /// The tested term.
        term: Spanned<Term>,
        /// The elements.
        list: Vec<Spanned<Term>>,
        /// The whole expression.
        span: Span,
    },
    /// `x matches T` or `x matches! T`
    Matches {
        /// The variable.
        variable: Name,
        /// The type.
        ty: Name,
        /// `matches!`: exactly this type, no subtype.
        exact: bool,
        /// The whole expression.
        span: Span,
    },
    /// A predicate call.
    Call(Call),
    /// `true` or `false`
    Boolean(bool, Span),
}

/// `declare name(T, …);`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declare {
    /// The predicate.
    pub name: Name,
    /// Its argument types.
    pub types: Vec<Name>,
    /// The whole declaration.
    pub span: Span,
}

/// `test fixture name { facts }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// The fixture's name.
    pub name: Name,
    /// Its facts.
    pub facts: Vec<Call>,
    /// The whole fixture.
    pub span: Span,
}

/// `test "name" { setup {…} assert … }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The test's name.
    pub name: Name,
    /// The `setup` block's lines.
    pub setup: Vec<Setup>,
    /// One or more assertions.
    pub assertions: Vec<Assertion>,
    /// The whole test.
    pub span: Span,
}

/// One line of a `setup` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setup {
    /// A fact.
    Fact(Call),
    /// `fixture name;`
    Fixture(Name),
}

/// `assert p(…) iff …;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// `assert` (true) or `assert_not` (false).
    pub positive: bool,
    /// The predicate.
    pub name: Name,
    /// Its parameters. At most one may be a variable, which is checked later.
    pub params: Vec<Param>,
    /// The condition after `iff`.
    pub iff: Option<Condition>,
    /// The whole assertion with its `;`.
    pub span: Span,
}
