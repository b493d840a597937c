//! Which questions are explained: for each permission and each type that may act a check, the list of what is
//! allowed and the list of who is; and for each two types the actions.

use portcullis_compiler::ir::{Program, TypeKind};

/// The block that is not a type.
const GLOBAL: &str = "global";

/// What the service is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Is the resource allowed?
    Check,
    /// A condition that the allowed resources meet.
    List,
    /// A condition that the actors meet to whom the resource is allowed.
    Subjects,
    /// What is allowed to the actor with the resource.
    Actions,
}

impl Form {
    /// Its name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::List => "list",
            Self::Subjects => "subjects",
            Self::Actions => "actions",
        }
    }
}

/// What may a value of the actor's type do with one of the resource's type?
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PermissionQuestion {
    /// What is asked for.
    pub(super) form: Form,
    /// The type of the one who would act.
    pub(super) actor: String,
    /// The permission; `None` if it is asked for.
    pub(super) action: Option<String>,
    /// The type of the resource.
    pub(super) resource: String,
}

impl std::fmt::Display for PermissionQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { form, actor, action, resource } = self;
        match action {
            Some(action) => write!(f, "{}: {actor} {action:?} {resource}", form.as_str()),
            None => write!(f, "{}: {actor} {resource}", form.as_str()),
        }
    }
}

/// The questions of a policy: by resource type, then permission, then actor type, then form.
pub(super) fn questions(program: &Program) -> Vec<PermissionQuestion> {
    let actors = program.types.iter().filter(|ty| ty.kind == TypeKind::Actor);
    let actors: Vec<&str> = actors.map(|ty| ty.name.as_str()).collect();
    let mut questions = Vec::new();
    let blocks = program.blocks.iter().filter(|block| block.name != GLOBAL && !block.permissions.is_empty());
    for block in blocks {
        let mut ask = |form: Form, actor: &str, action: Option<&String>| {
            questions.push(PermissionQuestion {
                form,
                actor: actor.to_owned(),
                action: action.cloned(),
                resource: block.name.clone(),
            });
        };
        for action in &block.permissions {
            for actor in &actors {
                for form in [Form::Check, Form::List, Form::Subjects] {
                    ask(form, actor, Some(action));
                }
            }
        }
        actors.iter().for_each(|actor| ask(Form::Actions, actor, None));
    }
    questions
}
