-- Q11.1 law
SELECT sum(total_sales::DECIMAL(15, 2)) = 351 AND count(*) = 3
  AND bool_and(epoch(window_start::TIMESTAMP)::BIGINT % 300 = 0) FROM answer;

-- Q11.2
SELECT account_id, avg(amount), stddev_samp(amount) FROM (VALUES (7, 100), (7, 110), (7, 90), (8, 1000), (8, 3000)) AS v (account_id, amount) GROUP BY account_id;

-- Q11.3
VALUES (101, 7, 105.00, 'Hamburg', 'NORMAL'), (102, 7, 4999.00, 'Kiel', 'SUSPICIOUS'), (103, 8, 4999.00, 'Bremen', 'NORMAL');

-- Q11.4
VALUES (2, 7, 70.00);

-- Q11.5
VALUES (TIMESTAMP '2025-05-18 10:00:00', TIMESTAMP '2025-05-18 11:00:00', 1, 10, 3, 30.00),
  (TIMESTAMP '2025-05-18 10:00:00', TIMESTAMP '2025-05-18 11:00:00', 2, 10, 5, 55.50),
  (TIMESTAMP '2025-05-18 11:00:00', TIMESTAMP '2025-05-18 12:00:00', 2, 10, 7, 70.00);

-- Q11.6
VALUES (TIMESTAMP '2025-05-18 10:05:00', 1, 10, 2, 20.00), (TIMESTAMP '2025-05-18 10:15:00', 1, 10, 1, 10.00),
  (TIMESTAMP '2025-05-18 10:59:59.999', 2, 10, 5, 55.50), (TIMESTAMP '2025-05-18 11:00:00', 2, 10, 7, 70.00);

-- Q11.7
VALUES (1, 3, 30.00), (2, 12, 125.50);

-- Q11.8
VALUES (TIMESTAMP '2025-04-11 12:00:00', 'office', 1, 25.00), (TIMESTAMP '2025-03-10 10:00:00', 'home', 2, 240.00);

-- Q11.9
VALUES (1, 'Ada', 'home', 'Lux', 2);

-- Q11.10
SELECT category, month, total FROM (VALUES ('home', 3, 240.00), ('home', 4, 30.00), ('office', 4, 25.00)) AS v (category, month, total) ORDER BY category, month;

-- Q11.11
VALUES (1000, 1000);

-- Q11.12 law
SELECT arrived::BIGINT = 1000 AND p99::DOUBLE BETWEEN 0 AND 30 AND worst::BIGINT >= p99::DOUBLE FROM answer;
