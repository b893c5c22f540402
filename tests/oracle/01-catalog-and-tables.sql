-- Q1.1
SELECT * FROM (VALUES ('airlines'), ('airports'), ('flights'), ('planes'), ('weather'));

-- Q1.2
SELECT * FROM (VALUES ('carrier', 'STRING', 'FALSE', 'PRI(carrier)', '', ''), ('name', 'STRING', 'TRUE', '', '', ''));
