//! Users whose lists have a chosen length.
//!
//! A [`Lister`] is a kind of user; there are [`COPIES`] of each, so that a measurement does not ask the same
//! list again and again. A user is given roles until it reaches enough repositories, each exactly once:
//! first organizations, up to half of them; then folders with all that is in them, up to nine tenths; then
//! single repositories. The folders are granted to a group around five others around the user, so the answer
//! must come through groups as well. Where a code host is too small for a list, the users reach half of its
//! repositories.

use super::{CodeHost, GROUP_LEVELS, Grant, Member, Role, SUPERADMIN};

/// Users of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lister {
    /// The type whose ids they list.
    pub(crate) ty: &'static str,
    /// How long it is, about: an issue's repository is random.
    pub(crate) n_ids: u32,
    kind: u32,
}

/// Users of each kind.
const COPIES: u32 = 4;

/// Issues of a repository on average.
const ISSUES: u32 = 5;

/// All kinds.
pub(crate) const LISTERS: [Lister; 6] = [
    Lister { ty: "Repository", n_ids: 10, kind: 0 },
    Lister { ty: "Repository", n_ids: 1_000, kind: 1 },
    Lister { ty: "Repository", n_ids: 10_000, kind: 2 },
    Lister { ty: "Issue", n_ids: 10, kind: 3 },
    Lister { ty: "Issue", n_ids: 1_000, kind: 4 },
    Lister { ty: "Issue", n_ids: 10_000, kind: 5 },
];

impl Lister {
    /// Their numbers.
    pub(crate) fn users(self) -> std::ops::Range<u32> {
        let first = SUPERADMIN + 1 + self.kind * COPIES;
        first..first + COPIES
    }

    fn n_repositories(self) -> u32 {
        if self.ty == "Issue" { self.n_ids / ISSUES } else { self.n_ids }
    }
}

/// What a grant on a container reaches.
struct Reach {
    organizations: Vec<u32>,
    folders: Vec<u32>,
}

/// Gives all listers their roles.
pub(super) fn grant_listers(host: &mut CodeHost) {
    let reach = reach(host);
    for lister in LISTERS {
        for user in lister.users() {
            let outermost = groups_around(host, user);
            let wanted = lister.n_repositories().min(host.size.repositories / 2);
            give(host, &reach, user, outermost, wanted);
        }
    }
}

fn reach(host: &CodeHost) -> Reach {
    let mut organizations = vec![0; host.size.organizations as usize];
    let mut folders = vec![0; host.size.folders as usize];
    for repository in &host.repositories {
        organizations[host.organization(*repository) as usize] += 1;
        host.folders_around(*repository).for_each(|folder| folders[folder as usize] += 1);
    }
    Reach { organizations, folders }
}

/// New groups, each in the one before, the innermost with this user; returns the outermost.
fn groups_around(host: &mut CodeHost, user: u32) -> u32 {
    let outermost = host.groups.len() as u32;
    host.groups.push(None);
    for inner in 1..GROUP_LEVELS {
        host.groups.push(Some(outermost + inner - 1));
    }
    host.members.push(Member { user, group: outermost + GROUP_LEVELS - 1 });
    outermost
}

fn give(host: &mut CodeHost, reach: &Reach, user: u32, group: u32, wanted: u32) {
    // Users of one kind start at different places.
    let start = |count: u32| user % COPIES * (count / (2 * COPIES));
    let role = if user.is_multiple_of(2) { Role::Maintainer } else { Role::Admin };
    let mut reached = 0;
    let mut organizations = vec![false; host.size.organizations as usize];
    for on in start(host.size.organizations)..host.size.organizations {
        let more = reach.organizations[on as usize];
        if more > 0 && reached + more <= wanted / 2 {
            reached += more;
            organizations[on as usize] = true;
            host.organization_roles.push(Grant { who: user, on, role });
        }
    }
    // A folder comes after those around it, so none is granted inside of a granted one, and none around one.
    let mut folders = vec![false; host.size.folders as usize];
    for on in start(host.size.folders)..host.size.folders {
        let place = host.folders[on as usize];
        let more = reach.folders[on as usize];
        let anew = !organizations[host.organization(place) as usize]
            && host.folders_around(place).all(|folder| !folders[folder as usize]);
        if anew && more > 0 && reached + more <= wanted * 9 / 10 {
            reached += more;
            folders[on as usize] = true;
            host.group_folder_roles.push(Grant { who: group, on, role });
        }
    }
    for on in start(host.size.repositories)..host.size.repositories {
        let place = host.repositories[on as usize];
        let anew = !organizations[host.organization(place) as usize]
            && host.folders_around(place).all(|folder| !folders[folder as usize]);
        if anew && reached < wanted {
            reached += 1;
            host.repository_roles.push(Grant { who: user, on, role });
        }
    }
}
