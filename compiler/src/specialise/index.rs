//! The catalog's relations, resolved to the policy's predicates and types.

use crate::catalog::{Catalog, Relation, RelationArg, SourceId};
use crate::ir::{ConstId, Constant, PredId, Program, SignatureArg, TypeId};
use crate::question::CompileError;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// A catalog relation with its names resolved.
#[derive(Clone, Debug)]
pub(super) struct ResolvedRelation {
    /// The source.
    pub(super) id: SourceId,
    /// One entry per argument.
    pub(super) args: Vec<SourceArg>,
}

/// One argument of a source.
#[derive(Clone, Debug)]
pub(super) enum SourceArg {
    /// A column of values of this type.
    Column(TypeId),
    /// The same literal in every row.
    Constant(ConstId),
    /// A column of values of several types, all of them if `None`; used where only the graph of
    /// dependencies is asked for.
    Open(Option<Vec<TypeId>>),
}

/// A relation of the catalog with a type that the policy does not mention.
#[derive(Debug)]
pub(super) struct LeftOut {
    /// One entry per argument; `None` if it has such a type.
    pub(super) args: Vec<Option<SourceArg>>,
    /// The key that binds the relation's facts.
    pub(super) key: String,
    /// The first such type.
    pub(super) ty: String,
}

impl LeftOut {
    /// A relation, with its arguments as far as they are known; `None` if all are.
    fn new(relation: &Relation, args: Vec<Option<SourceArg>>) -> Option<Self> {
        let (unknown, _) = relation.args.iter().zip(&args).find(|(_, known)| known.is_none())?;
        Some(Self { ty: unknown.ty().to_owned(), key: relation.key(), args })
    }
}

/// What the sources are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SourcesOf {
    /// The relations of a catalog.
    #[default]
    Catalog,
    /// All that a policy admits, for its graph of dependencies.
    Signatures,
}

/// The catalog's relations that hold facts of the policy's predicates and types.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) of: SourcesOf,
    by_predicate: FxHashMap<PredId, Vec<ResolvedRelation>>,
    /// The place of each relation of the catalog among those of its predicate.
    places: FxHashMap<SourceId, (PredId, usize)>,
    /// The relations with a type that the policy does not mention.
    left_out: FxHashMap<PredId, Vec<LeftOut>>,
    /// Literals that the policy does not have.
    pub(super) extra_constants: IndexSet<Constant>,
}

impl Sources {
    /// Resolves a catalog. Relations with an unknown predicate can match nothing.
    pub(super) fn new(program: &Program, catalog: &Catalog) -> Self {
        let mut sources = Self::default();
        for (id, relation) in catalog.relations.enumerate() {
            let Some(pred) = program.predicate_id(&relation.predicate, relation.args.len()) else { continue };
            let args: Vec<_> = relation.args.iter().map(|arg| sources.arg(program, arg)).collect();
            match args.iter().cloned().collect() {
                Some(args) => sources.add(pred, ResolvedRelation { id, args }),
                None => sources.left_out.entry(pred).or_default().extend(LeftOut::new(relation, args)),
            }
        }
        sources
    }

    /// A relation for everything that the policy's signatures admit.
    pub(super) fn of_signatures(program: &Program) -> Self {
        let mut sources = Self { of: SourcesOf::Signatures, ..Self::default() };
        for (id, signature) in program.signatures.enumerate() {
            let Some(pred) = program.predicate_id(&signature.predicate, signature.args.len()) else {
                continue;
            };
            let args = signature.args.iter().map(|arg| match arg {
                SignatureArg::OneOf(types) => match types.as_slice() {
                    [only] => SourceArg::Column(*only),
                    _ => SourceArg::Open(Some(types.clone())),
                },
                SignatureArg::Literal(text) => program
                    .string_literal(text)
                    .map_or(SourceArg::Column(TypeId::STRING), SourceArg::Constant),
                SignatureArg::Any => SourceArg::Open(None),
            });
            sources
                .add(pred, ResolvedRelation { id: SourceId::from_index(id.index()), args: args.collect() });
        }
        sources
    }

    fn add(&mut self, pred: PredId, source: ResolvedRelation) {
        let siblings = self.by_predicate.entry(pred).or_default();
        self.places.insert(source.id, (pred, siblings.len()));
        siblings.push(source);
    }

    fn arg(&mut self, program: &Program, arg: &RelationArg) -> Option<SourceArg> {
        match arg {
            RelationArg::Column { ty, .. } => Some(SourceArg::Column(program.type_id(ty)?)),
            RelationArg::Constant { ty, text } => {
                let constant = Constant { ty: program.type_id(ty)?, text: text.clone() };
                let id = match program.constants.get_index_of(&constant) {
                    Some(index) => index,
                    None => program.constants.len() + self.extra_constants.insert_full(constant).0,
                };
                Some(SourceArg::Constant(ConstId::from_index(id)))
            }
        }
    }

    /// A relation of the catalog that answers a call.
    pub(super) fn find(&self, id: SourceId) -> Result<&ResolvedRelation, CompileError> {
        let place = self.places.get(&id);
        let found = place.and_then(|(pred, place)| self.by_predicate.get(pred)?.get(*place));
        found.ok_or_else(|| CompileError::Bug("a call is answered by an unknown relation".into()))
    }

    /// The relations of a predicate with a type that the policy does not mention; usually there are none.
    pub(super) fn left_out(&self, pred: PredId) -> &[LeftOut] {
        self.left_out.get(&pred).map_or(&[], Vec::as_slice)
    }

    /// The relations that hold facts of a predicate, in catalog order; often there are none.
    pub(super) fn of(&self, pred: PredId) -> &[ResolvedRelation] {
        self.by_predicate.get(&pred).map_or(&[], Vec::as_slice)
    }
}
