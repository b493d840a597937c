//! The code host of `fixtures/example/policy.polar` at any size: organizations, nested folders and groups,
//! repositories, issues, grants and bans. The same seed gives the same facts.

pub(crate) mod http;

use portcullis::engine::{Fact, Value};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The policy that the facts are for.
pub(crate) const POLICY: &str = include_str!("../../fixtures/example/policy.polar");

/// How many entities of each kind there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) users: usize,
    pub(crate) organizations: usize,
    pub(crate) folders: usize,
    pub(crate) groups: usize,
    pub(crate) repositories: usize,
    pub(crate) issues: usize,
}

impl Size {
    /// About this many facts in all; never less than a few of each kind.
    pub(crate) fn of(n_facts: usize) -> Self {
        let share = |per_mille: usize| (n_facts * per_mille / 1_000).max(10);
        Self {
            users: share(60),
            organizations: share(1),
            folders: share(15),
            groups: share(5),
            repositories: share(110),
            issues: share(520),
        }
    }
}

/// A code host in the making.
pub(crate) struct CodeHost {
    pub(crate) size: Size,
    random: StdRng,
    facts: Vec<Fact>,
}

const DEPTH: usize = 8;
const ROLES: [&str; 3] = ["reader", "maintainer", "admin"];

impl CodeHost {
    /// All facts, in random order.
    pub(crate) fn facts(size: Size, seed: u64) -> Vec<Fact> {
        let mut host = Self { size, random: StdRng::seed_from_u64(seed), facts: Vec::new() };
        host.containers();
        host.members();
        host.contents();
        let mut facts = host.facts;
        for at in (1..facts.len()).rev() {
            facts.swap(at, host.random.random_range(0..=at));
        }
        facts
    }

    fn containers(&mut self) {
        let Size { organizations, folders, groups, .. } = self.size;
        for folder in 0..folders {
            // The first folders are roots; each other one lies in one that is one level up.
            let level = folder * DEPTH / folders;
            if level == 0 {
                let organization = self.random.random_range(0..organizations);
                self.relation("Folder", folder, "organization", value("Organization", organization));
            } else {
                let parent = folders * (level - 1) / DEPTH + self.random.random_range(0..folders / DEPTH);
                self.relation("Folder", folder, "parent", value("Folder", parent));
            }
        }
        for group in groups / 4..groups {
            let outer = self.random.random_range(0..group);
            self.relation("Group", outer, "subgroup", value("Group", group));
        }
    }

    fn members(&mut self) {
        let Size { users, organizations, folders, groups, repositories, .. } = self.size;
        for number in 0..users {
            let organization = self.random.random_range(0..organizations);
            self.role(user(number), value("Organization", organization), &ROLES);
            let group = self.random.random_range(0..groups);
            self.relation("Group", group, "member", user(number));
            if number.is_multiple_of(2) {
                let repository = self.random.random_range(0..repositories);
                self.role(user(number), value("Repository", repository), &ROLES);
            }
            if number.is_multiple_of(10) {
                let folder = self.random.random_range(0..folders);
                self.role(user(number), value("Folder", folder), &ROLES);
            }
            if number.is_multiple_of(50) {
                let repository = value("Repository", self.random.random_range(0..repositories));
                self.facts.push(Fact::new("is_banned", vec![user(number), repository]));
            }
        }
        for group in 0..groups {
            let folder = self.random.random_range(0..folders);
            self.role(value("Group", group), value("Folder", folder), &ROLES);
            let repository = self.random.random_range(0..repositories);
            self.role(value("Group", group), value("Repository", repository), &ROLES);
        }
        self.facts.push(Fact::new("has_role", vec![user(0), Value::new("String", "superadmin")]));
    }

    fn contents(&mut self) {
        let Size { users, organizations, folders, repositories, issues, .. } = self.size;
        for repository in 0..repositories {
            if repository.is_multiple_of(5) {
                let organization = self.random.random_range(0..organizations);
                self.relation("Repository", repository, "organization", value("Organization", organization));
            } else {
                let folder = self.random.random_range(0..folders);
                self.relation("Repository", repository, "folder", value("Folder", folder));
            }
            if repository.is_multiple_of(10) {
                self.facts.push(Fact::new("is_public", vec![value("Repository", repository)]));
            }
        }
        for issue in 0..issues {
            let repository = self.random.random_range(0..repositories);
            self.relation("Issue", issue, "repository", value("Repository", repository));
            if issue.is_multiple_of(4) {
                let creator = user(self.random.random_range(0..users));
                self.relation("Issue", issue, "creator", creator);
            }
        }
    }

    fn relation(&mut self, ty: &str, from: usize, name: &str, to: Value) {
        self.facts.push(Fact::new("has_relation", vec![value(ty, from), Value::new("String", name), to]));
    }

    fn role(&mut self, actor: Value, resource: Value, roles: &[&str]) {
        let role = roles[self.random.random_range(0..roles.len())];
        self.facts.push(Fact::new("has_role", vec![actor, Value::new("String", role), resource]));
    }
}

/// An entity by its number.
pub(crate) fn value(ty: &str, number: usize) -> Value {
    Value::new(ty, &number.to_string())
}

/// A user, whose id is as long as a UUID.
pub(crate) fn user(number: usize) -> Value {
    let mixed = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let id = format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
        mixed >> 32,
        (mixed >> 16) & 0xFFFF,
        (mixed >> 4) & 0xFFF,
        mixed & 0xFFF
    );
    Value::new("User", &id)
}
