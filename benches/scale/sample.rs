//! Draws a user and an issue that have to do with each other, for a given reason.
//!
//! A grant on an organization, a folder or a repository needs an issue somewhere inside. One of each folder
//! and repository is noted beforehand, as deep inside as possible; organizations are few, so all issues of
//! each are noted, or the same thousand would be asked about.

use crate::code_host::{CREATED, CodeHost, first_ordinary};
use crate::truth::{Truth, of};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// How many folders further down is deep.
const DEEP: usize = 5;

/// Why a user may, or may not, do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A role in the organization.
    Organization,
    /// A role in a folder around the repository.
    Folder,
    /// A role in a folder that is five levels up or more.
    DeepFolder,
    /// A role of a group that the user is in.
    Group,
    /// A role of a group around that one.
    NestedGroup,
    /// A role in the repository itself.
    Repository,
    /// The repository is public.
    Public,
    /// The user is banned.
    Ban,
    /// The user created the issue.
    Creator,
    /// No reason: both are drawn from all.
    Stranger,
}

/// Draws pairs of users and issues.
#[derive(Debug)]
pub(crate) struct Sampler<'h> {
    pub(crate) host: &'h CodeHost,
    pub(crate) truth: Truth<'h>,
    /// The issues of each organization.
    in_organization: Vec<Vec<u32>>,
    /// An issue of each repository.
    in_repository: Vec<Option<u32>>,
    /// An issue as deep in each folder as there is one, and how many folders further down.
    in_folder: Vec<Option<(usize, u32)>>,
    /// Users with a role in a folder, each with an issue deep in it.
    deep: Vec<(u32, u32)>,
}

impl Reason {
    /// All of them.
    pub(crate) const ALL: [Self; 10] = [
        Self::Organization,
        Self::Folder,
        Self::DeepFolder,
        Self::Group,
        Self::NestedGroup,
        Self::Repository,
        Self::Public,
        Self::Ban,
        Self::Creator,
        Self::Stranger,
    ];

    /// How many of a hundred questions have it.
    fn share(self) -> u32 {
        match self {
            Self::Stranger => 28,
            Self::Organization => 12,
            Self::Ban | Self::NestedGroup | Self::DeepFolder | Self::Public => 9,
            Self::Folder | Self::Group | Self::Repository | Self::Creator => 6,
        }
    }
}

impl<'h> Sampler<'h> {
    /// Notes what it needs to know about a code host.
    pub(crate) fn new(host: &'h CodeHost) -> Self {
        let mut in_organization = vec![Vec::new(); host.size.organizations as usize];
        let mut in_repository = vec![None; host.repositories.len()];
        let mut in_folder: Vec<Option<(usize, u32)>> = vec![None; host.folders.len()];
        for (issue, repository) in (0..).zip(&host.issues) {
            let place = host.repositories[*repository as usize];
            in_organization[host.organization(place) as usize].push(issue);
            in_repository[*repository as usize] = Some(issue);
            for (depth, folder) in host.folders_around(place).enumerate() {
                let known = &mut in_folder[folder as usize];
                if known.is_none_or(|(least, _)| depth > least) {
                    *known = Some((depth, issue));
                }
            }
        }
        let deep = host.folder_roles.iter().filter_map(|grant| match in_folder[grant.on as usize] {
            Some((depth, issue)) if depth >= DEEP => Some((grant.who, issue)),
            Some(_) | None => None,
        });
        let deep = deep.collect();
        Self { host, truth: Truth { host }, in_organization, in_repository, in_folder, deep }
    }

    /// A reason, and a user and an issue for it.
    pub(crate) fn draw(&self, random: &mut StdRng) -> (Reason, u32, u32) {
        let mut at = random.random_range(0..Reason::ALL.iter().map(|reason| reason.share()).sum());
        let reason = Reason::ALL.into_iter().find(|reason| {
            let here = at < reason.share();
            at = at.saturating_sub(reason.share());
            here
        });
        let reason = reason.unwrap();
        // Not every grant leads to an issue, and listers are asked elsewhere.
        let ordinary = first_ordinary()..self.host.size.users;
        let mut tries = std::iter::repeat_with(|| self.pair(reason, random)).take(10_000).flatten();
        let found = tries.find(|(user, _)| ordinary.contains(user));
        let (user, issue) = found.unwrap_or_else(|| panic!("no user has this reason: {reason:?}"));
        (reason, user, issue)
    }

    /// Random issues of the organizations in which a user has a role, without an order.
    pub(crate) fn issues_near(&self, user: u32, count: usize, random: &mut StdRng) -> Vec<u32> {
        let organizations = of(&self.host.organization_roles, user);
        let issue = |random: &mut StdRng| {
            let organization = organizations.choose(random)?;
            self.in_organization[organization.on as usize].choose(random).copied()
        };
        (0..count).filter_map(|_| issue(random)).collect()
    }

    /// A user and an issue, unless what was drawn first leads nowhere.
    fn pair(&self, reason: Reason, random: &mut StdRng) -> Option<(u32, u32)> {
        let host = self.host;
        let folder = |folder: u32| self.in_folder[folder as usize].map(|(_, issue)| issue);
        let repository = |repository: u32| self.in_repository[repository as usize];
        let group = |group: u32, random: &mut StdRng| {
            if random.random_bool(0.5) {
                folder(of(&host.group_folder_roles, group).choose(random)?.on)
            } else {
                repository(of(&host.group_repository_roles, group).choose(random)?.on)
            }
        };
        match reason {
            Reason::Organization => {
                let grant = host.organization_roles.choose(random)?;
                Some((grant.who, *self.in_organization[grant.on as usize].choose(random)?))
            }
            Reason::Folder => {
                let grant = host.folder_roles.choose(random)?;
                Some((grant.who, folder(grant.on)?))
            }
            Reason::DeepFolder => self.deep.choose(random).copied(),
            Reason::Group => {
                let member = host.members.choose(random)?;
                Some((member.user, group(member.group, random)?))
            }
            Reason::NestedGroup => {
                let member = host.members.choose(random)?;
                let around = |group: &u32| host.groups[*group as usize];
                let outer: Vec<u32> = std::iter::successors(around(&member.group), around).collect();
                Some((member.user, group(*outer.choose(random)?, random)?))
            }
            Reason::Repository => {
                let grant = host.repository_roles.choose(random)?;
                Some((grant.who, repository(grant.on)?))
            }
            Reason::Public => Some((self.anybody(random), repository(*host.public.choose(random)?)?)),
            Reason::Ban => {
                let ban = host.bans.choose(random)?;
                Some((ban.user, repository(ban.repository)?))
            }
            Reason::Creator => {
                let at = random.random_range(0..host.creators.len());
                Some((host.creators[at], at as u32 * CREATED))
            }
            Reason::Stranger => Some((self.anybody(random), random.random_range(0..host.size.issues))),
        }
    }

    fn anybody(&self, random: &mut StdRng) -> u32 {
        random.random_range(first_ordinary()..self.host.size.users)
    }
}
