//! The code host of `fixtures/example/policy.polar` at any size: who is in it, and who was granted what.
//!
//! In: a [`Size`] and a seed. Out: a [`CodeHost`], plain arrays of numbers; the same seed gives the same
//! arrays. [`facts`] converts them to facts; expected answers are computed from the arrays.
//!
//! At scale 1 it has 100,000 users, 1,000 organizations, 20,000 folders in ten levels, 5,000 groups in six,
//! 200,000 repositories (a tenth of them public) and 1,000,000 issues: 1.5 million facts. Four in five
//! repositories lie in a folder of any level, the others in an organization. Every user has a role in one
//! organization, three in five are in a group, half have a role in a repository, one in ten in a folder, one
//! in twenty is banned somewhere, and every group has a role in a folder and in a repository. Bans hit who
//! could otherwise act, or see what is public, and who creates an issue belongs to the organization: else
//! hardly an answer would depend on either.
//!
//! Users have ids of 36 characters, as UUIDs are; all other ids are decimal numbers.
//!
//! # Users that are there for a reason
//!
//! User 0 is a superadmin. After it come [`listers`]: users who were granted, on purpose,
//! enough repositories for a list of about 10, 1,000 or 10,000 ids. They have no other grants, and are
//! unbanned.

mod build;
mod entity;
pub(crate) mod facts;
pub(crate) mod http;
pub(crate) mod listers;
pub(crate) mod service;

pub(crate) use build::first_ordinary;
pub(crate) use entity::Entity;

/// The policy that the facts are for.
pub(crate) const POLICY: &str = include_str!("../../fixtures/example/policy.polar");

/// The levels of folders.
pub(crate) const FOLDER_LEVELS: u32 = 10;

/// The levels of groups.
pub(crate) const GROUP_LEVELS: u32 = 6;

/// One issue in this many has a known creator.
pub(crate) const CREATED: u32 = 20;

/// The user who may do everything to every repository.
pub(crate) const SUPERADMIN: u32 = 0;

/// How many entities of each kind there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) users: u32,
    pub(crate) organizations: u32,
    pub(crate) folders: u32,
    pub(crate) groups: u32,
    pub(crate) repositories: u32,
    pub(crate) issues: u32,
}

impl Size {
    /// So many times the size of scale 1; never less than a few of each kind.
    pub(crate) fn scaled(scale: f64) -> Self {
        let scaled = |n: f64, least: u32| ((n * scale) as u32).max(least);
        Self {
            users: scaled(100_000.0, 100),
            organizations: scaled(1_000.0, 5),
            folders: scaled(20_000.0, 10 * FOLDER_LEVELS),
            groups: scaled(5_000.0, 5 * GROUP_LEVELS),
            repositories: scaled(200_000.0, 500),
            issues: scaled(1_000_000.0, 1_000),
        }
    }
}

/// Where a folder or a repository lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Organization(u32),
    Folder(u32),
}

/// Each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Reader,
    Maintainer,
    Admin,
}

/// A role of a user or a group in an organization, a folder or a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Grant {
    pub(crate) who: u32,
    pub(crate) on: u32,
    pub(crate) role: Role,
}

/// A user who is in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// A user who may neither read nor write a repository, regardless of other grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ban {
    pub(crate) user: u32,
    pub(crate) repository: u32,
}

/// Everybody and everything. An index is the number of an entity; grants, members and bans are sorted and
/// distinct.
#[derive(Debug)]
pub(crate) struct CodeHost {
    pub(crate) size: Size,
    /// A folder lies in an organization or in a folder of a smaller number.
    pub(crate) folders: Vec<Place>,
    /// The group that contains it, whose number is smaller.
    pub(crate) groups: Vec<Option<u32>>,
    /// The same as pairs: a group, and the one around it.
    pub(crate) contained: Vec<(u32, u32)>,
    pub(crate) repositories: Vec<Place>,
    /// The public ones of the repositories, sorted.
    pub(crate) public: Vec<u32>,
    /// The repository of each issue.
    pub(crate) issues: Vec<u32>,
    /// The creators of the issues 0, [`CREATED`], and so on.
    pub(crate) creators: Vec<u32>,
    pub(crate) members: Vec<Member>,
    pub(crate) organization_roles: Vec<Grant>,
    pub(crate) folder_roles: Vec<Grant>,
    pub(crate) repository_roles: Vec<Grant>,
    pub(crate) group_folder_roles: Vec<Grant>,
    pub(crate) group_repository_roles: Vec<Grant>,
    pub(crate) bans: Vec<Ban>,
}

impl CodeHost {
    /// The organization in which a folder or a repository lies at last.
    pub(crate) fn organization(&self, mut place: Place) -> u32 {
        loop {
            match place {
                Place::Organization(organization) => return organization,
                Place::Folder(folder) => place = self.folders[folder as usize],
            }
        }
    }

    /// The folders around a place, the nearest first.
    pub(crate) fn folders_around(&self, place: Place) -> impl Iterator<Item = u32> {
        let inside = |place| match place {
            Place::Organization(_) => None,
            Place::Folder(folder) => Some(folder),
        };
        std::iter::successors(inside(place), move |folder| inside(self.folders[*folder as usize]))
    }
}
