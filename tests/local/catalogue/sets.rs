//! What several experts' conditions ask.

/// A document in a folder in which the user is a viewer.
pub(super) const VIEWED: &str =
    "d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer')";

/// A document of the user, or in a folder that the user edits.
pub(super) const EDITED: &str = "
  (d.owner_id = ? OR d.folder_id IN (SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'editor'))";

/// A document in a folder that the user edits or keeps, and that is not archived.
pub(super) const CHANGED: &str = "d.folder_id IN (
  SELECT r.folder_id FROM folder_roles r WHERE r.user_id = ? AND r.role = 'editor'
    AND NOT EXISTS (SELECT 1 FROM folders a WHERE a.id = r.folder_id AND a.archived = 1)
  UNION ALL SELECT k.id FROM folders k WHERE k.keeper_id = ? AND (k.archived = 1) IS NOT TRUE)";

/// A document in a folder of a quota that the user, or a colleague they act for, has.
pub(super) const DEPUTY: &str = "EXISTS (
  SELECT 1 FROM quotas q
  WHERE q.kind = 'edit' AND q.folder_id = d.folder_id AND d.size <= q.most AND d.owner_id <> q.user_id AND d.owner_id <> ?
    AND (q.user_id = ? OR q.user_id IN (SELECT user_id FROM deputies WHERE deputy_id = ? AND active = 1))
    AND NOT EXISTS (SELECT 1 FROM blocks b WHERE b.document_id = d.id AND b.user_id IN (?, q.user_id)))";

/// A document in a folder of a quota that no quota of the same kind uses up.
pub(super) const USABLE: &str = "EXISTS (
  SELECT 1 FROM quotas q WHERE q.user_id = ? AND q.folder_id = d.folder_id AND q.kind IN ('view', 'edit')
    AND NOT EXISTS (SELECT 1 FROM quotas u
                    WHERE u.user_id = ? AND u.folder_id = d.folder_id AND u.kind = q.kind AND u.most < 10))";

/// The folders in which the user is a viewer, and all below them.
pub(super) const BELOW: &str = "
  WITH RECURSIVE below AS (
    SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer'
    UNION SELECT p.folder_id FROM below b JOIN parents p ON p.parent_id = b.folder_id)
  SELECT folder_id FROM below WHERE folder_id IS NOT NULL";
/// The same through folders that are not archived.
pub(super) const ACTIVE: &str = "
  WITH RECURSIVE below AS (
    SELECT folder_id FROM folder_roles WHERE user_id = ? AND role = 'viewer'
    UNION SELECT p.folder_id FROM below b JOIN parents p ON p.parent_id = b.folder_id
      WHERE NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = p.folder_id AND f.archived = 1))
  SELECT folder_id FROM below WHERE folder_id IS NOT NULL";
/// The folders in which a role of the user has the permission, and all below them.
pub(super) const PERMITTED: &str = "
  WITH RECURSIVE below AS (
    SELECT folder_id FROM folder_roles
    WHERE user_id = ? AND role IN (SELECT role FROM role_permissions WHERE permission = 'read')
    UNION SELECT p.folder_id FROM below b JOIN parents p ON p.parent_id = b.folder_id)
  SELECT folder_id FROM below WHERE folder_id IS NOT NULL";
/// The folders from which the user is banned, and all below them.
pub(super) const BANNED: &str = "
  WITH RECURSIVE banned AS (
    SELECT folder_id FROM bans WHERE user_id = ?
    UNION SELECT p.folder_id FROM banned b JOIN parents p ON p.parent_id = b.folder_id)
  SELECT folder_id FROM banned WHERE folder_id IS NOT NULL";
/// The folders of the user's quotas for editing, and all below them.
pub(super) const TRUSTED: &str = "
  WITH RECURSIVE trusted AS (
    SELECT folder_id FROM quotas WHERE user_id = ? AND kind = 'edit'
    UNION SELECT p.folder_id FROM trusted t JOIN parents p ON p.parent_id = t.folder_id)
  SELECT folder_id FROM trusted WHERE folder_id IS NOT NULL";
/// The users whose deputy the user is, and all whose deputies these are.
pub(super) const PRINCIPALS: &str = "
  WITH RECURSIVE principals AS (
    SELECT user_id FROM deputies WHERE deputy_id = ? AND active = 1
    UNION SELECT v.user_id FROM principals p JOIN deputies v ON v.deputy_id = p.user_id AND v.active = 1)
  SELECT user_id FROM principals WHERE user_id IS NOT NULL";
/// The folders that are archived, and all below them.
pub(super) const CLOSED: &str = "
  WITH RECURSIVE closed AS (
    SELECT id FROM folders WHERE archived = 1
    UNION SELECT p.folder_id FROM closed c JOIN parents p ON p.parent_id = c.id)
  SELECT id FROM closed WHERE id IS NOT NULL";
/// The folders that the user keeps, and all below them.
pub(super) const KEPT: &str = "
  WITH RECURSIVE kept AS (
    SELECT id FROM folders WHERE keeper_id = ?
    UNION SELECT p.folder_id FROM kept k JOIN parents p ON p.parent_id = k.id)
  SELECT id FROM kept WHERE id IS NOT NULL";
