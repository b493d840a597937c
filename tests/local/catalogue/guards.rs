//! Guards in `allow`: what a permission of any kind needs in addition.

use super::Pattern;
use super::kinds::OWN_OR_VIEWED;

pub(super) const GUARDS: &[Pattern] = &[
    Pattern {
        shape: "pattern-guard-with-an-inherited-exception",
        title: "A guard on the folder, except below folders of the user",
        why: "The folders with the exception are found once. The archived folders are joined by their key, and the document's folder is looked up in a hash table of those found.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not frozen(u, d);
frozen(u: User, d: Document) if has_relation(d, \"folder\", f) and archived(f) and not trusted(u, f);
trusted(u: User, f: Folder) if quota(u, f, \"edit\", _);
trusted(u: User, f: Folder) if has_relation(f, \"parent\", p) and trusted(u, p);",
        expert: "(d.owner_id = ? OR VIEWED) AND NOT EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1 AND f.id NOT IN (TRUSTED))",
    },
    Pattern {
        shape: "pattern-denial-inside-a-denial",
        title: "A denial inside a denial, which two rules share",
        why: "It is one condition on the row, and finds the blocks by the document. In the set of the user's blocks, PostgreSQL would read all blocks with all that allows them if it has no statistics.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if blocked(d, u) and not fails(u, d);
has_permission(u: User, \"read\", d: Document) if
  has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f) and status(d, \"final\") and not fails(u, d);
fails(u: User, d: Document) if blocked(d, v) and v != u and not deputy(v, u);",
        expert: "(EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id = ?) OR VIEWED AND d.status = 'final')
                 AND NOT EXISTS (
                   SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id <> ? AND NOT EXISTS (
                     SELECT 1 FROM deputies x WHERE x.active = 1 AND x.user_id = b.user_id AND x.deputy_id = ?))",
    },
    Pattern {
        shape: "pattern-denied-through-a-chain-of-deputies",
        title: "Documents that are blocked for a user whose deputy the user is, at any distance",
        why: "The chain of deputies is followed once. An index finds the blocks by the document, by an array of the users, or by both.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not shut_out(u, d);
shut_out(u: User, d: Document) if blocked(d, v) and acts_for(u, v);
acts_for(u: User, v: User) if deputy(v, u);
acts_for(u: User, v: User) if acts_for(u, w) and deputy(v, w);",
        expert: "(d.owner_id = ? OR VIEWED) AND NOT EXISTS (
                   SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id IN (PRINCIPALS))",
    },
    Pattern {
        shape: "pattern-guard-that-a-rule-repeats",
        title: "A guard with two alternatives, of which one is a rule",
        why: "The owner reads the document by the rule, and passes the guard for the same reason, so this is compared once, and the rest of the guard is tested for the others alone.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and (status(d, \"final\") or has_relation(d, \"owner\", u)) and not frozen(d);
frozen(d: Document) if has_relation(d, \"folder\", f) and archived(f);",
        expert: "(d.owner_id = ? OR VIEWED AND d.status = 'final') AND NOT EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    // Each alternative of the guard has a copy of the rules, in an order of its own.
    Pattern {
        shape: "pattern-guard-with-a-set-of-the-user",
        title: "A guard with two alternatives, of which one is a set of the user's",
        why: "The rules are checked once, before the guard's alternatives. PostgreSQL would compare each row with a copy of them inside each alternative.",
        reads_each_row: false,
        shorthand: r#""read" if "owner"; "read" if "viewer" on "folder";"#,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and (status(d, \"final\") or size(d, s) and limit(u, s));",
        expert: "(d.owner_id = ? OR VIEWED) AND (
                   d.status = 'final' OR d.size IN (SELECT most FROM limits WHERE user_id = ?))",
    },
    Pattern {
        shape: "pattern-flag-in-a-hierarchy-for-everybody",
        title: "A flag that folders inherit, for everybody",
        why: "Nothing leads from the user to the folders, so the recursion starts from those that have the flag, not from every document's folder. What it finds is a hash table.",
        reads_each_row: true,
        shorthand: r#""read" if status(resource, "draft");"#,
        rule: "has_permission(_: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and open(f);
open(f: Folder) if archived(f);
open(f: Folder) if has_relation(f, \"parent\", p) and open(p);",
        expert: "(d.status = 'draft' OR d.folder_id IN (CLOSED))",
    },
    Pattern {
        shape: "pattern-guard-beside-a-rule-for-everybody",
        title: "A guard on the folder and all above it, where the folders of all tenants but one are open to everybody",
        why: "Nothing lists the documents that everybody may read, so each row is tested. Its folder is looked up once by its key, for the user's tenants and for those that are open to everybody, and the guard is one hash table.",
        reads_each_row: true,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and opened(u, f) and not closed(f);
opened(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
opened(_: User, f: Folder) if has_relation(f, \"tenant\", t) and t != Tenant{\"100\"};
closed(f: Folder) if archived(f);
closed(f: Folder) if has_relation(f, \"parent\", p) and closed(p);",
        expert: "d.folder_id NOT IN (CLOSED) AND EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND (
                     f.tenant_id IN (SELECT tenant_id FROM tenant_members WHERE user_id = ?)
                     OR f.tenant_id <> 100))",
    },
    // The alternatives under the guard find nothing that those without it do not.
    Pattern {
        shape: "pattern-guard-for-other-actions",
        title: "A guard for all actions, and a rule without it for some",
        why: "Reading needs no guard, so the rule with the guard adds nothing and is left out.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if status(d, \"final\") and has_relation(d, \"folder\", f)
  and has_permission(u, \"read\", f);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and keeps(u, f);
has_permission(u: User, \"read\", f: Folder) if keeps(u, f);
keeps(u: User, f: Folder) if keeper(f, u) and not archived(f);
allow(u: User, a: String, d: Document) if a in [\"read\", \"list\"] and has_permission(u, a, d);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not staff(u);",
        expert: "(d.owner_id = ? OR d.status = 'final' AND VIEWED
                   OR d.folder_id IN (SELECT id FROM folders WHERE keeper_id = ? AND COALESCE(archived, 0) <> 1))",
    },
    Pattern {
        shape: "pattern-flag-in-a-hierarchy",
        title: "A guard on the folder and all above it",
        why: "A recursion finds the folders above each folder of the user's documents once. Those of which one above is archived are a hash table, in which the document's folder is looked up. The filter reads `documents`, so it cannot be a policy of row-level security.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and not closed(f);
closed(f: Folder) if archived(f);
closed(f: Folder) if has_relation(f, \"parent\", p) and closed(p);",
        expert: "(d.owner_id = ? OR VIEWED) AND d.folder_id IS NOT NULL AND d.folder_id NOT IN (CLOSED)",
    },
    Pattern {
        shape: "pattern-guard-from-the-user-to-the-container",
        title: "A guard that leads from the user to the folder",
        why: "The rules find the documents. The folder of each is looked up by its key, and the user's tenants are few. An array of all folders of these tenants would be as large as the tenants.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and member(u, t);",
        expert: "(d.owner_id = ? OR VIEWED) AND EXISTS (
                   SELECT 1 FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id AND m.user_id = ?
                   WHERE f.id = d.folder_id)",
    },
    Pattern {
        shape: "pattern-role-for-every-row",
        title: "A role for every document, under a guard on the document",
        why: "Nothing lists the documents that staff may read, so that rule tests the row at hand. Whether the user is staff is asked once, before any row is tested. No index finds the rows, so each is read, and the user's sets are hash tables.",
        reads_each_row: true,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);
has_permission(u: User, \"read\", _: Document) if staff(u);",
        expert: "(d.owner_id = ? OR VIEWED OR EXISTS (SELECT 1 FROM staff WHERE user_id = ?)) AND COALESCE(d.deleted, 0) <> 1",
    },
    Pattern {
        shape: "pattern-alternatives-that-all-deny",
        title: "Alternatives that are all negative",
        why: "Nothing lists the documents that pass, so each row is tested, by its own columns and by its folder.",
        reads_each_row: true,
        shorthand: "",
        rule: "has_permission(_: User, \"read\", d: Document) if not deleted(d);
has_permission(_: User, \"read\", d: Document) if not placed(d);
placed(d: Document) if has_relation(d, \"folder\", f) and not archived(f);",
        expert: "COALESCE(d.deleted, 0) <> 1 OR d.folder_id IS NULL \
                 OR EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-guard-by-two-rules-to-the-container",
        title: "A guard that leads from the user to the folder by two rules",
        why: "The folders of the user's tenants are not listed, but the folder of each document that the rules find is looked up by its key. The folders in which the user is an editor are few, and stay a set.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and inside(u, d);
inside(u: User, d: Document) if has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and member(u, t);
inside(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"editor\", f);",
        expert: "d.owner_id = ? AND (
                   EXISTS (SELECT 1 FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id AND m.user_id = ?
                           WHERE f.id = d.folder_id)
                   OR EXISTS (SELECT 1 FROM folder_roles r
                              WHERE r.user_id = ? AND r.role = 'editor' AND r.folder_id = d.folder_id))",
    },
    Pattern {
        shape: "pattern-staff-in-some-containers",
        title: "Staff may read the documents of suspended tenants",
        why: "The list of folders in suspended tenants is made only for staff. For other users it is empty, no folder is read, and indexes find the documents. Testing the folder of each document instead would read every document for every user.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "has_permission(u: User, \"read\", d: Document) if staff(u)
  and has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and suspended(t);",
        expert: "d.owner_id = ? OR VIEWED OR d.folder_id IN (
                   SELECT f.id FROM folders f JOIN tenants t ON t.id = f.tenant_id
                   WHERE t.suspended = 1 AND EXISTS (SELECT 1 FROM staff WHERE user_id = ?))",
    },
    Pattern {
        shape: "pattern-number-of-the-document-or-a-set",
        title: "Documents of one size, or those of a set",
        why: "A number may be that of any row, and seldom has an index. So every document is tested, and the sets are hashed: an array would be searched from end to end for each document.",
        reads_each_row: true,
        shorthand: OWN_OR_VIEWED,
        rule: "has_permission(_: User, \"read\", d: Document) if size(d, 7);",
        expert: "d.owner_id = ? OR VIEWED OR d.size = 7",
    },
    Pattern {
        shape: "pattern-guards-on-row-and-actor-beside-a-flag",
        title: "Guards on the document and on the user, where a status lets every user in",
        why: "The guard on the user is tested once, before any row. For a user that it keeps out, no row is read.",
        reads_each_row: true,
        shorthand: r#""read" if "owner"; "read" if status(resource, "draft");"#,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d) and not staff(u);",
        expert: "(d.owner_id = ? OR d.status = 'draft') AND COALESCE(d.deleted, 0) <> 1
                 AND NOT EXISTS (SELECT 1 FROM staff s WHERE s.user_id = ?)",
    },
    Pattern {
        shape: "pattern-status-or-keeper-of-the-container",
        title: "A status, or a folder that belongs to the user",
        why: "Each row is read for the status. The user's folders are listed and hashed, because that is cheaper than a look-up of each row's folder.",
        reads_each_row: true,
        shorthand: r#""read" if status(resource, "draft");"#,
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and keeper(f, u);",
        expert: "(d.status = 'draft' OR d.folder_id IN (SELECT f.id FROM folders f WHERE f.keeper_id = ?))",
    },
    Pattern {
        shape: "pattern-guards-on-the-container-beside-attributes",
        title: "Guards on the folder, where attributes let every user in",
        why: "No index finds small drafts, so each document is read. The guards are tested once for all alternatives, and joined with the documents that pass.",
        reads_each_row: true,
        shorthand: OWN_OR_VIEWED,
        rule: "has_permission(_: User, \"read\", d: Document) if status(d, \"draft\") and size(d, n) and n < 10;
allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and t matches Tenant and not banned(u, f);",
        expert: "(d.owner_id = ? OR VIEWED OR (d.status = 'draft' AND d.size < 10))
                 AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = d.folder_id)
                 AND EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.tenant_id IS NOT NULL)",
    },
    Pattern {
        shape: "pattern-guards-on-containers-of-many-kinds",
        title: "Long guards on the folder, whose viewers come from several rules",
        why: "The folders of all rules are one table, so the guards are planned once and not for each rule. Each folder is looked up by its key.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder";"#,
        rule: "has_role(u: User, \"viewer\", f: Folder) if keeper(f, u);
has_role(u: User, \"viewer\", f: Folder) if lent(u, f, until) and until > @current_unix_time;
has_role(u: User, \"viewer\", f: Folder) if quota(u, f, \"edit\", _);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and has_relation(d, \"folder\", f)
  and not archived(f) and not banned(u, f) and has_relation(f, \"tenant\", t) and not suspended(t);",
        expert: "d.folder_id IN (
                   SELECT f.id FROM folders f JOIN tenants t ON t.id = f.tenant_id
                   WHERE COALESCE(f.archived, 0) <> 1 AND COALESCE(t.suspended, 0) <> 1
                     AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = f.id)
                     AND (f.keeper_id = ? OR f.id IN (
                       SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer'
                       UNION ALL SELECT folder_id FROM loans WHERE user_id = ? AND until > NOW
                       UNION ALL SELECT folder_id FROM quotas WHERE user_id = ? AND kind = 'edit')))",
    },
    Pattern {
        shape: "pattern-roles-that-a-row-denies",
        title: "Two roles, each unless a row of the same role denies it",
        why: "The alternatives differ in the role alone. So they are one, and the denial compares its role with that of the row.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and usable(u, \"view\", f);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and usable(u, \"edit\", f);
usable(u: User, kind: String, f: Folder) if quota(u, f, kind, _) and not used_up(u, kind, f);
used_up(u: User, kind: String, f: Folder) if quota(u, f, kind, most) and most < 10;",
        expert: "USABLE",
    },
    Pattern {
        shape: "pattern-roles-that-a-row-denies-on-the-container",
        title: "The same in a rule of the folder",
        why: "The folder's rules are one table, of which one alternative is left.",
        reads_each_row: false,
        shorthand: r#""read" if sees_in(actor, resource);"#,
        rule: "sees_in(u: User, d: Document) if has_relation(d, \"folder\", f) and sees(u, f);
sees(u: User, f: Folder) if usable(u, \"view\", f);
sees(u: User, f: Folder) if usable(u, \"edit\", f);
usable(u: User, kind: String, f: Folder) if quota(u, f, kind, _) and not used_up(u, kind, f);
used_up(u: User, kind: String, f: Folder) if quota(u, f, kind, most) and most < 10;",
        expert: "USABLE",
    },
    Pattern {
        shape: "pattern-roles-under-guards-on-the-same-rows",
        title: "A role on the folder or a membership of its tenant, under guards on both",
        why: "What leads from the user to the folder stays a set, although the guards read the same folder and tenant.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder";"#,
        rule: "has_role(u: User, \"viewer\", f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not staff(u)
  and has_relation(d, \"folder\", f) and not archived(f) and not banned(u, f)
  and has_relation(f, \"tenant\", t) and not suspended(t);",
        expert: "NOT EXISTS (SELECT 1 FROM staff s WHERE s.user_id = ?) AND d.folder_id IN (
                   SELECT f.id FROM folders f JOIN tenants t ON t.id = f.tenant_id
                   WHERE COALESCE(f.archived, 0) <> 1 AND COALESCE(t.suspended, 0) <> 1
                     AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = f.id)
                     AND (f.id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer')
                       OR f.tenant_id IN (SELECT tenant_id FROM tenant_members WHERE user_id = ?)))",
    },
    Pattern {
        shape: "pattern-guard-behind-deputies",
        title: "Documents of users whose deputy the user is, at any distance, unless they are deleted",
        why: "No step changes the document, so the guard is asked once, of the document itself. The recursion is one over users alone and starts from the user.",
        reads_each_row: false,
        shorthand: "",
        rule: "reads(u: User, d: Document) if has_relation(d, \"owner\", u);
reads(u: User, d: Document) if deputy(v, u) and reads(v, d) and not deleted(d);
has_permission(u: User, \"read\", d: Document) if reads(u, d);",
        expert: "(d.owner_id = ? OR d.owner_id IN (PRINCIPALS) AND COALESCE(d.deleted, 0) <> 1)",
    },
    Pattern {
        shape: "pattern-guard-behind-deputies-on-each-user",
        title: "Documents of users whose deputy the user is, at any distance, unless they are blocked for a user on the way",
        why: "The guard asks for the document and the user, so the recursion has both. It starts from the documents of the users whom the given user represents, who are found first.",
        reads_each_row: false,
        shorthand: "",
        rule: "reads(u: User, d: Document) if has_relation(d, \"owner\", u);
reads(u: User, d: Document) if deputy(v, u) and reads(v, d) and not blocked(d, u);
has_permission(u: User, \"read\", d: Document) if reads(u, d);",
        expert: "d.id IN (
                   WITH RECURSIVE reads AS (
                     SELECT owner_id, id FROM documents WHERE owner_id = ? OR owner_id IN (PRINCIPALS)
                     UNION SELECT v.deputy_id, r.id FROM reads r
                     JOIN deputies v ON v.user_id = r.owner_id AND v.active = 1
                     WHERE NOT EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = r.id AND b.user_id = v.deputy_id))
                   SELECT id FROM reads WHERE owner_id = ?)",
    },
    Pattern {
        shape: "pattern-pair-of-the-row-beside-a-role",
        title: "Documents in a folder of the user's that is lent to the document's owner",
        why: "The folder is a column of the row, so the user's folders are a set, and the loan is looked up by both columns. Joined with the loan, the folders would be listed again for each row.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"editor\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"editor\", p);
has_role(u: User, \"viewer\", f: Folder) if has_role(u, \"editor\", f);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f)
  and has_relation(d, \"owner\", o) and lent(o, f, _);",
        expert: "(VIEWED OR d.folder_id IN (
                     WITH RECURSIVE edited AS (
                       SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor'
                       UNION SELECT p.folder_id FROM edited e JOIN parents p ON p.parent_id = e.folder_id)
                     SELECT folder_id FROM edited WHERE folder_id IS NOT NULL))
                   AND EXISTS (SELECT 1 FROM loans l
                     WHERE l.user_id = d.owner_id AND l.folder_id = d.folder_id AND l.until IS NOT NULL)",
    },
    Pattern {
        shape: "pattern-two-choices-that-share-branches",
        title: "Documents that the user can see, if they are not deleted or the user can edit them",
        why: "Those who can edit a document can see it, so each document must meet two choices, and an index finds the rows of one of them. Written as separate alternatives, none of the sets would be hashed.",
        reads_each_row: false,
        shorthand: "",
        rule: "edits(u: User, d: Document) if has_relation(d, \"owner\", u);
edits(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"editor\", f);
sees(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f);
sees(u: User, d: Document) if edits(u, d);
usable(_u: User, d: Document) if not deleted(d);
usable(u: User, d: Document) if edits(u, d);
has_permission(u: User, \"read\", d: Document) if sees(u, d) and usable(u, d);",
        expert: "(VIEWED OR EDITED) AND (COALESCE(d.deleted, 0) <> 1 OR EDITED)",
    },
    Pattern {
        shape: "pattern-limit-of-a-deputy-with-an-inherited-role",
        title: "Documents up to the limit of a user whose deputy the user is, in folders that this other user edits",
        why: "The furthest limit for each folder is found once, as a map in which each document's folder is looked up. A test would run the recursion for every document.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"editor\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"editor\", p);
has_permission(u: User, \"read\", d: Document) if deputy(v, u) and has_relation(d, \"folder\", f)
  and has_role(v, \"editor\", f) and limit(v, most) and size(d, s) and s <= most;",
        expert: "EXISTS (
                   WITH RECURSIVE edited AS (
                     SELECT user_id, folder_id FROM folder_roles WHERE role = 'editor'
                     UNION SELECT e.user_id, p.folder_id FROM edited e JOIN parents p ON p.parent_id = e.folder_id)
                   SELECT 1 FROM edited e JOIN deputies x ON x.user_id = e.user_id AND x.deputy_id = ? AND x.active = 1
                   JOIN limits l ON l.user_id = e.user_id
                   WHERE e.folder_id = d.folder_id AND d.size <= l.most)",
    },
    Pattern {
        shape: "pattern-own-rows-in-folders-of-the-users-tenant",
        title: "Documents in folders that the user edits, and own documents in folders that the user views or whose tenant the user is a member of",
        why: "An index finds the user's own documents and those of the edited folders. The folder's tenant is then looked up among the user's: the tenants are hashed outside the look-up of the folder, in which PostgreSQL would count them for every row.",
        reads_each_row: false,
        shorthand: r#""read" if "editor" on "folder";"#,
        rule: "has_role(u: User, \"viewer\", f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"owner\", u) and has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f);",
        expert: "(d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor')
                 OR d.owner_id = ? AND (VIEWED OR EXISTS (
                   SELECT 1 FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id
                   WHERE f.id = d.folder_id AND m.user_id = ?)))",
    },
];
