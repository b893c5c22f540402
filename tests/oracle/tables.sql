-- The CSV files as the tables that the examples make of them.
CREATE TABLE flights AS SELECT * REPLACE (time_hour::TIMESTAMP AS time_hour) FROM read_csv('@DATA@/flights.csv', auto_detect = false, delim = ',', skip = 1, nullstr = 'NA', columns = {
  'year': 'INTEGER', 'month': 'INTEGER', 'day': 'INTEGER', 'dep_time': 'INTEGER', 'sched_dep_time': 'INTEGER', 'dep_delay': 'INTEGER', 'arr_time': 'INTEGER',
  'sched_arr_time': 'INTEGER', 'arr_delay': 'INTEGER', 'carrier': 'VARCHAR', 'flight': 'INTEGER', 'tailnum': 'VARCHAR', 'origin': 'VARCHAR', 'dest': 'VARCHAR',
  'air_time': 'INTEGER', 'distance': 'INTEGER', 'hour': 'INTEGER', 'minute': 'INTEGER', 'time_hour': 'VARCHAR'});

CREATE TABLE airlines AS SELECT * FROM read_csv('@DATA@/airlines.csv', auto_detect = false, delim = ',', skip = 1, nullstr = 'NA', columns = {'carrier': 'VARCHAR', 'name': 'VARCHAR'});

CREATE TABLE airports AS SELECT * FROM read_csv('@DATA@/airports.csv', auto_detect = false, delim = ',', skip = 1, nullstr = 'NA', columns = {
  'faa': 'VARCHAR', 'name': 'VARCHAR', 'lat': 'DOUBLE', 'lon': 'DOUBLE', 'alt': 'INTEGER', 'tz': 'SMALLINT', 'dst': 'VARCHAR', 'tzone': 'VARCHAR'});

CREATE TABLE planes AS SELECT * FROM read_csv('@DATA@/planes.csv', auto_detect = false, delim = ',', skip = 1, nullstr = 'NA', columns = {
  'tailnum': 'VARCHAR', 'year': 'INTEGER', 'type': 'VARCHAR', 'manufacturer': 'VARCHAR', 'model': 'VARCHAR', 'engines': 'TINYINT', 'seats': 'INTEGER',
  'speed': 'INTEGER', 'engine': 'VARCHAR'});

CREATE TABLE weather AS SELECT * REPLACE (time_hour::TIMESTAMP AS time_hour) FROM read_csv('@DATA@/weather.csv', auto_detect = false, delim = ',', skip = 1, nullstr = 'NA', columns = {
  'origin': 'VARCHAR', 'year': 'INTEGER', 'month': 'INTEGER', 'day': 'INTEGER', 'hour': 'INTEGER', 'temp': 'DECIMAL(5, 2)', 'dewp': 'DOUBLE', 'humid': 'FLOAT',
  'wind_dir': 'INTEGER', 'wind_speed': 'DOUBLE', 'wind_gust': 'DOUBLE', 'precip': 'DECIMAL(4, 2)', 'pressure': 'DOUBLE', 'visib': 'DECIMAL(4, 2)', 'time_hour': 'VARCHAR'});
