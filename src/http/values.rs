//! Values, facts and patterns as they are sent.
//!
//! Clients of different ages write a wildcard as `null`, `{}`, `{"type":null,"id":null}` or with a key left
//! out, and one of a single type as `{"type":"User"}`, with or without a null `id`. All of them become an
//! [`ArgPattern`]. If a fact must be concrete, the decoder itself refuses wildcards, so the message names the
//! argument. An id is always a JSON string, even that of an Integer. Unknown fields are ignored, because
//! newer clients send more of them; but in a value of a pattern to delete they are refused.

use super::json::Object;
use super::openapi::{AnsweredValue, Name, Text, ValuePattern};
use crate::engine::{ArgPattern, Fact, FactPattern, Value};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A typed reference before it is validated.
#[derive(Debug, Deserialize)]
struct Loose {
    #[serde(rename = "type")]
    ty: Option<String>,
    id: Option<String>,
}

/// An object or `null`.
type Nullable = Option<Object<Loose>>;

/// A concrete value.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Nullable")]
struct Concrete(Value);

impl TryFrom<Nullable> for Concrete {
    type Error = &'static str;

    fn try_from(sent: Nullable) -> Result<Self, Self::Error> {
        match sent {
            Some(Object(Loose { ty: Some(ty), id: Some(id) })) => Ok(Self(Value { ty, id })),
            Some(Object(Loose { ty: None, id: Some(_) })) => Err("an id without a type"),
            Some(Object(Loose { id: None, .. })) | None => {
                Err("expected a concrete value with `type` and `id`, not a wildcard")
            }
        }
    }
}

/// A value, a typed wildcard or a wildcard.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Nullable")]
struct Wild(ArgPattern);

impl TryFrom<Nullable> for Wild {
    type Error = &'static str;

    fn try_from(sent: Nullable) -> Result<Self, Self::Error> {
        match sent {
            None | Some(Object(Loose { ty: None, id: None })) => Ok(Self(ArgPattern::Any)),
            Some(Object(Loose { ty: Some(ty), id: None })) => Ok(Self(ArgPattern::Typed(ty))),
            Some(Object(Loose { ty: Some(ty), id: Some(id) })) => {
                Ok(Self(ArgPattern::Exact(Value { ty, id })))
            }
            Some(Object(Loose { ty: None, id: Some(_) })) => Err("an id without a type"),
        }
    }
}

/// What a [`Loose`] is in a pattern to delete: a misspelt `id` would make it match more.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exact {
    #[serde(rename = "type")]
    ty: Option<String>,
    id: Option<String>,
}

/// A value, a typed wildcard or a wildcard without any other field.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Option<Object<Exact>>")]
struct ExactWild(ArgPattern);

impl TryFrom<Option<Object<Exact>>> for ExactWild {
    type Error = &'static str;

    fn try_from(sent: Option<Object<Exact>>) -> Result<Self, Self::Error> {
        let sent = sent.map(|Object(Exact { ty, id })| Object(Loose { ty, id }));
        Wild::try_from(sent).map(|Wild(arg)| Self(arg))
    }
}

/// A fact: a predicate with values.
///
/// The active policy must use it.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Fact)]
pub(super) struct FactIn {
    #[schema(value_type = Name)]
    predicate: String,
    /// The type and id of each have at most 384 bytes together.
    #[schema(value_type = Vec<ValueOut>, min_items = 1, max_items = 5)]
    args: Vec<Concrete>,
}

impl From<Object<FactIn>> for Fact {
    fn from(Object(fact): Object<FactIn>) -> Self {
        Self { predicate: fact.predicate, args: fact.args.into_iter().map(|Concrete(value)| value).collect() }
    }
}

/// A fact with wildcards: a pattern to ask for.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FactPattern)]
pub(super) struct PatternIn {
    #[schema(value_type = Text)]
    predicate: String,
    #[schema(value_type = Vec<ValuePattern>)]
    args: Vec<Wild>,
}

impl From<Object<PatternIn>> for FactPattern {
    fn from(Object(pattern): Object<PatternIn>) -> Self {
        let args = pattern.args.into_iter().map(|Wild(arg)| arg).collect();
        Self { predicate: Some(pattern.predicate), args, open_arity: false }
    }
}

/// A fact with wildcards: a pattern to delete.
#[derive(Debug, Deserialize)]
pub(super) struct DeletedIn {
    predicate: String,
    args: Vec<ExactWild>,
}

impl From<Object<DeletedIn>> for FactPattern {
    fn from(Object(pattern): Object<DeletedIn>) -> Self {
        let args = pattern.args.into_iter().map(|ExactWild(arg)| arg).collect();
        Self { predicate: Some(pattern.predicate), args, open_arity: false }
    }
}

/// A list of facts; `null` is the empty list, as some clients write it.
pub(super) type FactsIn = Option<Vec<Object<FactIn>>>;

/// A list of patterns to delete; `null` is the empty list.
pub(super) type DeletesIn = Option<Vec<Object<DeletedIn>>>;

/// Decoded facts as plain data.
pub(super) fn facts(sent: FactsIn) -> Vec<Fact> {
    sent.unwrap_or_default().into_iter().map(Fact::from).collect()
}

/// Decoded patterns as plain data.
pub(super) fn patterns(sent: DeletesIn) -> Vec<FactPattern> {
    sent.unwrap_or_default().into_iter().map(FactPattern::from).collect()
}

/// A resource that a request names.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct ValueIn(Concrete);

impl From<ValueIn> for Value {
    fn from(ValueIn(Concrete(value)): ValueIn) -> Self {
        value
    }
}

/// A typed reference: an entity, or a String, an Integer or a Boolean, whose `id` is a text as well.
///
/// An Integer has 64 bits and is written without leading zeros and without `+`, a Boolean is `true` or
/// `false`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Value)]
pub(super) struct ValueOut {
    #[serde(rename = "type")]
    #[schema(value_type = Name)]
    ty: String,
    #[schema(value_type = Name)]
    id: String,
}

impl From<Value> for ValueOut {
    fn from(value: Value) -> Self {
        Self { ty: value.ty, id: value.id }
    }
}

/// An argument in an answer. A wildcard has its type, if it has one, and no id. Clients expect both keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgOut {
    /// The type.
    #[serde(rename = "type")]
    pub ty: Option<String>,
    /// The id.
    pub id: Option<String>,
}

impl From<Value> for ArgOut {
    fn from(value: Value) -> Self {
        Self { ty: Some(value.ty), id: Some(value.id) }
    }
}

impl From<ArgPattern> for ArgOut {
    fn from(arg: ArgPattern) -> Self {
        match arg {
            ArgPattern::Any => Self { ty: None, id: None },
            ArgPattern::Typed(ty) => Self { ty: Some(ty), id: None },
            ArgPattern::Exact(value) => value.into(),
        }
    }
}

/// A fact in an answer, of values or of wildcards.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnsweredFact)]
pub(super) struct FactOut {
    predicate: String,
    #[schema(value_type = Vec<AnsweredValue>)]
    args: Vec<ArgOut>,
}

impl FactOut {
    /// A fact with any values or wildcards.
    pub(super) fn new<A: Into<ArgOut>>(predicate: String, args: impl IntoIterator<Item = A>) -> Self {
        Self { predicate, args: args.into_iter().map(Into::into).collect() }
    }
}

/// A fact in an answer or a log; encoded like a [`FactOut`].
#[derive(Debug, Serialize)]
pub(super) struct FactText<'a> {
    predicate: &'a str,
    args: Vec<ValueText<'a>>,
}

/// A value of a fact, or by itself.
#[derive(Debug, Serialize)]
pub(super) struct ValueText<'a> {
    #[serde(rename = "type")]
    ty: &'a str,
    id: &'a str,
}

impl<'a> From<&'a Value> for ValueText<'a> {
    fn from(value: &'a Value) -> Self {
        Self { ty: &value.ty, id: &value.id }
    }
}

impl<'a> From<&'a Fact> for FactText<'a> {
    fn from(fact: &'a Fact) -> Self {
        Self { predicate: &fact.predicate, args: fact.args.iter().map(ValueText::from).collect() }
    }
}

impl From<Fact> for FactOut {
    fn from(fact: Fact) -> Self {
        Self::new(fact.predicate, fact.args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(arg: &str) -> Result<ArgPattern, String> {
        let text = format!(r#"{{"predicate":"p","args":[{arg}],"extra":1}}"#);
        let decoded = serde_json::from_str::<Object<PatternIn>>(&text).map_err(|error| error.to_string())?;
        Ok(FactPattern::from(decoded).args.remove(0))
    }

    fn concrete(arg: &str) -> Result<Value, String> {
        let text = format!(r#"{{"predicate":"p","args":[{arg}]}}"#);
        let decoded = serde_json::from_str::<Object<FactIn>>(&text).map_err(|error| error.to_string())?;
        Ok(Fact::from(decoded).args.remove(0))
    }

    #[test]
    fn every_form_of_a_wildcard_is_one() {
        for form in ["null", "{}", r#"{"type":null,"id":null}"#, r#"{"type":null}"#, r#"{"id":null}"#] {
            assert_eq!(pattern(form), Ok(ArgPattern::Any), "{form}");
            assert!(concrete(form).unwrap_err().contains("not a wildcard"), "{form}");
        }
        for form in [r#"{"type":"User"}"#, r#"{"type":"User","id":null}"#] {
            assert_eq!(pattern(form), Ok(ArgPattern::Typed("User".into())), "{form}");
            assert!(concrete(form).unwrap_err().contains("not a wildcard"), "{form}");
        }
    }

    #[test]
    fn a_value_is_a_type_and_a_text() {
        let value = Value { ty: "User".into(), id: "ada".into() };
        let form = r#"{"id":"ada","new":[1],"type":"User"}"#;
        assert_eq!(pattern(form), Ok(ArgPattern::Exact(value.clone())));
        assert_eq!(concrete(form), Ok(value));
    }

    #[test]
    fn a_misspelt_key_does_not_delete_more() {
        let deleted = |arg: &str| {
            let text = format!(r#"{{"predicate":"p","args":[{arg}],"extra":1}}"#);
            let decoded = serde_json::from_str::<Object<DeletedIn>>(&text);
            decoded
                .map(|decoded| FactPattern::from(decoded).args.remove(0))
                .map_err(|error| error.to_string())
        };
        for form in ["null", "{}", r#"{"type":"User"}"#, r#"{"type":"User","id":"ada"}"#, r#"{"id":null}"#] {
            assert_eq!(deleted(form), pattern(form), "{form}");
        }
        let misspelt = r#"{"type":"User","Id":"ada"}"#;
        assert_eq!(pattern(misspelt), Ok(ArgPattern::Typed("User".into())));
        assert!(deleted(misspelt).unwrap_err().contains("unknown field `Id`"));
        assert!(deleted(r#"{"id":"ada"}"#).unwrap_err().contains("an id without a type"));
    }

    #[test]
    fn what_is_neither_is_refused() {
        let wrong = [
            (r#"{"id":"ada"}"#, "an id without a type"),
            (r#"{"type":"Integer","id":7}"#, "invalid type: integer `7`, expected a string"),
            (r#"{"type":"Boolean","id":true}"#, "invalid type: boolean `true`, expected a string"),
            (r#"["User","ada"]"#, "invalid type: sequence, expected an object"),
            (r#""ada""#, "expected an object"),
        ];
        for (form, why) in wrong {
            assert!(pattern(form).unwrap_err().contains(why), "{form}");
            assert!(concrete(form).unwrap_err().contains(why), "{form}");
        }
    }

    #[test]
    fn a_wildcard_is_written_with_both_keys() {
        let value = Value { ty: "User".into(), id: "ada".into() };
        let args = [ArgPattern::Exact(value), ArgPattern::Typed("Doc".into()), ArgPattern::Any];
        let fact = FactOut::new("p".into(), args);
        assert_eq!(
            serde_json::to_string(&fact).unwrap(),
            r#"{"predicate":"p","args":[{"type":"User","id":"ada"},{"type":"Doc","id":null},{"type":null,"id":null}]}"#
        );
    }
}
