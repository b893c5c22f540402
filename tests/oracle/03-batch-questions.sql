-- Q3.1
SELECT origin, count(*), count(dep_time), round(avg(dep_delay), 3), max(dep_delay), sum(distance), min(time_hour), max(time_hour)
FROM flights GROUP BY origin ORDER BY origin;

-- Q3.2
SELECT month, count(*) FILTER (dep_time IS NULL) AS cancelled FROM flights GROUP BY month ORDER BY cancelled DESC, month LIMIT 5;

-- Q3.3
SELECT name, count(*), round(avg(arr_delay), 3) AS late FROM flights JOIN airlines USING (carrier)
WHERE arr_delay IS NOT NULL GROUP BY name ORDER BY late DESC;

-- Q3.4
SELECT manufacturer, count(*), count(DISTINCT tailnum), sum(distance) AS miles
FROM flights LEFT JOIN planes USING (tailnum) GROUP BY manufacturer ORDER BY miles DESC LIMIT 8;

-- Q3.5
SELECT visib, count(*), round(avg(dep_delay), 3), max(precip)
FROM flights JOIN weather USING (origin, time_hour) WHERE visib < 1 GROUP BY visib ORDER BY visib;

-- Q3.6
SELECT dest, count(*) FROM flights WHERE dest NOT IN (SELECT faa FROM airports) GROUP BY dest ORDER BY dest;

-- Q3.7
SELECT origin, count(*), sum(precip), min(temp), max(temp), count(wind_gust), round(avg(pressure), 4), max(humid)
FROM weather GROUP BY origin ORDER BY origin;
