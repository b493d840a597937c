-- 400,000 samples of 20,000 studies, 10,000 people in 2,000 crews. Half of the bookings are over. Those who
-- ask: person 1 is in a crew of a tenth of the studies, person 2 in one of a hundredth and has 100 permits,
-- person 3 is like everybody else.
\if :{?rows}
\else
  \set rows 400000
\endif

CREATE FUNCTION pg_temp.person (n bigint) RETURNS uuid
  IMMUTABLE LANGUAGE sql RETURN md5('person ' || n)::uuid;
CREATE FUNCTION pg_temp.study (n bigint) RETURNS text
  IMMUTABLE LANGUAGE sql RETURN 'ST-' || n;
-- Of the year 2096, or of 2024.
CREATE FUNCTION pg_temp.ends (lasts boolean) RETURNS bigint
  IMMUTABLE LANGUAGE sql RETURN CASE WHEN lasts THEN 4000000000 ELSE 1710000000 END;

INSERT INTO people
  SELECT pg_temp.person(n), CASE WHEN n % 6 > 0 THEN n % 5 END, n % 40 > 0
  FROM generate_series(1, :rows / 40) AS n;

INSERT INTO crew_members
  SELECT 3 + n * 613::bigint % (:rows / 200 - 2), pg_temp.person(3 + n % (:rows / 40 - 2))
  FROM generate_series(1, :rows / 20) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO crew_members VALUES (1, pg_temp.person(1)), (2, pg_temp.person(2)), (7, pg_temp.person(2));

INSERT INTO studies
  SELECT pg_temp.study(n), n % 100, n % 30 = 0 FROM generate_series(1, :rows / 20) AS n;

INSERT INTO bookings
  SELECT pg_temp.study(1 + n * 7919::bigint % (:rows / 20)), 3 + n * 31::bigint % (:rows / 200 - 2),
    CASE WHEN n % 50 = 0 THEN 3900000000 ELSE 1700000000 END, pg_temp.ends(n % 2 = 0)
  FROM generate_series(1, :rows / 8) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO bookings
  SELECT pg_temp.study(n * 10), 1, 1700000000, pg_temp.ends(n % 20 > 0)
  FROM generate_series(1, :rows / 200) AS n
  UNION ALL
  SELECT pg_temp.study(n * 100 - 3), 2, 1700000000, pg_temp.ends(n % 20 > 0)
  FROM generate_series(1, :rows / 2000) AS n;

INSERT INTO permits
  SELECT n, pg_temp.study(1 + n * 6151::bigint % (:rows / 20)),
    pg_temp.person(3 + n * 43::bigint % (:rows / 40 - 2)),
    CASE WHEN n % 3 > 0 THEN 'full' ELSE 'summary' END, pg_temp.ends(n % 4 > 0), n % 11 = 0
  FROM generate_series(1, :rows / 8) AS n;
INSERT INTO permits
  SELECT :rows + n, pg_temp.study(n * 9), pg_temp.person(2), 'full', pg_temp.ends(n % 4 > 0), n % 11 = 0
  FROM generate_series(1, 100) AS n;

INSERT INTO alarms
  SELECT pg_temp.person(1 + n * 29::bigint % (:rows / 40)),
    pg_temp.study(1 + n * 7907::bigint % (:rows / 20)), pg_temp.ends(n % 3 = 0)
  FROM generate_series(1, :rows / 80) AS n;

INSERT INTO conflicts
  SELECT pg_temp.study(1 + n * 104729::bigint % (:rows / 20)),
    pg_temp.person(1 + n * 37::bigint % (:rows / 40))
  FROM generate_series(1, :rows / 20) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO conflicts
  SELECT pg_temp.study(n * 700), pg_temp.person(1) FROM generate_series(1, :rows / 20000) AS n
  ON CONFLICT DO NOTHING;

INSERT INTO samples
  SELECT n, pg_temp.study(1 + n * 15485863::bigint % (:rows / 20)),
    CASE
      WHEN n % 399 = 0 THEN pg_temp.person(1)
      WHEN n % 1999 = 0 THEN pg_temp.person(2)
      WHEN n % 5 > 0 THEN pg_temp.person(1 + n * 41::bigint % (:rows / 40))
    END,
    n % 7 = 0, CASE WHEN n % 9 > 0 THEN n % 6 END,
    CASE n % 3 WHEN 0 THEN 'blood' WHEN 1 THEN 'tissue' ELSE 'water' END,
    timestamptz '2024-01-01' + n * 7919::bigint % :rows * interval '1 minute'
  FROM generate_series(1, :rows) AS n;

INSERT INTO sample_denials
  SELECT 1 + n * 17::bigint % :rows, pg_temp.person(1 + n % (:rows / 40))
  FROM generate_series(1, :rows / 20) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO sample_denials
  SELECT n * 130, pg_temp.person(1) FROM generate_series(1, :rows / 130) AS n
  ON CONFLICT DO NOTHING;
