-- Q6.1
SELECT carrier, a.name, dest, p.name, p.tzone FROM (VALUES ('HA', 'HNL'), ('UA', 'SJU'), ('??', 'BOS')) AS q (carrier, dest)
LEFT JOIN airlines AS a USING (carrier) LEFT JOIN airports AS p ON q.dest = p.faa;

-- Q6.2
SELECT carrier, temp, visib FROM (VALUES ('HA'), ('UA'), ('??')) AS q (carrier), weather
WHERE origin = 'EWR' AND time_hour = TIMESTAMP '2013-01-01 10:00:00' AND temp > 30;

-- Q6.3
SELECT engine, count(*), sum(seats) FROM flights LEFT JOIN planes USING (tailnum) GROUP BY engine;

-- Q6.4
SELECT name, count(*) AS flights FROM flights JOIN airports ON dest = faa WHERE month = 12 GROUP BY name ORDER BY flights DESC LIMIT 5;

-- Q6.5
SELECT count(tailnum), count(DISTINCT tailnum), 1, count(DISTINCT tailnum) FROM flights;

-- Q6.6
SELECT count(DISTINCT tailnum), count(DISTINCT tailnum) FROM flights;
