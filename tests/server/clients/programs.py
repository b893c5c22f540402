"""Programs of a pyfluss user against a running server: python programs.py HOST:PORT [HOST:PORT USER PASSWORD of a listener that asks for them]

Each prints one line; the last line is `N passed, N failed`.
"""
import asyncio
import sys
import time
import traceback
from datetime import date, datetime, timezone
from decimal import Decimal

import fluss
import pyarrow as pa

DATABASE = "fluss"
EVERY_TYPE = pa.schema([
    pa.field("id", pa.int32()),
    pa.field("tiny", pa.int8()),
    pa.field("small", pa.int16()),
    pa.field("big", pa.int64()),
    pa.field("flag", pa.bool_()),
    pa.field("f", pa.float32()),
    pa.field("d", pa.float64()),
    pa.field("text", pa.string()),
    pa.field("raw", pa.binary()),
    pa.field("money", pa.decimal128(10, 2)),
    pa.field("day", pa.date32()),
    pa.field("at", pa.timestamp("us")),
    pa.field("instant", pa.timestamp("us", tz="UTC")),
])


def every_type(i):
    if i % 5 == 4:
        return {name: (i if name == "id" else None) for name in EVERY_TYPE.names}
    return {
        "id": i, "tiny": i % 100 - 50, "small": -i, "big": i * 10**12, "flag": i % 2 == 0, "f": i / 2, "d": -i / 4,
        "text": "t\u00e4xt %d" % i * (i % 3), "raw": bytes([i % 256, 0, 255]), "money": Decimal(i) / 100 - 3,
        "day": date(2026, 1, 1 + i % 28), "at": datetime(2026, 1, 1, 2, 3, 4, i), "instant": datetime(2026, 1, 1, 2, 3, 4, i, timezone.utc),
    }


class World:
    def __init__(self, connection):
        self.connection = connection
        self.admin = connection.get_admin()
        self.made = 0

    async def table(self, schema, **options):
        self.made += 1
        path = fluss.TablePath(DATABASE, "t%d_%d" % (self.made, time.time_ns()))
        await self.admin.create_table(path, fluss.TableDescriptor(schema, **options), ignore_if_exists=False)
        return path, await self.connection.get_table(path)


async def scan(table, buckets, wanted, columns=None):
    """Rows of a log as Arrow, from the beginning, until as many came as are wanted."""
    reader = table.new_scan()
    if columns:
        reader = reader.project_by_name(columns)
    reader = await reader.create_record_batch_log_scanner()
    reader.subscribe_buckets({bucket: fluss.EARLIEST_OFFSET for bucket in range(buckets)})
    rows, deadline = [], time.time() + 30
    while len(rows) < wanted and time.time() < deadline:
        rows += (await reader.poll_arrow(1000)).to_pylist()
    assert len(rows) == wanted, f"{len(rows)} of {wanted} rows came"
    return rows


async def databases_and_tables(w):
    name = "d%d" % time.time_ns()
    await w.admin.create_database(name, fluss.DatabaseDescriptor(comment="c", custom_properties={"k": "v"}), ignore_if_exists=False)
    assert await w.admin.database_exists(name) and name in await w.admin.list_databases()
    info = await w.admin.get_database_info(name)
    assert info.get_database_descriptor().get_custom_properties() == {"k": "v"}
    path = fluss.TablePath(name, "t")
    schema = fluss.Schema(EVERY_TYPE, primary_keys=["id"])
    await w.admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=3, comment="x", properties={"table.log.ttl": "1d"}), ignore_if_exists=False)
    info = await w.admin.get_table_info(path)
    assert (info.num_buckets, info.get_primary_keys(), info.comment) == (3, ["id"], "x")
    assert info.get_properties()["table.log.ttl"] == "1d"
    assert await w.admin.list_tables(name) == ["t"]
    for call, code in [
        (w.admin.create_table(path, fluss.TableDescriptor(schema), ignore_if_exists=False), 8),
        (w.admin.drop_database(name, ignore_if_not_exists=False, cascade=False), 5),
        (w.admin.get_table_info(fluss.TablePath(name, "nope")), 7),
        (w.admin.get_database_info("nope"), 4),
        (w.admin.create_table(fluss.TablePath(name, "u"), fluss.TableDescriptor(schema, properties={"table.nope": "1"}), ignore_if_exists=False), 39),
        (w.admin.get_latest_lake_snapshot(path), 53),
        (w.admin.list_partition_infos(path), 37),
    ]:
        try:
            await call
            raise AssertionError("no error, %d expected" % code)
        except fluss.FlussError as e:
            assert e.error_code == code, e
    await w.admin.drop_table(path, ignore_if_not_exists=False)
    assert not await w.admin.table_exists(path)
    await w.admin.drop_database(name, ignore_if_not_exists=False, cascade=True)


async def append_and_scan_every_type(w):
    path, table = await w.table(fluss.Schema(EVERY_TYPE), bucket_count=3)
    written = [every_type(i) for i in range(200)]
    writer = table.new_append().create_writer()
    for row in written[:100]:
        writer.append(row)
    writer.write_arrow_batch(pa.RecordBatch.from_pylist(written[100:], schema=EVERY_TYPE))
    await writer.flush()
    read = await scan(table, 3, 200)
    assert sorted(read, key=lambda r: r["id"]) == written
    ends = await w.admin.list_offsets(path, bucket_ids=[0, 1, 2], offset_spec=fluss.OffsetSpec.latest())
    assert sum(ends.values()) == 200, ends
    starts = await w.admin.list_offsets(path, bucket_ids=[0, 1, 2], offset_spec=fluss.OffsetSpec.earliest())
    assert set(starts.values()) == {0}


async def projected_scan(w):
    _, table = await w.table(fluss.Schema(EVERY_TYPE), properties={"table.log.arrow.compression.type": "NONE"})
    writer = table.new_append().create_writer()
    writer.write_arrow_batch(pa.RecordBatch.from_pylist([every_type(i) for i in range(300)], schema=EVERY_TYPE))
    await writer.flush()
    for columns in [["id"], ["text", "id"], ["at", "money", "raw"]]:
        read = await scan(table, 1, 300, columns)
        assert read == [{name: every_type(i)[name] for name in columns} for i in range(300)], columns


async def many_batches_in_flight(w):
    schema = pa.schema([pa.field("id", pa.int32()), pa.field("text", pa.string())])
    _, table = await w.table(fluss.Schema(schema), bucket_count=1)
    writer = table.new_append().create_writer()
    for start in range(0, 100_000, 1000):
        writer.write_arrow_batch(pa.RecordBatch.from_pylist([{"id": i, "text": "x" * 50} for i in range(start, start + 1000)], schema=schema))
    await writer.flush()
    read = await scan(table, 1, 100_000, ["id"])
    assert [r["id"] for r in read] == list(range(100_000)), "in order, each once"


async def upsert_delete_lookup(w):
    path, table = await w.table(fluss.Schema(EVERY_TYPE, primary_keys=["id"]), bucket_count=3)
    writer = table.new_upsert().create_writer()
    for i in range(300):
        writer.upsert(every_type(i))
    await writer.flush()
    await writer.upsert({**every_type(7), "text": "new"}).wait()
    await writer.delete({"id": 8}).wait()
    lookup = table.new_lookup().create_lookuper()
    for i in [0, 4, 128, 255, 299]:
        assert await lookup.lookup({"id": i}) == every_type(i), i
    assert (await lookup.lookup({"id": 7}))["text"] == "new"
    assert await lookup.lookup({"id": 8}) is None and await lookup.lookup({"id": 999}) is None
    first = 0
    for bucket in range(3):
        scanner = table.new_scan().limit(1000).create_bucket_batch_scanner(fluss.TableBucket(table.get_table_info().table_id, bucket))
        first += (await scanner.to_arrow()).num_rows
    assert first == 299


async def changelog(w):
    schema = pa.schema([pa.field("id", pa.int32()), pa.field("n", pa.int64())])
    _, table = await w.table(fluss.Schema(schema, primary_keys=["id"]), bucket_count=1)
    writer = table.new_upsert().create_writer()
    for row in [{"id": 1, "n": 1}, {"id": 2, "n": 1}, {"id": 1, "n": 2}]:
        await writer.upsert(row).wait()
    await writer.delete({"id": 2}).wait()
    reader = await table.new_scan().create_log_scanner()
    reader.subscribe(0, fluss.EARLIEST_OFFSET)
    seen, deadline = [], time.time() + 30
    while len(seen) < 5 and time.time() < deadline:
        seen += [(r.change_type.short_string(), r.row["id"], r.row["n"]) for r in await reader.poll(1000)]
    assert seen == [("+I", 1, 1), ("+I", 2, 1), ("-U", 1, 1), ("+U", 1, 2), ("-D", 2, 1)], seen


async def prefix_lookup(w):
    schema = pa.schema([pa.field("a", pa.string()), pa.field("b", pa.int32()), pa.field("v", pa.int64())])
    _, table = await w.table(fluss.Schema(schema, primary_keys=["a", "b"]), bucket_count=4, bucket_keys=["a"])
    writer = table.new_upsert().create_writer()
    for a in ["x", "xx", "a longer one"]:
        for b in range(5):
            writer.upsert({"a": a, "b": b, "v": b * b})
    await writer.flush()
    found = await table.new_lookup().lookup_by(["a"]).create_lookuper().lookup({"a": "x"})
    assert sorted((r["b"], r["v"]) for r in found) == [(b, b * b) for b in range(5)], found


async def limit_scan_of_a_log(w):
    schema = pa.schema([pa.field("id", pa.int32())])
    path, table = await w.table(fluss.Schema(schema), bucket_count=1)
    writer = table.new_append().create_writer()
    for start in range(0, 50, 10):
        await writer.write_arrow_batch(pa.RecordBatch.from_pylist([{"id": i} for i in range(start, start + 10)], schema=schema)).wait()
    scanner = table.new_scan().limit(15).create_bucket_batch_scanner(fluss.TableBucket(table.get_table_info().table_id, 0))
    assert [r["id"] for r in (await scanner.to_arrow()).to_pylist()] == list(range(35, 50))


async def a_reader_sees_a_row_at_once(w):
    schema = pa.schema([pa.field("id", pa.int32())])
    _, table = await w.table(fluss.Schema(schema), bucket_count=1)
    reader = await table.new_scan().create_record_batch_log_scanner()
    reader.subscribe(0, fluss.EARLIEST_OFFSET)
    writer, slowest = table.new_append().create_writer(), 0.0
    for i in range(10):
        waiting = asyncio.ensure_future(reader.poll_arrow(5000))
        await asyncio.sleep(0.02)
        begun = time.perf_counter()
        await writer.append({"id": i}).wait()
        acknowledged = time.perf_counter()
        assert [r["id"] for r in (await waiting).to_pylist()] == [i]
        slowest = max(slowest, time.perf_counter() - acknowledged)
    assert slowest < 0.3, "%.0f ms after the acknowledgement" % (slowest * 1000)


async def partitions(w):
    schema = pa.schema([pa.field("id", pa.int32()), pa.field("region", pa.string())])
    path, log = await w.table(fluss.Schema(schema), partition_keys=["region"], bucket_count=2)
    assert log.get_table_info().is_partitioned() and log.get_table_info().get_partition_keys() == ["region"]
    for region in ["eu", "us"]:
        await w.admin.create_partition(path, {"region": region}, ignore_if_exists=False)
    await w.admin.create_partition(path, {"region": "eu"}, ignore_if_exists=True)
    for call, code in [
        (w.admin.create_partition(path, {"region": "eu"}, ignore_if_exists=False), 42),
        (w.admin.create_partition(path, {"nope": "eu"}, ignore_if_exists=True), 43),
        (w.admin.drop_partition(path, {"region": "asia"}, ignore_if_not_exists=False), 36),
    ]:
        try:
            await call
            raise AssertionError("no error, %d expected" % code)
        except fluss.FlussError as e:
            assert e.error_code == code, e
    ids = {p.partition_name: p.partition_id for p in await w.admin.list_partition_infos(path)}
    assert sorted(ids) == ["eu", "us"], ids
    assert [p.partition_name for p in await w.admin.list_partition_infos(path, {"region": "us"})] == ["us"]
    writer = log.new_append().create_writer()
    written = [{"id": i, "region": ["eu", "us"][i % 2]} for i in range(100)]
    for row in written:
        writer.append(row)
    await writer.flush()
    for region, wanted in [("eu", written[0::2]), ("us", written[1::2])]:
        ends = await w.admin.list_partition_offsets(path, region, bucket_ids=[0, 1], offset_spec=fluss.OffsetSpec.latest())
        assert sum(ends.values()) == 50, ends
        reader = await log.new_scan().create_record_batch_log_scanner()
        reader.subscribe_partition_buckets({(ids[region], bucket): fluss.EARLIEST_OFFSET for bucket in range(2)})
        rows, deadline = [], time.time() + 30
        while len(rows) < 50 and time.time() < deadline:
            rows += (await reader.poll_arrow(1000)).to_pylist()
        assert sorted(rows, key=lambda r: r["id"]) == wanted, region
    await w.admin.drop_partition(path, {"region": "eu"}, ignore_if_not_exists=False)
    assert [p.partition_name for p in await w.admin.list_partition_infos(path)] == ["us"]

    path, keyed = await w.table(fluss.Schema(schema, primary_keys=["id", "region"]), partition_keys=["region"], bucket_count=2)
    for region in ["eu", "us"]:
        await w.admin.create_partition(path, {"region": region}, ignore_if_exists=False)
    writer = keyed.new_upsert().create_writer()
    for row in written:
        writer.upsert(row)
    await writer.flush()
    lookup = keyed.new_lookup().create_lookuper()
    assert await lookup.lookup({"id": 3, "region": "us"}) == {"id": 3, "region": "us"}
    for miss in [{"id": 3, "region": "eu"}, {"id": 3, "region": "asia"}]:
        assert await lookup.lookup(miss) is None, miss


async def a_password_is_asked_for(_):
    bootstrap, user, password = sys.argv[2:5]
    config = {"bootstrap.servers": bootstrap, "security.protocol": "sasl", "security.sasl.mechanism": "PLAIN",
              "security.sasl.username": user, "security.sasl.password": password}
    connection = await fluss.FlussConnection.create(fluss.Config(config))
    world = World(connection)
    await append_and_scan_every_type(world)
    await upsert_delete_lookup(world)
    await connection.close()
    for wrong, code, said in [
        ({"security.sasl.password": "wrong"}, 46, "Invalid username or password"),
        ({"security.sasl.username": "nobody"}, 46, "Invalid username or password"),
        ({"security.protocol": "PLAINTEXT"}, 46, "has not completed authentication yet"),
    ]:
        begun = time.time()
        try:
            connection = await fluss.FlussConnection.create(fluss.Config({**config, **wrong}))
            await connection.get_admin().list_databases()
            raise AssertionError("%s was let in" % wrong)
        except fluss.FlussError as e:
            assert said in str(e) and e.error_code == code, (wrong, e.error_code, str(e))
            assert password not in str(e), wrong
        assert time.time() - begun < 30, "the refusal took long: it was tried again and again"


PROGRAMS = [
    databases_and_tables, append_and_scan_every_type, projected_scan, many_batches_in_flight, upsert_delete_lookup, changelog,
    prefix_lookup, limit_scan_of_a_log, a_reader_sees_a_row_at_once, partitions,
]
if len(sys.argv) > 2:
    PROGRAMS.append(a_password_is_asked_for)


async def main(bootstrap):
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": bootstrap}))
    world, failed = World(connection), 0
    for program in PROGRAMS:
        begun = time.time()
        try:
            await asyncio.wait_for(program(world), 90)
            print("ok      pyfluss %s (%.1f s)" % (program.__name__, time.time() - begun), flush=True)
        except BaseException as e:
            failed += 1
            print("FAILED  pyfluss %s: %s" % (program.__name__, e or type(e).__name__), flush=True)
            traceback.print_exc()
    await connection.close()
    print("%d passed, %d failed" % (len(PROGRAMS) - failed, failed), flush=True)
    return failed


sys.exit(1 if asyncio.run(main(sys.argv[1])) else 0)
