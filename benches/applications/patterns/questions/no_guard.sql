-- Owners and viewers of the folder.

--- filter
-- An OR of bare columns: a BitmapOr of two index scans.
documents.owner_id = :user
OR documents.folder_id = ANY (ARRAY(
  SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
));

--- include statements.sql
