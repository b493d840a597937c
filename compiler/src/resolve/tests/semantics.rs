//! Flattening keeps the meaning: nested conditions and flat rules are both evaluated on random conditions and
//! facts.

use super::*;
use crate::ir::{CompareOp, Literal, LiteralKind, Polarity, Rule, Term, VarId, VarType};
use crate::syntax::ast::{self, Comparison, Condition, Item};
use crate::tests::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// A type and an id.
type Value = (&'static str, &'static str);

const DOMAIN: [Value; 3] = [("T", "1"), ("T", "2"), ("U", "1")];

/// A predicate with its arguments.
type Facts = BTreeSet<(String, Vec<Value>)>;

/// A condition with conditions that are nested at most `depth` deep.
fn condition(random: &mut Random, depth: usize) -> String {
    let var = |random: &mut Random| random.of(&["x", "x", "a", "a", "b", "c", "_"]).to_owned();
    match random.below(if depth == 0 { 9 } else { 15 }) {
        0 | 1 => format!("{}({})", random.of(&["p", "q"]), var(random)),
        2..=4 => format!("{}({}, {})", random.of(&["r", "s"]), var(random), var(random)),
        5 => format!(
            "{} {} {}",
            random.of(&["x", "a", "b"]),
            random.of(&["=", "!="]),
            random.of(&["a", "b", r#"T{"1"}"#])
        ),
        6 => format!(r#"{} in [T{{"1"}}, U{{"1"}}]"#, random.of(&["x", "a"])),
        7 => format!("{} matches {}", random.of(&["x", "a"]), random.of(&["T", "U"])),
        8 => random.of(&["true", "false", "p(x)"]).to_owned(),
        9 | 10 => format!("not ({})", condition(random, depth - 1)),
        11 | 12 => format!("({} or {})", condition(random, depth - 1), condition(random, depth - 1)),
        _ => format!("({} and {})", condition(random, depth - 1), condition(random, depth - 1)),
    }
}

fn some_facts(random: &mut Random) -> Facts {
    let mut facts = Facts::new();
    for first in DOMAIN {
        for name in ["p", "q"] {
            if random.below(2) == 0 {
                facts.insert((name.to_owned(), vec![first]));
            }
        }
        for second in DOMAIN {
            for name in ["r", "s"] {
                if random.below(3) == 0 {
                    facts.insert((name.to_owned(), vec![first, second]));
                }
            }
        }
    }
    facts
}

/// Whether some assignment of `open` to the domain makes `holds` true.
fn any_assignment<K: Ord + Clone>(
    open: &[K],
    bound: &mut BTreeMap<K, Value>,
    holds: &mut dyn FnMut(&mut BTreeMap<K, Value>) -> bool,
) -> bool {
    let Some((first, rest)) = open.split_first() else { return holds(bound) };
    let found = DOMAIN.iter().any(|&value| {
        bound.insert(first.clone(), value);
        any_assignment(rest, bound, holds)
    });
    bound.remove(first);
    found
}

/// The values of variables, by their names.
type Assignment = BTreeMap<String, Value>;

/// Evaluates a nested condition: variables outside every `not` of this level are existential here, and those
/// new inside a `not` are existential there.
fn level(expr: &Condition, bound: &Assignment, facts: &Facts) -> bool {
    let mut open = BTreeSet::new();
    outside_nots(expr, &mut open);
    let open: Vec<String> = open.into_iter().filter(|name| !bound.contains_key(name)).collect();
    any_assignment(&open, &mut bound.clone(), &mut |bound| meaning(expr, bound, facts))
}

fn outside_nots(expr: &Condition, names: &mut BTreeSet<String>) {
    let mut add = |term: &ast::Spanned<ast::Term>| {
        if let ast::Term::Variable(name) = &term.value
            && name != "_"
        {
            names.insert(name.clone());
        }
    };
    match expr {
        Condition::Or(parts, _) | Condition::And(parts, _) => {
            parts.iter().for_each(|part| outside_nots(part, names));
        }
        Condition::Paren(inner, _) => outside_nots(inner, names),
        Condition::Not(..) | Condition::Boolean(..) => {}
        Condition::Compare { left, right, .. } => [left, right].into_iter().for_each(add),
        Condition::In { term, .. } => add(term),
        Condition::Matches { variable, .. } => {
            names.insert(variable.value.clone());
        }
        Condition::Call(call) => call.args.iter().for_each(add),
    }
}

fn meaning(expr: &Condition, bound: &Assignment, facts: &Facts) -> bool {
    let value = |term: &ast::Spanned<ast::Term>| match &term.value {
        ast::Term::Variable(name) => bound.get(name).copied(),
        ast::Term::Object { ty, id } => {
            DOMAIN.into_iter().find(|(of, text)| *of == ty.value && *text == id.value)
        }
        other => panic!("{other:?}"),
    };
    match expr {
        Condition::Or(parts, _) => parts.iter().any(|part| meaning(part, bound, facts)),
        Condition::And(parts, _) => parts.iter().all(|part| meaning(part, bound, facts)),
        Condition::Not(inner, _) => !level(inner, bound, facts),
        Condition::Paren(inner, _) => meaning(inner, bound, facts),
        Condition::Compare { op: Comparison::Equal, left, right, .. } => value(left) == value(right),
        Condition::Compare { left, right, .. } => value(left) != value(right),
        Condition::In { term, list, .. } => list.iter().any(|element| value(element) == value(term)),
        Condition::Matches { variable, ty, .. } => bound[&variable.value].0 == ty.value,
        Condition::Boolean(value, _) => *value,
        Condition::Call(call) => facts.iter().any(|(name, args)| {
            let fits = |(term, arg): (&ast::Spanned<ast::Term>, &Value)| {
                value(term).is_none_or(|value| value == *arg)
            };
            *name == call.name.value && call.args.len() == args.len() && call.args.iter().zip(args).all(fits)
        }),
    }
}

/// Whether flat rules derive the predicate for these arguments.
fn derives(program: &Program, name: &str, args: &[Value], facts: &Facts) -> bool {
    let is_of =
        |rule: &&Rule| program.predicates[rule.head.index()].name == name && rule.params.len() == args.len();
    let stored = facts.contains(&(name.to_owned(), args.to_vec()));
    stored || program.rules.iter().filter(is_of).any(|rule| fires(program, rule, args, facts))
}

/// Whether a flat rule derives its head for these arguments.
fn fires(program: &Program, rule: &Rule, args: &[Value], facts: &Facts) -> bool {
    let mut bound = BTreeMap::new();
    for (&param, &arg) in rule.params.iter().zip(args) {
        match param {
            Term::Var(var) if *bound.entry(var).or_insert(arg) == arg => {}
            _ => return false,
        }
    }
    let mut open: Vec<VarId> =
        rule.body.iter().filter(|&literal| !is_negated(literal)).flat_map(variables).collect();
    open.retain(|var| !bound.contains_key(var));
    open.sort_unstable();
    open.dedup();
    any_assignment(&open, &mut bound, &mut |bound| {
        bound.iter().all(|(&var, &value)| may_be(program, rule, var, value))
            && rule.body.iter().all(|literal| holds(program, rule, literal, bound, facts))
    })
}

fn is_negated(literal: &Literal) -> bool {
    matches!(literal.kind, LiteralKind::Atom { polarity: Polarity::Negated, .. })
}

/// The variables that occur in a literal.
fn variables(literal: &Literal) -> Vec<VarId> {
    let terms = match &literal.kind {
        LiteralKind::Atom { args, .. } => args.clone(),
        LiteralKind::Compare { left, right, .. } => vec![*left, *right],
        LiteralKind::OneOf { term, .. } => vec![*term],
        LiteralKind::NotOfType { var, .. } => vec![Term::Var(*var)],
        LiteralKind::False => Vec::new(),
    };
    terms.into_iter().filter_map(|term| if let Term::Var(var) = term { Some(var) } else { None }).collect()
}

/// Whether a variable of a rule has the value's type.
fn may_be(program: &Program, rule: &Rule, var: VarId, value: Value) -> bool {
    match &rule.vars[var].ty {
        VarType::Any => true,
        VarType::OneOf(types) => types.contains(&program.type_id(value.0).unwrap()),
    }
}

/// The values of a rule's variables.
type Bound = BTreeMap<VarId, Value>;

/// The value of a term.
fn value(program: &Program, bound: &Bound, term: Term) -> Value {
    match term {
        Term::Var(var) => bound[&var],
        Term::Const(constant) => {
            let constant = &program.constants[constant.index()];
            let name = &program.types[constant.ty].name;
            DOMAIN.into_iter().find(|(ty, id)| ty == name && *id == constant.text).unwrap()
        }
        Term::Now => panic!("no time here"),
    }
}

/// Whether a literal of a rule is true.
fn holds(program: &Program, rule: &Rule, literal: &Literal, bound: &Bound, facts: &Facts) -> bool {
    match &literal.kind {
        LiteralKind::Atom { polarity, pred, args } => {
            // The remaining variables occur only in this negated literal.
            let local: Vec<VarId> =
                variables(literal).into_iter().filter(|var| !bound.contains_key(var)).collect();
            let name = &program.predicates[pred.index()].name;
            let derived = any_assignment(&local, &mut bound.clone(), &mut |bound| {
                let values: Vec<Value> = args.iter().map(|&arg| value(program, bound, arg)).collect();
                local.iter().all(|&var| may_be(program, rule, var, bound[&var]))
                    && derives(program, name, &values, facts)
            });
            derived == (*polarity == Polarity::Positive)
        }
        LiteralKind::Compare { op, left, right } => {
            (value(program, bound, *left) == value(program, bound, *right)) == (*op == CompareOp::Equal)
        }
        LiteralKind::OneOf { polarity, term, values } => {
            let tried = value(program, bound, *term);
            let among = values.iter().any(|&one| value(program, bound, Term::Const(one)) == tried);
            among == (*polarity == Polarity::Positive)
        }
        LiteralKind::NotOfType { var, types } => !types.contains(&program.type_id(bound[var].0).unwrap()),
        LiteralKind::False => false,
    }
}

#[test]
fn flattening_keeps_the_meaning() {
    let mut random = Random(7);
    let mut n_compared = 0;
    for _ in 0..2_500 {
        let condition = condition(&mut random, 4);
        // The last rule mentions both types.
        let text = format!(r#"h(x) if ({condition}) and u(x); z(T{{"0"}}, U{{"0"}});"#);
        let source = SourceMap::new("policy.polar", text.as_str());
        let (policy, found) = syntax::parse(&source);
        assert!(found.is_empty(), "{text}");
        let Some(Item::Rule(rule)) = policy.items.first() else { panic!("{text}") };
        let Some(expr) = &rule.body else { panic!("{text}") };
        let (Some(program), _) = crate::resolve::resolve(&source, &policy) else { continue };
        n_compared += 1;
        for _ in 0..3 {
            let mut facts = some_facts(&mut random);
            facts.extend(DOMAIN.map(|value| ("u".to_owned(), vec![value])));
            for value in DOMAIN {
                let nested = level(expr, &BTreeMap::from([("x".to_owned(), value)]), &facts);
                let flat = derives(&program, "h", &[value], &facts);
                assert_eq!(flat, nested, "h({value:?}) of\n{text}\n{}\n{facts:?}", print::rules(&program));
            }
        }
    }
    assert!(n_compared > 600, "{n_compared}");
}
