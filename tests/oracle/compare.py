#!/usr/bin/env python3
"""Compares the answers that examples-sql/run.py left in a JSON file with DuckDB's. Closes with `N passed, N failed`."""
import argparse
import json
import math
import os
import pathlib
import re
import sys
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import duckdb

HERE = pathlib.Path(__file__).resolve().parent
NAME = re.compile(r"^-- (Q\d+\.\d+)( law)?\s*$", re.M)


class Wrong(Exception):
    """An answer that is not the oracle's; the text says how it differs."""


def questions(text):
    """name -> (law?, SQL) of one oracle file."""
    marks = list(NAME.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {mark.group(1): (bool(mark.group(2)), text[mark.end():end].strip().rstrip(";")) for mark, end in zip(marks, ends)}


def oracle(data):
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.execute((HERE / "tables.sql").read_text().replace("@DATA@", data))
    return connection


def check(connection, law, sql, columns, rows):
    """Raises Wrong unless the answer (text, None for NULL) is the oracle's."""
    if law:
        return check_law(connection, sql, columns, rows)
    if columns and columns[0] == "op":
        rows = played(rows)
    cursor = connection.execute(sql)
    types = [str(column[1]) for column in cursor.description]
    expected = [[plain(value) for value in row] for row in cursor.fetchall()]
    if rows and len(rows[0]) != len(types):
        raise Wrong(f"{len(rows[0])} columns, expected {len(types)}")
    actual = [[typed(text, sample, row) for text, sample in zip(row, samples(expected, types))] for row in rows]
    ordered = re.search(r"\bORDER BY\b[^()]*$", sql) is not None
    if not ordered:
        actual, expected = sorted(actual, key=rank), sorted(expected, key=rank)
    if len(actual) == len(expected) and all(same_row(a, b) for a, b in zip(actual, expected)):
        return None
    raise Wrong(difference(actual, expected))


def check_law(connection, sql, columns, rows):
    names = ", ".join(f'"{name}" VARCHAR' for name in columns)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE answer ({names})")
    if rows:
        connection.executemany(f"INSERT INTO answer VALUES ({', '.join('?' * len(columns))})", rows)
    try:
        verdict = connection.execute(sql).fetchall()
    except duckdb.Error as error:
        raise Wrong(f"the law cannot read the answer: {error}") from error
    if verdict != [(True,)]:
        raise Wrong(f"the law says {verdict}:\n{sql}\nof {len(rows)} rows:\n" + "\n".join(map(str, rows[:20])))


def played(rows):
    """What is left of a changelog at its end."""
    left = Counter()
    for op, *row in rows:
        left[tuple(row)] += 1 if op in ("+I", "+U") else -1
    if bad := [row for row, count in left.items() if count < 0]:
        raise Wrong(f"rows are taken away that were never given: {bad[:5]}")
    return [list(row) for row in left.elements()]


def samples(expected, types):
    """For each column a value that shows its type; for one of NULLs only, what DuckDB's type name says."""
    for index, name in enumerate(types):
        by_name = 0 if "INT" in name or name == "NUMBER" else 0.0 if name in ("DOUBLE", "FLOAT") else ""
        yield next((row[index] for row in expected if row[index] is not None), by_name)


def plain(value):
    return datetime(value.year, value.month, value.day) if isinstance(value, date) and not isinstance(value, datetime) else value


def typed(text, sample, row):
    if text is None:
        return None
    try:
        if isinstance(sample, bool):
            return {"TRUE": True, "FALSE": False}[text]
        if isinstance(sample, (int, Decimal)):
            return Decimal(text)
        if isinstance(sample, float):
            return float(text)
        if isinstance(sample, datetime):
            return datetime.fromisoformat(text)
    except (ValueError, ArithmeticError, KeyError) as error:
        raise Wrong(f"{text!r} is not {type(sample).__name__} in {row}") from error
    return text


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
    return a == b and (a is None) == (b is None)


def same_row(a, b):
    return len(a) == len(b) and all(map(same, a, b))


def rank(row):
    """An order in which rows that are nearly the same stand at the same place: doubles count last, and roughly."""
    exact = [(value is not None, str(Decimal(value).normalize()) if isinstance(value, (int, Decimal)) else str(value))
             for value in row if not isinstance(value, float)]
    return exact, [float(f"{value:.8g}") for value in row if isinstance(value, float)]


def difference(actual, expected, limit=8):
    """The rows that only one side has; when both have the same, that the order is wrong."""
    missing, extra = list(expected), []
    for row in actual:
        found = next((i for i, other in enumerate(missing) if same_row(row, other)), None)
        if found is None:
            extra.append(row)
        else:
            del missing[found]
    lines = [f"{len(actual)} rows, expected {len(expected)}"]
    if not missing and not extra:
        first = next(i for i, (a, b) in enumerate(zip(actual, expected)) if not same_row(a, b))
        lines.append(f"the rows are right, their order is not, from row {first + 1}: {show(actual[first])}, expected {show(expected[first])}")
    for sign, rows in (("-", missing), ("+", extra)):
        lines += [f"  {sign} {show(row)}" for row in rows[:limit]]
        if len(rows) > limit:
            lines.append(f"  {sign} and {len(rows) - limit} more")
    if missing or extra:
        lines.insert(1, "  (- expected, + given)")
    return "\n".join(lines)


def show(row):
    return " | ".join("NULL" if value is None else str(value) for value in row)


def compare(answers, data, say=print, only=""):
    """Returns (passed, failed). Questions whose name does not begin with `only` need no answer."""
    connection, passed, failed = oracle(data), 0, 0
    open_questions = {}
    for file in sorted(HERE.glob("[0-9]*.sql")):
        for name, question in questions(file.read_text(encoding="utf-8")).items():
            if name.startswith(only):
                open_questions[name] = question
    for given in answers:
        name = given["key"]
        title = f"{name} {given['question']}"
        try:
            if given["kind"] == "error":
                open_questions.pop(name, None)
                raise Wrong(given["message"])
            if not name:
                if given["sql"].upper().startswith(("SELECT", "WITH")):
                    raise Wrong("a question without a name: put `-- Qn.n` before it, and its oracle into tests/oracle")
                continue
            if name not in open_questions:
                raise Wrong(f"no oracle: tests/oracle has no `-- {name}`, or it was asked twice")
            law, sql = open_questions.pop(name)
            if given["kind"] != "table" or given["message"]:
                raise Wrong(given["message"] or "no table came back")
            check(connection, law, sql, given["columns"], given["rows"])
        except Wrong as wrong:
            failed += 1
            say(f"FAILED {title}\n    " + str(wrong).replace("\n", "\n    "))
        else:
            passed += 1
            say(f"ok     {title}")
    for name in open_questions:
        failed += 1
        say(f"FAILED {name} was not asked, or not answered")
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("SLUICE_DATA"), help="folder of the CSV files")
    parser.add_argument("--only", default="", help="beginning of the names that must be answered (default: all)")
    parser.add_argument("answers")
    options = parser.parse_args()
    if not options.data:
        parser.error('name the folder of the CSV files with --data, or first: eval "$(bin/setup --env)"')
    answers = json.loads(pathlib.Path(options.answers).read_text(encoding="utf-8"))
    passed, failed = compare(answers, options.data, only=options.only)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
