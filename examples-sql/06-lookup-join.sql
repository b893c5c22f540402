-- Lookup joins: each row asks a primary-key table for the row of its key, as it is at that moment.

USE CATALOG sluice;
USE nyc;
SET 'execution.runtime-mode' = 'streaming';

CREATE TEMPORARY VIEW asked AS
SELECT *, PROCTIME() AS looked_at FROM (VALUES ('HA', 'HNL'), ('UA', 'SJU'), ('??', 'BOS')) AS t (carrier, dest);

-- Q6.1 Which airline, which airport? A key without a row gives NULL
SELECT q.carrier, a.name AS airline, q.dest, p.name AS airport, p.tzone
FROM asked AS q
LEFT JOIN airlines FOR SYSTEM_TIME AS OF q.looked_at AS a ON q.carrier = a.carrier
LEFT JOIN airports FOR SYSTEM_TIME AS OF q.looked_at AS p ON q.dest = p.faa;

-- Q6.2 Both parts of a key of two columns, one of them a constant
SELECT q.carrier, w.temp, w.visib
FROM asked AS q
JOIN weather FOR SYSTEM_TIME AS OF q.looked_at AS w ON w.origin = 'EWR' AND w.time_hour = TIMESTAMP '2013-01-01 10:00:00' AND w.temp > 30;

SET 'execution.runtime-mode' = 'batch';

-- Q6.3 Every flight of the year asks for its plane: 336,776 lookups
SELECT p.engine, COUNT(*) AS flights, SUM(p.seats) AS seats
FROM flights AS f LEFT JOIN planes FOR SYSTEM_TIME AS OF f.looked_at AS p ON f.tailnum = p.tailnum
GROUP BY p.engine ORDER BY p.engine;

-- Q6.4 The same with Flink's cache in front, and one lookup at a time
SELECT a.name, COUNT(*) AS flights
FROM flights AS f
JOIN airports /*+ OPTIONS('lookup.async' = 'false', 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '200') */ FOR SYSTEM_TIME AS OF f.looked_at AS a
  ON f.dest = a.faa
WHERE f.`month` = 12 GROUP BY a.name ORDER BY flights DESC LIMIT 5;

-- A dictionary: who asks for a plane that is not in it gets it a number
CREATE TABLE IF NOT EXISTS plane_numbers (tailnum STRING, id BIGINT, PRIMARY KEY (tailnum) NOT ENFORCED) WITH ('auto-increment.fields' = 'id');

-- Q6.5 Every flight asks for the number of its plane; each plane has one, and there are no gaps
SELECT COUNT(*) AS flights, COUNT(DISTINCT n.id) AS numbers, MIN(n.id) AS first_number, MAX(n.id) AS last_number
FROM flights AS f
JOIN plane_numbers /*+ OPTIONS('lookup.insert-if-not-exists' = 'true') */ FOR SYSTEM_TIME AS OF f.looked_at AS n ON f.tailnum = n.tailnum;

-- Q6.6 The numbers stay
SELECT COUNT(*) AS planes, COUNT(DISTINCT id) AS numbers FROM plane_numbers;
