//! Any text as the policy of a service, with questions about what it declares.
//!
//! A policy that is accepted answers: facts of every kind that it takes are stored, its actors are asked what
//! they may do to its resources, its predicates are asked for all that they hold of. Answers must agree with
//! each other, and each question must have SQL for every database that a parser of that database reads.

use super::world::{RUNTIME, settings, unless_refused};
use crate::reparse;
use portcullis::engine::{
    ANY, ArgPattern, Change, Engine, EngineError, Fact, FactPattern, PolicyOptions, PolicyRefusal, Value,
};
use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeDef, TypeKind};
use portcullis_compiler::question::{CompileError, Question, QuestionVar};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Dialect, check, compile_text};
use std::collections::BTreeSet;

/// How much of what a policy declares is asked about: an input should take milliseconds.
const ASKED: usize = 3;
/// How many kinds of facts are stored: each has a table of its own.
const STORED: usize = 12;

/// Uploads a text and asks about what it declares.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let program = check(&SourceMap::new("fuzz.polar", &*text)).program;
    RUNTIME.block_on(async {
        let engine = Engine::in_memory(settings()).await.expect("an engine");
        let accepted = upload(&engine, &text).await;
        assert_eq!(accepted, program.is_some(), "the engine and the compiler disagree");
        let Some(program) = program else { return };
        let facts = facts(&program);
        for chunk in facts.chunks(1) {
            unless_refused(engine.apply(vec![Change::Insert(chunk.to_vec())]).await)
                .unwrap_or_else(|| panic!("{chunk:?} is of a kind that the policy takes"));
        }
        ask(&engine, &program).await;
        query(&engine, &program, &facts).await;
    });
}

/// Whether the policy is accepted, perhaps only when its tests do not count.
async fn upload(engine: &Engine, text: &str) -> bool {
    for force in [false, true] {
        let options = PolicyOptions { force, fail_fast: false, show_suggestions: true };
        match engine.set_policy(text.to_owned(), "fuzz.polar".to_owned(), options).await {
            Ok(_) => return true,
            Err(EngineError::Policy(PolicyRefusal::Validation { message, errors })) => {
                assert!(!message.is_empty() && !errors.is_empty(), "a refusal without a reason");
                return false;
            }
            Err(EngineError::Policy(PolicyRefusal::Tests { message, report })) => {
                assert!(!force && !message.is_empty() && !report.success(), "tests fail without a reason");
            }
            // A test may ask what has no answer.
            Err(error) => assert!(!force && unless_refused::<()>(Err(error)).is_none()),
        }
    }
    panic!("a policy that validates was refused")
}

/// Up to two facts of each kind that the policy takes.
fn facts(program: &Program) -> Vec<Fact> {
    let wire = |signature: &&Signature| (1..=5).contains(&signature.args.len());
    let several = program.signatures.iter().filter(wire).take(STORED).flat_map(|signature| {
        [0, 1].into_iter().filter_map(|which| {
            let args: Option<_> = signature.args.iter().map(|arg| value(program, arg, which)).collect();
            Some(Fact::new(&signature.predicate, args?))
        })
    });
    several.collect::<BTreeSet<_>>().into_iter().filter(is_small).collect()
}

/// Whether the store takes texts of such a length.
fn is_small(fact: &Fact) -> bool {
    let fits = |text: &str| !text.is_empty() && !text.contains('\0');
    fact.args.iter().all(|arg| fits(&arg.ty) && fits(&arg.id) && arg.ty.len() + arg.id.len() <= 384)
        && !fact.predicate.contains('\0')
}

fn value(program: &Program, arg: &SignatureArg, which: usize) -> Option<Value> {
    let of = |ty: &TypeDef| {
        let id = match ty.name.as_str() {
            "Integer" => ["1", "-7"],
            "Boolean" => ["true", "false"],
            _ => ["1", "a'\"b"],
        };
        Value::new(&ty.name, id[which])
    };
    match arg {
        SignatureArg::OneOf(types) => types.get(which).or(types.first()).map(|ty| of(&program.types[*ty])),
        SignatureArg::Literal(text) => Some(Value::new("String", text)),
        SignatureArg::Any => Some(Value::new("String", "any")),
    }
}

/// What actors may do to resources, asked in every way.
async fn ask(engine: &Engine, program: &Program) {
    let named = |kind| program.types.iter().filter(move |ty| ty.kind == kind).map(|ty| ty.name.clone());
    let resources: Vec<String> = named(TypeKind::Resource).take(ASKED).collect();
    for actor in named(TypeKind::Actor).take(ASKED) {
        let actor = Value::new(&actor, "1");
        for ty in &resources {
            let block = program.blocks.iter().find(|block| block.name == *ty);
            let permissions = block.into_iter().flat_map(|block| &block.permissions).take(ASKED).cloned();
            let resource = Value::new(ty, "1");
            let actions = unless_refused(engine.actions(actor.clone(), resource.clone(), Vec::new()).await);
            for action in permissions.chain(["'".to_owned()]) {
                let asked =
                    engine.authorize(actor.clone(), action.clone(), resource.clone(), Vec::new()).await;
                let allowed = unless_refused(asked);
                let list = engine.list(actor.clone(), action.clone(), ty.clone(), None, Vec::new()).await;
                if let (Some(list), Some(allowed)) = (unless_refused(list), allowed) {
                    let listed = list.ids.iter().any(|id| id == "1" || id == ANY);
                    assert_eq!(listed, allowed, "a list of {action:?} on {ty}, and a check");
                }
                if let (Some(actions), Some(allowed)) = (&actions, allowed) {
                    let told = actions.iter().any(|known| *known == action || known == ANY);
                    assert_eq!(told, allowed, "the actions on {ty}, and a check of {action:?}");
                }
            }
        }
    }
}

/// All that the predicates hold of, in the engine and as SQL.
async fn query(engine: &Engine, program: &Program, facts: &[Fact]) {
    let catalog = tables(facts);
    let by_name = program.predicates.iter().filter(|predicate| !predicate.name.starts_with('\''));
    for predicate in by_name.take(3 * ASKED) {
        let pattern = FactPattern::new(&predicate.name, vec![ArgPattern::Any; predicate.arity]);
        unless_refused(engine.query(pattern, Vec::new()).await);
        let vars = (0..predicate.arity).map(|at| QuestionVar::wanted(&format!("v{at}"), None)).collect();
        let question = Question::atom(&predicate.name, vars);
        for dialect in Dialect::ALL {
            match compile_text(program, &catalog, &question, dialect, 0) {
                Ok(statement) => {
                    assert_eq!(reparse::check(&statement.sql, dialect), Ok(()));
                }
                Err(CompileError::Refused(refusal)) => assert!(!question.refused(refusal).message.is_empty()),
                Err(error @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => panic!("{error:?}"),
            }
        }
    }
}

/// A table for each kind of these facts.
fn tables(facts: &[Fact]) -> Catalog {
    let types = |fact: &Fact| fact.types().map(str::to_owned).collect::<Vec<_>>();
    let kinds: BTreeSet<_> = facts.iter().map(|fact| (fact.predicate.clone(), types(fact))).collect();
    let relation = |(at, (predicate, types)): (usize, (String, Vec<String>))| {
        let column = |(at, ty)| RelationArg::Column { ty, column: format!("arg{at}") };
        let args = types.into_iter().enumerate().map(column).collect();
        Relation {
            predicate,
            args,
            source: RelationSource::Table { schema: None, name: format!("facts{at}") },
        }
    };
    Catalog { relations: kinds.into_iter().enumerate().map(relation).collect() }
}
