//! The error codes of the HTTP interface.
//!
//! A code says what kind of error it is, for programs; its message says what is wrong this time, for people.
//! Codes stay as they are; what each means and what to do is in `docs/errors.md`, which a test compares with
//! this list.

use crate::engine::{PolicyRefusal, Refusal};
use axum::http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Declares the codes: a name, the text on the wire, the status.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $status:ident;)+) => {
        /// What kind of error it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $name,)+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// The status of an answer with this code.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)+
                }
            }
        }
    };
}

codes! {
    /// The body is not JSON.
    InvalidJson = "invalid_json", BAD_REQUEST;
    /// A field, a parameter or a value is wrong.
    InvalidRequest = "invalid_request", BAD_REQUEST;
    /// The policy has no such predicate.
    UnknownPredicate = "unknown_predicate", BAD_REQUEST;
    /// A rule only tests values that were asked for.
    NotEnumerable = "not_enumerable", BAD_REQUEST;
    /// The answer depends on a value that nothing binds.
    NotExplainable = "not_explainable", BAD_REQUEST;
    /// A rule tests a variable that may be of any type.
    UntypedVariable = "untyped_variable", BAD_REQUEST;
    /// The question recurses through values that nothing enumerates.
    UnseededRecursion = "unseeded_recursion", BAD_REQUEST;
    /// The question needs more than one statement can hold.
    QuestionTooLarge = "question_too_large", BAD_REQUEST;
    /// The SQL of a local check would hold too many values of stored facts.
    TooManyValues = "too_many_values", BAD_REQUEST;
    /// A rule may deny something because of bound facts of a type that the policy does not mention.
    UnmentionedType = "unmentioned_type", BAD_REQUEST;
    /// The question, or the tests of a policy, took longer than their limit.
    Timeout = "timeout", BAD_REQUEST;
    /// The data bindings are wrong.
    InvalidBindings = "invalid_bindings", BAD_REQUEST;
    /// The rows of a caller's database do not fit the answer of the local check.
    ContradictoryRows = "contradictory_rows", BAD_REQUEST;
    /// The policy does not validate.
    InvalidPolicy = "invalid_policy", BAD_REQUEST;
    /// Stored facts deny something, and the policy would not read them.
    UnreadFacts = "unread_facts", BAD_REQUEST;
    /// The policy validates, and its own tests fail.
    PolicyTestsFailed = "policy_tests_failed", BAD_REQUEST;
    /// No key, or none that is known.
    Unauthorized = "unauthorized", UNAUTHORIZED;
    /// A read-only key on a mutation.
    ReadOnlyKey = "read_only_key", FORBIDDEN;
    /// A request to the studio, or with `--dev`, that may be of another page.
    ForeignPage = "foreign_page", FORBIDDEN;
    /// There is no such path, policy or version.
    NotFound = "not_found", NOT_FOUND;
    /// The path has no such method.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED;
    /// A write that the request must see was lost.
    LostWrite = "lost_write", CONFLICT;
    /// The body did not arrive in time.
    SlowBody = "slow_body", REQUEST_TIMEOUT;
    /// Over a limit of size.
    LimitExceeded = "limit_exceeded", PAYLOAD_TOO_LARGE;
    /// The body is not sent as JSON.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE;
    /// The key is over its rate.
    RateLimited = "rate_limited", TOO_MANY_REQUESTS;
    /// A fault of the service.
    InternalError = "internal_error", INTERNAL_SERVER_ERROR;
    /// The service cannot answer at the moment.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE;
    /// Nothing can be stored: the disk is full, or it failed.
    CannotStore = "cannot_store", SERVICE_UNAVAILABLE;
    /// Nothing can be stored: files of the store were removed, replaced or changed.
    FilesMoved = "files_moved", SERVICE_UNAVAILABLE;
    /// This node has seen writes that the database has lost.
    RestartRequired = "restart_required", SERVICE_UNAVAILABLE;
    /// The store was migrated, and this node is too old for it.
    UpgradeRequired = "upgrade_required", SERVICE_UNAVAILABLE;
    /// The request is not valid HTTP.
    InvalidHttp = "invalid_http", BAD_REQUEST;
    /// The path and its parameters are too long.
    UriTooLong = "uri_too_long", URI_TOO_LONG;
    /// The headers are too many or too large.
    HeadersTooLarge = "headers_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE;
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl PartialSchema for ErrorCode {
    fn schema() -> RefOr<Schema> {
        let codes = Self::ALL.iter().map(|code| code.as_str());
        let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes));
        schema.description(Some("What kind of error it is, for programs")).into()
    }
}

impl ToSchema for ErrorCode {}

impl From<&Refusal> for ErrorCode {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::NotEnumerable { .. } => Self::NotEnumerable,
            Refusal::NotExplainable { .. } => Self::NotExplainable,
            Refusal::Untyped { .. } => Self::UntypedVariable,
            Refusal::Unseeded { .. } => Self::UnseededRecursion,
            Refusal::TooLarge { .. } => Self::QuestionTooLarge,
            Refusal::TooManyValues { .. } => Self::TooManyValues,
            Refusal::Unmentioned { .. } => Self::UnmentionedType,
        }
    }
}

impl From<&PolicyRefusal> for ErrorCode {
    fn from(refusal: &PolicyRefusal) -> Self {
        match refusal {
            PolicyRefusal::Validation { .. } => Self::InvalidPolicy,
            PolicyRefusal::UnreadFacts { .. } => Self::UnreadFacts,
            PolicyRefusal::Tests { .. } => Self::PolicyTestsFailed,
        }
    }
}
