-- Q5.1
SELECT count(DISTINCT tailnum) FROM flights;

-- Q5.2
SELECT sum(flights), sum(miles), max(flights), min(strftime(last_hour, '%Y-%m-%dT%H:%M:%SZ'))
FROM (SELECT count(*) AS flights, sum(distance) AS miles, max(time_hour) AS last_hour FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum);

-- Q5.3
SELECT tailnum, count(*) AS flights, sum(distance), strftime(max(time_hour), '%Y-%m-%dT%H:%M:%SZ')
FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum ORDER BY flights DESC, tailnum LIMIT 5;

-- Q5.4
SELECT count(*), count(DISTINCT dest) FROM (SELECT max(dest) AS dest FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum HAVING count(*) = 1);

-- Q5.5
SELECT carrier, name FROM airlines WHERE carrier = 'AA' UNION ALL VALUES ('UA', 'United, renamed'), ('ZZ', 'Paper Planes');

-- Q5.6
SELECT 'UA', name FROM airlines WHERE carrier = 'UA';
