-- Rows for the tables of schema.sql. The same numbers give the same rows.
--
--   psql -f seed.sql
--   psql -v users=50000 -v organizations=1000 -v groups=5000 -v folders=16000 \
--        -v repositories=200000 -v issues=1000000 -f seed.sql
--
-- Organizations differ in size: the first has about a twentieth of everything, the last hardly anything.
-- Folders are nested eight deep; a fifth of the repositories are in no folder, and a tenth are public.

\set ON_ERROR_STOP on
\if :{?users}         \else \set users 200         \endif
\if :{?organizations} \else \set organizations 10  \endif
\if :{?groups}        \else \set groups 40         \endif
\if :{?folders}       \else \set folders 80        \endif
\if :{?repositories}  \else \set repositories 400  \endif
\if :{?issues}        \else \set issues 2000       \endif

BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT setseed(0.42) \g /dev/null

-- A random number up to n, uniformly distributed.
CREATE FUNCTION pg_temp.any_of(n integer) RETURNS integer LANGUAGE sql VOLATILE
  RETURN 1 + floor(random() * n)::integer;
-- An organization, the first ones most often.
CREATE FUNCTION pg_temp.an_organization(n integer) RETURNS text LANGUAGE sql VOLATILE
  RETURN 'org-' || 1 + floor(n * power(random(), 2.2))::integer;
CREATE FUNCTION pg_temp.a_role() RETURNS text LANGUAGE sql VOLATILE
  RETURN (ARRAY['admin', 'maintainer', 'maintainer', 'reader', 'reader', 'reader', 'reader']
    )[pg_temp.any_of(7)];
CREATE FUNCTION pg_temp.group_id(n integer) RETURNS uuid LANGUAGE sql IMMUTABLE
  RETURN md5('group ' || n)::uuid;

INSERT INTO users SELECT n, 'user ' || n FROM generate_series(1, :users) AS n;
INSERT INTO banned_users
  SELECT n, timestamptz '2025-01-01' FROM generate_series(50, :users, 100) AS n;

INSERT INTO organizations SELECT 'org-' || n, 'Organization ' || n FROM generate_series(1, :organizations) AS n;
INSERT INTO organization_members
  SELECT pg_temp.an_organization(:organizations), n, pg_temp.a_role() FROM generate_series(1, :users) AS n;
INSERT INTO organization_members
  SELECT pg_temp.an_organization(:organizations), n, 'reader' FROM generate_series(1, :users, 2) AS n
  ON CONFLICT DO NOTHING;

-- A tenth of the groups have no parent.
INSERT INTO groups
  SELECT pg_temp.group_id(n),
    CASE WHEN n > :groups / 10 THEN pg_temp.group_id(pg_temp.any_of(greatest(n / 4, 1))) END,
    'group ' || n
  FROM generate_series(1, :groups) AS n;
INSERT INTO group_members
  SELECT pg_temp.group_id(pg_temp.any_of(:groups)), n
  FROM generate_series(1, :users) AS n, generate_series(1, 3)
  ON CONFLICT DO NOTHING;

-- An eighth of the folders is on each level.
INSERT INTO folders
  SELECT n,
    CASE WHEN level = 0 THEN pg_temp.an_organization(:organizations) END,
    CASE WHEN level > 0 THEN :folders / 8 * (level - 1) + pg_temp.any_of(:folders / 8) END,
    'folder ' || n
  FROM generate_series(1, :folders) AS n, LATERAL (SELECT least((n - 1) / (:folders / 8), 7)) AS of(level);
INSERT INTO folder_group_grants
  SELECT pg_temp.any_of(:folders), pg_temp.group_id(n), pg_temp.a_role() FROM generate_series(1, :groups) AS n
  ON CONFLICT DO NOTHING;

INSERT INTO repositories
  SELECT n,
    CASE WHEN n % 5 = 0 THEN pg_temp.an_organization(:organizations) END,
    CASE WHEN n % 5 > 0 THEN pg_temp.any_of(:folders) END,
    'repository ' || n,
    random() < 0.1
  FROM generate_series(1, :repositories) AS n;
INSERT INTO repository_user_grants
  SELECT pg_temp.any_of(:repositories), pg_temp.any_of(:users), pg_temp.a_role()
  FROM generate_series(1, :repositories) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO repository_group_grants
  SELECT pg_temp.any_of(:repositories), pg_temp.group_id(pg_temp.any_of(:groups)), pg_temp.a_role()
  FROM generate_series(1, :repositories, 8) AS n
  ON CONFLICT DO NOTHING;

-- No two issues have the same time, so that the page of newest issues is deterministic.
INSERT INTO issues
  SELECT n,
    pg_temp.any_of(:repositories),
    CASE WHEN n % 20 > 0 THEN pg_temp.any_of(:users) END,
    'issue ' || n,
    random() < 0.5,
    timestamptz '2025-01-01' + n * interval '31 seconds'
  FROM generate_series(1, :issues) AS n;
COMMIT;

VACUUM (ANALYZE);
