//! How many atoms and alternatives of a plan the verifier lays out.

/// How much of a plan is laid out; one that needs more is not accounted for. Tables of tables multiply.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayoutBudget {
    /// How many atoms may still be laid out.
    atoms: usize,
    /// How many alternatives a part of a plan may have.
    pub(super) alternatives: usize,
}

impl LayoutBudget {
    /// For one check.
    pub(super) const CHECK: Self = Self { atoms: 50_000, alternatives: 512 };

    /// For a second look at a fault, at all alternatives, including those that never hold.
    pub(super) const SECOND_LOOK: Self = Self { atoms: 400_000, alternatives: 2_048 };

    /// Lays out some atoms; `None` if they are more than may still be laid out.
    pub(super) fn spend(&mut self, atoms: usize) -> Option<()> {
        self.atoms = self.atoms.checked_sub(atoms)?;
        Some(())
    }
}
