-- Sellers whose pay the user may see.

--- ask list see_pay User over sellers.login
--- case light user=seller-900
--- case medium user=seller-30
--- case heavy user=seller-2

--- statement list
SELECT login FROM sellers WHERE :filter;

--- expert list
-- Neither the table nor its index is needed to test what the recursion has found.
WITH RECURSIVE below (login) AS (
  SELECT login FROM sellers WHERE login = ':user'
  UNION ALL
  SELECT s.login
  FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
)
SELECT login
FROM (
  SELECT login FROM below
  UNION
  SELECT s.login FROM pay_offices AS o JOIN sellers AS s ON s.region = o.region
  WHERE o.login = ':user' AND s.grade < (SELECT u.grade FROM sellers AS u WHERE u.login = ':user')
) AS found
WHERE NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');

--- statement page of a region
SELECT login FROM sellers WHERE region = 'R020' AND :filter ORDER BY grade DESC, login LIMIT 50;

--- filter
-- A region is small, so each of its sellers is tested, in hashed sets.
(
  sellers.login IN (
    WITH RECURSIVE below (login) AS (
      SELECT login FROM sellers WHERE login = ':user'
      UNION ALL
      SELECT s.login
      FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
    )
    SELECT login FROM below
  )
  OR sellers.region IN (SELECT region FROM pay_offices WHERE login = ':user')
    AND sellers.grade < (SELECT u.grade FROM sellers AS u WHERE u.login = ':user')
)
AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');
