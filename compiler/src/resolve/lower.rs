//! Lowers longhand rules: names become ids, literals become constants.
//!
//! In: a rule of the syntax tree. Out: a [`NestedRule`]. Comparisons of two literals are decided here, so
//! later stages never see one. A type that no block declares becomes a plain type at its first use.

use super::formula::{AtomicTest, Formula, NestedRule, TestKind};
use super::tables::Tables;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{CompareOp, ConstId, Polarity, Term, TypeId, TypeKind, VarType};
use crate::source::Span;
use crate::syntax::ast::{self, Comparison, Condition, Name, Param, Spanned};
use indexmap::IndexSet;

/// Lowers a longhand rule.
pub(super) fn rule(tables: &mut Tables, rule: &ast::Rule) -> NestedRule {
    let head = tables.predicate(&rule.name.value, rule.params.len());
    let mut nested = NestedRule::new(head, rule.span);
    params(tables, &mut nested, &rule.params);
    if let Some(body) = &rule.body {
        nested.body = condition(tables, &mut nested, body);
    }
    nested
}

/// Lowers the parameters of a head into the nested rule.
pub(super) fn params(tables: &mut Tables, nested: &mut NestedRule, params: &[Param]) {
    for param in params {
        let read = term(tables, nested, &param.term);
        if let (Term::Var(var), Some(ty)) = (read, &param.ty) {
            let ty = tables.type_named(&ty.value);
            nested.narrow(var, tables.admits(ty));
        }
        nested.params.push(read);
    }
}

/// Lowers a term.
pub(super) fn term(tables: &mut Tables, nested: &mut NestedRule, term: &Spanned<ast::Term>) -> Term {
    match &term.value {
        ast::Term::Variable(name) => Term::Var(nested.var(name)),
        ast::Term::CurrentUnixTime => Term::Now,
        ast::Term::String(_) | ast::Term::Integer(_) | ast::Term::Boolean(_) | ast::Term::Object { .. } => {
            // A wrong literal has been reported; any literal can replace it.
            let literal = literal(tables, term).unwrap_or_else(|| tables.string(""));
            Term::Const(literal)
        }
    }
}

/// Lowers a literal. `None` if the term is not a literal, or is one that no value can have, which is
/// reported.
pub(super) fn literal(tables: &mut Tables, term: &Spanned<ast::Term>) -> Option<ConstId> {
    match &term.value {
        ast::Term::String(text) => Some(tables.string(text)),
        ast::Term::Integer(value) => Some(tables.constant(TypeId::INTEGER, &value.to_string())),
        ast::Term::Boolean(value) => Some(tables.constant(TypeId::BOOLEAN, &value.to_string())),
        ast::Term::Object { ty, id } => object(tables, ty, id),
        ast::Term::CurrentUnixTime | ast::Term::Variable(_) => None,
    }
}

fn object(tables: &mut Tables, ty: &Name, id: &Spanned<String>) -> Option<ConstId> {
    let type_id = tables.type_named(&ty.value);
    let canonical = match tables.kind(type_id) {
        TypeKind::Abstract => {
            let name = &ty.value;
            let title = format!("no value has the type `{name}` itself");
            let word = name.to_lowercase();
            let help = format!("write the name of an {word} block");
            let diagnostic =
                Diagnostic::new(Code::AbstractValue, title, ty.span, format!("stands for every {word} type"));
            tables.report(diagnostic.with_help(help.replace("an resource", "a resource")));
            return None;
        }
        TypeKind::Primitive if type_id == TypeId::INTEGER => {
            id.value.parse::<i64>().ok().map(|value| value.to_string())
        }
        TypeKind::Primitive if type_id == TypeId::BOOLEAN => {
            ["true", "false"].contains(&id.value.as_str()).then(|| id.value.clone())
        }
        TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain | TypeKind::Foreign => {
            Some(id.value.clone())
        }
    };
    let Some(text) = canonical else {
        tables.report(Diagnostic::new(
            Code::MalformedObject,
            format!("`{}` is not a value of type `{}`", id.value, ty.value),
            id.span,
            if type_id == TypeId::INTEGER { "an integer is needed" } else { "`true` or `false` is needed" },
        ));
        return None;
    };
    Some(tables.constant(type_id, &text))
}

/// Lowers a condition.
pub(super) fn condition(tables: &mut Tables, nested: &mut NestedRule, read: &Condition) -> Formula {
    let all = |tables: &mut Tables, nested: &mut NestedRule, parts: &[Condition]| -> Vec<Formula> {
        parts.iter().map(|part| condition(tables, nested, part)).collect()
    };
    match read {
        Condition::Or(parts, _) => Formula::Or(all(tables, nested, parts)),
        Condition::And(parts, _) => Formula::And(all(tables, nested, parts)),
        Condition::Not(inner, _) => Formula::Not(Box::new(condition(tables, nested, inner))),
        Condition::Paren(inner, _) => condition(tables, nested, inner),
        Condition::Compare { op, left, right, span } => compare(tables, nested, (*op, *span), left, right),
        Condition::In { term, list, span } => one_of(tables, nested, term, list, *span),
        Condition::Matches { variable, ty, exact, span } => {
            matches(tables, nested, variable, (ty, *exact), *span)
        }
        Condition::Call(call) => self::call(tables, nested, call),
        Condition::Boolean(value, _) => Formula::truth(*value),
    }
}

/// Lowers a predicate call.
pub(super) fn call(tables: &mut Tables, nested: &mut NestedRule, call: &ast::Call) -> Formula {
    let pred = tables.predicate(&call.name.value, call.args.len());
    let args = call.args.iter().map(|arg| term(tables, nested, arg)).collect();
    Formula::atom(pred, args, call.span)
}

fn compare(
    tables: &mut Tables,
    nested: &mut NestedRule,
    (op, span): (Comparison, Span),
    left: &Spanned<ast::Term>,
    right: &Spanned<ast::Term>,
) -> Formula {
    let op = match op {
        Comparison::Equal => CompareOp::Equal,
        Comparison::NotEqual => CompareOp::NotEqual,
        Comparison::Less => CompareOp::Less,
        Comparison::LessOrEqual => CompareOp::LessOrEqual,
        Comparison::Greater => CompareOp::Greater,
        Comparison::GreaterOrEqual => CompareOp::GreaterOrEqual,
    };
    let (from, to) = (term(tables, nested, left), term(tables, nested, right));
    let ordered = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
    if ordered {
        let mut integers = true;
        for (term, written) in [(from, left.span), (to, right.span)] {
            integers &= check_integer(tables, nested, term, written);
        }
        if !integers {
            return Formula::truth(false);
        }
    }
    match (from, to) {
        (Term::Const(from), Term::Const(to)) => Formula::truth(decide(tables, op, from, to)),
        (left, right) => Formula::Test(AtomicTest { kind: TestKind::Compare { op, left, right }, span }),
    }
}

/// Reports an operand of an order comparison that is known not to be an Integer.
fn check_integer(tables: &mut Tables, nested: &NestedRule, term: Term, span: Span) -> bool {
    let types = match term {
        Term::Const(constant) => VarType::OneOf(vec![tables.constant_type(constant)]),
        Term::Var(var) => nested.vars[var].ty.clone(),
        Term::Now => return true,
    };
    let VarType::OneOf(types) = types else { return true };
    let integer = types.contains(&TypeId::INTEGER);
    if !integer {
        tables.report(not_an_integer(tables, &types, span));
    }
    integer
}

/// The diagnostic for an order comparison of values of these types.
pub(super) fn not_an_integer(tables: &Tables, types: &[TypeId], span: Span) -> Diagnostic {
    let label = match types {
        [only] => format!("this is of type `{}`", tables.types[*only].name),
        _ => "this is never an Integer".to_owned(),
    };
    Diagnostic::new(Code::NotAnInteger, "`<`, `<=`, `>` and `>=` compare Integers only", span, label)
        .with_help("compare with `=` or `!=`, or give the value the type `Integer`")
}

/// Decides a comparison of two literals.
fn decide(tables: &Tables, op: CompareOp, left: ConstId, right: ConstId) -> bool {
    let number = |constant| tables.constant_text(constant).parse::<i64>().ok();
    let ordering = number(left).zip(number(right)).map(|(left, right)| left.cmp(&right));
    match op {
        CompareOp::Equal => left == right,
        CompareOp::NotEqual => left != right,
        CompareOp::Less => ordering.is_some_and(std::cmp::Ordering::is_lt),
        CompareOp::LessOrEqual => ordering.is_some_and(std::cmp::Ordering::is_le),
        CompareOp::Greater => ordering.is_some_and(std::cmp::Ordering::is_gt),
        CompareOp::GreaterOrEqual => ordering.is_some_and(std::cmp::Ordering::is_ge),
    }
}

fn one_of(
    tables: &mut Tables,
    nested: &mut NestedRule,
    term: &Spanned<ast::Term>,
    list: &[Spanned<ast::Term>],
    span: Span,
) -> Formula {
    let term = self::term(tables, nested, term);
    let mut values = IndexSet::with_capacity(list.len());
    for element in list {
        if matches!(element.value, ast::Term::Variable(_) | ast::Term::CurrentUnixTime) {
            tables.report(
                Diagnostic::new(
                    Code::NotALiteral,
                    "the list after `in` can contain only literals",
                    element.span,
                    "not a literal",
                )
                .with_help("write a separate alternative: `or x = …`"),
            );
            continue;
        }
        values.extend(literal(tables, element));
    }
    if let Term::Const(constant) = term {
        return Formula::truth(values.contains(&constant));
    }
    let values = values.into_iter().collect();
    Formula::Test(AtomicTest { kind: TestKind::OneOf { polarity: Polarity::Positive, term, values }, span })
}

fn matches(
    tables: &mut Tables,
    nested: &mut NestedRule,
    variable: &Name,
    (ty, exact): (&Name, bool),
    span: Span,
) -> Formula {
    let var = nested.var(&variable.value);
    let ty = tables.type_named(&ty.value);
    let types: Vec<TypeId> =
        tables.admits(ty).iter().copied().filter(|&admitted| !exact || admitted == ty).collect();
    Formula::Test(AtomicTest { kind: TestKind::OfType { polarity: Polarity::Positive, var, types }, span })
}
