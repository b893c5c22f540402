-- DELETE and UPDATE: any condition, in batch mode, on primary-key tables. One that names a whole key takes no job.

USE CATALOG sluice;
USE nyc;
SET 'execution.runtime-mode' = 'batch';

DROP TABLE IF EXISTS routes;
DROP TABLE IF EXISTS fleet;

CREATE TABLE routes (
  origin STRING, dest STRING, flights BIGINT NOT NULL, miles BIGINT, worst_delay INT, note STRING,
  PRIMARY KEY (origin, dest) NOT ENFORCED
) WITH ('bucket.num' = '3');

CREATE TABLE fleet (
  tailnum STRING, carrier STRING, seats INT, built INT,
  PRIMARY KEY (carrier, tailnum) NOT ENFORCED
) PARTITIONED BY (carrier);

INSERT INTO routes
  SELECT origin, dest, COUNT(*), SUM(CAST(distance AS BIGINT)), MAX(arr_delay), CAST(NULL AS STRING) FROM flights GROUP BY origin, dest;
INSERT INTO fleet
  SELECT f.tailnum, f.carrier, MAX(p.seats), MAX(p.`year`) FROM flights AS f LEFT JOIN planes AS p ON f.tailnum = p.tailnum
  WHERE f.tailnum IS NOT NULL AND f.carrier IN ('AA', 'OO', 'UA', 'US') GROUP BY f.tailnum, f.carrier;

-- One key: the SQL client deletes the row itself.
DELETE FROM routes WHERE origin = 'JFK' AND dest = 'LAX';

-- Q13.1 It is gone
SELECT COUNT(*) AS routes, COUNT(CASE WHEN dest = 'LAX' THEN 1 END) AS to_los_angeles FROM routes;

-- Any other condition: a job reads the rows that meet it and deletes them. Of a route that never arrived the worst delay is not known,
-- so the condition is neither true nor false there, and the row stays.
DELETE FROM routes WHERE flights < 100 AND worst_delay < 60;

-- Q13.2 What is left
SELECT origin, COUNT(*) AS routes, SUM(flights) AS flights, COUNT(worst_delay) AS with_delay FROM routes GROUP BY origin ORDER BY origin;

-- New values may be made of the old ones; columns that are not named stay as they are.
UPDATE routes SET note = CONCAT('late by ', CAST(worst_delay AS STRING)), worst_delay = -worst_delay WHERE worst_delay >= 600;

-- Q13.3 The rows that it changed
SELECT origin, dest, worst_delay, note, flights FROM routes WHERE note IS NOT NULL ORDER BY origin, dest;

-- Other tables may decide.
UPDATE routes SET note = 'a small place' WHERE dest IN (SELECT dest FROM flights GROUP BY dest HAVING COUNT(*) < 300);
DELETE FROM routes WHERE NOT EXISTS (SELECT 1 FROM airports WHERE faa = dest);

-- Q13.4 Airports that are not in the list have lost their routes
SELECT COUNT(*) AS routes, COUNT(CASE WHEN note = 'a small place' THEN 1 END) AS small_ones, SUM(miles) AS miles FROM routes;

-- In a table with partitions a condition on their column reads those alone.
UPDATE fleet SET seats = seats + 1000 WHERE carrier = 'AA' AND built >= 2000;
DELETE FROM fleet WHERE carrier = 'US';
DELETE FROM fleet WHERE carrier = 'UA' AND seats IS NULL;

-- Q13.5 The fleet after that
SELECT carrier, COUNT(*) AS planes, COUNT(seats) AS known, SUM(seats) AS seats FROM fleet GROUP BY carrier ORDER BY carrier;

-- The lot
DELETE FROM fleet;

-- Q13.6 Nothing
SELECT COUNT(*) AS planes FROM fleet;
