//! Compiled questions, kept so that a question of a known shape costs a look-up.
//!
//! In: a question's [`Shape`]. Out: its [`Statement`]. A [`Plans`] belongs to one policy version and one
//! generation of the store's relations and is replaced as a whole when either changes, so a key is only
//! the shape and the signatures of the context facts. What a stranger may ask is unlimited, what is kept is
//! not: the cache is bounded by the bytes of its statements and sheds what is not asked again.
//!
//! ```text
//! Question ─▶ Shape + context signatures ─▶ hash ─▶ hit:  Arc<Statement>     about 1 µs
//!                                                 └▶ miss: compile, keep     off the async workers
//! ```

use super::catalog::{self, Context, ContextSignature};
use super::local::LocalKey;
use super::versions::Active;
use crate::store::Relations;
use portcullis_compiler::catalog::Relation;
use portcullis_compiler::local::LocalPlan;
use portcullis_compiler::question::{CompileError, Question, Shape, Statement};
use portcullis_compiler::{Dialect, compile};
use quick_cache::{Weighter, sync::Cache};
use std::sync::Arc;

/// How many plans for callers' databases are kept; each takes some tens of KiB.
const LOCAL_PLANS: usize = 1_000;

/// The compiled questions of one policy over one generation of relations.
#[derive(Debug)]
pub(super) struct Plans {
    /// The policy that all of them were compiled from.
    pub(super) policy: Arc<Active>,
    /// INVARIANT: the store keeps the tables that the statements name while this is held.
    relations: Arc<Relations>,
    stored: Vec<Relation>,
    cache: Cache<PlanKey, Arc<Statement>, StatementBytes>,
    local: Cache<LocalKey, Arc<LocalPlan>>,
}

/// What distinguishes two statements of one [`Plans`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlanKey {
    shape: Shape,
    context: Vec<ContextSignature>,
}

impl PlanKey {
    /// The key of a question under the policy of these plans.
    pub(super) fn of(plans: &Plans, question: &Question, context: &Context) -> Self {
        Self { shape: Shape::of(&plans.policy.program, question), context: context.signatures.clone() }
    }
}

impl Plans {
    /// Starts without any; `bytes` bounds what is kept.
    pub(super) fn new(policy: Arc<Active>, relations: Arc<Relations>, bytes: u64) -> Self {
        let stored = catalog::stored(&policy.program, &relations.relations);
        // A statement of a usual policy is 1 to 4 KiB long.
        let expected = usize::try_from(bytes / 2048).unwrap_or(usize::MAX).min(1 << 16);
        let cache = Cache::with_weighter(expected, bytes, StatementBytes);
        let local = Cache::new(LOCAL_PLANS);
        Self { policy, relations, stored, cache, local }
    }

    /// The store's relations that the policy can read.
    pub(super) fn stored(&self) -> &[Relation] {
        &self.stored
    }

    /// The plan for callers' databases, if this one was made before and is still kept.
    pub(super) fn known_local(&self, key: &LocalKey) -> Option<Arc<LocalPlan>> {
        self.local.get(key)
    }

    /// Keeps a plan for callers' databases.
    pub(super) fn keep_local(&self, key: LocalKey, plan: &Arc<LocalPlan>) {
        self.local.insert(key, Arc::clone(plan));
    }

    /// Which of the store's relations the statements know: later ones have a higher number.
    pub(super) fn generation(&self) -> u64 {
        self.relations.generation
    }

    /// The statement, if this shape was compiled before and is still kept.
    pub(super) fn known(&self, key: &PlanKey) -> Option<Arc<Statement>> {
        self.cache.get(key)
    }

    /// Compiles and keeps a statement; a shape that the compiler refuses is not kept.
    pub(super) fn compile(&self, key: PlanKey) -> Result<Arc<Statement>, CompileError> {
        let catalog = catalog::catalog(&self.stored, &key.context);
        let statement = Arc::new(compile(&self.policy.program, &catalog, &key.shape, Dialect::Sqlite)?);
        self.cache.insert(key, Arc::clone(&statement));
        Ok(statement)
    }
}

/// Weighs a cached statement by the memory that it and its key take.
#[derive(Clone, Copy, Debug)]
struct StatementBytes;

impl Weighter<PlanKey, Arc<Statement>> for StatementBytes {
    fn weight(&self, key: &PlanKey, statement: &Arc<Statement>) -> u64 {
        let atoms = key.shape.atoms.iter().map(|(name, args)| name.len() + 8 * args.len() + 48);
        let vars = key.shape.vars.iter().map(|var| var.name.len() + 48);
        let context = key.context.iter().map(|(predicate, types)| {
            predicate.len() + 48 + types.iter().map(|ty| ty.len() + 24).sum::<usize>()
        });
        let key: usize = atoms.chain(vars).chain(context).sum();
        let statement = statement.sql.len() + 16 * statement.slots.len();
        u64::try_from(key + statement + 128).unwrap_or(u64::MAX)
    }
}
