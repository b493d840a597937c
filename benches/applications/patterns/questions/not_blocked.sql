-- A guard in `allow` over the row and the actor.

--- filter
-- The guard is a look-up by the primary key for each row that passes the rest.
NOT EXISTS (
  SELECT FROM document_blocks AS b WHERE b.document_id = documents.id AND b.user_id = :user
)
AND (
  documents.owner_id = :user
  OR documents.folder_id = ANY (ARRAY(
    SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
  ))
);

--- include statements.sql
