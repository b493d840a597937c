//! The names that every policy has without declaring them: built-in predicates and abstract types.
//!
//! Blocks and their shorthand are written out as rules of these predicates, and `allow` is what checks ask.

/// `allow(actor, action, resource)` or `allow(actor, action)`, the entry point of checks.
pub const ALLOW: &str = "allow";
/// `has_permission(actor, permission, resource)`; without a resource for a global permission.
pub const HAS_PERMISSION: &str = "has_permission";
/// `has_role(actor, role, resource)`; without a resource for a global role.
pub const HAS_ROLE: &str = "has_role";
/// `has_relation(resource, relation, resource)`.
pub const HAS_RELATION: &str = "has_relation";

/// `subject_property(subject, name, value)`: a property of a subject that an AuthZEN request gives.
pub const SUBJECT_PROPERTY: &str = "subject_property";
/// `action_property(name, value)`, of the action.
pub const ACTION_PROPERTY: &str = "action_property";
/// `resource_property(resource, name, value)`, of the resource.
pub const RESOURCE_PROPERTY: &str = "resource_property";
/// `context_property(name, value)`, of the request's context.
pub const CONTEXT_PROPERTY: &str = "context_property";

/// The abstract type of all actors.
pub const ACTOR: &str = "Actor";
/// The abstract type of all resources.
pub const RESOURCE: &str = "Resource";

/// The built-in predicates with the numbers of arguments that they may have.
pub const PREDICATES: [(&str, &[usize]); 4] =
    [(HAS_ROLE, &[2, 3]), (HAS_PERMISSION, &[2, 3]), (HAS_RELATION, &[3]), (ALLOW, &[2, 3])];

/// Whether a predicate with this number of arguments is built in.
pub fn is_predicate(name: &str, arity: usize) -> bool {
    PREDICATES.iter().any(|(known, arities)| *known == name && arities.contains(&arity))
}

/// Whether a type is abstract: it admits the values of other types and has none of its own.
pub fn is_abstract(ty: &str) -> bool {
    ty == ACTOR || ty == RESOURCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_predicate_has_its_own_numbers_of_arguments() {
        assert!(is_predicate("allow", 2) && is_predicate("has_relation", 3));
        assert!(!is_predicate("allow", 4) && !is_predicate("has_relation", 2) && !is_predicate("allows", 3));
    }
}
