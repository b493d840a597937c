-- May the user read this sample, and what else?

--- ask check read Sample :sample
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072 sample=5122
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b sample=8992
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd sample=4363

--- expert
-- Up from the sample: everything is found by a key.
SELECT EXISTS (
  SELECT FROM samples AS k
  WHERE k.id = :sample
    AND (SELECT present FROM people WHERE id = ':user')
    AND NOT EXISTS (SELECT FROM sample_denials AS d WHERE d.sample_id = k.id AND d.person_id = ':user')
    AND (
      k.collector_id = ':user'
      OR EXISTS (
        SELECT FROM alarms AS a
        WHERE a.person_id = ':user' AND a.study = k.study AND a.ends_at > extract(epoch FROM now())::bigint
      )
      OR (
        NOT EXISTS (SELECT FROM conflicts AS c WHERE c.person_id = ':user' AND c.study = k.study)
        AND (
          (NOT k.infectious OR k.hazard <= (SELECT clearance FROM people WHERE id = ':user'))
          AND EXISTS (
            SELECT FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id
            WHERE m.person_id = ':user' AND b.study = k.study
              AND b.starts_at <= extract(epoch FROM now())::bigint
              AND b.ends_at > extract(epoch FROM now())::bigint
          )
          OR NOT k.infectious AND EXISTS (
            SELECT FROM permits AS p
            WHERE p.person_id = ':user' AND p.study = k.study AND p.extent = 'full' AND NOT p.withdrawn
              AND p.ends_at > extract(epoch FROM now())::bigint
          )
        )
      )
    )
) AS allowed;

--- ask actions Sample :sample
--- case light user=20523c9d-a109-2760-54b3-46458c2d9072 sample=5122
--- case medium user=43e8f39a-5352-b631-dc4e-f958955fb07b sample=8992
--- case heavy user=fd14ec24-3aeb-dd75-c56f-5c9a5047e3fd sample=4363

--- expert
-- Every role is looked up once; a constant table says which of them each action needs.
SELECT a.action AS actions
FROM (
  SELECT
    k.collector_id IS NOT DISTINCT FROM ':user' AS collected, k.infectious, s.sealed,
    coalesce(k.hazard <= u.clearance, false) AS trained,
    c.study IS NULL AND EXISTS (
      SELECT FROM crew_members AS m JOIN bookings AS b ON b.crew_id = m.crew_id
      WHERE m.person_id = ':user' AND b.study = k.study
        AND b.starts_at <= extract(epoch FROM now())::bigint
        AND b.ends_at > extract(epoch FROM now())::bigint
    ) AS analyst,
    c.study IS NULL AND EXISTS (
      SELECT FROM permits AS p
      WHERE p.person_id = ':user' AND p.study = k.study AND p.extent = 'full' AND NOT p.withdrawn
        AND p.ends_at > extract(epoch FROM now())::bigint
    ) AS guest,
    EXISTS (
      SELECT FROM alarms AS a
      WHERE a.person_id = ':user' AND a.study = k.study AND a.ends_at > extract(epoch FROM now())::bigint
    ) AS responder
  FROM samples AS k JOIN studies AS s ON s.code = k.study JOIN people AS u ON u.id = ':user'
    LEFT JOIN conflicts AS c ON c.person_id = ':user' AND c.study = k.study
  WHERE k.id = :sample AND u.present
    AND NOT EXISTS (SELECT FROM sample_denials AS d WHERE d.sample_id = k.id AND d.person_id = ':user')
) AS held,
  LATERAL (
    VALUES
      ('read', collected OR responder OR analyst AND (trained OR NOT infectious) OR guest AND NOT infectious),
      ('relabel', collected AND analyst AND NOT sealed)
  ) AS a (action, allowed)
WHERE a.allowed;
