//! Evaluates goals until they are settled: the attempts of the nearest goals first.

use super::rows::Rows;
use super::run::{Level, Needs, Run};
use super::state::{AnswerTableId, Key};
use super::world::Fault;
use super::{height, step};
use std::cmp::Reverse;

impl<R: Rows> Run<'_, '_, R> {
    /// Evaluates the question.
    pub(super) fn question(&mut self) -> Result<(), Fault<R::Error>> {
        let root = self.open((None, Box::default()), None, Needs::Any)?;
        self.root = Some(root);
        self.finish()
    }

    /// A goal with the answers that are needed.
    pub(super) fn settle(&mut self, key: Key, needs: Needs) -> Result<AnswerTableId, Fault<R::Error>> {
        if let Some(settled) = self.settled(&key, needs) {
            return Ok(settled);
        }
        let table = self.open(key, None, needs)?;
        self.finish().inspect_err(|_| self.levels.clear())?;
        Ok(table)
    }

    /// Evaluates until every level is closed.
    fn finish(&mut self) -> Result<(), Fault<R::Error>> {
        while let Some(level) = self.levels.last_mut() {
            let next = level.agenda.peek().map(|Reverse((depth, ..))| *depth);
            let is_new_depth = next.is_some_and(|depth| depth > level.checked);
            if let Some(depth) = next.filter(|_| is_new_depth) {
                level.checked = depth;
            }
            match next {
                Some(depth) if !(is_new_depth && self.is_settled(depth)) => self.turn()?,
                Some(_) => self.refute(),
                None => self.complete(),
            }
        }
        Ok(())
    }

    /// Whether the goal of the level has a proof that nothing at this distance can shorten.
    fn is_settled(&mut self, depth: usize) -> bool {
        let assumes = self.may_assume() > 0;
        let Some(level) = self.levels.last().filter(|level| level.needs == Needs::Any && !assumes) else {
            return false;
        };
        let (goal, first) = (level.goal, level.first_answer);
        if self.state.tables[goal].answers.is_empty() {
            return false;
        }
        height::compute(&mut self.state, self.world, first);
        let answers = self.state.tables[goal].answers.iter();
        let heights = answers.filter_map(|answer| self.state.answers[*answer].best);
        heights.map(|(height, _)| height).min().is_some_and(|height| depth > height)
    }

    /// Ends the level whose goals have all their answers.
    fn complete(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        self.return_from(&level);
        self.finished.extend(level.known);
    }

    /// Ends the level whose goal has the one answer that it needs.
    fn refute(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        self.return_from(&level);
        let key = self.state.tables[level.goal].key.clone();
        self.refuted.insert(key, level.goal);
    }

    /// Computes the heights of the level's answers, and continues the attempt that needs them.
    fn return_from(&mut self, level: &Level) {
        height::compute(&mut self.state, self.world, level.first_answer);
        if let Some(reader) = level.reader {
            let table = self.state.frames[reader].table;
            self.state.tables[table].pending.push_front(reader);
            self.queue(table);
        }
    }

    /// Continues the next attempt.
    fn turn(&mut self) -> Result<(), Fault<R::Error>> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        let Some(Reverse((depth, _, table))) = level.agenda.pop() else { return Ok(()) };
        let entry = &mut self.state.tables[table];
        if depth != entry.depth {
            // It came nearer, and was queued again.
            return Ok(());
        }
        let Some(frame) = entry.pending.pop_front() else { return Ok(()) };
        if !entry.pending.is_empty() {
            self.queue(table);
        }
        self.world.work(1)?;
        step::step(self, frame)
    }
}
