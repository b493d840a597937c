//! The programs of questions whose facts are all in a caller's database, for tests of the rewriting passes.

use crate::catalog::{BindingId, Catalog, Relation, RelationArg, RelationSource, SourceId};
use crate::check;
use crate::datalog::Specialised;
use crate::deadline::Deadline;
use crate::question::{Question, QuestionVar, Shape};
use crate::rewrite::{Context, forms};
use crate::source::SourceMap;
use crate::specialise::specialise;

/// The blocks that the rules of each test are added to.
const BLOCKS: &str = r#"
    actor User {}
    resource Folder {
      roles = ["admin", "editor", "viewer"];
      permissions = ["read", "write"];
      relations = { parent: Folder };
      role if role on "parent";
    }
    resource Doc {
      roles = ["admin", "editor", "viewer"];
      permissions = ["read", "write"];
      relations = { folder: Folder };
      role if role on "folder";
    }
    declare grants(String, String);
    declare active(User);
    declare open(Folder);
"#;

/// The bound query of roles on folders, by its place among the relations.
pub(super) const ROLES_ON_FOLDERS: SourceId = SourceId(0);

/// The bound query of roles on documents.
pub(super) const ROLES_ON_DOCUMENTS: SourceId = SourceId(1);

/// The bound query of the parents of folders.
pub(super) const PARENTS: SourceId = SourceId(2);

/// The bound query of the folders that documents are in.
pub(super) const FOLDERS_OF_DOCUMENTS: SourceId = SourceId(3);

/// The bound query of open folders.
pub(super) const OPEN_FOLDERS: SourceId = SourceId(6);

/// The program of a condition on what ada may read, after all passes. `rules` are added to the blocks.
pub(super) fn program(resource: &str, rules: &str) -> Specialised {
    rewritten(resource, rules, true).swap_remove(0)
}

/// The programs that answer the question, best first; `factors` says whether calls are factored out.
pub(super) fn rewritten(resource: &str, rules: &str, factors: bool) -> Vec<Specialised> {
    let policy =
        check(&SourceMap::new("policy.polar", format!("{BLOCKS}{rules}"))).program.expect("a policy");
    let relation = |predicate: &str, types: &[&str]| Relation {
        predicate: predicate.into(),
        args: types
            .iter()
            .enumerate()
            .map(|(at, ty)| RelationArg::Column { ty: (*ty).into(), column: format!("arg{at}") })
            .collect(),
        source: RelationSource::Bound { binding: BindingId::from_index(0), has_typed_texts: true },
    };
    let relations = vec![
        relation("has_role", &["User", "String", "Folder"]),
        relation("has_role", &["User", "String", "Doc"]),
        relation("has_relation", &["Folder", "String", "Folder"]),
        relation("has_relation", &["Doc", "String", "Folder"]),
        relation("grants", &["String", "String"]),
        relation("active", &["User"]),
        relation("open", &["Folder"]),
    ];
    let catalog = Catalog { relations: relations.into() };
    let question = Question::atom(
        "allow",
        vec![
            QuestionVar::given("who", "User", "ada"),
            QuestionVar::given("action", "String", "read"),
            QuestionVar::wanted("what", Some(resource)),
        ],
    );
    let shape = Shape::of(&policy, &question);
    let specialised = specialise(&policy, &catalog, &shape, Deadline::NEVER).expect("a program");
    let context = Context { program: &policy, catalog: &catalog, factors, deadline: Deadline::NEVER };
    let forms = forms(specialised, &context, &mut |_, _| {}).expect("no fault");
    forms.iter().map(|form| form.program.clone()).collect()
}
