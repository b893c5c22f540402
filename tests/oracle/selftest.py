#!/usr/bin/env python3
"""Shows that the oracle has teeth: right answers pass, and a wrong one of each kind is caught."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "examples-sql")]
import compare  # noqa: E402
import duckdb  # noqa: E402
import sqlscript  # noqa: E402

TABLE = "SELECT * FROM (VALUES (1, 'a', 1.50, 0.1::DOUBLE, TIMESTAMP '2013-01-01 10:00:00', true), (2, NULL, NULL, NULL, NULL, NULL))"
RIGHT = [["1", "a", "1.50", "0.1", "2013-01-01 10:00:00.000", "TRUE"], ["2", None, None, None, None, None]]
COLUMNS = list("abcdef")


class Comparing(unittest.TestCase):
    def setUp(self):
        self.connection = duckdb.connect()

    def check(self, rows, sql=TABLE, columns=None, law=False):
        compare.check(self.connection, law, sql, COLUMNS if columns is None else columns, rows)

    def caught(self, rows, says="", **more):
        with self.assertRaises(compare.Wrong) as wrong:
            self.check(rows, **more)
        self.assertIn(says, str(wrong.exception))

    def test_the_right_answer_passes_in_any_order(self):
        self.check(RIGHT)
        self.check(RIGHT[::-1])

    def test_another_way_to_write_a_number_or_a_time_passes(self):
        self.check([["1", "a", "1.5", "1.0E-1", "2013-01-01 10:00:00", "TRUE"], RIGHT[1]])

    def test_a_missing_row_is_caught(self):
        self.caught(RIGHT[:1], "- 2 | NULL")

    def test_no_row_at_all_is_caught(self):
        self.caught([], "0 rows, expected 2")

    def test_a_doubled_row_is_caught(self):
        self.caught([RIGHT[0], RIGHT[0], RIGHT[1]], "3 rows, expected 2")

    def test_one_row_twice_in_place_of_another_is_caught(self):
        self.caught([RIGHT[0], RIGHT[0]], "+ 1 | a")

    def test_a_wrong_value_of_each_type_is_caught(self):
        for column, wrong in enumerate(["3", "b", "1.51", "0.1000001", "2013-01-01 10:00:01", "FALSE"]):
            with self.subTest(column=COLUMNS[column]):
                self.caught([[*RIGHT[0][:column], wrong, *RIGHT[0][column + 1:]], RIGHT[1]])

    def test_null_is_neither_empty_nor_zero(self):
        self.caught([RIGHT[0], ["2", "", None, None, None, None]])
        self.caught([RIGHT[0], ["2", None, "0", None, None, None]])
        self.caught([[*RIGHT[0][:1], None, *RIGHT[0][2:]], RIGHT[1]])

    def test_the_word_null_is_not_null(self):
        self.caught([RIGHT[0], ["2", "NULL", None, None, None, None]])

    def test_text_where_a_number_belongs_is_caught(self):
        self.caught([["one", *RIGHT[0][1:]], RIGHT[1]], "'one'")

    def test_a_wrong_number_of_columns_is_caught(self):
        self.caught([row[:5] for row in RIGHT], "5 columns, expected 6")

    def test_order_counts_where_the_oracle_orders(self):
        sql = "SELECT * FROM (VALUES (1, 0.5::DOUBLE), (2, 0.25)) AS t (a, b) ORDER BY a"
        self.check([["1", "0.5"], ["2", "0.25"]], sql=sql)
        self.caught([["2", "0.25"], ["1", "0.5"]], "their order is not", sql=sql)

    def test_doubles_are_compared_to_nine_digits(self):
        sql = "SELECT 123456.789::DOUBLE"
        self.check([["123456.78900000001"]], sql=sql)
        self.caught([["123456.7895"]], sql=sql)

    def test_a_changelog_is_played_through(self):
        changes = [["+I", "1", "x"], ["-U", "1", "x"], ["+U", "1", "y"], ["+I", "2", "z"], ["-D", "2", "z"]]
        self.check(changes, sql="SELECT 1, 'y'", columns=["op", "a", "b"])
        self.caught(changes[:-1], sql="SELECT 1, 'y'", columns=["op", "a", "b"])
        self.caught([["-U", "1", "x"], ["+U", "1", "y"]], "never given", sql="SELECT 1, 'y'", columns=["op", "a", "b"])

    def test_a_law_must_give_true(self):
        law = "SELECT count(*) = 1 AND bool_and(a::INTEGER > 0) FROM answer"
        self.check([["1"]], sql=law, columns=["a"], law=True)
        self.caught([["0"]], "the law says", sql=law, columns=["a"], law=True)
        self.caught([], "the law says", sql=law, columns=["a"], law=True)
        self.caught([["x"]], "cannot read", sql=law, columns=["a"], law=True)
        self.caught([[None]], "the law says", sql="SELECT bool_and(a = 'x') FROM answer", columns=["a"], law=True)


class WholeRun(unittest.TestCase):
    """compare() itself, over an oracle of two questions."""

    def setUp(self):
        self.said = []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.oracle, compare.oracle = compare.oracle, lambda data: duckdb.connect()
        self.here, compare.HERE = compare.HERE, pathlib.Path(folder.name)
        (compare.HERE / "01-x.sql").write_text("-- Q1.1\nSELECT 1;\n\n-- Q1.2 law\nSELECT count(*) = 1 FROM answer;\n")

    def tearDown(self):
        compare.oracle, compare.HERE = self.oracle, self.here

    def run_with(self, *answers):
        return compare.compare(list(answers), "", self.said.append)

    @staticmethod
    def given(key="Q1.1", rows=(("1",),), kind="table", message="", sql="SELECT 1;"):
        return {"key": key, "question": "", "sql": sql, "kind": kind, "columns": ["a"], "rows": [list(r) for r in rows], "message": message}

    def test_both_right(self):
        self.assertEqual(self.run_with(self.given(), self.given("Q1.2")), (2, 0))

    def test_a_wrong_answer_is_counted_and_shown(self):
        self.assertEqual(self.run_with(self.given(rows=[("2",)]), self.given("Q1.2")), (1, 1))
        self.assertIn("FAILED Q1.1", self.said[0])

    def test_a_question_that_was_not_answered_fails(self):
        self.assertEqual(self.run_with(self.given()), (1, 1))

    def test_a_question_without_an_oracle_fails(self):
        self.assertEqual(self.run_with(self.given(), self.given("Q1.2"), self.given("Q1.3")), (2, 1))

    def test_a_question_without_a_name_fails(self):
        self.assertEqual(self.run_with(self.given(), self.given("Q1.2"), self.given("")), (2, 1))

    def test_a_statement_that_failed_fails(self):
        self.assertEqual(self.run_with(self.given(kind="error", message="[ERROR] no"), self.given("Q1.2")), (1, 1))

    def test_a_statement_that_is_no_question_is_not_counted(self):
        self.assertEqual(self.run_with(self.given(), self.given("Q1.2"), self.given("", sql="SHOW TABLES;")), (2, 0))


class Reading(unittest.TestCase):
    """The SQL client's output and the SQL files."""

    def test_a_table_after_an_echo_cut_short(self):
        text = "SELECT a, b FROM t+---+--------+\n| a |      b |\n+---+--------+\n| 1 | <NULL> |\n| 2 |    x|y |\n+---+--------+\n2 rows in set (1.50 seconds)\n"
        answer = sqlscript.answer(text)
        self.assertEqual((answer.columns, answer.rows, answer.seconds), (["a", "b"], [["1", None], ["2", "x|y"]], 1.5))

    def test_lost_rows_are_noticed(self):
        self.assertIn("speaks of 3 rows", sqlscript.answer("+---+\n| a |\n+---+\n| 1 |\n+---+\n3 rows in set\n").message)

    def test_an_answer_cut_off_is_an_error(self):
        self.assertEqual(sqlscript.answer("+---+\n| a |\n+---+\n| 1 |\n").kind, "error")

    def test_an_error_in_the_middle_of_a_table_is_an_error(self):
        self.assertEqual(sqlscript.answer("+---+\n| a |\n+---+\n| 1 |\n\x1b[31;1m[ERROR] Could not execute\nwhy\n").kind, "error")

    def test_an_empty_answer_is_a_table(self):
        self.assertEqual(sqlscript.answer("SELECT 1Empty set (6.73 seconds)\n").kind, "table")

    def test_text_of_several_lines_is_one_row(self):
        self.assertEqual(len(sqlscript.answer("+--+\n| result |\n+--+\n| CREATE TABLE t (\n  a INT\n) |\n+--+\n1 row in set\n").rows), 1)

    def test_statements_end_at_semicolons_outside_of_comments_quotes_and_statement_sets(self):
        text = "-- Q1.1 one; two\nSELECT 'a;''b' -- c; d\n;\n/* ; */ EXECUTE STATEMENT SET\nBEGIN\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;\nSELECT `e;f`, CASE WHEN a THEN b END FROM t;"
        found = sqlscript.statements("f", text)
        self.assertEqual([s.key for s in found], ["Q1.1", "", ""])
        self.assertTrue(found[0].sql.startswith("SELECT"))

    def test_every_question_of_the_examples_has_an_oracle_and_the_other_way_round(self):
        for file in sorted((ROOT / "examples-sql").glob("[0-9]*.sql")):
            asked = [s.key for s in sqlscript.statements(file.name, file.read_text(encoding="utf-8")) if s.key]
            answered = list(compare.questions((compare.HERE / file.name).read_text(encoding="utf-8")))
            self.assertEqual(asked, answered, file.name)


class Counted(unittest.TextTestResult):
    """Says one line for each test, like the comparison itself."""

    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok     oracle's self-test: {test.id().split('.')[-1]}")


if __name__ == "__main__":
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Counted).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    broken = len({test.id().split(" ")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - broken} passed, {broken} failed")
    sys.exit(1 if broken or not result.testsRun else 0)
