-- Q10.1
SELECT count(*), min(time_hour), max(time_hour) FROM flights;

-- Q10.2
SELECT count(*), min(time_hour), max(time_hour) FROM flights WHERE month <= 6;

-- Q10.3
SELECT origin, count(*), sum(distance) FROM flights WHERE month <= 6 GROUP BY origin;

-- Q10.4
SELECT origin, count(*), sum(distance) FROM flights GROUP BY origin;

-- Q10.5
SELECT count(*) FROM flights WHERE month <= 6;

-- Q10.6
SELECT count(*) FROM flights WHERE month <= 6;

-- Q10.7
SELECT date_trunc('day', time_hour)::TIMESTAMP AS day, origin, count(*) AS flights, count(*) FILTER (dep_delay > 60) AS late
FROM flights GROUP BY 1, origin ORDER BY late DESC, day, origin LIMIT 10;

-- Q10.8
SELECT date_trunc('day', time_hour)::TIMESTAMP AS day, origin, count(*), count(*) FILTER (dep_delay > 60)
FROM flights WHERE time_hour >= '2013-06-29' AND time_hour < '2013-07-03' GROUP BY 1, origin;

-- Q10.9
SELECT f.carrier, count(*)
FROM flights f JOIN (SELECT carrier, avg(dep_delay) AS usual, stddev_samp(dep_delay) AS spread FROM flights WHERE month <= 6 GROUP BY carrier) h
  ON f.carrier = h.carrier
WHERE f.time_hour >= '2013-12-02' AND abs(f.dep_delay - h.usual) > 3 * h.spread
GROUP BY f.carrier;

-- Q10.10
SELECT count(*), sum(flights), sum(flights - early), count(*) FILTER (early = 0)
FROM (SELECT count(*) AS flights, count(*) FILTER (month <= 6) AS early FROM flights WHERE tailnum IS NOT NULL GROUP BY tailnum);

-- Q10.11
SELECT count(DISTINCT tailnum), count(tailnum), max(time_hour) FROM flights WHERE tailnum IS NOT NULL;

-- Q10.12
SELECT carrier, name FROM airlines;
