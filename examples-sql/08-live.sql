-- A job that never ends, and rows that it sees as they are written: no checkpoint is waited for.

USE CATALOG sluice;
USE nyc;

DROP TABLE IF EXISTS departures;
DROP TABLE IF EXISTS carrier_totals;
CREATE TABLE departures (carrier STRING, flight INT, dest STRING);
CREATE TABLE carrier_totals (carrier STRING, flights BIGINT, PRIMARY KEY (carrier) NOT ENFORCED);

SET 'execution.runtime-mode' = 'batch';
INSERT INTO departures SELECT carrier, flight, dest FROM flights WHERE `month` = 1;

-- This job counts for as long as the process lives. One task each, so that what it counts comes in the order it was written.
SET 'execution.runtime-mode' = 'streaming';
SET 'parallelism.default' = '1';
SET 'table.dml-sync' = 'false';
INSERT INTO carrier_totals SELECT carrier, COUNT(*) FROM departures GROUP BY carrier;
SET 'table.dml-sync' = 'true';

-- A flight of an airline that nobody knew.
INSERT INTO departures VALUES ('ZZ', 1, 'BOS');

-- Q8.1 Asks for its total, and asks again until the job has written it
SELECT /*+ LOOKUP('table' = 't', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '200ms', 'max-attempts' = '300') */
  q.carrier, t.flights
FROM (SELECT carrier, PROCTIME() AS looked_at FROM (VALUES ('ZZ')) AS v (carrier)) AS q
JOIN carrier_totals FOR SYSTEM_TIME AS OF q.looked_at AS t ON q.carrier = t.carrier;

SET 'execution.runtime-mode' = 'batch';

-- Q8.2 And so all that was written before it is counted too
SELECT carrier, flights FROM carrier_totals ORDER BY flights DESC, carrier;

SET 'parallelism.default' = '2';
