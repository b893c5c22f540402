-- Ways to read: single rows, a few rows, few columns, as a stream.

USE CATALOG sluice;
USE nyc;
SET 'execution.runtime-mode' = 'batch';

-- Q4.1 One row by its full key (a lookup, not a scan)
SELECT tailnum, `year`, manufacturer, `model`, engines, seats FROM planes WHERE tailnum = 'N14228';

-- Q4.2 A key that is not there
SELECT * FROM planes WHERE tailnum = 'N0';

-- Q4.3 One row by a key of two columns
SELECT temp, wind_speed, wind_gust, visib FROM weather WHERE origin = 'JFK' AND time_hour = TIMESTAMP '2013-07-04 16:00:00';

-- Q4.4 Some rows of a log table: the newest of its buckets
SELECT carrier, flight, origin, dest, time_hour FROM flights LIMIT 3;

-- Q4.5 Some rows of a primary-key table
SELECT carrier, name FROM airlines LIMIT 3;

-- Q4.6 Two columns of nineteen: only these two are decoded
SELECT carrier, SUM(CAST(air_time AS BIGINT)) AS minutes FROM flights GROUP BY carrier ORDER BY minutes DESC LIMIT 4;

-- Q4.7 Rows with NULL in them stay as they are
SELECT dep_time, arr_time, air_time, tailnum, COUNT(*) AS flights FROM flights
WHERE `month` = 2 AND `day` = 9 AND origin = 'LGA' AND dep_time IS NULL AND carrier IN ('FL', 'WN', 'UA')
GROUP BY dep_time, arr_time, air_time, tailnum;

-- The same tables as streams. A stream over a table has no end; LIMIT gives it one.
SET 'execution.runtime-mode' = 'streaming';

-- Q4.8 A LIMIT ends a stream too
SELECT tailnum, seats FROM planes LIMIT 3;
