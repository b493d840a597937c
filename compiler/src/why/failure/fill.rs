//! Values that facts determine in what an attempt lacks.
//!
//! A look-up without rows ends an attempt before its other conditions are tried, because that decides
//! soonest. So what the attempt lacks may have an open value that another condition determines: *member of
//! some organization*, although a fact says which organization it is.

use super::super::rows::Rows;
use super::super::run::Run;
use super::super::state::{Env, FrameId};
use super::super::terms::{bound, plain, scan_values};
use super::super::values::Value;
use super::super::world::Fault;
use crate::datalog::{Goal, Term};
use crate::ir::{BodyLiteralId, Polarity};
use crate::specialise::GoalId;

/// The first values, up to `most`, that a look-up determines in what an attempt lacks, each with the
/// look-up's condition. The look-up is the first in the rule that the attempt has not tried and that has a
/// known value.
pub(super) fn filled<R: Rows>(
    run: &mut Run<'_, '_, R>,
    frame: FrameId,
    next: GoalId,
    env: &Env,
    most: usize,
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
        for row in run.world.fetch(&query, most)?.rows.iter().take(most) {
            let row: Vec<Option<Value>> = row.iter().copied().map(Some).collect();
            found.extend(bound(run.world, &columns, &row, env.clone()).map(|env| (literal, env)));
        }
        return Ok(found);
    }
    Ok(Vec::new())
}
