//! Rules with alternatives; most ask for two things, each of which can be had in several ways.

use super::Pattern;
use super::kinds::OWN_OR_VIEWED;

pub(super) const CHOICES: &[Pattern] = &[
    Pattern {
        shape: "pattern-role-that-others-include",
        title: "One of two roles on the folder through another rule, or a third role",
        why: "The three roles become one list, so one array has all folders of the user.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and sees(u, f);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"auditor\", f);
sees(u: User, f: Folder) if has_role(u, \"viewer\", f);
sees(u: User, f: Folder) if has_role(u, \"editor\", f);",
        expert: "d.folder_id IN (
                   SELECT folder_id FROM folder_roles WHERE user_id = ? AND role IN ('viewer', 'editor', 'auditor'))",
    },
    Pattern {
        shape: "pattern-roles-and-exceptions",
        title: "Several ways to a document, and a guard with exceptions for staff and for the owner",
        why: "The policy's rules are every way with every exception. They are factored into the ways, which indexes answer, and the exceptions, which are tested once for each document found.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "has_permission(u: User, \"read\", d: Document) if blocked(d, u);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and may_open(u, d);
may_open(_: User, d: Document) if not frozen(d);
may_open(u: User, _: Document) if staff(u);
may_open(u: User, d: Document) if has_relation(d, \"owner\", u);
frozen(d: Document) if has_relation(d, \"folder\", f) and archived(f);",
        expert: "(d.owner_id = ? OR VIEWED OR d.id IN (SELECT document_id FROM blocks WHERE user_id = ?))
                 AND (d.owner_id = ? OR EXISTS (SELECT 1 FROM staff s WHERE s.user_id = ?) OR NOT EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1))",
    },
    Pattern {
        shape: "pattern-ways-under-a-choice",
        title: "Two ways to a document, if it is in a folder that is not archived, or final",
        why: "One alternative shows the row's folder and the other does not. They still share the ways to the document, so that each set is listed once.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and cleared(u, d);
cleared(_: User, d: Document) if has_relation(d, \"folder\", f) and not archived(f);
cleared(_: User, d: Document) if status(d, \"final\");",
        expert: "(d.owner_id = ? OR VIEWED) AND (
                   d.folder_id IS NOT NULL AND NOT EXISTS (
                     SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)
                   OR d.status = 'final')",
    },
    Pattern {
        shape: "pattern-role-with-a-choice-under-a-guard",
        title: "A role on the folder for documents with one of two properties, and the owner, under a guard",
        why: "The role is looked up once. Both properties are conditions on the row.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f) and cleared(u, d);
cleared(_: User, d: Document) if status(d, \"final\");
cleared(u: User, d: Document) if size(d, s) and limit(u, most) and s <= most;
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR VIEWED AND (
                   d.status = 'final' OR d.size <= (SELECT max(most) FROM limits WHERE user_id = ?)))
                 AND (d.deleted = 1) IS NOT TRUE",
    },
    Pattern {
        shape: "pattern-own-rows-in-folders-with-several-ways",
        title: "Own documents in folders that the user may open in two ways, unless the folder is archived",
        why: "An index finds the user's own documents, and all folders are one set. PostgreSQL would count a test of each document's folder for every row that it expects. What is suspended is tested among the user's tenants, which are fewer than their folders.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"owner\", u)
  and has_relation(d, \"folder\", f) and may_open(u, f) and not archived(f);
may_open(u: User, f: Folder) if has_role(u, \"viewer\", f);
may_open(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t) and not suspended(t);",
        expert: "d.owner_id = ? AND NOT EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)
                 AND (VIEWED OR EXISTS (
                   SELECT 1 FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id
                   WHERE f.id = d.folder_id AND m.user_id = ? AND NOT EXISTS (
                     SELECT 1 FROM tenants t WHERE t.id = m.tenant_id AND t.suspended = 1)))",
    },
    Pattern {
        shape: "pattern-guard-about-the-owner",
        title: "Own documents, or those in a folder that are not deleted, and a guard about the owner",
        why: "Both ways are indexed, although the guard shows the owner of every document: the rows that they find are not compared with all folders again.",
        reads_each_row: false,
        shorthand: r#""read" if "owner"; "read" if "read" on "folder" and not deleted(resource);"#,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and has_relation(d, \"owner\", o) and not staff(o);",
        expert: "(d.owner_id = ? OR VIEWED AND (d.deleted = 1) IS NOT TRUE)
                 AND d.owner_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM staff s WHERE s.user_id = d.owner_id)",
    },
    Pattern {
        shape: "pattern-permission-under-two-conditions",
        title: "A permission with several ways, for final documents and for those of which the user has a quota",
        why: "Both rules ask for the permission, which is one condition on the row, and what they add is another. The folders are one set, whether the rules reach it through a table or by a test of each row.",
        reads_each_row: false,
        shorthand: "",
        rule: "near(u: User, d: Document) if has_relation(d, \"owner\", u);
near(u: User, d: Document) if has_relation(d, \"folder\", f) and views(u, f);
views(u: User, f: Folder) if has_role(u, \"viewer\", f);
views(u: User, f: Folder) if deputy(v, u) and has_role(v, \"viewer\", f);
has_permission(u: User, \"read\", d: Document) if near(u, d) and status(d, \"final\");
has_permission(u: User, \"read\", d: Document) if near(u, d) and has_relation(d, \"folder\", f)
  and status(d, k) and quota(u, f, k, _);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR VIEWED OR d.folder_id IN (
                   SELECT r.folder_id FROM deputies x JOIN folder_roles r ON r.user_id = x.user_id
                   WHERE x.deputy_id = ? AND x.active = 1 AND r.role = 'viewer'))
                 AND (d.status = 'final' OR EXISTS (
                   SELECT 1 FROM quotas q WHERE q.user_id = ? AND q.folder_id = d.folder_id AND q.kind = d.status
                   AND q.most IS NOT NULL))
                 AND (d.deleted = 1) IS NOT TRUE",
    },
    Pattern {
        shape: "pattern-permission-on-top-of-another",
        title: "The owner, and a permission with several ways for final documents and for those of which the user has a quota",
        why: "The other permission is asked once, for both rules, although the owner is one of its ways, which the first rule makes superfluous.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "near(u: User, d: Document) if has_relation(d, \"owner\", u);
near(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f);
near(u: User, d: Document) if has_relation(d, \"folder\", f) and seconds(u, f) and not archived(f);
seconds(u: User, f: Folder) if has_role(u, \"editor\", f);
seconds(u: User, f: Folder) if deputy(v, u) and has_role(v, \"viewer\", f);
has_permission(u: User, \"read\", d: Document) if near(u, d) and status(d, \"final\");
has_permission(u: User, \"read\", d: Document) if near(u, d) and has_relation(d, \"folder\", f)
  and status(d, k) and quota(u, f, k, _);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR (VIEWED OR (EDITED OR d.folder_id IN (
                     SELECT r.folder_id FROM deputies x JOIN folder_roles r ON r.user_id = x.user_id
                     WHERE x.deputy_id = ? AND x.active = 1 AND r.role = 'viewer'))
                   AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1))
                 AND (d.status = 'final' OR EXISTS (
                   SELECT 1 FROM quotas q WHERE q.user_id = ? AND q.folder_id = d.folder_id AND q.kind = d.status
                   AND q.most IS NOT NULL)))
                 AND (d.deleted = 1) IS NOT TRUE",
    },
    Pattern {
        shape: "pattern-exception-that-is-a-way",
        title: "Several ways to a document, unless it is deleted, for which the owner is an exception, and a guard about the folder",
        why: "An owner passes both. The ways are one condition and the exceptions another, although the rules have fewer combinations than ways times exceptions.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not walled(u, d) and open_for(u, d);
walled(u: User, d: Document) if has_relation(d, \"folder\", f) and banned(u, f);
open_for(_: User, d: Document) if not deleted(d);
open_for(u: User, d: Document) if has_relation(d, \"owner\", u);
open_for(u: User, d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"editor\", f);",
        expert: "(d.owner_id = ? OR VIEWED)
                 AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = d.folder_id)
                 AND ((d.deleted = 1) IS NOT TRUE OR EDITED)",
    },
    Pattern {
        shape: "pattern-guard-through-a-join",
        title: "A guard that joins what the folder leads to, beside a rule about the document",
        why: "It is one condition on the row, because documents of the second rule would each get a copy of it. PostgreSQL joins it with the rows that the indexes find.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if
  status(d, \"final\") and has_relation(d, \"owner\", o) and deputy(o, u);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and has_relation(d, \"folder\", f)
  and keeper(f, k) and staff(k);",
        expert: "(VIEWED OR d.status = 'final' AND d.owner_id IN (
                   SELECT x.user_id FROM deputies x WHERE x.deputy_id = ? AND x.active = 1))
                 AND EXISTS (
                   SELECT 1 FROM folders f JOIN staff s ON s.user_id = f.keeper_id WHERE f.id = d.folder_id)",
    },
    Pattern {
        shape: "pattern-denials-in-both-directions",
        title: "A denial by two rules about the owner",
        why: "Each is a denial by itself, which PostgreSQL turns into an anti-join.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "at_odds(a: User, b: User) if deputy(a, b);
at_odds(a: User, b: User) if deputy(b, a);
unfit(u: User, d: Document) if has_relation(d, \"owner\", o) and at_odds(u, o);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not unfit(u, d);",
        expert: "(d.owner_id = ? OR VIEWED)
                 AND NOT EXISTS (SELECT 1 FROM deputies x WHERE x.active = 1 AND x.user_id = ? AND x.deputy_id = d.owner_id)
                 AND NOT EXISTS (SELECT 1 FROM deputies x WHERE x.active = 1 AND x.deputy_id = ? AND x.user_id = d.owner_id)",
    },
    Pattern {
        shape: "pattern-condition-by-two-rules",
        title: "A role of several ways, under a condition for which there are two rules",
        why: "One of the two rules is for every user. The folders of the role are one array, and the condition is tested on the rows that it finds.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "has_role(u: User, \"editor\", f: Folder) if keeper(f, u);
changes(u: User, f: Folder) if has_role(u, \"editor\", f) and not archived(f);
suits(_: User, d: Document) if status(d, \"final\");
suits(u: User, d: Document) if size(d, s) and limit(u, s);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and changes(u, f) and suits(u, d);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR CHANGED AND (d.status = 'final' OR d.size IN (SELECT most FROM limits WHERE user_id = ?)))
                 AND (d.deleted = 1) IS NOT TRUE",
    },
    Pattern {
        shape: "pattern-role-in-two-guarded-rules",
        title: "A role of several ways in two rules, and a guard about the folder",
        why: "One rule starts from the folders, the other one from the user's limits. Each folder is tested in the set, so that both rules have the same set, and it is asked once.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"editor\", f: Folder) if keeper(f, u);
changes(u: User, f: Folder) if has_role(u, \"editor\", f) and not archived(f);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and changes(u, f) and status(d, \"final\");
has_permission(u: User, \"read\", d: Document) if size(d, s) and limit(u, s) and has_relation(d, \"folder\", f)
  and changes(u, f);
allow(u: User, a: String, d: Document) if has_permission(u, a, d) and has_relation(d, \"folder\", f) and not banned(u, f);",
        expert: "CHANGED AND (d.status = 'final' OR d.size IN (SELECT most FROM limits WHERE user_id = ?))
                 AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = d.folder_id)",
    },
    Pattern {
        shape: "pattern-container-of-the-users-rows",
        title: "All documents in the folders of the user's documents",
        why: "Each way to the user's documents reads their rows, so that the folder is a column of the row. Rows are not looked up by the ids of the same rows.",
        reads_each_row: false,
        shorthand: "",
        rule: "mine(u: User, e: Document) if has_relation(e, \"owner\", u);
mine(u: User, e: Document) if has_relation(e, \"folder\", g) and has_role(u, \"editor\", g) and status(e, \"final\");
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_relation(e, \"folder\", f)
  and mine(u, e);",
        expert: "d.folder_id IN (
                   SELECT e.folder_id FROM documents e WHERE e.id IS NOT NULL AND (e.owner_id = ? OR e.status = 'final'
                     AND e.folder_id IN (SELECT r.folder_id FROM folder_roles r WHERE r.user_id = ? AND r.role = 'editor')))",
    },
    Pattern {
        shape: "pattern-condition-that-the-next-one-implies",
        title: "Two conditions on the folder, one of which implies the other",
        why: "The second condition implies the first, so the SQL asks only for the second.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and sees(u, f) and works_in(u, f);
sees(u: User, f: Folder) if has_role(u, \"viewer\", f);
sees(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
works_in(u: User, f: Folder) if has_role(u, \"viewer\", f) and not archived(f);",
        expert: "VIEWED AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-two-conditions-on-the-container",
        title: "Two independent conditions on the folder, each with two alternatives",
        why: "An index finds the rows by the folders of one condition. The folders of the other are a hash table, built once.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if opens(u, d) and has_relation(d, \"folder\", f) and works_in(u, f);
opens(u: User, d: Document) if has_relation(d, \"folder\", f) and sees(u, f);
sees(u: User, f: Folder) if has_role(u, \"editor\", f);
sees(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
works_in(u: User, f: Folder) if has_role(u, \"viewer\", f) and not archived(f);
works_in(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t) and not suspended(t);",
        expert: "d.folder_id IN (
                   SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor' AND folder_id IS NOT NULL
                   UNION ALL SELECT f.id FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id WHERE m.user_id = ?)
                 AND d.folder_id IN (
                   SELECT r.folder_id FROM folder_roles r WHERE r.user_id = ? AND r.role = 'viewer' AND r.folder_id IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = r.folder_id AND f.archived = 1)
                   UNION ALL SELECT f.id FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id
                     WHERE m.user_id = ? AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = f.tenant_id AND t.suspended = 1))",
    },
    Pattern {
        shape: "pattern-guarded-second-condition-on-the-container",
        title: "A role on the folder, and a second condition on it with a guarded alternative",
        why: "An index finds the rows by the role. One look-up of each row's folder returns the tenant if the guard holds, and the user's tenants are a hash table.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if opens(u, d) and has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f);
opens(u: User, d: Document) if has_relation(d, \"folder\", f) and sees(u, f);
sees(u: User, f: Folder) if has_role(u, \"editor\", f);
sees(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t) and not archived(f);",
        expert: "VIEWED AND d.folder_id IN (
                   SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor' AND folder_id IS NOT NULL
                   UNION ALL SELECT f.id FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id
                     WHERE m.user_id = ? AND (f.archived = 1) IS NOT TRUE)",
    },
];
