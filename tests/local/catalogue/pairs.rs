//! Rules that compare several columns of the row with the user's.

use super::Pattern;

pub(super) const PAIRS: &[Pattern] = &[
Pattern {
    shape: "pattern-pairs-of-the-user",
    title: "Two columns against pairs of the user's",
    why: "An array of the folders finds the rows, and a hash table of the pairs, made once, tests them.",
    reads_each_row: false,
    shorthand: r#""read" if "owner";"#,
    rule: "has_permission(u: User, \"read\", d: Document) if quota(u, f, s, _) and has_relation(d, \"folder\", f)
  and status(d, s);",
    expert: "(d.owner_id = ? OR (d.folder_id, d.status) IN (
               SELECT folder_id, kind FROM quotas WHERE user_id = ? AND most IS NOT NULL))",
},
Pattern {
    shape: "pattern-attribute-beside-containers-of-the-users-tenant",
    title: "Documents with a status that the user may handle, in folders that the user views or whose tenant the user is a member of",
    why: "The folders are one set, which the index finds the rows by: few rows share a folder, and many a status.",
    reads_each_row: false,
    shorthand: "",
    rule: "has_role(u: User, \"viewer\", f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f)
  and status(d, s) and quota(u, _, s, _);",
    expert: "d.folder_id IN (
               SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer' AND folder_id IS NOT NULL
               UNION ALL SELECT f.id FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id WHERE m.user_id = ?)
             AND d.status IN (
               SELECT kind FROM quotas WHERE user_id = ? AND folder_id IS NOT NULL AND most IS NOT NULL)",
},
Pattern {
    shape: "pattern-deny-list-for-rows-that-everybody-may-read",
    title: "The user's own documents, and final ones, unless their folder or they themselves are denied to the user",
    why: "Each row is tested anyway. The folders that are denied to the user are a hash table, made once.",
    reads_each_row: true,
    shorthand: r#""read" if shown_to(actor, resource); "read" if "owner";"#,
    rule: "shown_to(u: User, d: Document) if status(d, \"final\") and not shut_out(u, d);
shut_out(u: User, d: Document) if has_relation(d, \"folder\", f) and banned(u, f);
shut_out(u: User, d: Document) if blocked(d, u) and not has_relation(d, \"owner\", u);",
    expert: "d.owner_id = ? OR d.status = 'final'
               AND NOT EXISTS (SELECT 1 FROM bans b WHERE b.user_id = ? AND b.folder_id = d.folder_id)
               AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.user_id = ? AND b.document_id = d.id)",
},
];
