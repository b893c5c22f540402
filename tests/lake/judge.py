"""Reads a warehouse with pypaimon and compares every table with expected.json; ends with `N passed, M failed`.

    judge.py WAREHOUSE [OPTION=VALUE...]

The options are those of a Paimon catalog: `warehouse` among them when the tables are elsewhere than expected.json.
"""

import collections
import decimal
import json
import pathlib
import struct
import sys

import pyarrow as pa
import pypaimon

# pypaimon keeps six digits of a second, whatever the type says.
FINEST = 10**3
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def canonical(array):
    """The values of an Arrow array as the tests write them: see canonical.rs."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in canonical(chunk)]
    kind = array.type
    valid = array.is_valid().to_pylist()

    def where_valid(values):
        return [value if ok else None for ok, value in zip(valid, values)]

    if pa.types.is_timestamp(kind):
        factor = UNITS[kind.unit]
        return where_valid([v is not None and str(v * factor // FINEST * FINEST) for v in array.cast(pa.int64()).to_pylist()])
    if pa.types.is_time(kind):
        width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        factor = UNITS[kind.unit]
        return where_valid([v is not None and str(v * factor // 10**6) for v in array.cast(width).to_pylist()])
    if pa.types.is_date32(kind):
        return where_valid([str(v) for v in array.cast(pa.int32()).to_pylist()])
    if pa.types.is_boolean(kind):
        return array.to_pylist()
    if pa.types.is_integer(kind):
        return where_valid([str(v) for v in array.to_pylist()])
    if pa.types.is_floating(kind):
        code, size = ("<d", 8) if pa.types.is_float64(kind) else ("<f", 4)
        bits = [v is not None and v == v and format(int.from_bytes(struct.pack(code, v), "little"), "x") for v in array.to_pylist()]
        return where_valid([b or "NaN" for b in bits])
    if pa.types.is_decimal(kind):
        return where_valid([v is not None and str(int(v.scaleb(kind.scale))) for v in array.to_pylist()])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.to_pylist()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return where_valid([v is not None and v.hex() for v in array.to_pylist()])
    if pa.types.is_map(kind):
        keys, items = canonical(array.keys), canonical(array.items)
        pairs = [list(pair) for pair in zip(keys, items)]
        offsets = array.offsets.to_pylist()
        return where_valid([pairs[offsets[i]:offsets[i + 1]] for i in range(len(array))])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        elements, offsets = canonical(array.values), array.offsets.to_pylist()
        return where_valid([elements[offsets[i]:offsets[i + 1]] for i in range(len(array))])
    if pa.types.is_struct(kind):
        fields = [canonical(array.field(i)) for i in range(kind.num_fields)]
        return where_valid([[field[i] for field in fields] for i in range(len(array))])
    raise TypeError(f"no canonical form of {kind}")


def rows(table):
    read = table.new_read_builder()
    splits = read.new_scan().plan().splits()
    arrow = read.new_read().to_arrow(splits)
    return arrow.column_names, list(zip(*[canonical(column) for column in arrow.columns])) if arrow.num_rows else []


def text(row):
    return json.dumps(list(row), ensure_ascii=False)


def cut(expected, table):
    """The expected rows without the digits that pypaimon cuts off."""
    fine = [i for i, field in enumerate(table.table_schema.fields) if "TIMESTAMP(9)" in str(field.type)]
    for row in expected["rows"]:
        for i in fine:
            row[i] = row[i] and str(int(row[i]) // FINEST * FINEST)


def differences(expected, table):
    cut(expected, table)
    names, found = rows(table)
    if expected["rows"] and names != expected["columns"]:
        return f"columns {names} instead of {expected['columns']}"
    wanted = collections.Counter(text(row) for row in expected["rows"])
    found = collections.Counter(text(row) for row in found)
    missing, extra = wanted - found, found - wanted
    if missing or extra:
        show = lambda rows: "; ".join(list(rows)[:3])[:1500]
        return f"{missing.total()} rows missing ({show(missing)}), {extra.total()} too many ({show(extra)})"
    return None


def main():
    decimal.getcontext().prec = 60
    warehouse = pathlib.Path(sys.argv[1])
    options = dict(option.split("=", 1) for option in sys.argv[2:])
    catalog = pypaimon.CatalogFactory.create({"warehouse": str(warehouse), **options})
    passed = failed = 0
    for expected in json.loads((warehouse / "expected.json").read_text()):
        if "pypaimon" in expected["skip"]:
            print(f"pypaimon: {expected['name']}: not asked, {expected['skip']['pypaimon']}")
            continue
        try:
            found = differences(expected, catalog.get_table(f"judged.{expected['name']}"))
        except Exception as error:  # a reader that gives up has judged, too
            found = f"{type(error).__name__}: {error}"
        if found:
            failed += 1
            print(f"pypaimon: {expected['name']}: {found}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
