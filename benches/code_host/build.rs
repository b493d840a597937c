//! Makes a code host from a seed.
//!
//! Containers come first, then who has a role in them, then the listers, who are given what suits them. Bans
//! and creators come last, because they are drawn from those who have a role already.

use super::listers::{LISTERS, grant_listers};
use super::{Ban, CREATED, CodeHost, FOLDER_LEVELS, GROUP_LEVELS, Grant, Member, Place, Role, Size};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

impl CodeHost {
    /// A code host of this size.
    pub(crate) fn new(size: Size, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut host = containers(size, &mut random);
        contents(&mut host, &mut random);
        grants(&mut host, &mut random);
        grant_listers(&mut host);
        host.contained =
            (0..).zip(&host.groups).filter_map(|(group, outer)| outer.map(|outer| (group, outer))).collect();
        for grants in [
            &mut host.organization_roles,
            &mut host.folder_roles,
            &mut host.repository_roles,
            &mut host.group_folder_roles,
            &mut host.group_repository_roles,
        ] {
            distinct(grants);
        }
        distinct(&mut host.members);
        creators_and_bans(&mut host, &mut random);
        distinct(&mut host.bans);
        host
    }
}

fn distinct<T: Ord>(items: &mut Vec<T>) {
    items.sort_unstable();
    items.dedup();
}

/// Organizations are only numbers; folders and groups lie in one of the level above.
fn containers(size: Size, random: &mut StdRng) -> CodeHost {
    let folders = (0..size.folders).map(|folder| match above(folder, size.folders, FOLDER_LEVELS, random) {
        None => Place::Organization(random.random_range(0..size.organizations)),
        Some(parent) => Place::Folder(parent),
    });
    let folders = folders.collect();
    let groups = (0..size.groups).map(|group| above(group, size.groups, GROUP_LEVELS, random)).collect();
    CodeHost {
        size,
        folders,
        groups,
        contained: Vec::new(),
        repositories: Vec::new(),
        public: Vec::new(),
        issues: Vec::new(),
        creators: Vec::new(),
        members: Vec::new(),
        organization_roles: Vec::new(),
        folder_roles: Vec::new(),
        repository_roles: Vec::new(),
        group_folder_roles: Vec::new(),
        group_repository_roles: Vec::new(),
        bans: Vec::new(),
    }
}

/// A random one of the level above, if there is such a level. Numbers of a level follow each other.
fn above(number: u32, count: u32, levels: u32, random: &mut StdRng) -> Option<u32> {
    let first_of = |level: u32| (u64::from(level) * u64::from(count)).div_ceil(u64::from(levels)) as u32;
    let level = (u64::from(number) * u64::from(levels) / u64::from(count)) as u32;
    let above = level.checked_sub(1)?;
    Some(random.random_range(first_of(above)..first_of(level)))
}

fn contents(host: &mut CodeHost, random: &mut StdRng) {
    let Size { organizations, folders, repositories, issues, .. } = host.size;
    for number in 0..repositories {
        let place = if random.random_bool(0.2) {
            Place::Organization(random.random_range(0..organizations))
        } else {
            Place::Folder(random.random_range(0..folders))
        };
        host.repositories.push(place);
        if random.random_bool(0.1) {
            host.public.push(number);
        }
    }
    host.issues = (0..issues).map(|_| random.random_range(0..repositories)).collect();
}

fn grants(host: &mut CodeHost, random: &mut StdRng) {
    let Size { users, organizations, folders, groups, repositories, .. } = host.size;
    let grant = |who: u32, among: u32, random: &mut StdRng| {
        let role = *[Role::Reader, Role::Maintainer, Role::Admin].choose(random).unwrap();
        Grant { who, on: random.random_range(0..among), role }
    };
    for user in first_ordinary()..users {
        host.organization_roles.push(grant(user, organizations, random));
        if random.random_bool(0.6) {
            host.members.push(Member { user, group: random.random_range(0..groups) });
        }
        if random.random_bool(0.5) {
            host.repository_roles.push(grant(user, repositories, random));
        }
        if random.random_bool(0.1) {
            host.folder_roles.push(grant(user, folders, random));
        }
    }
    for group in 0..groups {
        host.group_folder_roles.push(grant(group, folders, random));
        host.group_repository_roles.push(grant(group, repositories, random));
    }
}

/// The first user who is neither the superadmin nor a lister.
pub(crate) fn first_ordinary() -> u32 {
    LISTERS.iter().map(|lister| lister.users().end).max().unwrap_or_default()
}

/// Both are drawn from those who have a role in the organization, half of the bans from everybody.
fn creators_and_bans(host: &mut CodeHost, random: &mut StdRng) {
    let ordinary = first_ordinary()..host.size.users;
    let mut members = vec![Vec::new(); host.size.organizations as usize];
    for grant in host.organization_roles.iter().filter(|grant| ordinary.contains(&grant.who)) {
        members[grant.on as usize].push(grant.who);
    }
    let of_organization = |repository: u32, random: &mut StdRng| {
        let organization = host.organization(host.repositories[repository as usize]);
        members[organization as usize].choose(random).copied()
    };
    let mut creators = Vec::new();
    for repository in host.issues.iter().step_by(CREATED as usize) {
        let stranger = random.random_range(ordinary.clone());
        creators.push(of_organization(*repository, random).unwrap_or(stranger));
    }
    let mut bans = Vec::new();
    for _ in 0..host.size.users / 20 {
        let (user, repository) = if random.random_bool(0.5) {
            let repository = random.random_range(0..host.size.repositories);
            (of_organization(repository, random), repository)
        } else {
            (Some(random.random_range(ordinary.clone())), *host.public.choose(random).unwrap())
        };
        bans.extend(user.map(|user| Ban { user, repository }));
    }
    host.creators = creators;
    host.bans = bans;
}
