//! What requests have in common: subjects, actions, resources, context, pages.

use crate::engine::{Attribute, AttributeOwner, Value};
use crate::http::distinct::DistinctFields;
use crate::http::error::ApiError;
use crate::http::json::Object;
use crate::http::openapi::{Name, Text};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use utoipa::ToSchema;

/// Properties of a part of a request, or its context.
pub(super) type Properties = Option<DistinctFields>;

/// A subject or a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenEntity)]
pub(super) struct EntityIn {
    /// A type of the policy.
    #[serde(rename = "type")]
    #[schema(value_type = Name)]
    ty: String,
    #[schema(value_type = Name)]
    id: String,
    /// Those that the policy reads are facts of this request; others are ignored.
    #[schema(value_type = Option<Object>)]
    properties: Properties,
}

/// The subjects or resources of a type; an id is ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenEntities)]
pub(super) struct EntitiesIn {
    /// A type of the policy.
    #[serde(rename = "type")]
    #[schema(value_type = Name)]
    ty: String,
    /// Ignored, unless the policy reads one of them: it could only be that of a single value.
    #[schema(value_type = Option<Object>)]
    properties: Properties,
}

/// An action.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenAction)]
pub(super) struct ActionIn {
    /// A permission of the policy.
    #[schema(value_type = Text)]
    name: String,
    /// Those that the policy reads are facts of this request; others are ignored.
    #[schema(value_type = Option<Object>)]
    properties: Properties,
}

/// The requested part of a result.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = AuthzenPageRequest)]
pub(super) struct PageIn {
    /// The `next_token` of the previous page, which also determines its size; empty or null for none.
    #[serde(alias = "next_token")]
    pub(super) token: Option<String>,
    /// The maximum number of results; without it, or null, all of them.
    #[schema(value_type = Option<u64>, minimum = 1)]
    pub(super) limit: Option<usize>,
}

/// The parts of a question, taken from a request, and the attributes that came with them.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) attributes: Vec<Attribute>,
}

impl Taken {
    pub(super) fn subject(&mut self, Object(subject): Object<EntityIn>) -> Value {
        let value = Value { ty: subject.ty, id: subject.id };
        self.keep(&AttributeOwner::Subject(value.clone()), subject.properties);
        value
    }

    pub(super) fn resource(&mut self, Object(resource): Object<EntityIn>) -> Value {
        let value = Value { ty: resource.ty, id: resource.id };
        self.keep(&AttributeOwner::Resource(value.clone()), resource.properties);
        value
    }

    pub(super) fn action(&mut self, Object(action): Object<ActionIn>) -> String {
        self.keep(&AttributeOwner::Action(action.name.clone()), action.properties);
        action.name
    }

    pub(super) fn subject_type(&mut self, Object(subjects): Object<EntitiesIn>) -> String {
        self.keep(&AttributeOwner::SubjectOfType(subjects.ty.clone()), subjects.properties);
        subjects.ty
    }

    pub(super) fn resource_type(&mut self, Object(resources): Object<EntitiesIn>) -> String {
        self.keep(&AttributeOwner::ResourceOfType(resources.ty.clone()), resources.properties);
        resources.ty
    }

    pub(super) fn context(&mut self, context: Properties) {
        self.keep(&AttributeOwner::Context, context);
    }

    fn keep(&mut self, of: &AttributeOwner, properties: Properties) {
        let each = properties.into_iter().flat_map(|DistinctFields(properties)| properties);
        self.attributes.extend(each.map(|(name, value)| Attribute { of: of.clone(), name, value }));
    }

    /// A text that determines the attributes, to which a page token is bound.
    pub(super) fn written(&self) -> String {
        let each =
            self.attributes.iter().map(|Attribute { of, name, value }| json!([owner(of), name, value]));
        each.collect::<Json>().to_string()
    }
}

/// A text that determines whose attribute it is. Tokens in clients' hands are bound to it.
fn owner(of: &AttributeOwner) -> Json {
    match of {
        AttributeOwner::Subject(Value { ty, id }) => json!(["subject", ty, id]),
        AttributeOwner::SubjectOfType(ty) => json!(["subjects", ty]),
        AttributeOwner::Action(name) => json!(["action", name]),
        AttributeOwner::Resource(Value { ty, id }) => json!(["resource", ty, id]),
        AttributeOwner::ResourceOfType(ty) => json!(["resources", ty]),
        AttributeOwner::Context => json!(["context"]),
    }
}

impl PageIn {
    /// The size of the pages, if there is one.
    pub(super) fn size(&self) -> Result<Option<usize>, ApiError> {
        match self.limit {
            Some(0) => Err(ApiError::BadRequest("`page.limit` must be at least 1".to_owned())),
            limit => Ok(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(sent: &Json) -> Properties {
        sent.as_object().cloned().map(DistinctFields)
    }

    #[test]
    fn what_tokens_are_bound_to_stays_as_it_is() {
        let entity = |ty: &str, id: &str| {
            let properties = properties(&json!({ "p": 1 }));
            Object(EntityIn { ty: ty.to_owned(), id: id.to_owned(), properties })
        };
        let mut taken = Taken::default();
        taken.subject(entity("User", "ada"));
        taken.resource(entity("Doc", "1"));
        taken.context(properties(&json!({ "ip": "x" })));
        assert_eq!(
            taken.written(),
            r#"[[["subject","User","ada"],"p",1],[["resource","Doc","1"],"p",1],[["context"],"ip","x"]]"#
        );
    }
}
