//! Evaluates goals until they are settled: the attempts of the nearest goals first.

use super::rows::Rows;
use super::run::Run;
use super::state::{AnswerTableId, Key};
use super::world::Fault;
use super::{height, step};
use std::cmp::Reverse;

impl<R: Rows> Run<'_, '_, R> {
    /// Evaluates the question.
    pub(super) fn question(&mut self) -> Result<(), Fault<R::Error>> {
        let root = self.open((None, Box::default()), None, true)?;
        self.root = Some(root);
        self.finish()
    }

    /// A goal with its answers, with all of them unless any will do.
    pub(super) fn settle(&mut self, key: Key, any_answer: bool) -> Result<AnswerTableId, Fault<R::Error>> {
        if let Some(settled) = self.settled(&key, any_answer) {
            return Ok(settled);
        }
        let table = self.open(key, None, any_answer)?;
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
                _ => self.close(next.is_none()),
            }
        }
        Ok(())
    }

    /// Whether the goal of the level has a proof that nothing at this distance can shorten.
    fn is_settled(&mut self, depth: usize) -> bool {
        let assumes = self.may_assume() > 0;
        let Some(level) = self.levels.last().filter(|level| level.any_answer && !assumes) else {
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

    /// Ends the level.
    fn close(&mut self, is_finished: bool) {
        let Some(level) = self.levels.pop() else { return };
        height::compute(&mut self.state, self.world, level.first_answer);
        if is_finished {
            self.finished.extend(level.known);
        } else {
            let key = self.state.tables[level.goal].key.clone();
            self.refuted.insert(key, level.goal);
        }
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
