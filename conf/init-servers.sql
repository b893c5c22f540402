-- What bin/sql-client runs before it gives you the prompt when SLUICE_SERVERS names servers, for which @SERVERS@ stands.
CREATE CATALOG sluice WITH ('type' = 'fluss', 'bootstrap.servers' = '@SERVERS@');
USE CATALOG sluice;
-- A query in batch mode ends; as a stream it would go on with what is written later: SET 'execution.runtime-mode' = 'streaming';
SET 'execution.runtime-mode' = 'batch';
