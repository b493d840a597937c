//! Lowers the policy's own tests: facts become constants, assertions become generated goals.
//!
//! In: fixtures and tests of the syntax tree. Out: [`ir::Test`]s, whose assertions refer to generated
//! predicates:
//!
//! ```text
//! assert allow(User{"a"}, action: String, Repo{"r"}) iff action in ["read", "write"];
//!     'goal.1(v0: {String}) :- allow(User{"a"}, v0, Repo{"r"})
//!     'iff.2(v0: {String}) :- v0 in ["read", "write"]
//! ```
//!
//! These rules are added after inference and do not count for signatures: a test does not make a fact useful.

use super::flatten::flatten;
use super::formula::{Formula, NestedRule, variable};
use super::lower;
use super::tables::{Replace, Tables};
use super::walk::{each_variable, span_of};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{self, PredId, Program, Term, TypeId};
use crate::source::Span;
use crate::spelling::quoted;
use crate::syntax::ast::{self, Assertion, Call, Condition, Item, Name, Param, Policy, Setup};
use rustc_hash::FxHashMap;

/// The facts in tests, with their positions.
pub(super) type TestFacts = Vec<(ir::Fact, Span)>;

/// Lowers all tests. Also returns every fact, as often as it is written.
pub(super) fn cases(tables: &mut Tables, policy: &Policy) -> (Vec<ir::Test>, TestFacts) {
    let mut facts = TestFacts::new();
    let mut fixtures: FxHashMap<&str, (Vec<ir::Fact>, Span)> = FxHashMap::default();
    for item in &policy.items {
        let Item::Fixture(fixture) = item else { continue };
        let read: Vec<ir::Fact> =
            fixture.facts.iter().filter_map(|call| fact(tables, call, &mut facts)).collect();
        if let Some((_, first)) = fixtures.get(fixture.name.value.as_str()) {
            tables.report(twice(Code::DuplicateFixture, "test fixtures", &fixture.name, *first));
            continue;
        }
        fixtures.insert(&fixture.name.value, (read, fixture.name.span));
    }
    let mut names: FxHashMap<&str, Span> = FxHashMap::default();
    let mut tests = Vec::new();
    let mut n_facts = 0;
    for item in &policy.items {
        let Item::Test(test) = item else { continue };
        match names.get(test.name.value.as_str()) {
            Some(first) => tables.report(twice(Code::DuplicateTest, "tests", &test.name, *first)),
            None => {
                names.insert(&test.name.value, test.name.span);
            }
        }
        let mut setup = Vec::new();
        for line in &test.setup {
            match line {
                Setup::Fact(call) => setup.extend(fact(tables, call, &mut facts)),
                Setup::Fixture(name) => match fixtures.get(name.value.as_str()) {
                    Some((read, _)) => setup.extend(read.iter().cloned()),
                    None => unknown_fixture(tables, name, &fixtures, policy),
                },
            }
        }
        n_facts += setup.len();
        if n_facts > crate::limits::TEST_FACTS {
            let title = "the tests have too many facts, fixtures counted in each test";
            let diagnostic =
                Diagnostic::new(Code::TooManyRules, title, test.name.span, "this test is over the limit");
            let limit = crate::limits::TEST_FACTS;
            tables.report(diagnostic.with_note(format!("the limit is {limit}")));
            break;
        }
        tests.push((test, setup));
    }
    // Types that facts mention count as known to the assertions.
    let n_known_types = tables.types.len();
    let read = |(test, facts): (&ast::Test, Vec<ir::Fact>)| {
        let assertions =
            test.assertions.iter().filter_map(|assertion| Assert { tables, n_known_types }.read(assertion));
        ir::Test { name: test.name.value.clone(), assertions: assertions.collect(), facts }
    };
    let tests = tests.into_iter().map(read).collect();
    (tests, facts)
}

/// Reports test facts that the program could not use.
pub(super) fn check_facts(program: &Program, facts: &TestFacts) -> Vec<Diagnostic> {
    let mut refused = Vec::new();
    for (fact, span) in facts {
        let args: Vec<(&str, &str)> = fact.args.iter().map(|&arg| value(program, arg)).collect();
        if let Err(fact) = program.accepts(&fact.predicate, &args) {
            let label = "no rule reads such a fact";
            let diagnostic = Diagnostic::new(Code::FactNotAccepted, fact.title(), *span, label);
            refused.push(diagnostic.with_help(fact.help()));
        }
    }
    refused
}

fn value(program: &Program, literal: ir::ConstId) -> (&str, &str) {
    let literal = program.literal(literal);
    (program.types[literal.ty].name.as_str(), literal.text.as_str())
}

fn twice(code: Code, things: &str, name: &Name, first: Span) -> Diagnostic {
    Diagnostic::new(
        code,
        format!("there are two {things} named `{}`", name.value),
        name.span,
        "the second one",
    )
    .with_label(first, "the first one")
    .with_help("rename one of them")
}

fn unknown_fixture(
    tables: &mut Tables,
    name: &Name,
    fixtures: &FxHashMap<&str, (Vec<ir::Fact>, Span)>,
    policy: &Policy,
) {
    let diagnostic = Diagnostic::new(
        Code::UnknownFixture,
        format!("there is no test fixture named `{}`", name.value),
        name.span,
        "no fixture of this name",
    );
    // In source order, so that suggestions are deterministic.
    let names = policy.items.iter().filter_map(|item| match item {
        Item::Fixture(fixture) => Some(fixture.name.value.as_str()),
        Item::Block(_) | Item::Rule(_) | Item::Declare(_) | Item::Test(_) => None,
    });
    let diagnostic = if fixtures.is_empty() {
        diagnostic.with_help(format!("add `test fixture {} {{ … }}`", name.value))
    } else {
        diagnostic
    };
    tables.report_near(diagnostic, &name.value, names, Replace::name(name));
}

/// Lowers a fact; a variable or the current time is reported.
fn fact(tables: &mut Tables, call: &Call, facts: &mut TestFacts) -> Option<ir::Fact> {
    let mut args = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        match &arg.value {
            ast::Term::Variable(name) => {
                let title = format!("a test fact cannot contain the variable `{name}`");
                let object = if name.starts_with(char::is_uppercase) {
                    format!("{name}{{\"id\"}}")
                } else {
                    format!("Type{{\"{name}\"}}")
                };
                let help = format!("write a value: `{}` or `{object}`", quoted(name));
                tables.report(
                    Diagnostic::new(Code::NotConcrete, title, arg.span, "not a value").with_help(help),
                );
            }
            ast::Term::CurrentUnixTime => tables.report(
                Diagnostic::new(
                    Code::NotConcrete,
                    "a test fact cannot contain the current time",
                    arg.span,
                    "not a value",
                )
                .with_help("write an Integer"),
            ),
            ast::Term::String(_)
            | ast::Term::Integer(_)
            | ast::Term::Boolean(_)
            | ast::Term::Object { .. } => {
                args.extend(lower::literal(tables, arg));
            }
        }
    }
    if args.len() < call.args.len() {
        return None;
    }
    let fact = ir::Fact { predicate: call.name.value.clone(), args };
    facts.push((fact.clone(), call.span));
    Some(fact)
}

struct Assert<'t> {
    tables: &'t mut Tables,
    /// Types from this index on occur in assertions only.
    n_known_types: usize,
}

impl Assert<'_> {
    fn read(&mut self, assertion: &Assertion) -> Option<ir::Assertion> {
        let variable = self.variable(&assertion.params)?;
        let n_unknown = assertion.params.iter().filter(|param| !self.is_known(param)).count();
        if let (None, Some(iff)) = (&variable, &assertion.iff) {
            self.tables.report(
                Diagnostic::new(
                    Code::IffWithoutVariable,
                    "`iff` needs a variable in the assertion",
                    span_of(iff),
                    "there is no variable to restrict",
                )
                .with_help("make one argument a variable, such as `action: String`, or remove the `iff`"),
            );
            return None;
        }
        if let (Some((name, _)), Some(iff)) = (&variable, &assertion.iff)
            && self.has_foreign(name, iff)
        {
            return None;
        }
        if n_unknown > 0 {
            return None;
        }
        let (goal, var_types) = self.goal(assertion);
        let iff = assertion.iff.as_ref().map(|iff| self.iff(assertion, iff));
        Some(ir::Assertion { positive: assertion.positive, goal, var_types, iff, span: assertion.span })
    }

    /// The assertion's variable and its type, if it has one; the outer `None` if the assertion is rejected.
    #[expect(clippy::option_option, reason = "rejected, without a variable, and with one")]
    fn variable<'p>(&mut self, params: &'p [Param]) -> Option<Option<(&'p str, &'p Name)>> {
        let mut found: Option<(&str, &Param)> = None;
        let mut ty = None;
        for param in params {
            let ast::Term::Variable(name) = &param.term.value else { continue };
            match found {
                Some((first, at)) if first != name || name == "_" => {
                    let title = format!(
                        "an assertion can have only one variable, but this one has `{first}` and `{name}`"
                    );
                    self.tables.report(
                        Diagnostic::new(
                            Code::SeveralVariables,
                            title,
                            param.term.span,
                            "the second variable",
                        )
                        .with_label(at.term.span, "the first one")
                        .with_help("write a value in place of one of them"),
                    );
                    return None;
                }
                Some(_) => {}
                None => found = Some((name, param)),
            }
            ty = ty.or(param.ty.as_ref());
        }
        let Some((name, at)) = found else { return Some(None) };
        if let Some(ty) = ty {
            return Some(Some((name, ty)));
        }
        let title = format!("the variable `{name}` of an assertion needs a type");
        let diagnostic = Diagnostic::new(Code::UntypedVariable, title, at.term.span, "without a type");
        self.tables.report(diagnostic.with_help(format!("write `{name}: String`, or the intended type")));
        None
    }

    /// Whether the policy or the test's setup mentions the parameter's type; reports an unknown one.
    fn is_known(&mut self, param: &Param) -> bool {
        let ((Some(ty), _) | (None, ast::Term::Object { ty, .. })) = (&param.ty, &param.term.value) else {
            return true;
        };
        if self.tables.find_type(&ty.value).is_some_and(|id| id.index() < self.n_known_types) {
            return true;
        }
        let diagnostic = Diagnostic::new(
            Code::UnknownAssertedType,
            format!("nothing in the policy has the type `{}`", ty.value),
            ty.span,
            "neither declared nor used in a rule",
        );
        let names: Vec<String> =
            self.tables.types.iter().take(self.n_known_types).map(|def| def.name.clone()).collect();
        let names = names.iter().map(String::as_str).filter(|name| !name.is_empty());
        self.tables.report_near(diagnostic, &ty.value, names, Replace::name(ty));
        false
    }

    /// Whether the condition uses another variable, which is reported.
    fn has_foreign(&mut self, own: &str, iff: &Condition) -> bool {
        let mut foreign = Vec::new();
        each_variable(iff, &mut |name, span| {
            if name != own && name != "_" {
                foreign.push((name.to_owned(), span));
            }
        });
        let found = !foreign.is_empty();
        for (name, span) in foreign {
            let title = format!("`iff` uses `{name}`, which is not the assertion's variable");
            let label = format!("only `{own}` can be used here");
            self.tables.report(Diagnostic::new(Code::ForeignVariable, title, span, label));
        }
        found
    }

    /// `'goal(v) :- p(…, v, …)`, and the types of `v`.
    fn goal(&mut self, assertion: &Assertion) -> (PredId, Option<Vec<TypeId>>) {
        let pred = self.tables.predicate(&assertion.name.value, assertion.params.len());
        let (mut nested, args) = self.head("goal", assertion);
        let var_types = nested.params.first().and_then(|&var| nested.term_types(self.tables, var));
        nested.body = Formula::atom(pred, args, assertion.span);
        let goal = nested.head;
        flatten(self.tables, nested);
        (goal, var_types)
    }

    /// `'iff(v) :- condition`
    fn iff(&mut self, assertion: &Assertion, iff: &Condition) -> PredId {
        let (mut nested, _) = self.head("iff", assertion);
        nested.body = lower::condition(self.tables, &mut nested, iff);
        let pred = nested.head;
        flatten(self.tables, nested);
        pred
    }

    /// A generated head with the assertion's variable, and the arguments that the assertion has.
    fn head(&mut self, name: &str, assertion: &Assertion) -> (NestedRule, Vec<Term>) {
        let mut nested = NestedRule::new(PredId(0), assertion.span);
        lower::params(self.tables, &mut nested, &assertion.params);
        let var = nested.params.iter().copied().find(|&term| variable(term).is_some());
        let args = std::mem::replace(&mut nested.params, var.into_iter().collect());
        nested.head = self.tables.generated(name, nested.params.len());
        (nested, args)
    }
}
