-- Files that the user may write.

--- ask list write File over files.id
--- case light user=ab5d228a-c2ee-550f-9756-ecbc14665748
--- case medium user=c1a14abf-ddf5-af4c-dc6c-5a3c04b98149
--- case heavy user=bb9836f5-e2ce-756d-059b-9a4556283bc0

--- statement page
SELECT id FROM files WHERE :filter ORDER BY modified_at DESC, id DESC LIMIT 50;

--- statement update
UPDATE files SET size = 0 WHERE size IS NULL AND public IS NULL AND :filter RETURNING id;

--- filter
files.locked_by IS NULL
AND (
  files.owner_id = ':user'
  OR files.id = ANY (ARRAY(
    SELECT file_id FROM file_user_grants WHERE user_id = ':user' AND role IN ('writer', 'owner')
  ))
  OR files.id = ANY (ARRAY(
    WITH RECURSIVE around (group_id) AS (
      SELECT group_id FROM group_members WHERE user_id = ':user'
      UNION
      SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
    )
    SELECT file_id FROM file_group_grants
    WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('writer', 'owner')
  ))
  OR files.folder_id = ANY (ARRAY(
  WITH RECURSIVE
    around (group_id) AS (
      SELECT group_id FROM group_members WHERE user_id = ':user'
      UNION
      SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
    ),
    below (folder_id) AS (
      SELECT id FROM folders WHERE owner_id = ':user'
      UNION ALL
      SELECT folder_id FROM folder_user_grants WHERE user_id = ':user' AND role IN ('writer', 'owner')
      UNION ALL
      SELECT folder_id FROM folder_group_grants
      WHERE group_id = ANY (ARRAY(SELECT group_id FROM around)) AND role IN ('writer', 'owner')
      UNION
      SELECT f.id
      FROM below AS b, LATERAL (SELECT id FROM folders WHERE parent_id = b.folder_id OFFSET 0) AS f
    )
  SELECT folder_id FROM below
  ))
);
