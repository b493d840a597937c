//! Which questions are explained: each permission, for each type that may act.

use portcullis_compiler::ir::{Program, TypeKind};

/// The block that is not a type.
const GLOBAL: &str = "global";

/// May a value of the actor's type do this to one of the resource's type?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PermissionQuestion {
    /// The type of the one who would act.
    pub(super) actor: String,
    /// The permission.
    pub(super) action: String,
    /// The type of the resource.
    pub(super) resource: String,
}

impl std::fmt::Display for PermissionQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {}", self.actor, self.action, self.resource)
    }
}

/// The questions of a policy: by resource type, then permission, then actor type.
pub(super) fn questions(program: &Program) -> Vec<PermissionQuestion> {
    let actors = program.types.iter().filter(|ty| ty.kind == TypeKind::Actor);
    let actors: Vec<&str> = actors.map(|ty| ty.name.as_str()).collect();
    let mut questions = Vec::new();
    for block in program.blocks.iter().filter(|block| block.name != GLOBAL) {
        for action in &block.permissions {
            questions.extend(actors.iter().map(|actor| PermissionQuestion {
                actor: (*actor).to_owned(),
                action: action.clone(),
                resource: block.name.clone(),
            }));
        }
    }
    questions
}
