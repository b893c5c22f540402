-- Q2.1
SELECT count(*) FROM flights;

-- Q2.2
SELECT 'airlines', count(*) FROM airlines UNION ALL SELECT 'airports', count(*) FROM airports
UNION ALL SELECT 'planes', count(*) FROM planes UNION ALL SELECT 'weather', count(*) FROM weather;
