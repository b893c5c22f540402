-- Questions in batch mode: every table is complete up to the moment the query is planned.

USE CATALOG sluice;
USE nyc;
SET 'execution.runtime-mode' = 'batch';

-- Q3.1 How do the three airports compare?
SELECT origin, COUNT(*) AS flights, COUNT(dep_time) AS departed, ROUND(AVG(CAST(dep_delay AS DOUBLE)), 3) AS avg_delay,
  MAX(dep_delay) AS worst_delay, SUM(CAST(distance AS BIGINT)) AS miles, MIN(time_hour) AS first_hour, MAX(time_hour) AS last_hour
FROM flights GROUP BY origin ORDER BY origin;

-- Q3.2 Which months have the most cancelled flights?
SELECT `month`, COUNT(*) - COUNT(dep_time) AS cancelled FROM flights GROUP BY `month` ORDER BY cancelled DESC, `month` LIMIT 5;

-- Q3.3 Which airlines arrive late?
SELECT a.name, COUNT(*) AS flights, ROUND(AVG(CAST(f.arr_delay AS DOUBLE)), 3) AS avg_arrival_delay
FROM flights AS f JOIN airlines AS a ON f.carrier = a.carrier
WHERE f.arr_delay IS NOT NULL GROUP BY a.name ORDER BY avg_arrival_delay DESC;

-- Q3.4 Who built the planes that flew furthest, and how many flights have an unknown plane?
SELECT p.manufacturer, COUNT(*) AS flights, COUNT(DISTINCT f.tailnum) AS planes, SUM(CAST(f.distance AS BIGINT)) AS miles
FROM flights AS f LEFT JOIN planes AS p ON f.tailnum = p.tailnum
GROUP BY p.manufacturer ORDER BY miles DESC LIMIT 8;

-- Q3.5 Does bad sight delay departures?
SELECT w.visib, COUNT(*) AS flights, ROUND(AVG(CAST(f.dep_delay AS DOUBLE)), 3) AS avg_delay, MAX(w.precip) AS most_rain
FROM flights AS f JOIN weather AS w ON f.origin = w.origin AND f.time_hour = w.time_hour
WHERE w.visib < 1 GROUP BY w.visib ORDER BY w.visib;

-- Q3.6 Which destinations are not in the list of airports?
SELECT f.dest, COUNT(*) AS flights FROM flights AS f WHERE NOT EXISTS (SELECT 1 FROM airports AS a WHERE a.faa = f.dest)
GROUP BY f.dest ORDER BY f.dest;

-- Q3.7 The weather in numbers, over every type that the table has
SELECT origin, COUNT(*) AS hours_seen, SUM(precip) AS rain, MIN(temp) AS coldest, MAX(temp) AS hottest, COUNT(wind_gust) AS gusts,
  ROUND(AVG(pressure), 4) AS avg_pressure, MAX(humid) AS most_humid
FROM weather GROUP BY origin ORDER BY origin;
