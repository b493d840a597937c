-- Actors whose answers have known sizes, beside the users that seed.sql made at its largest scale; with fewer
-- repositories and issues, the answers are smaller.
--
--   1000001  light: writes to about 10 repositories with 50 issues, through a folder of her group's group,
--            groups and grants of her own; reads an organization
--   1000002  medium: maintains an organization; writes to about 1,000 repositories with 5,000 issues
--   1000003  heavy: maintains two large organizations; about 10,000 repositories with 50,000 issues
--   1000004  banned: heavy's twin, who was banned
--   1000005  outsider: belongs to organizations and groups, writes to nothing

\set ON_ERROR_STOP on
BEGIN;
INSERT INTO users
  SELECT 1000000 + n, name
  FROM unnest(ARRAY['light', 'medium', 'heavy', 'banned', 'outsider']) WITH ORDINALITY AS actor(name, n);
INSERT INTO banned_users VALUES (1000004, '2025-01-01');

INSERT INTO organization_members (user_id, organization_id, role) VALUES
  (1000001, 'org-9', 'reader'),
  (1000002, 'org-11', 'maintainer'), (1000002, 'org-2', 'reader'),
  (1000003, 'org-1', 'maintainer'), (1000003, 'org-4', 'admin'), (1000003, 'org-3', 'reader'),
  (1000004, 'org-1', 'maintainer'), (1000004, 'org-4', 'admin'), (1000004, 'org-3', 'reader'),
  (1000005, 'org-2', 'reader'), (1000005, 'org-300', 'reader');

-- For each of them a group inside a group inside a group.
INSERT INTO groups
  SELECT md5('actor ' || n || ' group ' || level)::uuid,
    CASE WHEN level > 1 THEN md5('actor ' || n || ' group ' || level - 1)::uuid END,
    'group ' || level || ' of actor ' || n
  FROM generate_series(1, 5) AS n, generate_series(1, 3) AS level ORDER BY level;
INSERT INTO group_members
  SELECT md5('actor ' || n || ' group 3')::uuid, 1000000 + n FROM generate_series(1, 5) AS n;

-- The outermost has folders and the middle one repositories, of those that are not in the actor's own
-- organizations: `grants` says how many, and how deep the folders lie.
CREATE TEMP TABLE grants (n, role, folders, first_folder, repositories, issues) ON COMMIT DROP AS VALUES
  (1, 'maintainer', 1, 15076, 2, 8), (2, 'maintainer', 4, 12001, 15, 60),
  (3, 'admin', 10, 8001, 60, 600), (4, 'admin', 10, 8001, 60, 0), (5, 'reader', 2, 6001, 10, 0);
INSERT INTO folder_group_grants
  SELECT first_folder + at * 17, md5('actor ' || n || ' group 1')::uuid, role
  FROM grants, LATERAL generate_series(1, folders) AS at;
INSERT INTO repository_group_grants
  SELECT 1000 * n + at * 19, md5('actor ' || n || ' group 2')::uuid, role
  FROM grants, LATERAL generate_series(1, repositories) AS at;
INSERT INTO repository_user_grants
  SELECT :repositories / 2 + 1000 * n + at * 23, 1000000 + n, role
  FROM grants, LATERAL generate_series(1, repositories) AS at;
-- What each of them opened, all over the host.
UPDATE issues SET creator_id = 1000000 + n
  FROM grants, LATERAL generate_series(1, issues) AS at
  WHERE issues.id = :issues / 10 * n + at * 157 % (:issues / 10);

-- Issues of whose kind a check is asked: private, older than all others.
--
--   2000001  eight folders below the organization org-1
--   2000002  where 2000001 is, opened by light
--   2000003  in the folder of light's group
WITH RECURSIVE below (folder_id, depth) AS (
  SELECT id, 1 FROM folders WHERE organization_id = 'org-1'
  UNION ALL
  SELECT f.id, depth + 1 FROM below JOIN folders AS f ON f.parent_id = folder_id
), places (issue, repository_id) AS (
  SELECT 2000001, min(r.id) FROM repositories AS r JOIN below USING (folder_id) WHERE depth = 8 AND NOT public
  UNION ALL
  SELECT 2000003, min(r.id) FROM repositories AS r JOIN folder_group_grants AS g USING (folder_id)
  WHERE g.group_id = md5('actor 1 group 1')::uuid AND NOT public
)
INSERT INTO issues
  SELECT issue, repository_id, NULL::integer, 'to be checked', false,
    timestamptz '2024-01-01' + issue * interval '1 s'
  FROM places
  UNION ALL
  SELECT 2000002, repository_id, 1000001, 'to be checked', false, timestamptz '2024-01-01'
  FROM places WHERE issue = 2000001;
COMMIT;

VACUUM (ANALYZE);
