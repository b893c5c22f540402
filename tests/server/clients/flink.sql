-- A Flink connector (catalog type 'fluss'): Fluss's own against our server, ours against Fluss's. See flink.py.
SET 'sql-client.execution.result-mode' = 'tableau';
SET 'table.dml-sync' = 'true';
SET 'parallelism.default' = '1';
CREATE CATALOG c WITH ('type' = 'fluss', 'bootstrap.servers' = '@ADDRESS@');
USE CATALOG c;
CREATE DATABASE shop;
USE shop;
CREATE TABLE orders (order_id BIGINT, user_id INT, amount DECIMAL(10, 2), at_time TIMESTAMP(3), note STRING) WITH ('bucket.num' = '2');
CREATE TABLE users (user_id INT, name STRING, score BIGINT, PRIMARY KEY (user_id) NOT ENFORCED) WITH ('bucket.num' = '3');
-- expect tables are listed: orders; users
SHOW TABLES;
INSERT INTO orders VALUES
  (1, 10, 1.50, TIMESTAMP '2026-01-01 00:00:00.123', 'first'),
  (2, 20, 2.50, TIMESTAMP '2026-01-02 00:00:00', CAST(NULL AS STRING)),
  (3, 10, 3.50, TIMESTAMP '2026-01-03 00:00:00', 'third');
INSERT INTO users VALUES (10, 'ann', 1), (20, 'bob', 2), (10, 'ann again', 3), (300, 'cy', 4);
SET 'execution.runtime-mode' = 'batch';
-- expect batch LIMIT of a log: 1 10 1.50 2026-01-01 00:00:00.123 first; 2 20 2.50 2026-01-02 00:00:00.000 <NULL>; 3 10 3.50 2026-01-03 00:00:00.000 third
SELECT * FROM orders LIMIT 10;
-- expect batch LIMIT by key: 10 ann again 3; 20 bob 2; 300 cy 4
SELECT * FROM users LIMIT 10;
-- expect count of a log: 3
SELECT COUNT(*) FROM orders;
-- expect count by key: 3
SELECT COUNT(*) FROM users;
-- expect point query: 300 cy 4
SELECT * FROM users WHERE user_id = 300;
UPDATE users SET score = 9 WHERE user_id = 20;
DELETE FROM users WHERE user_id = 300;
-- expect after update and delete: 10 ann again 3; 20 bob 9
SELECT * FROM users LIMIT 10;
SET 'execution.runtime-mode' = 'streaming';
-- expect stream of a log, two columns: +I 10 1.50; +I 20 2.50; +I 10 3.50
SELECT user_id, amount FROM orders LIMIT 3;
-- expect lookup join: +I 1 ann again; +I 2 bob; +I 3 <NULL>
SELECT o.order_id, u.name FROM (SELECT order_id, user_id, PROCTIME() AS pt FROM (VALUES (1, 10), (2, 20), (3, 999)) AS v (order_id, user_id)) AS o
  LEFT JOIN users FOR SYSTEM_TIME AS OF o.pt AS u ON o.user_id = u.user_id;
-- expect rows by key come from a snapshot, then from the changelog: +I 10 ann again 3; +I 20 bob 9
SELECT * FROM users LIMIT 2;
