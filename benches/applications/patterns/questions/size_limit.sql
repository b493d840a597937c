-- A number of the row compared with one of the actor.

--- filter
documents.owner_id = :user
OR documents.size <= (SELECT most FROM limits WHERE user_id = :user)
AND documents.folder_id = ANY (ARRAY(
  SELECT folder_id FROM folder_roles WHERE user_id = :user AND role = 'viewer'
));

--- include statements.sql
