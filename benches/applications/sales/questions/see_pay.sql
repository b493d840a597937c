-- Sellers whose pay the user may see.

--- ask list see_pay User over sellers.login
--- case light user=seller-900
--- case medium user=seller-30
--- case heavy user=seller-2

--- statement list
SELECT login FROM sellers WHERE :filter;

--- statement page of a region
SELECT login FROM sellers WHERE region = 'R020' AND :filter ORDER BY grade DESC, login LIMIT 50;

--- filter
(
  sellers.login = ':user'
  OR sellers.login = ANY (ARRAY(
    WITH RECURSIVE below (login) AS (
      SELECT login FROM sellers WHERE boss = ':user'
      UNION ALL
      SELECT s.login
      FROM below AS b, LATERAL (SELECT login FROM sellers WHERE boss = b.login OFFSET 0) AS s
    )
    SELECT login FROM below
  ))
  OR sellers.region = ANY (ARRAY(SELECT region FROM pay_offices WHERE login = ':user'))
    AND sellers.grade < (SELECT u.grade FROM sellers AS u WHERE u.login = ':user')
)
AND NOT (SELECT u.locked FROM sellers AS u WHERE u.login = ':user');
