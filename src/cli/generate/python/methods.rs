//! The methods of the client as a protocol, with an overload for each type of resource.

use super::{PythonModule, literal, literals, value_of};
use crate::cli::generate::names::{ActionType, PolicyTypes};
use std::collections::BTreeSet;

/// Parameters that follow the question.
const CONTEXT: &str = "context_facts: Optional[List[PolicyFact]] = None";

const PARITY: &str = "parity_handle: Optional[ParityHandle] = None";

/// The methods whose types are the same for every type of resource.
const OTHERS: &str = "
    def insert(self, fact: PolicyFact) -> None: ...

    def delete(self, fact: PolicyPattern) -> None: ...

    def batch(self) -> ContextManager[TypedBatch]: ...

    def get(self, fact: PolicyPattern) -> List[Fact]: ...

    def build_query(self, query: PolicyQuery) -> QueryBuilder: ...

    def policy(self, policy: str) -> None: ...

    def get_policy_metadata(self) -> PolicyMetadata: ...

    def for_agents(
        self, agent_id: str, session_id: UUID, users: List[Value], **extra: Any
    ) -> ForAgents: ...


def typed(client: Oso) -> TypedOso:
    \"\"\"The same client, with the types of the policy.\"\"\"
    return cast(TypedOso, client)
";

/// A method that asks about a type of resource.
struct Method {
    name: &'static str,
    /// What it takes: the names of its parameters besides `self`.
    parameters: &'static [Parameter],
    returns: Returns,
}

enum Parameter {
    /// `actor`
    Actor,
    /// `action`
    Action,
    /// `resource`
    Resource,
    /// `resource_type`
    ResourceType,
    /// One whose type does not depend on the policy.
    Other(&'static str),
}

enum Returns {
    Actions,
    Other(&'static str),
}

const METHODS: &[Method] = {
    use Parameter::{Action, Actor, Other, Resource, ResourceType};
    &[
        Method {
            name: "authorize",
            parameters: &[Actor, Action, Resource, Other(CONTEXT), Other(PARITY)],
            returns: Returns::Other("bool"),
        },
        Method {
            name: "list",
            parameters: &[Actor, Action, ResourceType, Other(CONTEXT)],
            returns: Returns::Other("List[str]"),
        },
        Method {
            name: "list_paginated",
            parameters: &[
                Actor,
                Action,
                ResourceType,
                Other("page_size: int"),
                Other("page_token: Optional[str] = None"),
                Other(CONTEXT),
            ],
            returns: Returns::Other("ListResult"),
        },
        Method { name: "actions", parameters: &[Actor, Resource, Other(CONTEXT)], returns: Returns::Actions },
        Method {
            name: "authorize_local",
            parameters: &[Actor, Action, Resource, Other(CONTEXT), Other(PARITY)],
            returns: Returns::Other("str"),
        },
        Method {
            name: "list_local",
            parameters: &[Actor, Action, ResourceType, Other("column: str"), Other(CONTEXT)],
            returns: Returns::Other("str"),
        },
        Method {
            name: "actions_local",
            parameters: &[Actor, Resource, Other(CONTEXT)],
            returns: Returns::Other("str"),
        },
    ]
};

/// Writes the protocols, and the function that gives a client its types.
pub(super) fn protocol(module: &mut PythonModule<'_>) {
    module.write(
        "\n\nclass TypedBatch(Protocol):\n    \"\"\"Changes that are made together.\"\"\"\n\n    \
         def insert(self, fact: PolicyFact) -> None: ...\n\n    \
         def delete(self, fact: PolicyPattern) -> None: ...\n\n\n\
         class TypedOso(Protocol):\n    \"\"\"A client that only accepts what the policy knows.\"\"\"\n",
    );
    let types = module.types;
    let mark = if types.questions.len() > 1 { "    @overload\n" } else { "" };
    for method in METHODS {
        for question in &types.questions {
            module.write(&format!("\n{mark}{}", signature(types, method, question)));
        }
    }
    module.write(OTHERS);
}

fn signature(types: &PolicyTypes, method: &Method, question: &ActionType) -> String {
    let resource = question.resource.as_deref().unwrap_or_default();
    let actions = question.actions.as_ref();
    let indented = |layout: super::Layout, before: &str| layout.text(before.len() + 9, 8, 4);
    let action_type = |before: &str| match actions {
        Some(actions) => indented(literals(actions), before),
        None => "str".to_owned(),
    };
    let parameter = |parameter: &Parameter| match parameter {
        Parameter::Actor => {
            format!("actor: {}", indented(value_of(types, &question.actors), "actor: "))
        }
        Parameter::Action => format!("action: {}", action_type("action: ")),
        Parameter::Resource => {
            let only = BTreeSet::from([resource.to_owned()]);
            format!("resource: {}", indented(value_of(types, &only), "resource: "))
        }
        Parameter::ResourceType => format!("resource_type: {}", literal(resource)),
        Parameter::Other(text) => (*text).to_owned(),
    };
    let parameters: String = method
        .parameters
        .iter()
        .map(|each| format!("        {},\n", parameter(each)))
        .collect::<Vec<_>>()
        .concat();
    let returns = match method.returns {
        Returns::Actions => format!("List[{}]", action_type("")),
        Returns::Other(text) => text.to_owned(),
    };
    format!("    def {}(\n        self,\n{parameters}    ) -> {returns}: ...\n", method.name)
}
