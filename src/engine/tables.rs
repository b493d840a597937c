//! The tables that readable SQL assumes: one for each kind of fact that a policy can store.
//!
//! In: a program. Out: a catalog with names that depend only on the policy, so the printed SQL can be tried
//! at once. A fact `has_role(User, "member", Repo)` is a row of `has_role_user_string_repo`, with the columns
//! `arg0`, `arg1`, `arg2`. If two kinds would get the same name, the second gets a number.

use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeKind};
use portcullis_compiler::primitive::STRING;
use std::collections::BTreeSet;

/// More tables than are useful, but few enough for memory.
const MAX_TABLES: usize = 100_000;

/// A policy whose facts would need more tables than are useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy has more than {limit} kinds of facts: add types to the variables of its rules")]
pub struct TooManyTables {
    /// The most there may be.
    pub limit: usize,
}

/// One table for each combination of types that a signature of the policy admits.
///
/// # Errors
/// [`TooManyTables`] if there are more than anyone could read.
pub fn review_tables(program: &Program) -> Result<Catalog, TooManyTables> {
    let mut signatures: BTreeSet<(String, Vec<String>)> = BTreeSet::new();
    for signature in &program.signatures {
        let types = combinations(program, signature);
        if types.len() + signatures.len() > MAX_TABLES {
            return Err(TooManyTables { limit: MAX_TABLES });
        }
        signatures.extend(types.into_iter().map(|types| (signature.predicate.clone(), types)));
    }
    let mut taken = BTreeSet::new();
    let relation = |(predicate, types): (String, Vec<String>)| {
        let parts =
            std::iter::once(&predicate).chain(&types).map(|part| part.to_lowercase().replace("::", "_"));
        let base = parts.collect::<Vec<_>>().join("_");
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = name.unwrap_or(base);
        taken.insert(name.clone());
        let column = |(position, ty)| RelationArg::Column { ty, column: format!("arg{position}") };
        let args = types.into_iter().enumerate().map(column).collect();
        Relation { predicate, args, source: RelationSource::Table { schema: None, name } }
    };
    Ok(Catalog { relations: signatures.into_iter().map(relation).collect() })
}

/// The combinations of argument types of a signature. An argument of any type may have each type of the
/// policy. Stops if there are too many.
fn combinations(program: &Program, signature: &Signature) -> Vec<Vec<String>> {
    let mut combinations = vec![Vec::new()];
    for arg in &signature.args {
        let types: Vec<String> = match arg {
            SignatureArg::OneOf(types) => types.iter().map(|ty| program.types[*ty].name.clone()).collect(),
            SignatureArg::Literal(_) => vec![STRING.to_owned()],
            SignatureArg::Any => concrete(program),
        };
        combinations = combinations
            .into_iter()
            .flat_map(|args: Vec<String>| {
                let extended = |ty: &String| args.iter().cloned().chain([ty.clone()]).collect();
                types.iter().map(extended).collect::<Vec<Vec<String>>>()
            })
            .take(MAX_TABLES + 1)
            .collect();
    }
    combinations
}

fn concrete(program: &Program) -> Vec<String> {
    let concrete = program.types.iter().filter(|ty| match ty.kind {
        TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
        TypeKind::Abstract | TypeKind::Foreign => false,
    });
    concrete.map(|ty| ty.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_compiler::source::SourceMap;

    fn names(policy: &str) -> Vec<String> {
        let checked = portcullis_compiler::check(&SourceMap::new("p", policy));
        let program = checked.program.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics));
        let name = |relation: Relation| match relation.source {
            RelationSource::Table { name, .. } => format!("{name}({})", relation.args.len()),
            RelationSource::Context { .. } | RelationSource::Bound { .. } => panic!("neither"),
        };
        review_tables(&program).expect("few tables").relations.into_iter().map(name).collect()
    }

    #[test]
    fn literals_share_the_table_of_their_type() {
        let policy = r#"
            actor User {} resource Repo {}
            allow(u: User, "read", r: Repo) if has_role(u, "a", r) or has_role(u, "b", r);
            declare q(A::B); declare q(a_b);
        "#;
        let names = names(policy);
        assert!(names.contains(&"has_role_user_string_repo(3)".to_owned()), "{names:?}");
        assert!(
            names.contains(&"q_a_b(1)".to_owned()) && names.contains(&"q_a_b_2(1)".to_owned()),
            "{names:?}"
        );
        assert_eq!(names.iter().filter(|name| name.starts_with("has_role_user")).count(), 1, "{names:?}");
    }
}
