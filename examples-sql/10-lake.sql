-- A lake: tables whose rows flow on into Apache Paimon. Read there by any reader of Paimon, and here as one with what is new.
--
-- The catalog of 01 says where the lake is ('datalake.paimon.warehouse') and lets the engine fill it ('datalake.tiering' = 'embedded').

USE CATALOG sluice;
SET 'execution.runtime-mode' = 'batch';

-- The lake is plain Paimon, so Paimon's own catalog opens it. A dropped table leaves its copy there: for another run both have to go.
CREATE CATALOG IF NOT EXISTS paimon WITH ('type' = 'paimon', 'warehouse' = '@STORE@-lake');
DROP DATABASE IF EXISTS lake CASCADE;
DROP DATABASE IF EXISTS paimon.lake CASCADE;
CREATE DATABASE lake;
USE lake;

-- A log table. Its copy in the lake is made with it: the same columns and two more, __offset and __timestamp.
CREATE TABLE flights (
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  distance INT,
  dep_delay INT,
  time_hour TIMESTAMP(3) COMMENT 'scheduled hour of departure, UTC',
  WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY
) WITH ('bucket.num' = '2', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

-- The first half of the year, brought into the lake by hand; without the CALL it would take an hour, as 'freshness' says.
INSERT INTO flights
  SELECT carrier, flight, tailnum, origin, dest, distance, dep_delay, time_hour FROM nyc.flights WHERE `month` <= 6;
CALL sys.tier('lake.flights');

-- The second half is in the log alone.
INSERT INTO flights
  SELECT carrier, flight, tailnum, origin, dest, distance, dep_delay, time_hour FROM nyc.flights WHERE `month` > 6;

-- Q10.1 All flights: lake and log together
SELECT COUNT(*) AS flights, MIN(time_hour) AS first_hour, MAX(time_hour) AS last_hour FROM flights;

-- Q10.2 What the lake has, read by Paimon's own connector
SELECT COUNT(*) AS flights, MIN(time_hour) AS first_hour, MAX(time_hour) AS last_hour FROM flights$lake;

-- Q10.3 The same through Paimon's own catalog: nothing of ours is needed to read the lake
SELECT origin, COUNT(*) AS flights, SUM(CAST(distance AS BIGINT)) AS miles FROM paimon.lake.flights GROUP BY origin;

-- Q10.4 And over both halves
SELECT origin, COUNT(*) AS flights, SUM(CAST(distance AS BIGINT)) AS miles FROM flights GROUP BY origin;

-- Q10.5 What Paimon keeps about its table: rows in the newest snapshot
SELECT MAX(total_record_count) AS record_count FROM flights$lake$snapshots;

-- Q10.6 The lake as it was at some time; any will do, this one is still to come
SELECT COUNT(*) AS flights FROM flights$lake FOR SYSTEM_TIME AS OF TIMESTAMP '2100-01-01 00:00:00';

-- A dashboard: windows over lake and log together, behind a view.
CREATE VIEW departures_by_day AS
  SELECT window_start, origin, COUNT(*) AS flights, SUM(CASE WHEN dep_delay > 60 THEN 1 ELSE 0 END) AS late
  FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(time_hour), INTERVAL '1' DAY))
  GROUP BY window_start, window_end, origin;

-- Q10.7 The ten worst days
SELECT window_start, origin, flights, late FROM departures_by_day ORDER BY late DESC, window_start, origin LIMIT 10;

-- Q10.8 The days around the border between lake and log
SELECT window_start, origin, flights, late FROM departures_by_day
WHERE window_start BETWEEN TIMESTAMP '2013-06-29 00:00:00' AND TIMESTAMP '2013-07-02 00:00:00';

-- Q10.9 History from the lake, live rows from the table: delays in December out of all proportion to the carrier's first half year
WITH history AS (
  SELECT carrier, AVG(CAST(dep_delay AS DOUBLE)) AS usual, STDDEV_SAMP(CAST(dep_delay AS DOUBLE)) AS spread FROM flights$lake GROUP BY carrier
)
SELECT f.carrier, COUNT(*) AS out_of_proportion
FROM flights AS f JOIN history AS h ON f.carrier = h.carrier
WHERE f.time_hour >= TIMESTAMP '2013-12-02 00:00:00' AND ABS(f.dep_delay - h.usual) > 3 * h.spread
GROUP BY f.carrier;

-- A primary-key table: the newest row of each key, in the lake as well.
CREATE TABLE planes (
  tailnum STRING,
  flights BIGINT,
  last_hour TIMESTAMP(3),
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '2', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

INSERT INTO planes SELECT tailnum, COUNT(*), MAX(time_hour) FROM flights$lake WHERE tailnum IS NOT NULL GROUP BY tailnum;
CALL sys.tier('lake.planes');
INSERT INTO planes SELECT tailnum, COUNT(*), MAX(time_hour) FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum;

-- Q10.10 Planes, their flights, and how many of both the lake does not know yet
SELECT COUNT(*) AS planes, SUM(p.flights) AS flights, SUM(p.flights - COALESCE(l.flights, 0)) AS flights_since,
  SUM(CASE WHEN l.tailnum IS NULL THEN 1 ELSE 0 END) AS planes_since
FROM planes AS p LEFT JOIN planes$lake AS l ON p.tailnum = l.tailnum;

CALL sys.tier('lake.planes');

-- Q10.11 Once they are there the two are equal
SELECT COUNT(*) AS planes, SUM(flights) AS flights, MAX(last_hour) AS last_hour FROM planes$lake;

-- Rows flow by themselves where nobody calls: here a second after they were written. (ZZ is the airline that 05 makes up.)
CREATE TABLE carriers (carrier STRING, name STRING, PRIMARY KEY (carrier) NOT ENFORCED)
WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');
INSERT INTO carriers SELECT carrier, name FROM nyc.airlines WHERE carrier <> 'ZZ';

-- Q10.12 Seen at once in the table, whether or not they are in the lake yet
SELECT carrier, name FROM carriers;
