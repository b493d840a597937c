//! Warns about what is valid but probably not meant.
//!
//! In: the syntax tree and the finished rules. Out: warnings, which never reject a policy. They cover
//! variables used once; `and` mixed with `or` without parentheses; roles, permissions and relations that no
//! rule uses; rules that can never match; near misses of built-in predicates; and `matches` with a type that
//! no block declares.

mod near_miss;
mod unused;

use super::blocks::Blocks;
use super::tables::Tables;
use super::walk::{each_variable, for_each_condition, span_of};
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::ir::TypeKind;
use crate::limits;
use crate::source::Span;
use crate::syntax::ast::{self, Condition, Item, Member, Name, Policy, ShortCondition};
use near_miss::NearMisses;
use rustc_hash::FxHashMap;

/// Adds the lints to the findings.
pub(super) fn lint(tables: &mut Tables, blocks: &Blocks<'_>, policy: &Policy) {
    let mut names = NearMisses::new(policy);
    for item in &policy.items {
        match item {
            Item::Block(block) => {
                for member in &block.members {
                    if let Member::Shorthand(shorthand) = member {
                        names.enter(None);
                        short(tables, &mut names, &shorthand.body);
                    }
                }
            }
            Item::Rule(rule) => {
                singletons(tables, rule);
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
}

/// Variables that occur once in a rule.
fn singletons(tables: &mut Tables, rule: &ast::Rule) {
    let mut seen: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
    let mut order = Vec::new();
    let mut add = |name, span| {
        let entry = seen.entry(name).or_insert_with(|| {
            order.push(name);
            (0, span)
        });
        entry.0 += 1;
    };
    for param in &rule.params {
        if let ast::Term::Variable(name) = &param.term.value {
            add(name.as_str(), param.term.span);
        }
    }
    if let Some(body) = &rule.body {
        each_variable(body, &mut add);
    }
    for (at, name) in order.iter().enumerate() {
        let Some(&(1, span)) = seen.get(name) else { continue };
        if name.starts_with('_') {
            continue;
        }
        let diagnostic = Diagnostic::new(
            Code::SingletonVariable,
            format!("the variable `{name}` is used once"),
            span,
            "nothing else in the rule uses it",
        );
        let before = order.iter().take(at).copied().take(limits::PARAMETERS);
        let unused = format!("_{name}");
        let unused = if order.contains(&unused.as_str()) { "_".to_owned() } else { unused };
        tables.report(match suggest::near(name, before) {
            Some(near) => diagnostic.with_fix(format!("a similar name exists: `{near}`"), span, near),
            None => diagnostic.with_fix("begin the name with `_` if any value will do", span, unused),
        });
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

fn short(tables: &mut Tables, names: &mut NearMisses, part: &ShortCondition) {
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
                short(tables, names, part);
            }
        }
        ShortCondition::And(parts, _) => parts.iter().for_each(|part| short(tables, names, part)),
        ShortCondition::Not(inner, _) | ShortCondition::Paren(inner, _) => short(tables, names, inner),
        ShortCondition::Call(call) => names.check(tables, call),
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
