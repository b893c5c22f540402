-- Q9.1
SELECT first, count(*) FROM (SELECT CASE min(month) WHEN 1 THEN 1 ELSE 12 END AS first FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum) GROUP BY first;

-- Q9.2
SELECT count(*), sum(seen), min(seen), max(seen) FROM (SELECT max(month * 100 + day) AS seen FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum);

-- Q9.3
SELECT carrier, count(*), sum(distance), max(arr_delay), min(arr_delay) FROM flights GROUP BY carrier ORDER BY carrier;

-- Q9.4
SELECT carrier, max(tailnum), bool_or(dep_time IS NULL), bool_and(air_time IS NOT NULL), sum(round(air_time / 60.0, 2)::DECIMAL(12, 2))
FROM flights GROUP BY carrier;

-- Q9.5
VALUES ('JFK-LAX', 'sold | sold again', 250);

-- Q9.6
SELECT count(*), sum(flights), count(worst), sum(worst)
FROM (SELECT count(*) AS flights, max(arr_delay) FILTER (arr_delay > 120) AS worst FROM flights GROUP BY origin, dest);

-- Q9.7
SELECT origin, dest, count(*) AS flights, max(arr_delay) FILTER (arr_delay > 120)
FROM flights GROUP BY origin, dest ORDER BY flights DESC, origin, dest LIMIT 5;

-- Q9.8
WITH f AS (SELECT *, month * 1000000 + day * 10000 + dep_time AS left_on FROM flights)
SELECT carrier, max(left_on), max(flight) FILTER (left_on = newest), max(left_on) FILTER (air_time IS NOT NULL), max(air_time) FILTER (left_on = landed)
FROM (SELECT *, max(left_on) OVER (PARTITION BY carrier) AS newest, max(left_on) FILTER (air_time IS NOT NULL) OVER (PARTITION BY carrier) AS landed FROM f)
GROUP BY carrier ORDER BY carrier;
