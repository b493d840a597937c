//! Attributes that come with a question: properties of its actor, its action and its resource, and its
//! context.
//!
//! In: names with JSON values. Out: context facts, for the attributes that the active policy reads. Each kind
//! of attribute has a predicate of its own, so an attribute reaches only rules that ask for attributes and
//! cannot pass for any other fact, such as a role:
//!
//! ```text
//! subject_property(User:alice, "department", "Sales")      resource_property(Doc:1, "status", "archived")
//! action_property("delete", "soft", true)                  context_property("ip", "192.0.2.1")
//! ```
//!
//! An attribute that the policy does not read is ignored. One that it reads, but with a value that cannot be
//! a fact or has a different type than the rules expect, is refused: under a negation, ignoring it would
//! grant. So is one of a subject or resource whose type the policy does not mention, if a negation asks for
//! the attribute of anything.

use super::versions::Active;
use super::{Engine, EngineError};
use crate::store::{Fact, Value};
use portcullis_compiler::builtin;
use portcullis_compiler::ir::{CallArg, DenyingCall, Program, SignatureArg, TypeId};
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, STRING};
use serde_json::Value as Json;

/// Why a value is refused that no fact can have.
const NOT_A_FACT: &str = "a rule reads it, and only texts, whole numbers of 64 bits, truth values and arrays of \
    these can be facts";

/// An attribute of a part of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Whose it is.
    pub of: AttributeOwner,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Json,
}

/// Whose attribute it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeOwner {
    /// The actor's.
    Subject(Value),
    /// That of any actor of this type.
    SubjectOfType(String),
    /// The action's.
    Action(String),
    /// The resource's.
    Resource(Value),
    /// That of any resource of this type.
    ResourceOfType(String),
    /// The request's.
    Context,
}

impl Engine {
    /// The facts that the policy reads of the attributes.
    pub fn attribute_facts(&self) -> Result<Vec<Fact>, EngineError> {
        let active = self.active().filter(|_| !self.attributes.is_empty());
        active.map_or(Ok(Vec::new()), |active| facts(&active, &self.attributes))
    }
}

/// The facts that a policy reads of these attributes.
pub(super) fn facts(active: &Active, attributes: &[Attribute]) -> Result<Vec<Fact>, EngineError> {
    let mut facts = Vec::new();
    for attribute in attributes {
        attribute.add_to(&mut facts, active)?;
    }
    Ok(facts)
}

impl AttributeOwner {
    fn predicate(&self) -> &'static str {
        match self {
            Self::Subject(_) | Self::SubjectOfType(_) => builtin::SUBJECT_PROPERTY,
            Self::Action(_) => builtin::ACTION_PROPERTY,
            Self::Resource(_) | Self::ResourceOfType(_) => builtin::RESOURCE_PROPERTY,
            Self::Context => builtin::CONTEXT_PROPERTY,
        }
    }

    /// The argument before the name.
    fn arg(&self) -> Option<Value> {
        match self {
            Self::Subject(value) | Self::Resource(value) => Some(value.clone()),
            Self::SubjectOfType(ty) | Self::ResourceOfType(ty) => {
                Some(Value { ty: ty.clone(), id: String::new() })
            }
            Self::Action(name) => Some(Value { ty: STRING.to_owned(), id: name.clone() }),
            Self::Context => None,
        }
    }

    /// Whether it is about a single value.
    fn is_known(&self) -> bool {
        match self {
            Self::Subject(_) | Self::Action(_) | Self::Resource(_) | Self::Context => true,
            Self::SubjectOfType(_) | Self::ResourceOfType(_) => false,
        }
    }
}

impl Attribute {
    fn add_to(&self, facts: &mut Vec<Fact>, active: &Active) -> Result<(), EngineError> {
        let program: &Program = &active.program;
        let predicate = self.of.predicate();
        let name = Value { ty: STRING.to_owned(), id: self.name.clone() };
        let first: Vec<Value> = self.of.arg().into_iter().chain([name]).collect();
        let pairs: Vec<(&str, &str)> = first.iter().map(|arg| (arg.ty.as_str(), arg.id.as_str())).collect();
        let read: Vec<&SignatureArg> = program.accepted_after(predicate, &pairs).collect();
        if read.is_empty() {
            return self.check_denials(active, &first);
        }
        if !self.of.is_known() {
            return Err(self.refused("a rule reads it of single values, and the question asks for all"));
        }
        for value in self.values() {
            let Some((value, ty)) = scalar(value) else {
                return Err(self.refused(NOT_A_FACT));
            };
            let is_of_type = |arg: &&SignatureArg| match arg {
                SignatureArg::OneOf(types) => types.contains(&ty),
                SignatureArg::Literal(_) => ty == TypeId::STRING,
                SignatureArg::Any => true,
            };
            if !read.iter().any(is_of_type) {
                return Err(
                    self.refused(&format!("a rule reads it, but not as a value of type `{}`", value.ty))
                );
            }
            let pairs: Vec<(&str, &str)> = pairs.iter().copied().chain([(&*value.ty, &*value.id)]).collect();
            // A rule that compares it with other texts sees no fact, as if it had yet another value.
            if program.accepts(predicate, &pairs).is_ok() {
                let args = first.iter().cloned().chain([value]).collect();
                facts.push(Fact { predicate: predicate.to_owned(), args });
            }
        }
        Ok(())
    }

    /// Refuses an attribute that no rule can see because the policy does not mention a type, if a negation
    /// asks for it.
    fn check_denials(&self, active: &Active, first: &[Value]) -> Result<(), EngineError> {
        let program: &Program = &active.program;
        let types: Vec<Option<TypeId>> = first.iter().map(|arg| program.type_id(&arg.ty)).collect();
        let unmentioned = first.iter().zip(&types).find(|(_, ty)| ty.is_none());
        let Some((Value { ty: unmentioned, .. }, _)) = unmentioned else { return Ok(()) };
        let is_value = |arg: &CallArg, value: &Json| match scalar(value) {
            Some((value, ty)) => arg.admits_value(Some(ty), &value.id, program),
            // No fact can have it, so what the rule would say of it is not known.
            None => true,
        };
        let denies = |call: &DenyingCall| {
            let Some((last, args)) = call.args.split_last() else { return false };
            let mut known = args.iter().zip(first).zip(&types);
            known.all(|((arg, value), ty)| arg.admits_value(*ty, &value.id, program))
                && self.values().iter().any(|value| is_value(last, value))
        };
        let calls = active.denying_calls().of_predicate(self.of.predicate(), first.len() + 1, program);
        if calls.iter().any(denies) {
            return Err(self.refused(&format!(
                "a rule may deny something because of it, but the policy does not mention the type `{unmentioned}`: add `resource {unmentioned} {{}}` or `actor {unmentioned} {{}}` to the policy"
            )));
        }
        Ok(())
    }

    /// The values: null is none, and an array has several.
    fn values(&self) -> &[Json] {
        match &self.value {
            Json::Null => &[],
            Json::Array(values) => values,
            single => std::slice::from_ref(single),
        }
    }

    fn refused(&self, why: &str) -> EngineError {
        let name = self.name.replace('\0', "\\0");
        let of = match &self.of {
            AttributeOwner::Subject(_) | AttributeOwner::SubjectOfType(_) => "property `{}` of the subject",
            AttributeOwner::Action(_) => "property `{}` of the action",
            AttributeOwner::Resource(_) | AttributeOwner::ResourceOfType(_) => {
                "property `{}` of the resource"
            }
            AttributeOwner::Context => "`{}` in the context",
        };
        EngineError::BadRequest(format!("{}: {why}", of.replace("{}", &name)))
    }
}

/// A single value as an argument of a fact, with its type.
fn scalar(value: &Json) -> Option<(Value, TypeId)> {
    let (ty, id, number) = match value {
        Json::String(text) => (STRING, text.clone(), TypeId::STRING),
        Json::Bool(truth) => (BOOLEAN, truth.to_string(), TypeId::BOOLEAN),
        Json::Number(number) => (INTEGER, number.as_i64()?.to_string(), TypeId::INTEGER),
        Json::Null | Json::Array(_) | Json::Object(_) => return None,
    };
    Some((Value { ty: ty.to_owned(), id }, number))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{fact, program, value};
    use super::*;
    use crate::engine::{EngineSettings, PolicyOptions};
    use crate::store::PolicyDigest;
    use serde_json::json;

    const POLICY: &str = r#"
        actor User {}
        resource Doc { permissions = ["read", "write", "delete"]; roles = ["owner"]; "read" if "owner"; }
        has_permission(user: User, "read", doc: Doc) if
          subject_property(user, "role", "admin") and not resource_property(doc, "level", 3);
        has_permission(user: User, "write", doc: Doc) if
          subject_property(user, "team", team) and resource_property(doc, "team", team) and team matches String;
        has_permission(_: User, "delete", _: Doc) if
          action_property("delete", "soft", true) and context_property("zone", "inside");
    "#;

    /// The facts that a policy reads of an attribute.
    fn read_of(policy: &str, attribute: Attribute) -> Result<Vec<Fact>, EngineError> {
        let active = Active::new(1, PolicyDigest::of(policy), program(policy), Vec::new());
        facts(&active, &[attribute])
    }

    fn read(of: AttributeOwner, name: &str, value: Json) -> Result<Vec<String>, String> {
        let attribute = Attribute { of, name: name.to_owned(), value };
        let facts = read_of(POLICY, attribute).map_err(|error| error.to_string())?;
        Ok(facts
            .into_iter()
            .map(|fact| {
                let args: Vec<String> =
                    fact.args.iter().map(|arg| format!("{}:{}", arg.ty, arg.id)).collect();
                format!("{}({})", fact.predicate, args.join(", "))
            })
            .collect())
    }

    fn ada() -> AttributeOwner {
        AttributeOwner::Subject(value("User", "ada"))
    }

    fn doc() -> AttributeOwner {
        AttributeOwner::Resource(value("Doc", "1"))
    }

    #[test]
    fn what_the_policy_reads_becomes_a_fact() {
        let fact = |text: &str| Ok(vec![text.to_owned()]);
        let role = "subject_property(User:ada, String:role, String:admin)";
        assert_eq!(read(ada(), "role", json!("admin")), fact(role));
        let teams = [1, 2].map(|n| format!("resource_property(Doc:1, String:team, String:t{n})"));
        assert_eq!(read(doc(), "team", json!(["t1", "t2"])), Ok(teams.to_vec()));
        let level = "resource_property(Doc:1, String:level, Integer:3)";
        assert_eq!(read(doc(), "level", json!(3)), fact(level));
        let soft = "action_property(String:delete, String:soft, Boolean:true)";
        assert_eq!(read(AttributeOwner::Action("delete".into()), "soft", json!(true)), fact(soft));
        let zone = "context_property(String:zone, String:inside)";
        assert_eq!(read(AttributeOwner::Context, "zone", json!("inside")), fact(zone));
    }

    #[tokio::test]
    async fn a_decision_names_the_facts_that_its_policy_read() {
        let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
        engine.set_policy(POLICY.to_owned(), "p".to_owned(), PolicyOptions::default()).await.unwrap();
        let attribute = |name: &str| Attribute { of: ada(), name: name.to_owned(), value: json!("admin") };
        let asked = engine.with_attributes(vec![attribute("role"), attribute("department")]);
        let decision = asked.decide(&value("User", "ada"), "read", &value("Doc", "1"), &[]).await.unwrap();
        let read = fact("subject_property", &["User:ada", "String:role", "String:admin"]);
        assert_eq!((decision.answer, &*decision.attributes), (true, &[read][..]));
    }

    #[test]
    fn what_it_does_not_read_is_ignored() {
        let none = Ok(Vec::new());
        let ignored = [
            (ada(), "department", json!("Sales")),
            (ada(), "has_role", json!("owner")),
            (ada(), "level", json!({ "any": [1.5] })),
            (ada(), "role", json!("manager")),
            (ada(), "role", json!(null)),
            (ada(), "role", json!([])),
            (AttributeOwner::Subject(value("Robot", "7")), "role", json!("admin")),
            (AttributeOwner::SubjectOfType("Robot".into()), "role", json!("admin")),
            (AttributeOwner::SubjectOfType("User".into()), "department", json!("Sales")),
            (AttributeOwner::Action("read".into()), "method", json!("GET")),
            (AttributeOwner::Context, "time", json!("1985-10-26T01:22-07:00")),
        ];
        for (of, name, value) in ignored {
            assert_eq!(read(of, name, value.clone()), none, "{name} {value}");
        }
    }

    /// An attribute of a type that the policy does not mention: only a negation would permit more without it.
    #[test]
    fn what_may_deny_something_is_not_ignored() {
        let about = |rule: &str| {
            let policy = format!("actor User {{}} resource Doc {{ permissions = [\"read\"]; }}\n{rule}");
            let attribute = |name: &str, of| Attribute { of, name: name.to_owned(), value: json!(true) };
            let of_page = AttributeOwner::Resource(value("Page", "1"));
            let of_any = AttributeOwner::ResourceOfType("Page".to_owned());
            let valued = |value: Json| Attribute { value, ..attribute("archived", of_page.clone()) };
            let [archived, live, unknown] = [json!([false, true]), json!(false), json!(null)].map(valued);
            let other = attribute("public", of_page.clone());
            [archived, attribute("archived", of_any), other, live, unknown]
                .map(|attribute| read_of(&policy, attribute).map_err(|error| error.to_string()))
        };
        let ignored = || Ok(Vec::new());
        let rule = "allow(u: User, \"read\", d) if not resource_property(d, \"archived\", true);";
        let [one, any, others @ ..] = about(rule);
        for refused in [one, any] {
            assert!(refused.unwrap_err().contains("the policy does not mention the type `Page`"));
        }
        assert_eq!(others, [ignored(), ignored(), ignored()]);
        let positive = "allow(u: User, \"read\", d) if resource_property(d, \"archived\", true);";
        let typed = "allow(u: User, \"read\", d: Doc) if not resource_property(d, \"archived\", true);";
        for rule in [positive, typed] {
            assert_eq!(about(rule), [(); 5].map(|()| ignored()), "{rule}");
        }
    }

    #[test]
    fn a_value_that_a_rule_cannot_see_is_refused() {
        let refused = [
            (doc(), "level", json!(3.0), "only texts"),
            (doc(), "level", json!([{ "x": 1 }]), "only texts"),
            (doc(), "level", json!("3"), "not as a value of type `String`"),
            (ada(), "role", json!(["admin", true]), "not as a value of type `Boolean`"),
            (AttributeOwner::SubjectOfType("User".into()), "role", json!("admin"), "asks for all"),
            (AttributeOwner::ResourceOfType("Doc".into()), "level", json!(1), "asks for all"),
        ];
        for (of, name, value, part) in refused {
            let message = read(of, name, value.clone()).unwrap_err();
            assert!(message.contains(part) && message.contains(name), "{value}: {message}");
        }
    }
}
