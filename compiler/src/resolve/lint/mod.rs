//! Warns about what is valid but probably not meant.
//!
//! In: the syntax tree and the finished rules. Out: warnings, which never reject a policy. They cover
//! variables used once; `and` mixed with `or` without parentheses; roles, permissions and relations that no
//! rule uses; rules that can never match; near misses of built-in predicates; `matches` with a type that no
//! block declares; and types that no rule of `allow` takes.

mod near_miss;
mod uncovered;
mod unused;

use super::blocks::Blocks;
use super::tables::Tables;
use super::walk::{each_variable, for_each_condition, span_of};
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::ir::TypeKind;
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{
    self, BlockKind, Condition, Item, Member, Name, Policy, ShortCondition, Spanned, Term,
};
use indexmap::IndexMap;
use near_miss::NearMisses;
use rustc_hash::FxBuildHasher;

/// Adds the lints to the findings.
pub(super) fn lint(tables: &mut Tables, blocks: &Blocks<'_>, policy: &Policy) {
    let mut names = NearMisses::new(policy);
    for item in &policy.items {
        match item {
            Item::Block(block) => {
                let is_global = block.kind == BlockKind::Global;
                let variables: &[&str] = if is_global { &["actor"] } else { &["actor", "resource"] };
                for member in &block.members {
                    if let Member::Shorthand(shorthand) = member {
                        names.enter(None);
                        let mut occurrences = Occurrences::before_shorthand(variables);
                        short(tables, &mut names, &mut occurrences, &shorthand.body);
                        occurrences.report_single(tables);
                    }
                }
            }
            Item::Rule(rule) => {
                Occurrences::of(rule).report_single(tables);
                names.check_head(tables, rule);
                if let Some(body) = &rule.body {
                    names.enter(Some(&rule.name));
                    for_each_condition(body, &mut |part| condition(tables, &mut names, part));
                }
            }
            Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => {}
        }
    }
    unused::unused_terms(tables, blocks);
    unused::never_matching(tables);
    uncovered::uncovered_types(tables, blocks, policy);
}

/// How often each variable of a rule occurs, and where first, in the order of the text.
struct Occurrences<'a>(IndexMap<&'a str, (usize, Span), FxBuildHasher>);

impl<'a> Occurrences<'a> {
    /// Of a rule in longhand.
    fn of(rule: &'a ast::Rule) -> Self {
        let mut occurrences = Self(IndexMap::default());
        rule.params.iter().for_each(|param| occurrences.add_term(&param.term));
        if let Some(body) = &rule.body {
            each_variable(body, &mut |name, span| occurrences.add(name, span));
        }
        occurrences
    }

    /// Before a rule in shorthand, whose variables are there without being written.
    fn before_shorthand(variables: &[&'static str]) -> Self {
        Self(variables.iter().map(|name| (*name, (2, Span::default()))).collect())
    }

    fn add(&mut self, name: &'a str, span: Span) {
        self.0.entry(name).or_insert((0, span)).0 += 1;
    }

    fn add_term(&mut self, term: &'a Spanned<Term>) {
        if let Term::Variable(name) = &term.value {
            self.add(name, term.span);
        }
    }

    /// Reports the variables that occur once.
    fn report_single(&self, tables: &mut Tables) {
        for (at, (name, (count, span))) in self.0.iter().enumerate() {
            if *count > 1 || name.starts_with('_') {
                continue;
            }
            let title = format!("the variable `{name}` is used once");
            let diagnostic =
                Diagnostic::new(Code::SingletonVariable, title, *span, "nothing else in the rule uses it");
            let before = self.0.keys().copied().take(at).take(limits::PARAMETERS);
            let unused = format!("_{name}");
            let unused = if self.0.contains_key(unused.as_str()) { "_".to_owned() } else { unused };
            tables.report(match suggest::near(name, before) {
                Some(near) => diagnostic.with_fix(format!("a similar name exists: `{near}`"), *span, near),
                None => diagnostic.with_fix("begin the name with `_` if any value will do", *span, unused),
            });
        }
    }
}

fn condition(tables: &mut Tables, names: &mut NearMisses, part: &Condition) {
    match part {
        Condition::Or(parts, _) => {
            let mixed = parts.iter().find(|part| matches!(part, Condition::And(..)));
            if let Some(mixed) = mixed {
                tables.report(mixed_and_or(span_of(mixed)));
            }
        }
        Condition::Call(call) => names.check(tables, call),
        Condition::Matches { ty, .. } => undeclared_match(tables, ty),
        Condition::Not(inner, _) => names.negate(span_of(inner)),
        Condition::And(..)
        | Condition::Paren(..)
        | Condition::Compare { .. }
        | Condition::In { .. }
        | Condition::Boolean(..) => {}
    }
}

fn short<'a>(
    tables: &mut Tables,
    names: &mut NearMisses,
    occurrences: &mut Occurrences<'a>,
    part: &'a ShortCondition,
) {
    match part {
        ShortCondition::Or(parts, _) => {
            let mixed = parts.iter().find_map(|part| match part {
                ShortCondition::And(_, span) => Some(*span),
                ShortCondition::Or(..)
                | ShortCondition::Not(..)
                | ShortCondition::Paren(..)
                | ShortCondition::Short { .. }
                | ShortCondition::Global { .. }
                | ShortCondition::Call(_) => None,
            });
            if let Some(span) = mixed {
                tables.report(mixed_and_or(span));
            }
            for part in parts {
                short(tables, names, occurrences, part);
            }
        }
        ShortCondition::And(parts, _) => {
            parts.iter().for_each(|part| short(tables, names, occurrences, part));
        }
        ShortCondition::Not(inner, _) | ShortCondition::Paren(inner, _) => {
            short(tables, names, occurrences, inner);
        }
        ShortCondition::Call(call) => {
            names.check(tables, call);
            call.args.iter().for_each(|arg| occurrences.add_term(arg));
        }
        ShortCondition::Short { .. } | ShortCondition::Global { .. } => {}
    }
}

fn mixed_and_or(span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::MixedAndOr,
        "`and` and `or` are mixed without parentheses",
        span,
        "`and` binds tighter, so this is one alternative",
    )
    .with_help("add parentheses to show the grouping")
}

fn undeclared_match(tables: &mut Tables, ty: &Name) {
    let declared = tables.find_type(&ty.value).map(|id| tables.kind(id));
    match declared {
        Some(TypeKind::Primitive | TypeKind::Abstract | TypeKind::Actor | TypeKind::Resource) => {}
        Some(TypeKind::Plain | TypeKind::Foreign) | None => {
            let name = &ty.value;
            let title = format!("`matches` with `{name}`, which no block declares");
            let label = "no block of this name";
            let help = format!("a value matches only if it is written or stored with the type `{name}`");
            tables.report(Diagnostic::new(Code::MatchesUndeclared, title, ty.span, label).with_note(help));
        }
    }
}
