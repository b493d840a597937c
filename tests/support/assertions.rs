//! A policy's own tests, judged by the oracle.

use super::notation::{Fact, Value};
use super::oracle::Oracle;
use portcullis_compiler::ir::{self, PredId, Program, TypeId};
use portcullis_compiler::question::{Question, QuestionVar};
use std::collections::BTreeSet;

/// The names of the tests that fail.
pub fn failing(program: &Program, now: i64) -> Vec<String> {
    let fails = |test: &&ir::Test| {
        let facts: Vec<Fact> = test.facts.iter().map(|fact| readable(program, fact)).collect();
        let oracle = Oracle::new(program, &facts, &[], now);
        !test.assertions.iter().all(|assertion| holds(program, &oracle, assertion))
    };
    program.tests.iter().filter(fails).map(|test| test.name.clone()).collect()
}

fn holds(program: &Program, oracle: &Oracle<'_>, assertion: &ir::Assertion) -> bool {
    let name = |pred: PredId| program.predicates[pred.index()].name.clone();
    let Some(types) = &assertion.var_types else {
        return oracle.decision(&Question::atom(&name(assertion.goal), Vec::new())) == assertion.positive;
    };
    let names: Vec<&str> = types.iter().map(|&ty| type_name(program, ty)).collect();
    let values_of = |pred: PredId| -> BTreeSet<Value> {
        let question = Question::atom(&name(pred), vec![QuestionVar::wanted("v", None)]);
        let values = oracle.values(&question).into_iter().flatten();
        values.filter(|value| names.contains(&value.ty.as_str())).collect()
    };
    let answers = values_of(assertion.goal);
    match (assertion.iff, assertion.positive) {
        (Some(iff), positive) => (answers == values_of(iff)) == positive,
        (None, true) => answers == oracle.all_of(&names),
        (None, false) => answers.is_empty(),
    }
}

fn readable(program: &Program, fact: &ir::Fact) -> Fact {
    let value = |id: &ir::ConstId| {
        let literal = &program.constants[id.index()];
        Value::new(type_name(program, literal.ty), &literal.text)
    };
    Fact { predicate: fact.predicate.clone(), args: fact.args.iter().map(value).collect() }
}

fn type_name(program: &Program, ty: TypeId) -> &str {
    &program.types[ty].name
}
