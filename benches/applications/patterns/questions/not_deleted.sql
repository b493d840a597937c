-- A guard in `allow` over the row itself.

--- filter
-- The guard is a column of the row.
NOT documents.deleted
AND (
  documents.owner_id = :user
  OR documents.folder_id = ANY (ARRAY(
    SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
  ))
);

--- include statements.sql
