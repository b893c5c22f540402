"""The client and the connector against an Apache Fluss cluster: starts one (ZooKeeper, coordinator, tablet server), runs the tests of one store against it,
then SQL through Flink's SQL client.

    python3 tests/client/peer.py TEST_BINARY CACHE_FOLDER CONNECTOR_JAR

TEST_BINARY is cargo's binary of the test `client`. The last line is `N passed, N failed`.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "compare"))
import peer  # noqa: E402

# What a Fluss server has no words for, or does in another way on purpose; each with the reason.
OTHERWISE = {
    "auto_increment::buckets_share_one_count": "each bucket there numbers from a range of its own",
    "auto_increment::a_lookup_inserts_into_partitions_that_are_there": "each bucket there numbers from a range of its own",
    "auto_increment::a_deleted_key_is_gone_whole_and_comes_back_with_another_number": "a row whose number nobody may write is never bare there",
    "auto_increment::where_a_lookup_cannot_insert_it_says_why": "refused there in other words",
}
# Tests that need a server of ours which they stop and start.
OURS = ["plain_protocol", "server_goes_and_comes_back", "silent_servers", "cut_connections", "users_are_let_in", "rules_of_access", "rows_are_taken_back"]


def main():
    binary, cache, connector = sys.argv[1:4]
    java = str(pathlib.Path(os.environ["JAVA_HOME"]) / "bin" / "java") if os.environ.get("JAVA_HOME") else "java"
    jars, _ = peer.fetch(cache)
    with tempfile.TemporaryDirectory(prefix="sluice-peer.") as scratch:
        with peer.Cluster(jars, java, pathlib.Path(scratch) / "fluss"):
            # One after the other: all use the same database and the same names.
            command = [binary, "--test-threads=1"]
            for name in [*OURS, *OTHERWISE]:
                command += ["--skip", name]
            for name, reason in OTHERWISE.items():
                print(f"left out: {name}: {reason}")
            environment = dict(os.environ, SLUICE_CLIENT=peer.BOOTSTRAP)
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT / "tests")
            print(done.stdout)
            sql = [sys.executable, str(ROOT / "tests/server/clients/flink.py"), peer.BOOTSTRAP, scratch, connector]
            asked = subprocess.run(sql, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            print(asked.stdout)
    passed = failed = 0
    for pattern, said in [(r"^test result: .*?(\d+) passed; (\d+) failed", done.stdout), (r"^(\d+) passed, (\d+) failed$", asked.stdout)]:
        found = re.findall(pattern, said, re.M)
        more = map(int, found[-1]) if found else (0, 1)
        passed, failed = (a + b for a, b in zip((passed, failed), more))
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
