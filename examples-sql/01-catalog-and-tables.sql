-- A catalog over a directory, a database, log tables and primary-key tables.
--
-- The engine runs inside this process: no server, no ZooKeeper, no container. One process at a time owns the directory.
-- In these files @STORE@ stands for that directory and @DATA@ for the folder of the CSV files; bin/sql-client fills them in.
-- The options 'datalake.*' are for tables that flow on into a lake (10-lake.sql); without such tables nothing comes of them.

CREATE CATALOG IF NOT EXISTS sluice WITH (
  'type' = 'fluss',
  'bootstrap.servers' = 'embedded:@STORE@',
  'datalake.format' = 'paimon',
  'datalake.paimon.warehouse' = '@STORE@-lake',
  'datalake.tiering' = 'embedded'
);
USE CATALOG sluice;

-- So that this file may be run again over the same directory.
DROP DATABASE IF EXISTS nyc CASCADE;
CREATE DATABASE nyc COMMENT 'Flights that left New York City in 2013';
USE nyc;

-- Without a primary key: a log table. Rows are appended, keep their order within a bucket, and each has an offset.
CREATE TABLE flights (
  `year` INT NOT NULL,
  `month` INT NOT NULL,
  `day` INT NOT NULL,
  dep_time INT COMMENT 'local time as HHMM; NULL when cancelled',
  sched_dep_time INT,
  dep_delay INT COMMENT 'minutes; negative when early',
  arr_time INT,
  sched_arr_time INT,
  arr_delay INT,
  carrier STRING NOT NULL,
  flight INT,
  tailnum STRING,
  origin STRING NOT NULL,
  dest STRING NOT NULL,
  air_time INT,
  distance INT,
  `hour` INT,
  `minute` INT,
  time_hour TIMESTAMP(3) COMMENT 'scheduled hour of departure, UTC',
  looked_at AS PROCTIME(),
  WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY
) COMMENT 'every departure' WITH ('bucket.num' = '4');

-- With a primary key: the newest row of each key is kept, and every change is kept as a changelog.
CREATE TABLE airlines (
  carrier STRING,
  name STRING,
  PRIMARY KEY (carrier) NOT ENFORCED
);

CREATE TABLE airports (
  faa STRING,
  name STRING,
  lat DOUBLE,
  lon DOUBLE,
  alt INT COMMENT 'feet',
  tz SMALLINT COMMENT 'hours from UTC',
  dst CHAR(1),
  tzone STRING,
  PRIMARY KEY (faa) NOT ENFORCED
);

CREATE TABLE planes (
  tailnum STRING,
  `year` INT,
  type STRING,
  manufacturer STRING,
  `model` STRING,
  engines TINYINT,
  seats INT,
  speed INT,
  engine STRING,
  PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket.num' = '2');

CREATE TABLE weather (
  origin STRING,
  time_hour TIMESTAMP(3),
  temp DECIMAL(5, 2) COMMENT 'degrees Fahrenheit',
  humid FLOAT,
  wind_speed DOUBLE COMMENT 'miles per hour',
  wind_gust DOUBLE,
  precip DECIMAL(4, 2) COMMENT 'inches',
  pressure DOUBLE,
  visib DECIMAL(4, 2) COMMENT 'miles',
  PRIMARY KEY (origin, time_hour) NOT ENFORCED
) WITH ('bucket.num' = '2', 'bucket.key' = 'origin');

-- Q1.1 Which tables are there?
SHOW TABLES;

-- Q1.2 What does a table look like?
DESCRIBE airlines;
