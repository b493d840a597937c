//! The kinds of rules, each with what an expert writes.

use super::Pattern;

pub(super) const OWN_OR_VIEWED: &str = r#""read" if "owner"; "read" if "read" on "folder";"#;

const QUOTA_OF_DEPUTY: &str = r#"
acts_for(u: User, v: User) if deputy(v, u);
acts_for(u: User, u: User);
has_permission(u: User, "read", d: Document) if acts_for(u, v) and has_relation(d, "folder", f) and size(d, s)
  and quota(v, f, "edit", most) and s <= most and has_relation(d, "owner", o) and o != u and o != v
  and not blocked(d, u) and not blocked(d, v);"#;

pub(super) const KINDS: &[Pattern] = &[
    Pattern {
        shape: "pattern-own-or-viewed",
        title: "Own documents, or those in a folder",
        why: "The owner is a column of the row, and the user's folders are an array. The database combines the two indexes.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED)",
    },
    Pattern {
        shape: "pattern-guard-on-the-row",
        title: "A guard in `allow` on the document",
        why: "`deleted` is a condition on a column of the row, which is not looked up again.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not deleted(d);",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1",
    },
    Pattern {
        shape: "pattern-guard-on-the-row-in-each-rule",
        title: "The same guard in each rule",
        why: "Both rules have the guard, so it is checked once, before them.",
        reads_each_row: false,
        shorthand: r#"
  "read" if "owner" and not deleted(resource);
  "read" if "read" on "folder" and not deleted(resource);"#,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1",
    },
    Pattern {
        shape: "pattern-guard-on-row-and-actor",
        title: "A guard on the document and the user",
        why: "The guard depends on both, so it is looked up by the document's key, for the rows that the indexes find.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not blocked(d, u);",
        expert: "(d.owner_id = ? OR VIEWED) \
                 AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id = ?)",
    },
    Pattern {
        shape: "pattern-guard-on-the-container",
        title: "A guard on the folder",
        why: "The guard filters the user's folders, which are few. A join then tests it for the rows that are found.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and not archived(f);",
        expert: "(d.owner_id = ? OR VIEWED) AND d.folder_id IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-guard-beyond-the-container",
        title: "A guard on the folder's tenant",
        why: "The guard filters the user's folders. For the user's own documents, folder and tenant are looked up by their keys.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d)
  and has_relation(d, \"folder\", f) and has_relation(f, \"tenant\", t) and not suspended(t);",
        expert: "(d.owner_id = ? OR VIEWED) AND EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.tenant_id IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = f.tenant_id AND t.suspended = 1))",
    },
    Pattern {
        shape: "pattern-attribute-in-one-rule",
        title: "An attribute in one of two rules",
        why: "The attribute is a column of the row, next to the set that finds the row.",
        reads_each_row: false,
        shorthand: r#""read" if "owner"; "read" if "read" on "folder" and status(resource, "final");"#,
        rule: "",
        expert: "(d.owner_id = ? OR VIEWED AND d.status = 'final')",
    },
    // Conditions on two columns differ, although they ask for the same value.
    Pattern {
        shape: "pattern-two-sets-and-an-attribute",
        title: "Documents of many folders, or final ones of some",
        why: "Both arrays find rows by the index. PostgreSQL would then compare these rows with all of the `OR` again, and search the arrays from end to end. So the attribute is in a second condition, in which the other set is hashed.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder";"#,
        rule: r#"
has_role(u: User, "viewer", f: Folder) if has_relation(f, "parent", p) and has_role(u, "viewer", p);
has_permission(u: User, "read", d: Document) if lent(u, f, _) and has_relation(d, "folder", f) and status(d, "final");"#,
        expert: "(d.folder_id IN (BELOW) OR d.status = 'final' AND d.folder_id IN (SELECT folder_id FROM loans WHERE user_id = ? AND until IS NOT NULL))",
    },
    Pattern {
        shape: "pattern-key-and-container",
        title: "Documents by id in some folders, or final ones in others",
        why: "Of the sets of a document's id and of its folder, only the former finds rows. The other is hashed, like all sets of the first condition: a user may have thousands of folders.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder" and status(resource, "final");"#,
        rule: r#"has_permission(u: User, "read", d: Document) if blocked(d, u) and has_relation(d, "folder", f) and lent(u, f, _);"#,
        expert: "(VIEWED AND d.status = 'final' OR d.id IN (SELECT document_id FROM blocks WHERE user_id = ?)
                  AND d.folder_id IN (SELECT folder_id FROM loans WHERE user_id = ? AND until IS NOT NULL))",
    },
    Pattern {
        shape: "pattern-two-attributes-of-one-value",
        title: "Two attributes with one value",
        why: "Both are columns of the row. An index on either of them would find the rows.",
        reads_each_row: true,
        shorthand: r#""read" if size(resource, 1) and flag(resource, 1);"#,
        rule: "",
        expert: "d.size = 1 AND d.deleted = 1",
    },
    Pattern {
        shape: "pattern-attribute-alone",
        title: "An attribute alone",
        why: "Most rows may have the status, so every row is read, and the set is hashed instead of searched for each row.",
        reads_each_row: true,
        shorthand: r#""read" if status(resource, "draft"); "read" if "read" on "folder";"#,
        rule: "",
        expert: "(d.status = 'draft' OR VIEWED)",
    },
    // What deputies may read, everyone may.
    Pattern {
        shape: "pattern-covered-alternative",
        title: "A rule that another rule covers",
        why: "Deputies may read what everyone may read, so their rule is dropped.",
        reads_each_row: true,
        shorthand: r#""read" if status(resource, "final");"#,
        rule: "has_permission(u: User, \"read\", d: Document) if deputy(v, u) and v matches User and status(d, \"final\");",
        expert: "d.status = 'final'",
    },
    Pattern {
        shape: "pattern-conditions-of-bound-queries",
        title: "Bound queries that leave rows out",
        why: "The queries of `kept_by` and `kept_in` have the same condition. It is tested once, apart from the alternatives, which indexes then answer completely.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if kept_by(d, u);
has_permission(u: User, \"read\", d: Document) if kept_in(d, f) and has_role(u, \"viewer\", f);
has_permission(u: User, \"read\", d: Document) if blocked(d, u);",
        expert: "(d.deleted = 0 AND (d.owner_id = ? OR VIEWED)
                  OR d.id IN (SELECT document_id FROM blocks WHERE user_id = ?))",
    },
    Pattern {
        shape: "pattern-computed-column",
        title: "A folder whose id is computed",
        why: "The query selects `folder_id + 0`, which is computed from the row, and an index on the same expression finds the rows.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if filed(d, f) and has_role(u, \"viewer\", f);",
        expert: "VIEWED",
    },
    Pattern {
        shape: "pattern-limit-of-the-actor",
        title: "A limit for each user",
        why: "The limits of one user are a small array, made once; the size is a column of the row.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and size(d, s) and limit(u, most) and s <= most;",
        expert: "(d.owner_id = ? OR VIEWED AND d.size <= (SELECT MAX(most) FROM limits WHERE user_id = ?))",
    },
    Pattern {
        shape: "pattern-limit-of-a-role",
        title: "A limit for a role",
        why: "`role_limit` is about words and numbers, so the limits of one role are few, and the largest is found once.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and size(d, s) and role_limit(\"viewer\", most) and s <= most;",
        expert: "(d.owner_id = ? OR VIEWED AND d.size <= (SELECT MAX(most) FROM role_limits WHERE role = 'viewer'))",
    },
    // Neither alternative may borrow the other's role or quota.
    Pattern {
        shape: "pattern-quota-of-each-role",
        title: "A quota for each role",
        why: "An array of folders for each role finds the rows, and the quota is looked up by user and folder.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and size(d, s)
  and has_role(u, \"viewer\", f) and has_relation(d, \"folder\", g) and quota(u, g, \"view\", most) and s <= most;
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and size(d, s)
  and has_role(u, \"editor\", f) and has_relation(d, \"folder\", g) and quota(u, g, \"edit\", most) and s <= most;",
        expert: "EXISTS (
                   SELECT 1 FROM folder_roles r JOIN quotas q ON q.user_id = r.user_id AND q.folder_id = r.folder_id
                   WHERE r.user_id = ? AND r.folder_id = d.folder_id AND d.size <= q.most
                     AND (r.role = 'viewer' AND q.kind = 'view' OR r.role = 'editor' AND q.kind = 'edit'))",
    },
    // The time is that of the request.
    Pattern {
        shape: "pattern-grant-until",
        title: "A grant that ends",
        why: "The user's grants are few, and each is compared with the time of the request, which is in the text. Do not cache such a filter.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and lent(u, f, until) and @current_unix_time < until;",
        expert: "d.folder_id IN (SELECT folder_id FROM loans WHERE user_id = ? AND until > NOW)",
    },
    // Two alternatives that differ only in whose quota counts.
    Pattern {
        shape: "pattern-quota-of-a-deputy",
        title: "A user's own quota, or that of a colleague they act for",
        why: "The two rules differ only in whose quota counts, so they become one condition over a small table of users.",
        reads_each_row: false,
        shorthand: "",
        rule: QUOTA_OF_DEPUTY,
        expert: "DEPUTY",
    },
    Pattern {
        shape: "pattern-own-or-quota-of-a-deputy",
        title: "The same, or the user's own documents",
        why: "The quotas become an array of folders, so the indexes on owner and folder can be combined.",
        reads_each_row: false,
        shorthand: r#""read" if "owner";"#,
        rule: QUOTA_OF_DEPUTY,
        expert: "(d.owner_id = ? OR DEPUTY)",
    },
    Pattern {
        shape: "pattern-four-eyes",
        title: "Four eyes: not the user's own documents",
        why: "The owner is compared as a column of the row.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and has_relation(d, \"owner\", o) and o != u;",
        expert: "VIEWED AND d.owner_id <> ?",
    },
    Pattern {
        shape: "pattern-guard-inside-the-set",
        title: "A guard in the folder's rule",
        why: "The set of folders is filtered where it is made.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f)
  and has_role(u, \"viewer\", f) and not archived(f);",
        expert: "VIEWED AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-two-relations-at-once",
        title: "Two relations at once",
        why: "Both are columns of the row; the more selective index finds it.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder" and "owner";"#,
        rule: "",
        expert: "VIEWED AND d.owner_id = ?",
    },
    // Two sets of folders, of which only one may be looked up in the index.
    Pattern {
        shape: "pattern-two-permissions-at-once",
        title: "Two permissions on one folder at once, of which one is inherited",
        why: "The folders of the inherited permission are a set, too, which starts from the user and is made once. The recursion is not read again for each folder of the other.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"viewer\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"viewer\", p);
lends(u: User, f: Folder) if has_role(u, \"editor\", f);
lends(u: User, f: Folder) if keeper(f, u);
sees(u: User, f: Folder) if has_role(u, \"viewer\", f);
sees(u: User, f: Folder) if has_relation(f, \"tenant\", t) and member(u, t);
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and lends(u, f) and sees(u, f);",
        expert: "d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor'
                    UNION ALL SELECT id FROM folders WHERE keeper_id = ?)
  AND (d.folder_id IN (BELOW)
    OR d.folder_id IN (SELECT f.id FROM folders f JOIN tenant_members m ON m.tenant_id = f.tenant_id WHERE m.user_id = ?))",
    },
    Pattern {
        shape: "pattern-two-roles-at-once",
        title: "Two roles on one folder at once",
        why: "The folders of one role are looked up in a hash table of those of the other, so the work grows with their sum. Two arrays next to each other would be compared element by element.",
        reads_each_row: false,
        shorthand: r#""read" if "viewer" on "folder" and "editor" on "folder";"#,
        rule: "",
        expert: "VIEWED AND d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor')",
    },
    Pattern {
        shape: "pattern-denied-relation",
        title: "Documents in the folder, except the user's own",
        why: "The denied relation is a comparison with a column of the row; NULL differs from every user.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder" and not "owner";"#,
        rule: "",
        expert: "VIEWED AND (d.owner_id IS NULL OR d.owner_id <> ?)",
    },
    Pattern {
        shape: "pattern-denied-alternatives",
        title: "A guard with several rules",
        why: "Those about the document are conditions on its columns; the one about the folder filters the set of folders.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not hidden(d);
hidden(d: Document) if deleted(d);
hidden(d: Document) if has_relation(d, \"folder\", f) and archived(f);
hidden(d: Document) if size(d, s) and s > 10;",
        expert: "(d.owner_id = ? OR VIEWED) AND COALESCE(d.deleted, 0) <> 1 AND COALESCE(d.size, 0) <= 10 \
                 AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1)",
    },
    Pattern {
        shape: "pattern-hierarchy",
        title: "A role inherited from a parent folder",
        why: "A recursion that starts from the user's roles finds the folders below. It is evaluated once, and the document's folder is looked up in its result.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "has_role(u: User, r: String, f: Folder) if has_relation(f, \"parent\", p) and has_role(u, r, p);",
        expert: "(d.owner_id = ? OR d.folder_id IN (BELOW))",
    },
    Pattern {
        shape: "pattern-hierarchy-from-two-rules",
        title: "A role inherited from a parent folder, which keepers have, too",
        why: "The recursion starts from an array, which PostgreSQL takes for one row. So each step finds the next folders by an index instead of reading all, if the table has statistics.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "has_role(u: User, r: String, f: Folder) if has_relation(f, \"parent\", p) and has_role(u, r, p);
has_role(u: User, \"viewer\", f: Folder) if keeper(f, u);",
        expert: "(d.owner_id = ? OR d.folder_id IN (BELOW) OR d.folder_id IN (KEPT))",
    },
    Pattern {
        shape: "pattern-denied-hierarchy",
        title: "A ban inherited from a parent folder",
        why: "The folders that the user is banned from are found once, by a recursion. The document's folder is looked up in a hash table of them.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not banned_above(u, d);
banned_above(u: User, d: Document) if has_relation(d, \"folder\", f) and banned_from(u, f);
banned_from(u: User, f: Folder) if banned(u, f);
banned_from(u: User, f: Folder) if has_relation(f, \"parent\", p) and banned_from(u, p);",
        expert: "(d.owner_id = ? OR VIEWED) AND (d.folder_id IS NULL OR d.folder_id NOT IN (BANNED))",
    },
    Pattern {
        shape: "pattern-denied-hierarchy-and-attribute",
        title: "A ban inherited from a parent folder, in archived folders alone",
        why: "The folders that the user is banned from are found once. The archived folders are joined by their key, and the document's folder is looked up in a hash table of those found.",
        reads_each_row: false,
        shorthand: OWN_OR_VIEWED,
        rule: "allow(u: User, a: String, d: Document) if has_permission(u, a, d) and not shut_out(u, d);
shut_out(u: User, d: Document) if has_relation(d, \"folder\", f) and banned_from(u, f) and archived(f);
banned_from(u: User, f: Folder) if banned(u, f);
banned_from(u: User, f: Folder) if has_relation(f, \"parent\", p) and banned_from(u, p);",
        expert: "(d.owner_id = ? OR VIEWED) AND NOT EXISTS (
                   SELECT 1 FROM folders f WHERE f.id = d.folder_id AND f.archived = 1 AND f.id IN (BANNED))",
    },
    Pattern {
        shape: "pattern-guard-in-a-hierarchy",
        title: "A role inherited from a parent folder, unless the folder is archived",
        why: "Each step of the recursion looks up one folder by its key.",
        reads_each_row: false,
        shorthand: r#""read" if "read" on "folder";"#,
        rule: "has_role(u: User, r: String, f: Folder) if has_relation(f, \"parent\", p) and not archived(f) and has_role(u, r, p);",
        expert: "d.folder_id IN (ACTIVE)",
    },
    Pattern {
        shape: "pattern-permissions-of-a-role",
        title: "Permissions of roles in a table",
        why: "The table of permissions does not depend on the user, so it is looked up for each of the user's roles instead of being listed.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, r, f)
  and permits(r, \"read\");",
        expert: "d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role IN (SELECT role FROM role_permissions WHERE permission = 'read'))",
    },
    Pattern {
        shape: "pattern-permission-of-each-role",
        title: "Permissions of roles in a table, and roles that the policy names",
        why: "Whether a role has the permission is the same for all documents, so it decides whether a set has values at all. Indexes still find the rows of each alternative.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"owner\", u) and permits(\"owner\", \"read\");
has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f)
  and permits(\"viewer\", \"read\");",
        expert: "(d.owner_id = ? AND EXISTS (SELECT 1 FROM role_permissions WHERE role = 'owner' AND permission = 'read')
  OR VIEWED AND EXISTS (SELECT 1 FROM role_permissions WHERE role = 'viewer' AND permission = 'read'))",
    },
    Pattern {
        shape: "pattern-permissions-of-an-inherited-role",
        title: "Permissions of roles in a table, and roles inherited from a parent folder",
        why: "All roles take the same steps, so they are one recursion, which starts from those of the user's roles that have the permission.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_role(u: User, \"viewer\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"viewer\", p);
has_role(u: User, \"editor\", f: Folder) if has_relation(f, \"parent\", p) and has_role(u, \"editor\", p);
has_permission(u: User, p: String, d: Document) if has_relation(d, \"folder\", f) and has_role(u, r, f) and permits(r, p);",
        expert: "d.folder_id IN (PERMITTED)",
    },
    Pattern {
        shape: "pattern-attribute-of-the-container",
        title: "An attribute of the folder's tenant",
        why: "No set of all active tenants is made: the tenant of each of the user's folders is looked up by its key.",
        reads_each_row: false,
        shorthand: "",
        rule: "has_permission(u: User, \"read\", d: Document) if has_relation(d, \"folder\", f) and has_role(u, \"viewer\", f)
  and has_relation(f, \"tenant\", t) and not suspended(t) and not archived(f);",
        expert: "d.folder_id IN (
                   SELECT r.folder_id FROM folder_roles r JOIN folders f ON f.id = r.folder_id
                   WHERE r.user_id = ? AND r.role = 'viewer' AND f.tenant_id IS NOT NULL AND COALESCE(f.archived, 0) <> 1
                     AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = f.tenant_id AND t.suspended = 1))",
    },
];
