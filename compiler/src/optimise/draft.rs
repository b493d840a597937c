//! What the passes rewrite: a plan, and the rows embedded in its statement.

use super::setting::Setting;
use crate::algebra::verify::{Keeps, keeps_conditions};
use crate::algebra::{Embedded, Plan};
use crate::deadline::Deadline;
use crate::pass::Rewritable;

/// A plan and the rows embedded in its statement.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) plan: Plan,
    pub(crate) embedded: Vec<Embedded>,
}

impl Rewritable for Draft {
    type Context<'c> = Setting<'c>;
    type Keeps = Keeps;

    fn deadline(setting: &Setting<'_>) -> Deadline {
        setting.deadline
    }
}

impl Draft {
    /// Rewrites the plan, unless the verifier cannot confirm that it asks the same: it compares atoms without
    /// aliases, and can lose track where many sources read one relation.
    pub(super) fn rewrite_if_verified(&mut self, rewrite: impl Fn(&mut Plan)) {
        let mut rewritten = self.plan.clone();
        rewrite(&mut rewritten);
        if rewritten != self.plan && keeps_conditions(Keeps::Equals, &self.plan, &rewritten) {
            self.plan = rewritten;
        }
    }
}
