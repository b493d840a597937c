//! Schemas that cannot be derived: texts, wildcards, groups, calls.
//!
//! A value on the wire has more forms than its Rust type has variants, because clients of different ages
//! write the same thing differently, and the decoders of `http::values` accept them all. Each form has a name
//! in the document; a type without values represents it where a field is described.

use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, ArrayItems, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// Any text without a NUL, which databases do not accept.
const NO_NUL: &str = r"^[^\u0000]*$";

/// Declares schemas: the name, and how it is built.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr;)+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug)]
            pub(in crate::http) enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    $schema.into()
                }
            }

            impl ToSchema for $name {}
        )+
    };
}

shapes! {
    /// A text without NUL.
    Text = text().description(Some("A text without a NUL character"));

    /// A text that is not empty.
    Name = text().min_length(Some(1)).description(Some("A text that is not empty, without a NUL character"));

    /// An argument of a pattern, in each form that clients send.
    ValuePattern = {
        let anything = object([("type", null().into()), ("id", null().into())], []);
        let id = ObjectBuilder::new()
            .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
            .pattern(Some(NO_NUL));
        let typed = object([("type", text().into()), ("id", id.into())], ["type"]);
        AnyOfBuilder::new()
            .description(Some(
                "A value; a typed wildcard, whose `id` is null or left out; or a wildcard for anything, which is \
                 null or an object whose `type` and `id` are both null or left out. An id needs a type",
            ))
            .item(null().description(Some("Anything")))
            .item(anything.description(Some("Anything")))
            .item(typed.description(Some("A value, or any value of the type")))
    };

    /// An argument of a fact in an answer.
    AnsweredValue = {
        let arg = |ty: ObjectBuilder, id: ObjectBuilder| object([("type", ty.into()), ("id", id.into())], ["type", "id"]);
        AnyOfBuilder::new()
            .description(Some("A value, or a wildcard for any value or any value of a type"))
            .item(arg(text(), text()).description(Some("A value")))
            .item(arg(text(), null()).description(Some("Any value of the type")))
            .item(arg(null(), null()).description(Some("Anything")))
    };

    /// An element of a batch.
    BatchItem = {
        let group = |name: &str, other: &str, of: &str| {
            let facts = ArrayBuilder::new().items(Ref::from_schema_name(of));
            object([(name, facts.into()), (other, null().into())], [name])
        };
        OneOfBuilder::new()
            .description(Some("Either facts to add or patterns of facts to delete"))
            .item(group("inserts", "deletes", "Fact").title(Some("Inserts")))
            .item(group("deletes", "inserts", "FactPattern").title(Some("Deletes")))
    };

    /// A predicate's name and the variables of the call, as a pair.
    Call = ArrayBuilder::new()
        .description(Some("A pair: a predicate's name, and the names of the call's variables"))
        .prefix_items([Schema::Object(text().build()), Schema::Array(ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String)).build())])
        .items(ArrayItems::False)
        .min_items(Some(2))
        .max_items(Some(2));

    /// The body of any endpoint that answers with SQL.
    ExplainRequest = AnyOfBuilder::new()
        .description(Some("The body of any endpoint that answers with SQL, recognized by its fields"))
        .item(Ref::from_schema_name("AuthorizeQueryRequest"))
        .item(Ref::from_schema_name("ListQueryRequest"))
        .item(Ref::from_schema_name("ListSubjectsQueryRequest"))
        .item(Ref::from_schema_name("ActionsQueryRequest"))
        .item(Ref::from_schema_name("EvaluateQueryLocalRequest"));

    /// The body of a check or of a conjunction.
    ExplainDecisionRequest = AnyOfBuilder::new()
        .description(Some("The body of `/authorize` or of `/evaluate_query`, recognized by its fields"))
        .item(Ref::from_schema_name("AuthorizeRequest"))
        .item(Ref::from_schema_name("EvaluateQueryRequest"));

    /// Actions on several resources.
    ManyActions = ArrayBuilder::new().items(Ref::from_schema_name("Results_String"));

    /// The body of every error.
    Error = {
        let message = ObjectBuilder::new().schema_type(Type::String).description(Some("What is wrong, for people"));
        let code = Ref::from_schema_name("ErrorCode");
        object([("message", message.into()), ("code", code.into())], ["message", "code"])
            .description(Some("What is wrong"))
    };
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(NO_NUL))
}

fn null() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Null)
}

fn object<const N: usize, const M: usize>(
    properties: [(&str, RefOr<Schema>); N],
    required: [&str; M],
) -> ObjectBuilder {
    let object = properties.into_iter().fold(ObjectBuilder::new(), |object, (name, schema)| {
        object.schema_type(Type::Object).property(name, schema)
    });
    required.into_iter().fold(object, ObjectBuilder::required)
}
