//! The code host as facts, table by table, as an import would read them.
//!
//! Every fact has a number; [`CodeHost::row`] returns it, so that all are never in memory at once.
//! Those of one table follow each other in the order of the rows. Facts are written as JSON right here: ids
//! hold no character that would have to be escaped, and the client must not be what is measured.

use super::{Ban, CREATED, CodeHost, Entity, Grant, Member, Place, Role, SUPERADMIN};

/// A fact.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    Relation(Entity, &'static str, Entity),
    Role(Entity, Role, Entity),
    Superadmin(Entity),
    Public(Entity),
    Banned(Entity, Entity),
}

/// The facts of one kind.
struct Table {
    n_rows: usize,
    row: fn(&CodeHost, usize) -> Row,
}

impl CodeHost {
    /// How many facts there are, all of them distinct.
    pub(crate) fn n_facts(&self) -> usize {
        self.tables().iter().map(|table| table.n_rows).sum()
    }

    /// One of the facts.
    pub(crate) fn row(&self, mut number: usize) -> Row {
        for table in self.tables() {
            if number < table.n_rows {
                return (table.row)(self, number);
            }
            number -= table.n_rows;
        }
        panic!("there is no fact of this number")
    }

    /// The facts of these numbers, as the body of `/bulk_load`.
    pub(crate) fn bulk(&self, numbers: impl Iterator<Item = usize>) -> String {
        let mut body = String::from("[");
        for number in numbers {
            if body.len() > 1 {
                body.push(',');
            }
            self.row(number).json(&mut body);
        }
        body.push(']');
        body
    }

    fn tables(&self) -> [Table; 14] {
        let table = |n_rows, row| Table { n_rows, row };
        [
            table(self.members.len(), |host, at| {
                let Member { user, group } = host.members[at];
                Row::Relation(Entity::Group(group), "member", Entity::User(user))
            }),
            table(self.contained.len(), |host, at| {
                let (group, outer) = host.contained[at];
                Row::Relation(Entity::Group(outer), "subgroup", Entity::Group(group))
            }),
            table(self.folders.len(), |host, at| {
                let folder = Entity::Folder(at as u32);
                match host.folders[at] {
                    Place::Organization(of) => {
                        Row::Relation(folder, "organization", Entity::Organization(of))
                    }
                    Place::Folder(of) => Row::Relation(folder, "parent", Entity::Folder(of)),
                }
            }),
            table(self.repositories.len(), |host, at| {
                let repository = Entity::Repository(at as u32);
                match host.repositories[at] {
                    Place::Organization(of) => {
                        Row::Relation(repository, "organization", Entity::Organization(of))
                    }
                    Place::Folder(of) => Row::Relation(repository, "folder", Entity::Folder(of)),
                }
            }),
            table(self.public.len(), |host, at| Row::Public(Entity::Repository(host.public[at]))),
            table(self.issues.len(), |host, at| {
                Row::Relation(Entity::Issue(at as u32), "repository", Entity::Repository(host.issues[at]))
            }),
            table(self.creators.len(), |host, at| {
                Row::Relation(Entity::Issue(at as u32 * CREATED), "creator", Entity::User(host.creators[at]))
            }),
            table(self.organization_roles.len(), |host, at| {
                role(host.organization_roles[at], Entity::User, Entity::Organization)
            }),
            table(self.folder_roles.len(), |host, at| {
                role(host.folder_roles[at], Entity::User, Entity::Folder)
            }),
            table(self.repository_roles.len(), |host, at| {
                role(host.repository_roles[at], Entity::User, Entity::Repository)
            }),
            table(self.group_folder_roles.len(), |host, at| {
                role(host.group_folder_roles[at], Entity::Group, Entity::Folder)
            }),
            table(self.group_repository_roles.len(), |host, at| {
                role(host.group_repository_roles[at], Entity::Group, Entity::Repository)
            }),
            table(self.bans.len(), |host, at| {
                let Ban { user, repository } = host.bans[at];
                Row::Banned(Entity::User(user), Entity::Repository(repository))
            }),
            table(1, |_, _| Row::Superadmin(Entity::User(SUPERADMIN))),
        ]
    }
}

fn role(grant: Grant, who: fn(u32) -> Entity, on: fn(u32) -> Entity) -> Row {
    Row::Role(who(grant.who), grant.role, on(grant.on))
}

impl Role {
    /// Its name in the policy.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Maintainer => "maintainer",
            Self::Admin => "admin",
        }
    }
}

impl Row {
    /// Appends the fact as the interface writes it.
    pub(crate) fn json(self, out: &mut String) {
        let (predicate, args): (_, &[Arg]) = match self {
            Self::Relation(from, name, to) => {
                ("has_relation", &[Arg::Entity(from), Arg::Text(name), Arg::Entity(to)])
            }
            Self::Role(who, role, on) => {
                ("has_role", &[Arg::Entity(who), Arg::Text(role.name()), Arg::Entity(on)])
            }
            Self::Superadmin(who) => ("has_role", &[Arg::Entity(who), Arg::Text("superadmin")]),
            Self::Public(repository) => ("is_public", &[Arg::Entity(repository)]),
            Self::Banned(who, repository) => ("is_banned", &[Arg::Entity(who), Arg::Entity(repository)]),
        };
        out.push_str(r#"{"predicate":""#);
        out.push_str(predicate);
        out.push_str(r#"","args":"#);
        for (at, arg) in args.iter().enumerate() {
            out.push_str(if at == 0 { r#"[{"type":""# } else { r#",{"type":""# });
            match *arg {
                Arg::Entity(entity) => {
                    out.push_str(entity.ty());
                    out.push_str(r#"","id":""#);
                    entity.write_id(out);
                }
                Arg::Text(text) => {
                    out.push_str(r#"String","id":""#);
                    out.push_str(text);
                }
            }
            out.push_str(r#""}"#);
        }
        out.push_str("]}");
    }
}

#[derive(Clone, Copy)]
enum Arg {
    Entity(Entity),
    Text(&'static str),
}
