-- Q8.1
SELECT 'ZZ', 1;

-- Q8.2
SELECT carrier, count(*) AS flights FROM flights WHERE month = 1 GROUP BY carrier UNION ALL SELECT 'ZZ', 1 ORDER BY flights DESC, carrier;
