-- A role on a folder counts while the folder is not archived.

--- filter
-- The guard belongs to the folder, so it is asked once for each folder of the actor and not for each
-- document.
documents.folder_id = ANY (ARRAY(
  SELECT r.folder_id FROM folder_roles AS r JOIN folders AS f ON f.id = r.folder_id
  WHERE r.user_id = :user AND r.role = 'viewer' AND NOT f.archived
));

--- include statements.sql
