//! The values that facts give to what an attempt lacks.
//!
//! A look-up without rows ends an attempt before the others are tried, because that decides soonest. So what
//! it lacks may have open values that another condition knows: *member of some organization*, where a fact
//! says of which one.

use super::failure::SHOWN;
use super::rows::Rows;
use super::run::Run;
use super::state::{Env, FrameId};
use super::terms::{bound, plain, scan_values};
use super::values::Value;
use super::world::Fault;
use crate::datalog::{Goal, Term};
use crate::ir::{BodyLiteralId, Polarity};
use crate::specialise::GoalId;

/// The values that a look-up gives to what an attempt lacks, each with the look-up's condition. It is the
/// first one in the rule that the attempt did not take up and that knows a value.
pub(super) fn narrowed<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    next: GoalId,
    env: &Env,
) -> Result<Vec<(BodyLiteralId, Env)>, Fault<R::Error>> {
    let traced = run.world.clause(&run.state, frame);
    let mut wanted = Vec::new();
    if let Goal::Scan { polarity: Polarity::Positive, .. } | Goal::Call { polarity: Polarity::Positive, .. } =
        traced.goal(next)
    {
        traced.goal(next).for_each_term(&mut |term| {
            if matches!(term, Term::Var(var) if env[var].is_none()) {
                wanted.push(term);
            }
        });
    }
    for (id, goal) in traced.goals().filter(|(id, _)| *id != next) {
        let Goal::Scan { polarity: Polarity::Positive, source, args, .. } = goal else { continue };
        let columns: Vec<Term> = args.iter().filter_map(plain).collect();
        let Some(literal) = traced.literals[id] else { continue };
        let query = (*source, scan_values(run.world, args, env));
        let knows_value = query.1.iter().any(Option::is_some);
        if run.state.frames[frame].is_done(id)
            || !knows_value
            || !columns.iter().any(|column| wanted.contains(column))
        {
            continue;
        }
        let mut found = Vec::new();
        for row in run.world.fetch(&query, SHOWN)?.rows.iter().take(SHOWN) {
            let row: Vec<Option<Value>> = row.iter().copied().map(Some).collect();
            found.extend(bound(run.world, &columns, &row, env.clone()).map(|env| (literal, env)));
        }
        return Ok(found);
    }
    Ok(Vec::new())
}
