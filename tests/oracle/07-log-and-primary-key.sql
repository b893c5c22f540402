-- Q7.1 law
SELECT count(*) = 10 AND bool_and(event_id::BIGINT BETWEEN 1 AND 9999 AND user_id::BIGINT BETWEEN 1 AND 10000 AND amount::DECIMAL(10, 2) BETWEEN 0.01 AND 999.99
  AND event_time::TIMESTAMP IS NOT NULL AND length(ip) = 15) FROM answer;

-- Q7.2 law
SELECT count(*) BETWEEN 1 AND 10 AND count(*) = count(DISTINCT user_id) AND bool_and(last_amount::DECIMAL(10, 2) BETWEEN 0.01 AND 999.99 AND last_event_time::TIMESTAMP IS NOT NULL)
FROM answer;

-- Q7.3 law
SELECT events::BIGINT = 50010 AND rows_kept = users_seen AND rows_kept::BIGINT BETWEEN 9000 AND 10000 FROM answer;

-- Q7.4
SELECT 0;
