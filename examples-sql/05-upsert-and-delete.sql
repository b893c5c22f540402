-- Upserts and deletes: a streaming job's changes flow into primary-key tables, which keep the newest row of each key.

USE CATALOG sluice;
USE nyc;

CREATE TEMPORARY TABLE IF NOT EXISTS flights_csv (
  `year` INT, `month` INT, `day` INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
  arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
  `hour` INT, `minute` INT, time_hour STRING
) WITH ('connector' = 'filesystem', 'path' = '@DATA@/flights.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

DROP TABLE IF EXISTS plane_totals;
DROP TABLE IF EXISTS flown_once;

CREATE TABLE plane_totals (
  tailnum STRING,
  flights BIGINT NOT NULL,
  miles BIGINT,
  last_hour STRING,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '4');

CREATE TABLE flown_once (
  tailnum STRING,
  dest STRING,
  PRIMARY KEY (tailnum) NOT ENFORCED
);

-- Each flight changes its plane's row in the first table (some 330,000 upserts over 4,043 keys). The second gets a row at a
-- plane's first flight and loses it at the second.
SET 'execution.runtime-mode' = 'streaming';
EXECUTE STATEMENT SET
BEGIN
INSERT INTO plane_totals
  SELECT tailnum, COUNT(*), SUM(CAST(distance AS BIGINT)), MAX(time_hour) FROM flights_csv WHERE tailnum IS NOT NULL GROUP BY tailnum;
INSERT INTO flown_once
  SELECT tailnum, MAX(dest) FROM flights_csv WHERE tailnum IS NOT NULL GROUP BY tailnum HAVING COUNT(*) = 1;
END;

SET 'execution.runtime-mode' = 'batch';

-- Q5.1 One row for each plane
SELECT COUNT(*) AS planes FROM plane_totals;

-- Q5.2 Its row is the last one written
SELECT SUM(flights) AS flights, SUM(miles) AS miles, MAX(flights) AS most_flights, MIN(last_hour) AS longest_ago FROM plane_totals;

-- Q5.3 The planes that flew most
SELECT tailnum, flights, miles, last_hour FROM plane_totals ORDER BY flights DESC, tailnum LIMIT 5;

-- Q5.4 Planes with one flight: what the deletes left
SELECT COUNT(*) AS planes, COUNT(DISTINCT dest) AS destinations FROM flown_once;

-- Rows can be written again by hand. The first of these replaces a row, the second adds one.
INSERT INTO airlines VALUES ('UA', 'United, renamed'), ('ZZ', 'Paper Planes');

-- Q5.5 What became of them
SELECT carrier, name FROM airlines WHERE carrier IN ('AA', 'UA', 'ZZ');

-- Of several rows of one key in one statement the last one stays.
INSERT INTO airlines VALUES ('UA', 'first'), ('UA', 'second'), ('UA', 'United Air Lines Inc.');

-- Q5.6 The last one
SELECT carrier, name FROM airlines WHERE carrier = 'UA';
