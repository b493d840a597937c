//! What the answers should be, from the arrays of the code host alone.
//!
//! In: a [`CodeHost`]. Out: [`Truth`], which says what the rules of `fixtures/example/policy.polar` mean, in
//! Rust and by hand: it knows nothing of Polar, of plans or of SQL, and nothing of the program is called. A
//! user's [`Rights`] are gathered once: the user's own grants, and those of every group around the user. A
//! decision then walks up from the resource. A list asks that of every resource, which takes a while and
//! cannot miss one.

use crate::code_host::{Ban, CREATED, CodeHost, Entity, Grant, Member, Role, SUPERADMIN};
use rustc_hash::{FxHashMap, FxHashSet};

/// Knows every answer.
#[derive(Debug)]
pub(crate) struct Truth<'h> {
    pub(crate) host: &'h CodeHost,
}

/// What one user was granted and refused, directly or through groups.
#[derive(Debug)]
pub(crate) struct Rights {
    user: u32,
    organizations: FxHashMap<u32, Role>,
    folders: FxHashMap<u32, Role>,
    repositories: FxHashMap<u32, Role>,
    bans: FxHashSet<u32>,
}

/// The permissions of repositories and issues, sorted as answers are.
const REPOSITORY: [&str; 4] = ["manage", "open_issue", "read", "write"];
const ISSUE: [&str; 3] = ["close", "comment", "read"];

impl Truth<'_> {
    /// The rights of a user.
    pub(crate) fn rights(&self, user: u32) -> Rights {
        let host = self.host;
        let mut rights = Rights {
            user,
            organizations: FxHashMap::default(),
            folders: FxHashMap::default(),
            repositories: FxHashMap::default(),
            bans: sorted_part(&host.bans, user, |ban: &Ban| ban.user)
                .iter()
                .map(|ban| ban.repository)
                .collect(),
        };
        note(&mut rights.organizations, of(&host.organization_roles, user));
        note(&mut rights.folders, of(&host.folder_roles, user));
        note(&mut rights.repositories, of(&host.repository_roles, user));
        for group in self.groups_around(user) {
            note(&mut rights.folders, of(&host.group_folder_roles, group));
            note(&mut rights.repositories, of(&host.group_repository_roles, group));
        }
        rights
    }

    /// Whether a user may do this to an issue or a repository.
    pub(crate) fn may(&self, rights: &Rights, action: &str, resource: Entity) -> bool {
        match resource {
            Entity::Repository(repository) => self.may_to_repository(rights, action, repository),
            Entity::Issue(issue) => {
                let repository = self.host.issues[issue as usize];
                match action {
                    "read" => self.may_to_repository(rights, "read", repository),
                    "comment" => self.may_to_repository(rights, "open_issue", repository),
                    "close" => {
                        self.may_to_repository(rights, "write", repository)
                            || (self.creator(issue) == Some(rights.user)
                                && self.may_to_repository(rights, "read", repository))
                    }
                    _ => false,
                }
            }
            Entity::User(_) | Entity::Group(_) | Entity::Organization(_) | Entity::Folder(_) => {
                panic!("the truth about {resource:?} is not known")
            }
        }
    }

    /// All that a user may do to an issue or a repository.
    pub(crate) fn actions(&self, rights: &Rights, resource: Entity) -> Vec<String> {
        let actions: &[&str] = if matches!(resource, Entity::Repository(_)) { &REPOSITORY } else { &ISSUE };
        let allowed = actions.iter().filter(|action| self.may(rights, action, resource));
        allowed.map(|action| (*action).to_owned()).collect()
    }

    /// The ids to which a user may do this, in the order of answers: they are numbers.
    pub(crate) fn list(&self, rights: &Rights, action: &str, ty: &str) -> Vec<String> {
        let (count, entity): (_, fn(u32) -> Entity) = match ty {
            "Repository" => (self.host.size.repositories, Entity::Repository),
            _ => (self.host.size.issues, Entity::Issue),
        };
        let all = (0..count).map(entity);
        let mut ids: Vec<String> =
            all.filter(|resource| self.may(rights, action, *resource)).map(Entity::id).collect();
        ids.sort_by_key(|id| id.parse::<u32>().unwrap());
        ids
    }

    fn may_to_repository(&self, rights: &Rights, action: &str, repository: u32) -> bool {
        let banned = rights.bans.contains(&repository);
        let at_least = |role| self.role(rights, repository) >= Some(role);
        match action {
            "read" | "open_issue" => {
                !banned && (self.host.public.binary_search(&repository).is_ok() || at_least(Role::Reader))
            }
            "write" => !banned && at_least(Role::Maintainer),
            "manage" => at_least(Role::Admin),
            _ => false,
        }
    }

    /// The greatest role in a repository: there, in a folder around it, or in the organization.
    fn role(&self, rights: &Rights, repository: u32) -> Option<Role> {
        if rights.user == SUPERADMIN {
            return Some(Role::Admin);
        }
        let place = self.host.repositories[repository as usize];
        let above = self.host.folders_around(place).filter_map(|folder| rights.folders.get(&folder)).max();
        let organization = rights.organizations.get(&self.host.organization(place));
        rights.repositories.get(&repository).max(above).max(organization).copied()
    }

    fn creator(&self, issue: u32) -> Option<u32> {
        issue.is_multiple_of(CREATED).then(|| self.host.creators[(issue / CREATED) as usize])
    }

    /// The groups that a user is in, and all around them; some may come twice.
    fn groups_around(&self, user: u32) -> impl Iterator<Item = u32> {
        let around = |group: &u32| self.host.groups[*group as usize];
        let members = sorted_part(&self.host.members, user, |member: &Member| member.user);
        members.iter().flat_map(move |member| std::iter::successors(Some(member.group), around))
    }
}

/// The grants of somebody.
pub(crate) fn of(grants: &[Grant], who: u32) -> &[Grant] {
    sorted_part(grants, who, |grant| grant.who)
}

fn sorted_part<T>(items: &[T], wanted: u32, key: fn(&T) -> u32) -> &[T] {
    let start = items.partition_point(|item| key(item) < wanted);
    let end = items.partition_point(|item| key(item) <= wanted);
    &items[start..end]
}

fn note(roles: &mut FxHashMap<u32, Role>, grants: &[Grant]) {
    for grant in grants {
        let known = roles.entry(grant.on).or_insert(grant.role);
        *known = grant.role.max(*known);
    }
}
