"""A Flink connector, Fluss's own if none is named, through Flink's SQL client against a running server: python3 flink.py HOST:PORT SCRATCH [JAR]

Every statement of flink.sql that has a line `-- expect: ...` before it must show these rows, in any order. The last line is `N passed, N failed`.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys

here = pathlib.Path(__file__).parent
address, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
flink, root = pathlib.Path(os.environ["FLINK_HOME"]), here.parents[2]
connector = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else pathlib.Path(os.environ["SLUICE_CLIENTS"]) / "fluss-flink.jar"

lib = scratch / "flink-lib"
lib.mkdir()
for jar in [*(flink / "lib").glob("*.jar"), connector.resolve()]:
    (lib / jar.name).symlink_to(jar)
statements = (here / "flink.sql").read_text().replace("@ADDRESS@", address)
script = scratch / "flink.sql"
script.write_text(statements)
env = dict(os.environ, FLINK_CONF_DIR=str(root / "conf/flink"), FLINK_LIB_DIR=str(lib), FLINK_LOG_DIR=str(scratch / "flink-logs"), JVM_ARGS="-Xmx1g")
(scratch / "flink-logs").mkdir()
said = scratch / "flink.out"
with open(said, "wb") as out:
    client = subprocess.Popen([str(flink / "bin/sql-client.sh"), "-f", str(script)], env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        client.wait(380)
    except subprocess.TimeoutExpired:
        os.killpg(client.pid, signal.SIGKILL)
        print("the SQL client did not end within 380 s")
shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.read_text(errors="replace"))


def tables(text):
    """The rows of each table that the client drew."""
    found, rows, rules = [], [], 0
    for line in text.splitlines():
        line = line.split("Flink SQL>")[-1].strip()
        # The upper rule may stand behind the end of the statement.
        if re.search(r"\+-[-+]*\+$", line):
            rules += 1
        elif line.startswith("|") and rules == 2:
            rows.append(" ".join(line.strip("|").replace("|", " ").split()))
        elif line.startswith("Empty set"):
            found.append([])
        if re.match(r"(\d+ rows? in set|Received a total of)", line):
            found.append(sorted(rows))
            rows, rules = [], 0
    return found


wanted = [(name, sorted(row.strip() for row in rows.split(";") if row.strip())) for name, rows in re.findall(r"^-- expect ([^:]*): ?(.*)$", statements, re.M)]
answers = tables(shown)
failed = 0
for i, (name, rows) in enumerate(wanted):
    got = answers[i] if i < len(answers) else None
    if got == rows:
        print("ok      flink %s" % name)
    else:
        failed += 1
        print("FAILED  flink %s: expected %s, found %s" % (name, rows, got))
if failed or len(answers) != len(wanted):
    print(shown[-6000:])
    failed = max(failed, 1)
print("%d passed, %d failed" % (len(wanted) - failed, failed))
sys.exit(1 if failed else 0)
