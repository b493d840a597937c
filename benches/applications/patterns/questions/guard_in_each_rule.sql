-- The guard of not_deleted, written in each shorthand rule.

--- filter
-- The same as for not_deleted.
NOT documents.deleted
AND (
  documents.owner_id = :user
  OR documents.folder_id = ANY (ARRAY(
    SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
  ))
);

--- include statements.sql
