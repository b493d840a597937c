-- Files that the user may read.

--- ask list read File over files.id
--- case light user=ab5d228a-c2ee-550f-9756-ecbc14665748
--- case medium user=c1a14abf-ddf5-af4c-dc6c-5a3c04b98149
--- case heavy user=bb9836f5-e2ce-756d-059b-9a4556283bc0

--- statement page
SELECT id FROM files WHERE :filter ORDER BY modified_at DESC, id DESC LIMIT 50;

--- statement keyset
SELECT id FROM files
WHERE (modified_at, id) < (timestamptz '2024-03-01', 'ffffffff-0000-0000-0000-000000000000') AND :filter
ORDER BY modified_at DESC, id DESC LIMIT 50;

--- statement count of large
SELECT count(*) FROM files WHERE size > 50000000 AND :filter;

--- statement page of an owner
SELECT id FROM files
WHERE owner_id = '2727e829-ca05-cc1d-1914-cc75ab3dfa1b' AND :filter
ORDER BY modified_at DESC, id DESC LIMIT 50;

--- filter
-- Down from what the user owns and was granted, as an array: the recursion's size is not estimated. OFFSET 0
-- keeps each step on the index, where a join would read all folders. Every role reads, so none is compared.
files.public
OR files.owner_id = ':user'
OR files.id = ANY (ARRAY(SELECT file_id FROM file_user_grants WHERE user_id = ':user'))
OR files.id = ANY (ARRAY(
  WITH RECURSIVE around (group_id) AS (
    SELECT group_id FROM group_members WHERE user_id = ':user'
    UNION
    SELECT g.parent_id FROM around AS a JOIN groups AS g ON g.id = a.group_id
  )
  SELECT file_id FROM file_group_grants
  WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
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
      SELECT folder_id FROM folder_user_grants WHERE user_id = ':user'
      UNION ALL
      SELECT folder_id FROM folder_group_grants
      WHERE group_id = ANY (ARRAY(SELECT group_id FROM around))
      UNION
      SELECT f.id
      FROM below AS b, LATERAL (SELECT id FROM folders WHERE parent_id = b.folder_id OFFSET 0) AS f
    )
  SELECT folder_id FROM below
));
