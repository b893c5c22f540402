-- A lakehouse: a dashboard, fraud found with history from the lake, tables in layers, and a shop. Each table is in the lake as well.

USE CATALOG sluice;
SET 'execution.runtime-mode' = 'batch';

CREATE CATALOG IF NOT EXISTS paimon WITH ('type' = 'paimon', 'warehouse' = '@STORE@-lake');
DROP DATABASE IF EXISTS lakehouse CASCADE;
DROP DATABASE IF EXISTS paimon.lakehouse CASCADE;
CREATE DATABASE lakehouse;
USE lakehouse;

-- ---- a dashboard of sales

CREATE TABLE sales_orders (
  order_id BIGINT,
  product_id BIGINT,
  customer_id BIGINT,
  order_time TIMESTAMP(3),
  amount DECIMAL(10, 2),
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('bucket.num' = '8', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

INSERT INTO sales_orders VALUES
  (1, 10, 100, LOCALTIMESTAMP - INTERVAL '3' HOUR, 999.00),
  (2, 10, 101, LOCALTIMESTAMP - INTERVAL '20' MINUTE, 100.00);
CALL sys.tier('lakehouse.sales_orders');
INSERT INTO sales_orders VALUES
  (3, 11, 100, LOCALTIMESTAMP - INTERVAL '10' MINUTE, 200.00),
  (4, 11, 102, LOCALTIMESTAMP - INTERVAL '1' MINUTE, 50.00);
-- An order of the lake changes; its old amount counts no more.
INSERT INTO sales_orders SELECT order_id, product_id, customer_id, order_time, amount + 1 FROM sales_orders WHERE order_id = 2;

-- Q11.1 Sales of the last hour in windows of five minutes
SELECT
  TUMBLE_START(order_time, INTERVAL '5' MINUTE) AS window_start,
  SUM(amount) AS total_sales
FROM sales_orders
WHERE order_time > LOCALTIMESTAMP - INTERVAL '1' HOUR
GROUP BY TUMBLE(order_time, INTERVAL '5' MINUTE);

-- ---- fraud: what an account usually does is in the lake, what it does now is in the table

CREATE TABLE transactions (
  transaction_id BIGINT,
  account_id BIGINT,
  transaction_time TIMESTAMP(3),
  amount DECIMAL(15, 2),
  merchant_id BIGINT,
  location STRING,
  PRIMARY KEY (transaction_id) NOT ENFORCED
) WITH ('bucket.num' = '16', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

INSERT INTO transactions VALUES
  (1, 7, TIMESTAMP '2025-04-02 09:00:00', 100.00, 1, 'Hamburg'),
  (2, 7, TIMESTAMP '2025-04-09 09:00:00', 110.00, 1, 'Hamburg'),
  (3, 7, TIMESTAMP '2025-04-16 09:00:00', 90.00, 2, 'Hamburg'),
  (4, 7, TIMESTAMP '2025-06-01 09:00:00', 9000.00, 2, 'Hamburg'),
  (5, 8, TIMESTAMP '2025-04-03 10:00:00', 1000.00, 3, 'Bremen'),
  (6, 8, TIMESTAMP '2025-04-04 10:00:00', 3000.00, 3, 'Bremen');
CALL sys.tier('lakehouse.transactions');
INSERT INTO transactions VALUES
  (101, 7, LOCALTIMESTAMP - INTERVAL '5' MINUTE, 105.00, 1, 'Hamburg'),
  (102, 7, LOCALTIMESTAMP - INTERVAL '4' MINUTE, 4999.00, 9, 'Kiel'),
  (103, 8, LOCALTIMESTAMP - INTERVAL '3' MINUTE, 4999.00, 3, 'Bremen'),
  (104, 9, LOCALTIMESTAMP - INTERVAL '2' MINUTE, 1.00, 3, 'Bremen');

-- Q11.2 What was usual in April
SELECT account_id, AVG(amount) AS avg_amount, STDDEV_SAMP(CAST(amount AS DOUBLE)) AS stddev_amount
FROM transactions$lake
WHERE transaction_time BETWEEN TIMESTAMP '2025-04-01 00:00:00' AND TIMESTAMP '2025-05-01 00:00:00'
GROUP BY account_id;

-- Q11.3 What is unusual now
WITH historical_patterns AS (
  SELECT account_id, AVG(amount) AS avg_amount, STDDEV_SAMP(CAST(amount AS DOUBLE)) AS stddev_amount
  FROM transactions$lake
  WHERE transaction_time BETWEEN TIMESTAMP '2025-04-01 00:00:00' AND TIMESTAMP '2025-05-01 00:00:00'
  GROUP BY account_id
)
SELECT t.transaction_id, t.account_id, t.amount, t.location,
  CASE WHEN ABS(t.amount - h.avg_amount) > 3 * h.stddev_amount THEN 'SUSPICIOUS' ELSE 'NORMAL' END AS risk_level
FROM transactions AS t
JOIN historical_patterns AS h ON t.account_id = h.account_id
WHERE t.transaction_time > LOCALTIMESTAMP - INTERVAL '1' HOUR;

-- ---- layers: bronze as it comes, silver cleaned, gold in hours. One bucket each, so that sales stay in the order in which they came.

CREATE TABLE sales_raw (
  event_time TIMESTAMP(3),
  store_id BIGINT,
  product_id BIGINT,
  quantity INT,
  amount DECIMAL(10, 2),
  payment_method STRING,
  source STRING
) WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');

-- A stream over a table with a watermark has windows; this one lets rows come ten seconds late.
CREATE TABLE sales_cleaned (
  event_time TIMESTAMP(3),
  store_id BIGINT,
  product_id BIGINT,
  quantity INT,
  amount DECIMAL(10, 2),
  payment_method STRING,
  source STRING,
  WATERMARK FOR event_time AS event_time - INTERVAL '10' SECOND,
  PRIMARY KEY (store_id, product_id, event_time) NOT ENFORCED
) WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');

CREATE TABLE sales_aggregated (
  window_start TIMESTAMP(3),
  window_end TIMESTAMP(3),
  store_id BIGINT,
  product_id BIGINT,
  total_quantity BIGINT,
  total_amount DECIMAL(15, 2),
  PRIMARY KEY (window_start, window_end, store_id, product_id) NOT ENFORCED
) WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');

-- What was sold before the jobs began; some of it is in the lake when they begin.
INSERT INTO sales_raw VALUES
  (TIMESTAMP '2025-05-18 10:05:00', 1, 10, 2, 20.00, 'card', 'till'),
  (TIMESTAMP '2025-05-18 10:15:00', 1, 10, 0, 10.00, 'cash', 'till'),
  (TIMESTAMP '2025-05-18 10:20:00', 1, 11, 3, 0.00, 'cash', 'till'),
  (TIMESTAMP '2025-05-18 10:59:59.999', 2, 10, 5, 55.50, 'card', 'web');
CALL sys.tier('lakehouse.sales_raw');
INSERT INTO sales_raw VALUES (TIMESTAMP '2025-05-18 11:00:00', 2, 10, 7, 70.00, 'card', 'web');

SET 'execution.runtime-mode' = 'streaming';
SET 'parallelism.default' = '1';
SET 'table.dml-sync' = 'false';

-- Silver and gold, for as long as the process lives. Gold reads changes from the first on: the rows of now would come in no order of time.
INSERT INTO sales_cleaned
SELECT event_time, store_id, product_id, CASE WHEN quantity <= 0 THEN 1 ELSE quantity END AS quantity, amount, payment_method, source
FROM sales_raw
WHERE amount > 0;

INSERT INTO sales_aggregated
SELECT
  TUMBLE_START(event_time, INTERVAL '1' HOUR) AS window_start,
  TUMBLE_END(event_time, INTERVAL '1' HOUR) AS window_end,
  store_id, product_id,
  SUM(CAST(quantity AS BIGINT)) AS total_quantity,
  SUM(amount) AS total_amount
FROM sales_cleaned /*+ OPTIONS('scan.startup.mode' = 'earliest') */
GROUP BY TUMBLE(event_time, INTERVAL '1' HOUR), store_id, product_id;

SET 'table.dml-sync' = 'true';

-- A sale after noon: the hours before it are over.
INSERT INTO sales_raw VALUES (TIMESTAMP '2025-05-18 12:00:20', 1, 10, 1, 1.00, 'cash', 'till');

-- Q11.4 The last hour before noon in gold; asks again until it is there
SELECT /*+ LOOKUP('table' = 'g', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '200ms', 'max-attempts' = '300') */
  q.store_id, g.total_quantity, g.total_amount
FROM (
  SELECT TIMESTAMP '2025-05-18 11:00:00.000' AS window_start, TIMESTAMP '2025-05-18 12:00:00.000' AS window_end, store_id,
    CAST(10 AS BIGINT) AS product_id, PROCTIME() AS looked_at
  FROM (VALUES (CAST(2 AS BIGINT))) AS v (store_id)
) AS q
JOIN sales_aggregated FOR SYSTEM_TIME AS OF q.looked_at AS g
  ON q.window_start = g.window_start AND q.window_end = g.window_end AND q.store_id = g.store_id AND q.product_id = g.product_id;

SET 'execution.runtime-mode' = 'batch';
SET 'parallelism.default' = '2';

-- Q11.5 All hours that are over
SELECT window_start, window_end, store_id, product_id, total_quantity, total_amount FROM sales_aggregated;

-- Q11.6 And silver, which the job filled from lake and log
SELECT event_time, store_id, product_id, quantity, amount FROM sales_cleaned WHERE event_time < TIMESTAMP '2025-05-18 12:00:00';

-- Gold is in the lake a second later; now at the latest.
CALL sys.tier('lakehouse.sales_aggregated');

-- Q11.7 The report of somebody who has only the lake
SELECT store_id, SUM(total_quantity) AS quantity, SUM(total_amount) AS amount FROM paimon.lakehouse.sales_aggregated GROUP BY store_id;

-- ---- a shop

CREATE TABLE orders (
  order_id BIGINT,
  customer_id BIGINT,
  order_time TIMESTAMP(3),
  total_amount DECIMAL(10, 2),
  status STRING,
  PRIMARY KEY (order_id) NOT ENFORCED
) WITH ('bucket.num' = '8', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

CREATE TABLE order_items (
  item_id BIGINT,
  order_id BIGINT,
  product_id BIGINT,
  quantity INT,
  unit_price DECIMAL(10, 2),
  discount DECIMAL(5, 2)
) WITH ('bucket.num' = '8', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

CREATE TABLE products (
  product_id BIGINT,
  name STRING,
  category STRING,
  brand STRING,
  price DECIMAL(10, 2),
  PRIMARY KEY (product_id) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

CREATE TABLE customers (
  customer_id BIGINT,
  name STRING,
  email STRING,
  registration_time TIMESTAMP(3),
  vip_level INT,
  PRIMARY KEY (customer_id) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

CREATE TABLE sales_metrics (
  window_start TIMESTAMP(3),
  window_end TIMESTAMP(3),
  category STRING,
  total_orders BIGINT,
  total_sales DECIMAL(15, 2),
  PRIMARY KEY (window_start, window_end, category) NOT ENFORCED
) WITH ('bucket.num' = '4', 'table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 h');

EXECUTE STATEMENT SET
BEGIN
INSERT INTO products VALUES (1, 'Lamp', 'home', 'Lux', 30.00), (2, 'Desk', 'home', 'Oak', 200.00), (3, 'Pen', 'office', 'Ink', 2.50);
INSERT INTO customers VALUES (1, 'Ada', 'ada@example.org', TIMESTAMP '2024-01-01 00:00:00', 5), (2, 'Bob', 'bob@example.org', TIMESTAMP '2024-02-01 00:00:00', 1);
INSERT INTO orders VALUES
  (1, 1, TIMESTAMP '2025-03-10 10:01:00', 60.00, 'COMPLETED'),
  (2, 1, TIMESTAMP '2025-03-10 10:04:00', 200.00, 'COMPLETED'),
  (3, 2, TIMESTAMP '2025-04-11 12:00:00', 25.00, 'COMPLETED'),
  (4, 2, TIMESTAMP '2025-04-11 12:30:00', 30.00, 'CANCELLED');
INSERT INTO order_items VALUES
  (1, 1, 1, 2, 30.00, 0.00), (2, 2, 2, 1, 200.00, 10.00), (3, 3, 3, 10, 2.50, 0.00), (4, 4, 1, 1, 30.00, 0.00);
END;
CALL sys.tier('lakehouse.orders');
CALL sys.tier('lakehouse.order_items');
CALL sys.tier('lakehouse.products');

-- An order of today, which the lake does not have.
INSERT INTO orders SELECT 5, 1, LOCALTIMESTAMP, CAST(60.00 AS DECIMAL(10, 2)), 'COMPLETED';
INSERT INTO orders SELECT 6, 1, LOCALTIMESTAMP, CAST(30.00 AS DECIMAL(10, 2)), 'COMPLETED';
INSERT INTO order_items VALUES (5, 5, 1, 2, 30.00, 0.00), (6, 6, 1, 1, 30.00, 0.00);

INSERT INTO sales_metrics
SELECT
  o.window_start,
  o.window_end,
  p.category,
  COUNT(DISTINCT o.order_id) AS total_orders,
  CAST(SUM(i.quantity * i.unit_price * (1 - i.discount / 100)) AS DECIMAL(15, 2)) AS total_sales
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(order_time), INTERVAL '5' MINUTE)) AS o
JOIN order_items AS i ON o.order_id = i.order_id
JOIN products AS p ON i.product_id = p.product_id
WHERE o.status = 'COMPLETED'
GROUP BY o.window_start, o.window_end, p.category;

-- Q11.8 Sales in windows of five minutes, before today
SELECT window_start, category, total_orders, total_sales FROM sales_metrics
WHERE window_start < TIMESTAMP '2025-05-01 00:00:00' ORDER BY window_start DESC, total_sales DESC;

CREATE VIEW vip_recommendations AS
SELECT c.customer_id, c.name, p.category, p.brand, COUNT(*) AS purchase_count
FROM customers AS c
JOIN orders AS o ON c.customer_id = o.customer_id
JOIN order_items AS i ON o.order_id = i.order_id
JOIN products AS p ON i.product_id = p.product_id
WHERE c.vip_level >= 3 AND o.order_time > LOCALTIMESTAMP - INTERVAL '30' DAY
GROUP BY c.customer_id, c.name, p.category, p.brand
HAVING COUNT(*) >= 2;

-- Q11.9 What good customers keep buying
SELECT customer_id, name, category, brand, purchase_count FROM vip_recommendations;

-- Q11.10 Months of the past, from the lake alone
SELECT p.category, MONTH(o.order_time) AS `month`, CAST(SUM(i.quantity * i.unit_price * (1 - i.discount / 100)) AS DECIMAL(15, 2)) AS total_sales
FROM orders$lake AS o
JOIN order_items$lake AS i ON o.order_id = i.order_id
JOIN products$lake AS p ON i.product_id = p.product_id
WHERE o.order_time >= TIMESTAMP '2025-01-01 00:00:00' AND o.order_time < TIMESTAMP '2025-05-01 00:00:00'
GROUP BY p.category, MONTH(o.order_time)
ORDER BY category, `month`;

-- ---- how fresh is the last table? Rows pass three of them; the job that moves them is checkpointed once a minute

CREATE TABLE bronze (id BIGINT, written TIMESTAMP_LTZ(3)) WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');
CREATE TABLE silver (id BIGINT, written TIMESTAMP_LTZ(3), PRIMARY KEY (id) NOT ENFORCED)
WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');
CREATE TABLE gold (id BIGINT, written TIMESTAMP_LTZ(3), PRIMARY KEY (id) NOT ENFORCED)
WITH ('table.datalake.enabled' = 'true', 'table.datalake.freshness' = '1 s');
CREATE TABLE arrivals (id BIGINT, seconds_late BIGINT, PRIMARY KEY (id) NOT ENFORCED);
CREATE TEMPORARY TABLE ticks (id BIGINT)
WITH ('connector' = 'datagen', 'rows-per-second' = '100', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '1000');

SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.interval' = '1 min';
SET 'parallelism.default' = '1';
SET 'table.dml-sync' = 'false';
EXECUTE STATEMENT SET
BEGIN
INSERT INTO silver SELECT id, written FROM bronze;
INSERT INTO gold SELECT id, written FROM silver;
INSERT INTO arrivals SELECT id, TIMESTAMPDIFF(SECOND, written, CURRENT_ROW_TIMESTAMP()) FROM gold;
END;
SET 'table.dml-sync' = 'true';

-- A hundred rows a second for ten seconds, each with the time at which it was written.
INSERT INTO bronze SELECT id, CURRENT_ROW_TIMESTAMP() FROM ticks;

-- Q11.11 Waits for the last one to arrive
SELECT /*+ LOOKUP('table' = 'a', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '200ms', 'max-attempts' = '300') */
  q.id, a.id AS arrived
FROM (SELECT CAST(id AS BIGINT) AS id, PROCTIME() AS looked_at FROM (VALUES (1000)) AS v (id)) AS q
JOIN arrivals FOR SYSTEM_TIME AS OF q.looked_at AS a ON q.id = a.id;

SET 'execution.runtime-mode' = 'batch';
SET 'execution.checkpointing.interval' = '10 s';
SET 'parallelism.default' = '2';

-- Q11.12 Whole seconds from written to read behind the third table: of one row in a hundred, and the worst
SELECT COUNT(*) AS arrived, MAX(CASE WHEN n <= 990 THEN seconds_late END) AS p99, MAX(seconds_late) AS worst
FROM (SELECT seconds_late, ROW_NUMBER() OVER (ORDER BY seconds_late) AS n FROM arrivals);
