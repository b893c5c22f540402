-- What bin/sql-client runs before it gives you the prompt. @STORE@ stands for the store's directory.
CREATE CATALOG sluice WITH (
  'type' = 'fluss',
  'bootstrap.servers' = 'embedded:@STORE@',
  'datalake.format' = 'paimon',
  'datalake.paimon.warehouse' = '@STORE@-lake',
  'datalake.tiering' = 'embedded'
);
USE CATALOG sluice;
-- A query in batch mode ends; as a stream it would go on with what is written later: SET 'execution.runtime-mode' = 'streaming';
SET 'execution.runtime-mode' = 'batch';
