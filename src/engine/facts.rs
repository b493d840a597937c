//! Checks values and facts before they reach the store or a question.
//!
//! In: plain data from the wire. Afterwards every Integer and Boolean is in canonical form, so equal values
//! have equal texts, no text contains a NUL, and the active policy can use every fact. Stored facts and the
//! context facts of a request pass the same checks.

use super::EngineError;
use crate::store::{ArgPattern, Change, Fact, FactPattern, Value};
use portcullis_compiler::check;
use portcullis_compiler::ir::Program;
use portcullis_compiler::limits;
use portcullis_compiler::primitive::Primitive;
use portcullis_compiler::source::SourceMap;

/// The maximum number of arguments of a fact.
const MAX_ARGS: usize = 5;
/// The maximum length of an argument's type and id together, in bytes.
const MAX_ARG_BYTES: usize = 384;

/// Refuses a value that neither a fact nor a question may contain.
pub(super) fn check_value(value: &Value) -> Result<(), EngineError> {
    if value.ty.contains('\0') || value.id.contains('\0') {
        return Err(bad(format!(
            "a value of type `{}` contains a NUL character: remove it",
            visible(&value.ty)
        )));
    }
    let id = &value.id;
    match Primitive::named(&value.ty) {
        Some(Primitive::Integer) if !Primitive::Integer.is_canonical(id) => {
            Err(bad(format!("`{id}` is not an Integer: write a 64-bit number without leading zeros or `+`")))
        }
        Some(Primitive::Boolean) if !Primitive::Boolean.is_canonical(id) => {
            Err(bad(format!("`{id}` is not a Boolean: write `true` or `false`")))
        }
        Some(Primitive::String | Primitive::Integer | Primitive::Boolean) | None => Ok(()),
    }
}

/// Refuses an entity of a question with an empty type or id.
pub(super) fn check_entity(what: &str, value: &Value) -> Result<(), EngineError> {
    check_type(what, &value.ty)?;
    if value.id.is_empty() {
        return Err(bad(format!("the {what} has an empty id: give it one")));
    }
    check_value(value)
}

/// Refuses an action that no policy can name.
pub(super) fn check_action(action: &str) -> Result<(), EngineError> {
    if action.contains('\0') {
        Err(bad("the action contains a NUL character: remove it".into()))
    } else {
        Ok(())
    }
}

/// Refuses a type that no value has.
pub(super) fn check_type(what: &str, ty: &str) -> Result<(), EngineError> {
    if ty.is_empty() {
        return Err(bad(format!("the {what} has an empty type: give it one")));
    }
    if ty.contains('\0') {
        return Err(bad(format!("the {what}'s type contains a NUL character: remove it")));
    }
    Ok(())
}

/// Refuses a predicate that no policy can name.
pub(super) fn check_predicate_name(name: &str) -> Result<(), EngineError> {
    if name.contains('\0') {
        return Err(bad(format!("the predicate `{}` contains a NUL character: remove it", visible(name))));
    }
    Ok(())
}

/// Refuses a fact that may not be stored under this policy. Without a policy, refuses every fact.
pub fn check_fact(program: Option<&Program>, fact: &Fact) -> Result<(), EngineError> {
    let name = visible(&fact.predicate);
    check_predicate_name(&fact.predicate)?;
    if fact.args.is_empty() || fact.args.len() > MAX_ARGS {
        let n = fact.args.len();
        return Err(bad(format!("a fact has 1 to {MAX_ARGS} arguments, `{name}` has {n}")));
    }
    for (position, value) in (1..).zip(&fact.args) {
        if value.ty.is_empty() || value.id.is_empty() {
            let empty = if value.ty.is_empty() { "type" } else { "id" };
            return Err(bad(format!("argument {position} of `{name}` has an empty {empty}: give it one")));
        }
        check_value(value)?;
        let bytes = value.ty.len() + value.id.len();
        if bytes > MAX_ARG_BYTES {
            let over = format!("of {bytes} bytes, at most {MAX_ARG_BYTES} are allowed: use a shorter id");
            return Err(bad(format!("argument {position} of `{name}` has a type and id {over}")));
        }
    }
    let args: Vec<(&str, &str)> = fact.args.iter().map(|arg| (arg.ty.as_str(), arg.id.as_str())).collect();
    match program {
        Some(program) => program.accepts(&fact.predicate, &args).map_err(|unused| bad(unused.to_string())),
        // Without a policy the message is that of a policy that uses no facts.
        None => match check(&SourceMap::new("", "")).program {
            Some(empty) => empty.accepts(&fact.predicate, &args).map_err(|unused| bad(unused.to_string())),
            None => Err(EngineError::Bug("the empty policy does not validate".into())),
        },
    }
}

/// Refuses a batch of changes if any of them is wrong.
pub(super) fn check_changes(program: Option<&Program>, changes: &[Change]) -> Result<(), EngineError> {
    changes.iter().try_for_each(|change| match change {
        Change::Insert(facts) => facts.iter().try_for_each(|fact| check_fact(program, fact)),
        Change::Delete(patterns) => patterns.iter().try_for_each(check_pattern),
    })
}

/// How many facts and patterns a change contains.
pub(super) fn size(change: &Change) -> usize {
    match change {
        Change::Insert(facts) => facts.len(),
        Change::Delete(patterns) => patterns.len(),
    }
}

/// About how many bytes of memory a change takes.
pub(super) fn bytes(change: &Change) -> usize {
    let of_arg = |arg: &ArgPattern| match arg {
        ArgPattern::Any => 0,
        ArgPattern::Typed(ty) => ty.capacity(),
        ArgPattern::Exact(value) => value_bytes(value),
    };
    let of_pattern = |pattern: &FactPattern| {
        let args = size_of::<ArgPattern>() * pattern.args.capacity();
        let args = args + pattern.args.iter().map(of_arg).sum::<usize>();
        size_of::<FactPattern>() + pattern.predicate.as_ref().map_or(0, String::capacity) + args
    };
    match change {
        Change::Insert(facts) => facts.iter().map(fact_bytes).sum(),
        Change::Delete(patterns) => patterns.iter().map(of_pattern).sum(),
    }
}

/// About how many bytes of memory a fact takes.
pub(super) fn fact_bytes(fact: &Fact) -> usize {
    let args = size_of::<Value>() * fact.args.capacity() + fact.args.iter().map(value_bytes).sum::<usize>();
    size_of::<Fact>() + fact.predicate.capacity() + args
}

fn value_bytes(value: &Value) -> usize {
    value.ty.capacity() + value.id.capacity()
}

/// Refuses a pattern with a value that no fact can have, or with more arguments than a predicate can have: a
/// query may be about derived predicates, which can have more than facts.
pub(super) fn check_pattern(pattern: &FactPattern) -> Result<(), EngineError> {
    pattern.predicate.iter().try_for_each(|name| check_predicate_name(name))?;
    let n = pattern.args.len();
    if n > limits::PARAMETERS {
        let most = limits::PARAMETERS;
        return Err(bad(format!("a predicate has at most {most} arguments, this pattern has {n}")));
    }
    pattern.args.iter().try_for_each(|arg| match arg {
        ArgPattern::Typed(ty) if ty.contains('\0') => {
            Err(bad(format!("the type `{}` contains a NUL character: remove it", visible(ty))))
        }
        ArgPattern::Any | ArgPattern::Typed(_) => Ok(()),
        ArgPattern::Exact(value) => check_value(value),
    })
}

/// A name with its NULs made visible, for a message.
fn visible(text: &str) -> String {
    text.replace('\0', "\\0")
}

fn bad(text: String) -> EngineError {
    EngineError::BadRequest(text)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{fact, program, value};
    use super::*;

    fn refusal(fact: &Fact) -> String {
        let program = program("declare has_role(User, String, Repo); declare age(User, Integer);");
        check_fact(Some(&program), fact).map_or_else(|e| e.to_string(), |()| "accepted".into())
    }

    #[test]
    fn a_fact_of_a_declared_signature_is_accepted() {
        assert_eq!(refusal(&fact("has_role", &["User:a", "String:member", "Repo:r"])), "accepted");
        assert_eq!(refusal(&fact("age", &["User:a", "Integer:-7"])), "accepted");
    }

    #[test]
    fn a_fact_that_no_rule_reads_is_refused_with_the_text_clients_look_for() {
        assert_eq!(
            refusal(&fact("has_role", &["User:a", "String:steward", "Lab:l"])),
            "has_role(User, \"steward\", Lab) is not used in policy. Help: use this fact in your policy, or add \
             'declare has_role(...)' to your policy to force this fact type to be accepted."
        );
        let lonely = check_fact(None, &fact("has_role", &["User:a", "String:member", "Repo:r"]));
        assert!(lonely.is_err_and(|e| e.to_string().contains("not used in policy")));
    }

    #[test]
    fn integers_and_booleans_have_one_form() {
        for text in ["007", "+7", "-0", "1.0", "", "9223372036854775808", "x"] {
            assert!(check_value(&value("Integer", text)).is_err(), "{text}");
        }
        for text in ["0", "-9223372036854775808", "9223372036854775807"] {
            assert!(check_value(&value("Integer", text)).is_ok(), "{text}");
        }
        assert!(check_value(&value("Boolean", "True")).is_err());
        assert!(check_value(&value("Boolean", "false")).is_ok());
    }

    #[test]
    fn the_bounds_of_a_fact_are_exact() {
        let id = |bytes: usize| format!("User:{}", "x".repeat(bytes - "User".len()));
        let age = |id: &str| fact("age", &[id, "Integer:1"]);
        assert_eq!(refusal(&age(&id(MAX_ARG_BYTES))), "accepted");
        assert!(refusal(&age(&id(MAX_ARG_BYTES + 1))).contains("385 bytes"));
        assert!(refusal(&fact("age", &[])).contains("1 to 5 arguments"));
        assert!(refusal(&fact("age", &["User:a"; 6])).contains("has 6"));
        assert_eq!(refusal(&age("User:")), "argument 1 of `age` has an empty id: give it one");
    }

    #[test]
    fn a_nul_is_refused_everywhere() {
        assert!(refusal(&fact("age", &["User:a\0b", "Integer:1"])).contains("NUL"));
        assert!(refusal(&fact("a\0ge", &["User:a", "Integer:1"])).contains("NUL"));
        let pattern = FactPattern {
            predicate: Some("age".into()),
            args: vec![ArgPattern::Exact(value("User", "\0"))],
            open_arity: false,
        };
        assert!(check_pattern(&pattern).is_err());
    }
}
