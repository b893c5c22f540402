-- A public how-to for this kind of storage, its SQL as printed there but for two things: the catalog's address, and a bound
-- on the rows that the generator makes. Its point: the log table keeps every event, the primary-key table one row per user.

SET 'execution.runtime-mode' = 'streaming';

-- The how-to makes this catalog in a web console, with these options. The embedded engine has nothing to log in to, and
-- takes the client.security options as they come.
CREATE CATALOG IF NOT EXISTS `my-catalog` WITH (
  'type' = 'fluss',
  'default-database' = 'fluss',
  'bootstrap.servers' = 'embedded:@STORE@',
  'client.security.protocol' = 'SASL',
  'client.security.sasl.mechanism' = 'PLAIN',
  'client.security.sasl.username' = 'me',
  'client.security.sasl.password' = 'secret'
);

DROP TABLE IF EXISTS `my-catalog`.`fluss`.`fluss_log_table`;
DROP TABLE IF EXISTS `my-catalog`.`fluss`.`fluss_pk_table`;

CREATE TABLE `my-catalog`.`fluss`.`fluss_log_table` (
 event_id BIGINT,
  user_id BIGINT,
  amount DECIMAL(10,2),
  event_time TIMESTAMP(3),
  ip STRING
) WITH (
  'bucket.num' = '10'
);

CREATE TABLE `my-catalog`.`fluss`.`fluss_pk_table` (
  user_id BIGINT,
  last_amount DECIMAL(10,2),
  last_event_time TIMESTAMP(3),
  PRIMARY KEY (user_id) NOT ENFORCED
) WITH (
  'bucket.num' = '10'
);

CREATE TEMPORARY TABLE fluss_datagen_source (
  event_id BIGINT,
  user_id BIGINT,          -- 会重复，用于测试主键更新
  amount DECIMAL(10,2),
  event_time TIMESTAMP(3), -- 使用处理时间模拟事件时间
  ip STRING
) WITH (
  'connector' = 'datagen',
  'number-of-rows' = '10', -- the bound: not in the how-to
  'rows-per-second' = '1',
  -- event_id 使用序列生成器
  'fields.event_id.kind' = 'random',
  'fields.event_id.min' = '1',          
  'fields.event_id.max' = '9999',  -- BIGINT max value
  -- user_id 随机（用于制造重复）
  'fields.user_id.kind' = 'random', -- 引入重复 user_id，用于主键更新测试
  'fields.user_id.min' = '1',
  'fields.user_id.max' = '10000', 
  -- amount 随机
  'fields.amount.kind' = 'random',
  'fields.amount.min' = '0.01',
  'fields.amount.max' = '999.99',
  -- time
  'fields.event_time.kind' = 'random',
  -- ip 长度
  'fields.ip.kind' = 'random',
  'fields.ip.length' = '15'
);
EXECUTE STATEMENT SET
BEGIN
INSERT INTO `my-catalog`.`fluss`.`fluss_log_table`
  SELECT * FROM fluss_datagen_source;
  INSERT INTO `my-catalog`.`fluss`.`fluss_pk_table`
  SELECT 
    user_id,
    amount AS last_amount,
    event_time AS last_event_time
  FROM fluss_datagen_source;
END;

SET 'execution.runtime-mode' = 'batch';

-- Q7.1 The log table
--查询日志表
SELECT * FROM `my-catalog`.`fluss`.`fluss_log_table` LIMIT 1000;

-- Q7.2 The primary-key table
--查询主键表
SELECT * FROM `my-catalog`.`fluss`.`fluss_pk_table` LIMIT 1000;

-- At one row a second users hardly repeat. The same generator, faster, makes 50,000 events more for its 10,000 users.
SET 'execution.runtime-mode' = 'streaming';
CREATE TEMPORARY TABLE fluss_datagen_fast
WITH ('rows-per-second' = '1000000', 'number-of-rows' = '50000')
LIKE fluss_datagen_source (OVERWRITING OPTIONS);
EXECUTE STATEMENT SET
BEGIN
INSERT INTO `my-catalog`.`fluss`.`fluss_log_table`
  SELECT * FROM fluss_datagen_fast;
  INSERT INTO `my-catalog`.`fluss`.`fluss_pk_table`
  SELECT 
    user_id,
    amount AS last_amount,
    event_time AS last_event_time
  FROM fluss_datagen_fast;
END;
SET 'execution.runtime-mode' = 'batch';

-- Q7.3 Every event in the one, one row per user in the other
SELECT
  (SELECT COUNT(*) FROM `my-catalog`.`fluss`.`fluss_log_table`) AS events,
  (SELECT COUNT(DISTINCT user_id) FROM `my-catalog`.`fluss`.`fluss_log_table`) AS users_seen,
  (SELECT COUNT(*) FROM `my-catalog`.`fluss`.`fluss_pk_table`) AS rows_kept;

-- Q7.4 And each row kept is one of that user's events
SELECT COUNT(*) AS made_up_rows FROM `my-catalog`.`fluss`.`fluss_pk_table` AS p WHERE NOT EXISTS (
  SELECT 1 FROM `my-catalog`.`fluss`.`fluss_log_table` AS l
  WHERE l.user_id = p.user_id AND l.amount = p.last_amount AND l.event_time = p.last_event_time
);
