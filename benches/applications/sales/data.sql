-- 400,000 deals in 200 regions, and 20,000 sellers, five levels deep. Those who ask: seller 2 is above a
-- fifth of all and signs in every region, seller 30 is above a fortieth and signs in ten, seller 900 is above
-- eight and signs in two.
\if :{?rows}
\else
  \set rows 400000
\endif

CREATE FUNCTION pg_temp.login (n bigint) RETURNS text
  IMMUTABLE LANGUAGE sql RETURN 'seller-' || n;
CREATE FUNCTION pg_temp.region (n bigint) RETURNS text
  IMMUTABLE LANGUAGE sql RETURN 'R' || lpad((n % 200)::text, 3, '0');
CREATE FUNCTION pg_temp.deal (n bigint) RETURNS uuid
  IMMUTABLE LANGUAGE sql RETURN md5('deal ' || n)::uuid;
-- Of the year 2096, or of 2024.
CREATE FUNCTION pg_temp.ends (lasts boolean) RETURNS bigint
  IMMUTABLE LANGUAGE sql RETURN CASE WHEN lasts THEN 4000000000 ELSE 1710000000 END;

INSERT INTO sellers
  SELECT pg_temp.login(n), CASE WHEN n > 10 THEN pg_temp.login(n / 8) END, pg_temp.region(n * 31),
    CASE WHEN n = 2 THEN 9 WHEN n = 30 THEN 4 WHEN n % 7 > 0 THEN n % 5 END, n % 40 = 39
  FROM generate_series(1, :rows / 20) AS n;

INSERT INTO stand_ins (absent, login, starts_at, ends_at)
  SELECT pg_temp.login(100 + n * 613::bigint % (:rows / 20 - 100)),
    pg_temp.login(100 + n * 7907::bigint % (:rows / 20 - 100)),
    CASE WHEN n % 50 = 0 THEN 3900000000 ELSE 1700000000 END, pg_temp.ends(n % 2 = 0)
  FROM generate_series(1, :rows / 40) AS n;
INSERT INTO stand_ins (absent, login, starts_at, ends_at)
  SELECT pg_temp.login(200 + n), pg_temp.login(2), 1700000000, pg_temp.ends(n % 5 > 0)
  FROM generate_series(1, 5) AS n
  UNION ALL
  VALUES (pg_temp.login(300), pg_temp.login(30), 1700000000, pg_temp.ends(true)),
    (pg_temp.login(300), pg_temp.login(30), 1700000000, pg_temp.ends(false));

INSERT INTO ceilings
  SELECT pg_temp.login(100 + n * 31::bigint % (:rows / 20 - 100)), pg_temp.region(n * 7919),
    (ARRAY[1000, 10000, 50000])[1 + n % 3]
  FROM generate_series(1, :rows / 20) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO ceilings
  SELECT pg_temp.login(2), pg_temp.region(n), CASE WHEN n % 4 > 0 THEN 90000 ELSE 20000 END
  FROM generate_series(1, 200) AS n
  UNION ALL
  SELECT pg_temp.login(30), pg_temp.region(n * 20), 50000 FROM generate_series(1, 10) AS n
  UNION ALL
  VALUES (pg_temp.login(900), pg_temp.region(20), 2000), (pg_temp.login(900), pg_temp.region(33), 9000)
  ON CONFLICT DO NOTHING;

INSERT INTO pay_offices
  SELECT pg_temp.login(100 + n * 43::bigint % (:rows / 20 - 100)), pg_temp.region(n)
  FROM generate_series(1, 400) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO pay_offices
  SELECT pg_temp.login(2), pg_temp.region(n * 4) FROM generate_series(1, 50) AS n
  UNION ALL
  SELECT pg_temp.login(30), pg_temp.region(n * 20) FROM generate_series(1, 10) AS n;

INSERT INTO deals
  SELECT pg_temp.deal(n),
    CASE WHEN n % 9 > 0 THEN pg_temp.login(1 + n * 15485863::bigint % (:rows / 20)) END,
    pg_temp.region(n * 104729::bigint % 1009),
    CASE WHEN n % 11 > 0 THEN n * 7907::bigint % 100000 END, n % 3 = 0,
    timestamptz '2024-01-01' + n * 7919::bigint % :rows * interval '1 minute'
  FROM generate_series(1, :rows) AS n;

INSERT INTO signatures
  SELECT pg_temp.deal(1 + n * 6151::bigint % :rows), pg_temp.login(1 + n * 37::bigint % (:rows / 20))
  FROM generate_series(1, :rows / 4) AS n
  ON CONFLICT DO NOTHING;
INSERT INTO signatures
  SELECT pg_temp.deal(n * 21), pg_temp.login(2) FROM generate_series(1, :rows / 21) AS n
  ON CONFLICT DO NOTHING;
