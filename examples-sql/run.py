#!/usr/bin/env python3
"""Runs SQL files, one after the other in one session of Flink's SQL client, and shows each statement with its answer.

@STORE@, @DATA@ and @SERVERS@ in the files are replaced. Ends with exit code 1 at the first statement that fails.
"""
import argparse
import codecs
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sqlscript  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Wide enough that no value of the examples is cut short.
PREAMBLE = "SET 'table.display.max-column-width' = '100';\n"
# Behind the first statement that fails the client does nothing more, but a job that still runs keeps its process for ever.
QUIET_AFTER_ERROR_S = 5
# Each statement starts and ends a small cluster, so most code runs too seldom for the second compiler to pay: a third less CPU.
SHORT_RUN = "-Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


def main():
    options = parsed()
    files = ([options.init] if options.init else []) + options.files
    texts = {file: filled(pathlib.Path(file).read_text(encoding="utf-8"), options) for file in files}
    todo = sqlscript.statements("", PREAMBLE) + [s for file in files for s in sqlscript.statements(file, texts[file])]
    quiet = {"", options.init}
    style = Style(sys.stdout.isatty())
    began = time.monotonic()
    given, failed = [], None
    with tempfile.TemporaryDirectory() as scratch:
        script = pathlib.Path(scratch, "session.sql")
        script.write_text("\n".join(s.text for s in todo) + "\n", encoding="utf-8")
        complaints = pathlib.Path(scratch, "stderr.txt")
        segments = session(script, complaints)
        print(style.dim("starting Flink's SQL client ..."), flush=True)
        next(segments, None)  # what it says before the first prompt
        last_file = ""
        for statement in todo:
            if statement.file not in quiet:
                if statement.file != last_file:
                    last_file = statement.file
                    print(style.head(heading(statement, texts)), flush=True)
                print(style.statement(statement), flush=True)
            started = time.monotonic()
            segment = next(segments, None)
            if segment is None:
                failed = "the SQL client ended before it answered this statement"
                break
            answer = sqlscript.answer(segment)
            answer.seconds = answer.seconds or round(time.monotonic() - started, 2)
            if statement.file not in quiet:
                print(style.answer(answer), flush=True)
                given.append({**vars(statement), "sql": statement.sql, **vars(answer)})
            if answer.kind == "error" or answer.message.startswith("the client speaks"):
                failed = answer.message
                break
        segments.close()
        if failed:
            noise = ("Unable to create a system terminal", "org.jline.utils.Log")
            said = [line for line in complaints.read_text(errors="replace").splitlines() if not any(n in line for n in noise)]
            print(f"\n{failed}", *said[-20:], f"The log is in {ROOT / 'build' / 'logs'}.", sep="\n", file=sys.stderr)
    if options.answers:
        pathlib.Path(options.answers).write_text(json.dumps(given, indent=1, ensure_ascii=False), encoding="utf-8")
    answered = sum(1 for g in given if g["key"] and g["kind"] == "table")
    print(style.dim(f"\n{len(options.files)} files, {len(given)} statements, {answered} questions answered in {time.monotonic() - began:.0f} s"))
    return 1 if failed else 0


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="directory of the embedded engine")
    parser.add_argument("--servers", default="", help="host:port of servers, for files that ask for it")
    parser.add_argument("--data", required=True, help="folder of the CSV files")
    parser.add_argument("--init", default="", help="a file that is run first and not shown")
    parser.add_argument("--answers", help="a JSON file to leave the answers in")
    parser.add_argument("files", nargs="+")
    return parser.parse_args()


def filled(text, options):
    for name, value in (("@STORE@", options.store), ("@DATA@", options.data)):
        text = text.replace(name, os.path.abspath(value).replace("'", "''"))
    return text.replace("@SERVERS@", options.servers.replace("'", "''"))


def heading(statement, texts):
    first = re.match(r"\s*--\s*(.*)", texts[statement.file])
    return f"{pathlib.Path(statement.file).name}: {first.group(1) if first else ''}"


def session(script, complaints):
    """Starts the client and yields what it prints between its prompts, as it comes."""
    with open(complaints, "wb") as stderr:
        client = subprocess.Popen([str(ROOT / "bin" / "sql-client"), "--", "-f", str(script)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                                  env={**os.environ, "JVM_ARGS": os.environ.get("JVM_ARGS", SHORT_RUN)})
    try:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        waiting = ""
        while chunk := read(client.stdout, QUIET_AFTER_ERROR_S if "[ERROR]" in waiting else None):
            waiting += decode(chunk)
            *ready, waiting = re.split(r"(?:^|\n)" + re.escape(sqlscript.PROMPT), waiting)
            yield from ready
        if waiting.strip():
            yield waiting
    finally:
        end(client)


def read(pipe, patience_s):
    """What comes next; nothing at the end of the pipe, or when nothing has come for so long."""
    ready = patience_s is None or select.select([pipe], [], [], patience_s)[0]
    return pipe.read1(1 << 16) if ready else b""


def end(client):
    """Lets the client close its session; a job that is still running would keep the process for ever."""
    for sign, patience in ((None, 3), (signal.SIGTERM, 20), (signal.SIGKILL, 10)):
        if sign is not None:
            os.killpg(client.pid, sign)
        try:
            client.wait(patience)
            return
        except subprocess.TimeoutExpired:
            pass


class Style:
    """Colours on a terminal, plain text elsewhere."""

    def __init__(self, colours):
        self.colours = colours

    def _paint(self, code, text):
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    def dim(self, text):
        return self._paint("2", text)

    def head(self, text):
        return "\n" + self._paint("1;34", f"=== {text}")

    def statement(self, statement):
        title = self._paint("1", f"{statement.key} {statement.question}\n") if statement.key else ""
        return "\n" + title + self._paint("36", statement.sql)

    def answer(self, answer):
        if answer.kind == "error":
            return self._paint("31", answer.message)
        took = self.dim(f"{answer.seconds:.1f} s")
        if answer.kind == "done":
            return self.dim("ok, ") + took
        rows = f"{len(answer.rows):,} row{'' if len(answer.rows) == 1 else 's'}, "
        return sqlscript.drawn(answer) + "\n" + self.dim(rows) + took


if __name__ == "__main__":
    sys.exit(main())
