-- Q13.1
SELECT count(*) - 1, count(*) FILTER (dest = 'LAX') - 1 FROM (SELECT DISTINCT origin, dest FROM flights);

-- Q13.2
SELECT origin, count(*), sum(n), count(worst)
FROM (SELECT origin, dest, count(*) AS n, max(arr_delay) AS worst FROM flights GROUP BY origin, dest)
WHERE NOT (origin = 'JFK' AND dest = 'LAX') AND (n >= 100 OR worst >= 60 OR worst IS NULL) GROUP BY origin ORDER BY origin;

-- Q13.3
SELECT origin, dest, -max(arr_delay), 'late by ' || max(arr_delay), count(*)
FROM flights WHERE NOT (origin = 'JFK' AND dest = 'LAX') GROUP BY origin, dest HAVING max(arr_delay) >= 600 ORDER BY origin, dest;

-- Q13.4
SELECT count(*), count(*) FILTER (to_there < 300), sum(miles)
FROM (SELECT origin, dest, count(*) AS n, sum(distance) AS miles, max(arr_delay) AS worst FROM flights GROUP BY origin, dest)
  JOIN (SELECT dest, count(*) AS to_there FROM flights GROUP BY dest) USING (dest)
WHERE NOT (origin = 'JFK' AND dest = 'LAX') AND (n >= 100 OR worst >= 60 OR worst IS NULL) AND dest IN (SELECT faa FROM airports);

-- Q13.5
SELECT carrier, count(*), count(seats), sum(CASE WHEN carrier = 'AA' AND year >= 2000 THEN seats + 1000 ELSE seats END)
FROM (SELECT DISTINCT tailnum, carrier FROM flights WHERE tailnum IS NOT NULL AND carrier IN ('AA', 'OO', 'UA')) LEFT JOIN planes USING (tailnum)
WHERE NOT (carrier = 'UA' AND seats IS NULL) GROUP BY carrier ORDER BY carrier;

-- Q13.6
SELECT 0;
