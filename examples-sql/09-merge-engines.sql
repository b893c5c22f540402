-- Merge engines: what becomes of a second row with the same key. First row, highest version, aggregates, and jobs that each
-- write their own columns.

USE CATALOG sluice;
USE nyc;

CREATE TEMPORARY TABLE IF NOT EXISTS flights_csv (
  `year` INT, `month` INT, `day` INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
  arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
  `hour` INT, `minute` INT, time_hour STRING
) WITH ('connector' = 'filesystem', 'path' = '@DATA@/flights.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

DROP TABLE IF EXISTS plane_first_seen;
DROP TABLE IF EXISTS plane_last_seen;
DROP TABLE IF EXISTS carrier_totals;
DROP TABLE IF EXISTS routes;
DROP TABLE IF EXISTS route_money;
DROP TABLE IF EXISTS carrier_latest;

SET 'execution.runtime-mode' = 'batch';

-- The first row of a key stays. Later ones are dropped, and readers see inserts alone.
CREATE TABLE plane_first_seen (
  tailnum STRING,
  `month` INT,
  carrier STRING,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.merge-engine' = 'first_row');

INSERT INTO plane_first_seen SELECT tailnum, `month`, carrier FROM flights_csv WHERE tailnum IS NOT NULL AND `month` = 1;
INSERT INTO plane_first_seen SELECT tailnum, 12, carrier FROM flights_csv WHERE tailnum IS NOT NULL AND `month` > 1;

-- Q9.1 Planes that flew in January are known from then
SELECT `month`, COUNT(*) AS planes FROM plane_first_seen GROUP BY `month`;

-- The row with the highest version stays, in whatever order rows come.
CREATE TABLE plane_last_seen (
  tailnum STRING,
  seen INT,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.merge-engine' = 'versioned', 'table.merge-engine.versioned.ver-column' = 'seen');

INSERT INTO plane_last_seen SELECT tailnum, `month` * 100 + `day` FROM flights_csv WHERE tailnum IS NOT NULL;
INSERT INTO plane_last_seen SELECT tailnum, `month` * 100 + `day` FROM flights_csv WHERE tailnum IS NOT NULL AND `month` < 7;

-- Q9.2 The newest day of each plane
SELECT COUNT(*) AS planes, SUM(CAST(seen AS BIGINT)) AS days, MIN(seen) AS longest_ago, MAX(seen) AS latest FROM plane_last_seen;

-- Each column has a function: 336,776 rows come to 16, without an aggregation in the query.
CREATE TABLE carrier_totals (
  carrier STRING,
  flights BIGINT,
  miles BIGINT,
  worst_delay INT,
  best_delay INT,
  highest_tail STRING,
  any_cancelled BOOLEAN,
  all_timed BOOLEAN,
  hours DECIMAL(12, 2),
  PRIMARY KEY (carrier) NOT ENFORCED
) WITH (
  'bucket.num' = '2',
  'table.merge-engine' = 'aggregation',
  'fields.flights.agg' = 'sum',
  'fields.miles.agg' = 'sum',
  'fields.worst_delay.agg' = 'max',
  'fields.best_delay.agg' = 'min',
  'fields.highest_tail.agg' = 'max',
  'fields.any_cancelled.agg' = 'bool_or',
  'fields.all_timed.agg' = 'bool_and',
  'fields.hours.agg' = 'sum'
);

INSERT INTO carrier_totals
  SELECT carrier, 1, distance, arr_delay, arr_delay, tailnum, dep_time IS NULL, air_time IS NOT NULL, CAST(air_time / 60.0 AS DECIMAL(12, 2))
  FROM flights_csv;

-- Q9.3 Totals of each carrier
SELECT carrier, flights, miles, worst_delay, best_delay FROM carrier_totals ORDER BY carrier;

-- Q9.4 Texts, truths and decimals
SELECT carrier, highest_tail, any_cancelled, all_timed, hours FROM carrier_totals;

-- Texts are joined in the order in which they come.
CREATE TABLE route_money (
  route STRING,
  notes STRING,
  total INT,
  PRIMARY KEY (route) NOT ENFORCED
) WITH (
  'table.merge-engine' = 'aggregation',
  'table.delete.behavior' = 'retract',
  'fields.notes.agg' = 'listagg',
  'fields.notes.listagg.delimiter' = ' | ',
  'fields.total.agg' = 'sum'
);
INSERT INTO route_money VALUES ('JFK-LAX', 'sold', 100);
INSERT INTO route_money VALUES ('JFK-LAX', 'sold again', 250);
-- Only the columns that are named take part.
INSERT INTO route_money (route, total) VALUES ('JFK-LAX', -100);

-- Q9.5 Notes and total
SELECT route, notes, total FROM route_money;

-- Two jobs write their own columns of the same rows.
CREATE TABLE routes (
  origin STRING,
  dest STRING,
  flights BIGINT,
  worst_delay INT,
  PRIMARY KEY (origin, dest) NOT ENFORCED
) WITH ('bucket.num' = '3');

INSERT INTO routes (origin, dest, flights) SELECT origin, dest, COUNT(*) FROM flights_csv GROUP BY origin, dest;
INSERT INTO routes (dest, origin, worst_delay) SELECT dest, origin, MAX(arr_delay) FROM flights_csv WHERE arr_delay > 120 GROUP BY origin, dest;

-- Q9.6 Routes without a delay of more than two hours have NULL
SELECT COUNT(*) AS routes, SUM(flights) AS flights, COUNT(worst_delay) AS late_routes, SUM(worst_delay) AS delays FROM routes;

-- Q9.7 The routes flown most
SELECT origin, dest, flights, worst_delay FROM routes ORDER BY flights DESC, origin, dest LIMIT 5;

-- Each job's columns follow a version of their own: what comes late changes nothing, and leaves the other job's columns alone.
CREATE TABLE carrier_latest (
  carrier STRING,
  left_on INT,
  flight INT,
  landed_on INT,
  air_time INT,
  PRIMARY KEY (carrier) NOT ENFORCED
) WITH ('fields.left_on.sequence-group' = 'flight', 'fields.landed_on.sequence-group' = 'air_time');

INSERT INTO carrier_latest (carrier, left_on, flight) SELECT carrier, `month` * 1000000 + `day` * 10000 + dep_time, MAX(flight)
  FROM flights_csv WHERE dep_time IS NOT NULL GROUP BY carrier, `month`, `day`, dep_time;
INSERT INTO carrier_latest (carrier, landed_on, air_time) SELECT carrier, `month` * 1000000 + `day` * 10000 + dep_time, MAX(air_time)
  FROM flights_csv WHERE air_time IS NOT NULL GROUP BY carrier, `month`, `day`, dep_time;
INSERT INTO carrier_latest (carrier, left_on, flight) SELECT DISTINCT carrier, 1010000, -1 FROM flights_csv;

-- Q9.8 The newest departure and the newest landing of each carrier
SELECT carrier, left_on, flight, landed_on, air_time FROM carrier_latest ORDER BY carrier;
