-- Q12.1
SELECT month, count(*), count(dep_delay), sum(distance) FROM flights WHERE month BETWEEN 6 AND 8 AND origin = 'EWR' GROUP BY month ORDER BY month;

-- Q12.2
SELECT origin, count(*) FROM flights WHERE month IN (2, 4, 11) AND origin LIKE '%A' AND dep_delay > 120 GROUP BY origin;

-- Q12.3
SELECT origin, max(month), count(DISTINCT month), count(*) FROM flights WHERE month <= 11 GROUP BY origin ORDER BY origin;

-- Q12.4
SELECT count(*), min(month), max(month) FROM flights WHERE month <> 1;

-- Q12.5
SELECT month, count(DISTINCT carrier), CASE month WHEN 12 THEN count(dep_delay) ELSE count(*) END,
  min(CASE month WHEN 12 THEN least_delay ELSE most_delay END), max(CASE month WHEN 12 THEN least_delay ELSE most_delay END)
FROM (SELECT *, min(dep_delay) OVER w AS least_delay, max(dep_delay) OVER w AS most_delay FROM flights WINDOW w AS (PARTITION BY carrier, month))
WHERE month IN (6, 7, 12) GROUP BY month ORDER BY month;

-- Q12.6
SELECT carrier, month, count(*), max(dep_delay) FROM flights WHERE carrier = 'UA' AND month = 7 GROUP BY carrier, month;

-- Q12.7
SELECT month, count(*), count(*) FILTER (month <> 5), count(*) FILTER (month <> 5 AND dep_delay = most_delay)
FROM (SELECT *, max(dep_delay) OVER (PARTITION BY carrier, month) AS most_delay FROM flights)
WHERE month BETWEEN 5 AND 7 GROUP BY month ORDER BY month;
