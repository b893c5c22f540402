-- Q4.1
SELECT tailnum, year, manufacturer, model, engines, seats FROM planes WHERE tailnum = 'N14228';

-- Q4.2
SELECT * FROM planes WHERE tailnum = 'N0';

-- Q4.3
SELECT temp, wind_speed, wind_gust, visib FROM weather WHERE origin = 'JFK' AND time_hour = TIMESTAMP '2013-07-04 16:00:00';

-- Q4.4 law
SELECT count(*) = 3 AND bool_and((carrier, flight::INTEGER, origin, dest, time_hour::TIMESTAMP) IN (SELECT (carrier, flight, origin, dest, time_hour) FROM flights)) FROM answer;

-- Q4.5 law
SELECT count(DISTINCT carrier) = 3 AND bool_and((carrier, name) IN (SELECT (carrier, name) FROM airlines)) FROM answer;

-- Q4.6
SELECT carrier, sum(air_time) AS minutes FROM flights GROUP BY carrier ORDER BY minutes DESC LIMIT 4;

-- Q4.7
SELECT dep_time, arr_time, air_time, tailnum, count(*) FROM flights
WHERE month = 2 AND day = 9 AND origin = 'LGA' AND dep_time IS NULL AND carrier IN ('FL', 'WN', 'UA') GROUP BY ALL;

-- Q4.8 law
SELECT count(DISTINCT tailnum) = 3 AND bool_and(op = '+I' AND (tailnum, seats::INTEGER) IN (SELECT (tailnum, seats) FROM planes)) FROM answer;
