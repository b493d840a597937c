-- A guard in `allow` over another table.

--- filter
EXISTS (
  SELECT FROM folders AS f WHERE f.id = documents.folder_id AND NOT f.archived
)
AND (
  documents.owner_id = :user
  OR documents.folder_id = ANY (ARRAY(
    SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
  ))
);

--- include statements.sql
