-- Partitions: a log table cut by month and airport, a primary-key table cut by month. What a question rules out is not read.

USE CATALOG sluice;
USE nyc;
SET 'execution.runtime-mode' = 'batch';

DROP TABLE IF EXISTS departures;
DROP TABLE IF EXISTS carrier_months;

CREATE TABLE departures (
  `month` INT, origin STRING, `day` INT, carrier STRING, flight INT, dest STRING, dep_delay INT, distance INT, looked_at AS PROCTIME()
) PARTITIONED BY (`month`, origin) WITH ('bucket.num' = '2');

-- Partitions can be added beforehand; writing creates those that are missing.
ALTER TABLE departures ADD PARTITION (`month` = 1, origin = 'EWR');
ALTER TABLE departures ADD IF NOT EXISTS PARTITION (`month` = 1, origin = 'EWR');
INSERT INTO departures SELECT `month`, origin, `day`, carrier, flight, dest, dep_delay, distance FROM flights WHERE `month` <= 11;
SHOW PARTITIONS departures PARTITION (origin = 'JFK');

-- Q12.1 The summer at Newark: 3 of 33 partitions are read
SELECT `month`, COUNT(*) AS flights, COUNT(dep_delay) AS departed, SUM(CAST(distance AS BIGINT)) AS miles
FROM departures WHERE `month` BETWEEN 6 AND 8 AND origin = 'EWR' GROUP BY `month` ORDER BY `month`;

-- Q12.2 Both kinds of condition: the first prunes, the second is asked of each row that is left
SELECT origin, COUNT(*) AS long_delays FROM departures
WHERE (`month` IN (2, 11) OR `month` = 4) AND origin LIKE '%A' AND dep_delay > 120 GROUP BY origin;

-- Q12.3 A partition column counts as any other
SELECT origin, MAX(`month`) AS last_month, COUNT(DISTINCT `month`) AS months, COUNT(*) AS flights FROM departures GROUP BY origin ORDER BY origin;

-- December comes in one go, with the month said once; January goes again.
INSERT INTO departures PARTITION (`month` = 12)
  SELECT origin, `day`, carrier, flight, dest, dep_delay, distance FROM flights WHERE `month` = 12;
ALTER TABLE departures DROP PARTITION (`month` = 1, origin = 'EWR');
ALTER TABLE departures DROP PARTITION (`month` = 1, origin = 'JFK');
ALTER TABLE departures DROP IF EXISTS PARTITION (`month` = 1, origin = 'LGA');

-- Q12.4 What is there after that?
SELECT COUNT(*) AS flights, MIN(`month`) AS first_month, MAX(`month`) AS last_month FROM departures;

-- The partition columns are part of the key; rows of one key in two partitions are two rows.
CREATE TABLE carrier_months (
  carrier STRING, `month` INT, flights BIGINT NOT NULL, delay INT,
  PRIMARY KEY (`month`, carrier) NOT ENFORCED
) PARTITIONED BY (`month`);
INSERT INTO carrier_months SELECT carrier, `month`, COUNT(*), MAX(dep_delay) FROM flights WHERE `month` IN (6, 7, 12) GROUP BY carrier, `month`;
-- New values for one month; the others stay.
INSERT INTO carrier_months SELECT carrier, `month`, COUNT(dep_delay), MIN(dep_delay) FROM flights WHERE `month` = 12 GROUP BY carrier, `month`;

-- Q12.5 The whole table
SELECT `month`, COUNT(*) AS carriers, SUM(flights) AS flights, MIN(delay) AS lowest, MAX(delay) AS highest FROM carrier_months GROUP BY `month` ORDER BY `month`;

-- Q12.6 One row, found by its partition and key
SELECT carrier, `month`, flights, delay FROM carrier_months WHERE carrier = 'UA' AND `month` = 7;

-- Q12.7 A lookup join by partition and key: months without a partition match nothing
SELECT d.`month`, COUNT(*) AS flights, COUNT(c.carrier) AS matched, COUNT(CASE WHEN d.dep_delay = c.delay THEN 1 END) AS worst
FROM departures AS d LEFT JOIN carrier_months FOR SYSTEM_TIME AS OF d.looked_at AS c ON d.carrier = c.carrier AND d.`month` = c.`month`
WHERE d.`month` BETWEEN 5 AND 7 GROUP BY d.`month` ORDER BY d.`month`;

-- A table by the clock: today's and tomorrow's partitions are there at once, and those of the day before yesterday go.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (dt STRING, uid INT, PRIMARY KEY (dt, uid) NOT ENFORCED) PARTITIONED BY (dt) WITH (
  'table.auto-partition.enabled' = 'true', 'table.auto-partition.time-unit' = 'DAY', 'table.auto-partition.num-retention' = '1'
);
SHOW PARTITIONS visits;
