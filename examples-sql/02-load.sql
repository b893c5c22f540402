-- Loading 336,776 flights and the tables around them from CSV files: one batch job with five sinks.

USE CATALOG sluice;
USE nyc;

-- Tables of other connectors live beside the catalog's own as temporary tables.
CREATE TEMPORARY TABLE flights_csv (
  `year` INT, `month` INT, `day` INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
  arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
  `hour` INT, `minute` INT, time_hour STRING
) WITH ('connector' = 'filesystem', 'path' = '@DATA@/flights.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

CREATE TEMPORARY TABLE airlines_csv (carrier STRING, name STRING)
WITH ('connector' = 'filesystem', 'path' = '@DATA@/airlines.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

CREATE TEMPORARY TABLE airports_csv (faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz SMALLINT, dst STRING, tzone STRING)
WITH ('connector' = 'filesystem', 'path' = '@DATA@/airports.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

CREATE TEMPORARY TABLE planes_csv (
  tailnum STRING, `year` INT, type STRING, manufacturer STRING, `model` STRING, engines TINYINT, seats INT, speed INT, engine STRING
) WITH ('connector' = 'filesystem', 'path' = '@DATA@/planes.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

CREATE TEMPORARY TABLE weather_csv (
  origin STRING, `year` INT, `month` INT, `day` INT, `hour` INT, temp DECIMAL(5, 2), dewp DOUBLE, humid FLOAT, wind_dir INT, wind_speed DOUBLE,
  wind_gust DOUBLE, precip DECIMAL(4, 2), pressure DOUBLE, visib DECIMAL(4, 2), time_hour STRING
) WITH ('connector' = 'filesystem', 'path' = '@DATA@/weather.csv', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.allow-comments' = 'true');

SET 'execution.runtime-mode' = 'batch';

EXECUTE STATEMENT SET
BEGIN
INSERT INTO flights
  SELECT `year`, `month`, `day`, dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay, carrier, flight, tailnum,
    origin, dest, air_time, distance, `hour`, `minute`, TO_TIMESTAMP(time_hour, 'yyyy-MM-dd''T''HH:mm:ss''Z''')
  FROM flights_csv;
INSERT INTO airlines SELECT * FROM airlines_csv;
INSERT INTO airports SELECT faa, name, lat, lon, alt, tz, CAST(dst AS CHAR(1)), tzone FROM airports_csv;
INSERT INTO planes SELECT * FROM planes_csv;
INSERT INTO weather
  SELECT origin, TO_TIMESTAMP(time_hour, 'yyyy-MM-dd''T''HH:mm:ss''Z'''), temp, humid, wind_speed, wind_gust, precip, pressure, visib
  FROM weather_csv;
END;

-- Q2.1 How many flights are there? (answered from the log's offsets, without a scan)
SELECT COUNT(*) AS flights FROM flights;

-- Q2.2 And how many rows in the other tables?
SELECT 'airlines' AS table_name, COUNT(*) AS row_count FROM airlines
UNION ALL SELECT 'airports', COUNT(*) FROM airports
UNION ALL SELECT 'planes', COUNT(*) FROM planes
UNION ALL SELECT 'weather', COUNT(*) FROM weather;
