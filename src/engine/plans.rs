//! The cache of compiled questions: a question of a known shape costs a look-up.
//!
//! In: a question's [`Shape`]. Out: its [`Statement`]. A [`Plans`] belongs to one policy version and one
//! generation of the store's relations, and is replaced as a whole when either changes; so a key is only the
//! shape and the signatures of the context facts. Clients can ask any number of different questions, so the
//! cache is bounded by the memory of its statements and evicts those that are not asked again. Refusals are
//! cached like statements, because they can take the longest to find; timeouts are kept for a
//! short time ([`cached`]).
//!
//! ```text
//! Question ─▶ Shape + context signatures ─▶ hash ─▶ hit:  Arc<Statement>     about 1 µs
//!                                                 └▶ miss: compile, keep     off the async workers
//! ```

mod cached;

use super::EngineError;
use super::catalog::{self, Context, ContextSignature};
use super::local::{Document, LocalKey, TextKey, check_names};
use super::versions::Active;
use crate::store::Relations;
use cached::{CachedResult, keep, known};
use portcullis_compiler::catalog::{Catalog, Relation};
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::ir::Program;
use portcullis_compiler::local::{self, LocalPlan, PlanOptions, Template};
use portcullis_compiler::question::{CompileError, Question, Shape, Statement};
use portcullis_compiler::why::Rules;
use portcullis_compiler::{StoreDialect, compile_for_store};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A compiled question, or why the compiler refused it.
pub(super) type Compiled = Result<Arc<Statement>, CompileError>;

/// The rules of a question for explanations, or why the compiler refused it.
pub(super) type Traced = Result<Arc<Rules>, CompileError>;

/// A question's plan for a caller's database, or why the compiler refused it.
pub(super) type PlannedLocal = Result<Arc<KeptPlan>, CompileError>;

/// The compiled questions of one policy over one generation of relations.
#[derive(Debug)]
pub(super) struct Plans {
    /// The policy from which they were compiled.
    pub(super) policy: Arc<Active>,
    /// INVARIANT: the store keeps the tables that the statements name while this is held.
    relations: Arc<Relations>,
    stored: Vec<Relation>,
    store: StoreDialect,
    /// How long a question may be compiled.
    limit: Duration,
    cache: Cache<PlanKey, CachedResult<Statement>, Bytes>,
    why: Cache<PlanKey, CachedResult<Rules>, Bytes>,
    local: LocalPlans,
    /// The policy without its rules, once it was needed.
    facts: OnceLock<Program>,
}

/// What is cached for local checks.
#[derive(Debug)]
struct LocalPlans {
    /// By the context's signatures and the document's number.
    catalogs: Cache<(Vec<ContextSignature>, u64), Arc<Catalog>, Bytes>,
    plans: Cache<LocalKey, CachedResult<KeptPlan>, Bytes>,
    texts: Cache<TextKey, Arc<Template>, Bytes>,
    why: Cache<LocalKey, CachedResult<Rules>, Bytes>,
}

/// A plan for a caller's database, with its catalog.
#[derive(Debug)]
pub(super) struct KeptPlan {
    /// Shared by all plans of a document.
    pub(super) catalog: Arc<Catalog>,
    /// The plan.
    pub(super) plan: LocalPlan,
}

impl KeptPlan {
    /// About how many bytes it takes, with its catalog, which it keeps alive after the cache of catalogs has
    /// dropped it.
    fn n_bytes(&self) -> usize {
        self.plan.n_bytes() + of_catalog(&self.catalog)
    }
}

/// The key of a statement in one [`Plans`].
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
    /// An empty cache for a store with these relations: of at most `bytes` bytes of statements, and three
    /// quarters of that for everything else. Documents have the last quarter.
    pub(super) fn new(
        policy: Arc<Active>,
        relations: Arc<Relations>,
        store: StoreDialect,
        bytes: u64,
        limit: Duration,
    ) -> Self {
        let stored = catalog::stored(&policy.program, &relations);
        let local = LocalPlans {
            catalogs: cache(bytes / 16, 16 << 10),
            plans: cache(bytes / 4, 32 << 10),
            texts: cache(bytes / 4, 4 << 10),
            why: cache(bytes / 16, 32 << 10),
        };
        // Statements of typical policies are 1 to 4 KiB long.
        let (why, cache) = (cache(bytes / 8, 32 << 10), cache(bytes, 2 << 10));
        Self { policy, relations, stored, store, limit, cache, why, local, facts: OnceLock::new() }
    }

    /// When a question that is compiled now must be compiled.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.limit)
    }

    /// The rules of this shape for explanations, if they are cached.
    pub(super) fn known_rules(&self, key: &PlanKey) -> Option<Traced> {
        known(&self.why, key)
    }

    /// Finds the rules of a shape for explanations and caches them, or the refusal.
    pub(super) fn rules(&self, key: PlanKey) -> Traced {
        let catalog = catalog::catalog(&self.stored, &key.context);
        let rules = Rules::new(&self.policy.program, &catalog, &key.shape, self.deadline());
        keep(&self.why, key, rules.map(Arc::new))
    }

    /// Refuses a document whose names show that a denial would be lost. One with a cached plan was accepted.
    pub(super) fn check_names(
        &self,
        context: &[ContextSignature],
        document: &Document,
    ) -> Result<(), EngineError> {
        check_names(&self.policy, &self.relations, context, &document.bindings)
    }

    /// The plan for a caller's database, if it is cached.
    pub(super) fn known_local(&self, key: &LocalKey) -> Option<PlannedLocal> {
        known(&self.local.plans, key)
    }

    /// Plans a question for a caller's database and caches the plan or the refusal.
    pub(super) fn plan_local(&self, key: LocalKey, document: &Document, most_values: usize) -> PlannedLocal {
        let catalog = self.local_catalog(&key, document);
        let options = PlanOptions { store: self.store, most_rows: most_values, deadline: self.deadline() };
        let program = &self.policy.program;
        let planned = local::plan(program, &catalog, &key.shape, key.filter, &document.bindings, options);
        let planned = planned.map(|plan| Arc::new(KeptPlan { catalog, plan }));
        keep(&self.local.plans, key, planned)
    }

    /// The store's relations, those of the context, and the document's.
    fn local_catalog(&self, key: &LocalKey, document: &Document) -> Arc<Catalog> {
        let of_document = (key.context.clone(), document.number);
        self.local.catalogs.get(&of_document).unwrap_or_else(|| {
            let mut catalog = catalog::catalog(&self.stored, &key.context);
            catalog.relations.extend(document.relations());
            let catalog = Arc::new(catalog);
            self.local.catalogs.insert(of_document, Arc::clone(&catalog));
            catalog
        })
    }

    /// The rules of a question about a caller's database for explanations, if they are cached.
    pub(super) fn known_local_rules(&self, key: &LocalKey) -> Option<Traced> {
        known(&self.local.why, key)
    }

    /// [`Plans::rules`] over the relations of a document, too.
    pub(super) fn local_rules(&self, key: LocalKey, document: &Document) -> Traced {
        let catalog = self.local_catalog(&key, document);
        let rules = Rules::new(&self.policy.program, &catalog, &key.shape, self.deadline());
        keep(&self.local.why, key, rules.map(Arc::new))
    }

    /// The policy without its rules: its facts alone.
    pub(super) fn facts(&self) -> &Program {
        self.facts.get_or_init(|| self.policy.program.without_rules())
    }

    /// The text for a caller's database, if it is cached.
    pub(super) fn known_text(&self, key: &TextKey) -> Option<Arc<Template>> {
        self.local.texts.get(key)
    }

    /// Caches a text for a caller's database.
    pub(super) fn keep_text(&self, key: TextKey, template: Template) -> Arc<Template> {
        let template = Arc::new(template);
        self.local.texts.insert(key, Arc::clone(&template));
        template
    }

    /// The generation of the store's relations that the statements know; later ones have higher numbers.
    pub(super) fn generation(&self) -> u64 {
        self.relations.generation
    }

    /// The statement of this shape, if it is cached.
    pub(super) fn known(&self, key: &PlanKey) -> Option<Compiled> {
        known(&self.cache, key)
    }

    /// Compiles a statement and caches it, or the refusal.
    pub(super) fn compile(&self, key: PlanKey) -> Compiled {
        let catalog = catalog::catalog(&self.stored, &key.context);
        let (program, deadline) = (&self.policy.program, self.deadline());
        let compiled = compile_for_store(program, &catalog, &key.shape, self.store, deadline);
        keep(&self.cache, key, compiled.map(Arc::new))
    }
}

/// A cache of about `bytes` bytes, for entries that usually take `each`.
fn cache<K: Eq + Hash, V: Clone>(bytes: u64, each: u64) -> Cache<K, V, Bytes>
where
    Bytes: Weighter<K, V>,
{
    let expected = usize::try_from(bytes / each).unwrap_or(usize::MAX).min(1 << 16);
    Cache::with_weighter(expected, bytes, Bytes)
}

/// Weighs an entry by the memory that it and its key take.
#[derive(Clone, Copy, Debug)]
struct Bytes;

impl Weighter<PlanKey, CachedResult<Statement>> for Bytes {
    fn weight(&self, key: &PlanKey, compiled: &CachedResult<Statement>) -> u64 {
        let of_statement = |statement: &Arc<Statement>| statement.sql.len() + 16 * statement.slots.len();
        let compiled = compiled.made.as_ref().map_or_else(of_refusal, of_statement);
        bytes(of_shape(&key.shape) + of_context(&key.context) + compiled)
    }
}

impl Weighter<PlanKey, CachedResult<Rules>> for Bytes {
    fn weight(&self, key: &PlanKey, traced: &CachedResult<Rules>) -> u64 {
        let traced = traced.made.as_ref().map_or_else(of_refusal, |rules| rules.n_bytes());
        bytes(of_shape(&key.shape) + of_context(&key.context) + traced)
    }
}

impl Weighter<(Vec<ContextSignature>, u64), Arc<Catalog>> for Bytes {
    fn weight(&self, (context, _): &(Vec<ContextSignature>, u64), catalog: &Arc<Catalog>) -> u64 {
        bytes(of_context(context) + of_catalog(catalog))
    }
}

impl Weighter<LocalKey, CachedResult<KeptPlan>> for Bytes {
    fn weight(&self, key: &LocalKey, planned: &CachedResult<KeptPlan>) -> u64 {
        let planned = planned.made.as_ref().map_or_else(of_refusal, |kept| kept.n_bytes());
        bytes(of_shape(&key.shape) + of_context(&key.context) + planned)
    }
}

impl Weighter<LocalKey, CachedResult<Rules>> for Bytes {
    fn weight(&self, key: &LocalKey, traced: &CachedResult<Rules>) -> u64 {
        let traced = traced.made.as_ref().map_or_else(of_refusal, |rules| rules.n_bytes());
        bytes(of_shape(&key.shape) + of_context(&key.context) + traced)
    }
}

impl Weighter<TextKey, Arc<Template>> for Bytes {
    fn weight(&self, key: &TextKey, template: &Arc<Template>) -> u64 {
        bytes(of_shape(&key.plan.shape) + of_context(&key.plan.context) + key.n_bytes() + template.n_bytes())
    }
}

fn of_catalog(catalog: &Catalog) -> usize {
    let relation = |relation: &Relation| relation.predicate.len() + 96 * (1 + relation.args.len());
    catalog.relations.iter().map(relation).sum()
}

fn of_shape(shape: &Shape) -> usize {
    let atoms = shape.atoms.iter().map(|(name, args)| name.len() + 8 * args.len() + 48);
    atoms.sum::<usize>() + 24 * shape.vars.len()
}

fn of_refusal(refusal: &CompileError) -> usize {
    match refusal {
        CompileError::Refused(refusal) => refusal.n_bytes(),
        CompileError::OutOfTime(_) => 0,
        CompileError::Bug(text) => text.len(),
    }
}

fn of_context(context: &[ContextSignature]) -> usize {
    let signature = |(predicate, types): &ContextSignature| {
        predicate.len() + 48 + types.iter().map(|ty| ty.len() + 24).sum::<usize>()
    };
    context.iter().map(signature).sum()
}

fn bytes(n: usize) -> u64 {
    u64::try_from(n + 128).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Catalog, Deadline, KeptPlan, PlanOptions, Question, Relation, Shape, StoreDialect, local};
    use portcullis_compiler::bindings::Bindings;
    use portcullis_compiler::catalog::{BindingId, RelationArg, RelationSource};
    use portcullis_compiler::check;
    use portcullis_compiler::question::{Domain, QuestionVar};
    use portcullis_compiler::source::SourceMap;
    use std::sync::Arc;

    const POLICY: &str = r#"
        actor User {}
        resource Doc { permissions = ["read"]; "read" if is_public(resource); }
    "#;

    /// A check planned over a public flag and `n` other bound queries.
    fn kept(n: usize) -> KeptPlan {
        let program = check(&SourceMap::new("policy.polar", POLICY)).program.unwrap();
        let names = std::iter::once("is_public".to_owned()).chain((0..n).map(|n| format!("other{n}")));
        let relation = |(binding, predicate)| Relation {
            predicate,
            args: vec![RelationArg::Column { ty: "Doc".into(), column: "c0".into() }],
            source: RelationSource::Bound { binding: BindingId::from_index(binding), has_typed_texts: false },
        };
        let catalog = Arc::new(Catalog { relations: names.enumerate().map(relation).collect() });
        let given = |ty: &str, id: &str| QuestionVar {
            name: String::new(),
            ty: Some(ty.into()),
            domain: Domain::Given(id.into()),
        };
        let vars = vec![given("User", "ada"), given("String", "read"), given("Doc", "plan")];
        let question = Question::atom("allow", vars);
        let shape = Shape::of(&program, &question);
        let options = PlanOptions { store: StoreDialect::Sqlite, most_rows: 100, deadline: Deadline::NEVER };
        let plan = local::plan(&program, &catalog, &shape, None, &Bindings::default(), options).unwrap();
        KeptPlan { catalog, plan }
    }

    /// A key holder that sends a new document with each question must not fill the memory.
    #[test]
    fn a_cached_local_plan_counts_the_catalog_that_it_keeps_alive() {
        assert!(kept(1_000).n_bytes() > kept(0).n_bytes() + 1_000 * size_of::<Relation>());
    }
}
