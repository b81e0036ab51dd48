"""Programs for tables, queues and stacks of the first version, dense and anonymous tables, readers, and staging areas."""

from __future__ import annotations

import os
import tempfile
import zlib
from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool
from state_table import Program, constant

raw = tf.raw_ops


def strings(*values: bytes) -> tf.Tensor:
    return constant(np.array(values, object))


def i64(*values: Any) -> tf.Tensor:
    return constant(np.array(values, np.int64))


# The empty and the deleted key.
MARKS = (np.array(0, np.int64), np.array(-1, np.int64))


def first_tables(pool: Pool) -> list[Any]:
    path = os.path.join(tempfile.mkdtemp(), "vocabulary")
    with open(path, "w", encoding="utf-8") as out:
        out.write("a\t1\nb\t2\nc\t3\n")
    keys = strings(b"b", b"x", b"a")

    def find(table: tf.Tensor) -> tf.Tensor:
        return raw.LookupTableFind(table_handle=table, keys=keys, default_value=i64(-1)[0])
    static = [raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="first%d" % i) for i in range(2)]
    mutable = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="first mutable")
    rows = raw.MutableHashTableOfTensors(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[2], shared_name="first rows")
    return [find(static[0]), raw.InitializeTable(table_handle=static[0], keys=strings(b"a", b"b"), values=i64(1, 2)), find(static[0]),
            raw.LookupTableSize(table_handle=static[0]), raw.InitializeTableFromTextFile(table_handle=static[1], filename=path, key_index=0, value_index=1),
            find(static[1]), raw.LookupTableInsert(table_handle=mutable, keys=strings(b"a", b"b"), values=i64(4, 5)), find(mutable),
            raw.LookupTableImport(table_handle=mutable, keys=strings(b"x"), values=i64(9)), find(mutable),
            raw.LookupTableExport(table_handle=mutable, Tkeys=tf.string, Tvalues=tf.int64),
            raw.LookupTableInsert(table_handle=rows, keys=i64(7), values=constant(pool((1, 2), "float32"))),
            raw.LookupTableFind(table_handle=rows, keys=i64(7, 8), default_value=constant([0.5, 0.25], np.float32))]


def dense_tables(pool: Pool) -> list[Any]:
    def table(name: str, empty: Any, deleted: Any, value: Any = tf.int64, **options: Any) -> tf.Tensor:
        given = {"value_shape": [], "initial_num_buckets": 4, "max_load_factor": 0.8, **options}
        return raw.MutableDenseHashTableV2(empty_key=constant(empty), deleted_key=constant(deleted), value_dtype=value, shared_name=name, **given)

    def size(handle: tf.Tensor) -> tf.Tensor:
        return raw.LookupTableSizeV2(table_handle=handle)
    whole, zero, minus = table("dense", *MARKS), *MARKS

    def export(handle: tf.Tensor, keys: Any = tf.int64, values: Any = tf.int64) -> Any:
        return raw.LookupTableExportV2(table_handle=handle, Tkeys=keys, Tvalues=values)

    def insert(handle: tf.Tensor, keys: tf.Tensor, values: tf.Tensor) -> Any:
        return raw.LookupTableInsertV2(table_handle=handle, keys=keys, values=values)

    def find(handle: tf.Tensor, keys: tf.Tensor, default: Any) -> tf.Tensor:
        return raw.LookupTableFindV2(table_handle=handle, keys=keys, default_value=constant(default))

    def remove(handle: tf.Tensor, keys: tf.Tensor) -> Any:
        return raw.LookupTableRemoveV2(table_handle=handle, keys=keys)
    pairs = table("pairs", np.array([0, 0], np.int64), np.array([-1, -1], np.int64), value_shape=[2])
    names = table("names", b"empty", b"deleted", tf.float32)
    many = np.random.default_rng(3).permutation(3000)[:700].astype(np.int64) + 1
    steps = [insert(whole, i64(1, 2, 1), i64(10, 20, 30)), find(whole, i64(1, 2, 3), minus), find(whole, i64(0), minus), find(whole, i64(-1), minus),
             insert(whole, i64(0), i64(10)), insert(whole, i64(5, -1), i64(10, 2)), size(whole), remove(whole, i64(-1)), remove(whole, i64(2, 9)), export(whole),
             find(whole, i64(1, 7, 3), np.array([-5, -6, -7], np.int64)), raw.InitializeTableV2(table_handle=whole, keys=i64(7), values=i64(1)),
             insert(whole, i64(1, 2), i64([10, 20])), insert(whole, constant(many), constant(many * 3)), size(whole), find(whole, constant(many[:50]), minus), export(whole),
             insert(pairs, i64([1, 2], [3, 4]), i64([10, 20], [1, 2])), find(pairs, i64([1, 2], [3, 5]), np.array([7, 7], np.int64)),
             find(pairs, i64([1, 2], [0, 0]), np.array([7, 7], np.int64)), find(pairs, i64(1), np.array([7, 7], np.int64)),
             find(pairs, i64([[1, 2]], [[3, 4]]), np.array([7, 7], np.int64)), remove(pairs, i64([1, 2])), export(pairs), size(pairs),
             insert(names, strings(b"a", b"b", b"a long key, longer than one word"), constant([1.0, 2.0, 3.0], np.float32)), export(names, tf.string, tf.float32),
             find(names, strings(b"a", b"z"), np.float32(7)), find(names, strings(b"empty"), np.float32(7)),
             size(table("places", zero, minus, initial_num_buckets=3)), size(table("none", zero, minus, initial_num_buckets=0)),
             size(table("full", zero, minus, max_load_factor=1.0)), size(table("negative", zero, minus, max_load_factor=-1.0)),
             size(table("shape", zero, minus, value_shape=[2, 2])), size(table("same", minus, minus)), size(table("key shapes", np.array([0], np.int64), minus))]
    target = table("target", zero, minus, initial_num_buckets=8)
    keys = constant(np.array([[0], [1], [-1], [0], [0], [5], [0], [0]], np.int64))
    values = constant(np.array([[0], [30], [20], [0], [0], [10], [0], [0]], np.int64))
    return steps + [raw.LookupTableImportV2(table_handle=target, keys=keys, values=values), size(target), find(target, i64(1, 5, 6), minus), export(target)]


def anonymous_tables(pool: Pool) -> list[Any]:
    static = raw.AnonymousHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    with tf.control_dependencies([raw.InitializeTableV2(table_handle=static, keys=strings(b"a"), values=i64(2))]):
        found = [raw.LookupTableFindV2(table_handle=static, keys=strings(b"a", b"q"), default_value=i64(-1)[0])]
    makers = (raw.AnonymousMutableHashTable(key_dtype=tf.int64, value_dtype=tf.int64),
              raw.AnonymousMutableHashTableOfTensors(key_dtype=tf.int64, value_dtype=tf.int64, value_shape=[]),
              raw.AnonymousMutableDenseHashTable(empty_key=constant(MARKS[0]), deleted_key=constant(MARKS[1]), value_dtype=tf.int64, value_shape=[]))
    for table in makers:
        with tf.control_dependencies([raw.LookupTableInsertV2(table_handle=table, keys=i64(3, 4), values=i64(30, 40))]):
            found += [raw.LookupTableFindV2(table_handle=table, keys=i64(4, 9), default_value=i64(-1)[0]), raw.LookupTableSizeV2(table_handle=table)]
    return found * 2


def first_queues(pool: Pool) -> list[Any]:
    fifo = raw.FIFOQueue(component_types=[tf.float32, tf.string], shapes=[[2], []], capacity=4, shared_name="first fifo")
    padding = raw.PaddingFIFOQueue(component_types=[tf.int32], shapes=[[None]], shared_name="first padding")
    priority = raw.PriorityQueue(component_types=[tf.string], shapes=[[]], shared_name="first priority")
    shuffle = raw.RandomShuffleQueue(component_types=[tf.int32], shapes=[[]], seed=5, shared_name="first shuffle")
    second = raw.FIFOQueueV2(component_types=[tf.int32], shapes=[[]], shared_name="second")
    fake = raw.FakeQueue(resource=second)
    two = [tf.float32, tf.string]
    one = [constant([1.0, 2.0], np.float32), constant(b"z")]

    def many(queue: tf.Tensor, *components: tf.Tensor) -> Any:
        return raw.QueueEnqueueMany(handle=queue, components=list(components))
    return [many(fifo, constant(pool((3, 2), "float32")), strings(b"a", b"b", b"c")), raw.QueueSize(handle=fifo),
            raw.QueueEnqueue(handle=fifo, components=[constant([1.0], np.float32), constant(b"x")]), raw.QueueDequeue(handle=fifo, component_types=two),
            raw.QueueDequeue(handle=fifo, component_types=[tf.int32]), raw.QueueDequeueMany(handle=fifo, n=2, component_types=two),
            raw.QueueEnqueue(handle=fifo, components=one), raw.QueueClose(handle=fifo), raw.QueueIsClosed(handle=fifo),
            raw.QueueDequeueUpTo(handle=fifo, n=3, component_types=two),
            raw.QueueDequeue(handle=fifo, component_types=two), raw.QueueEnqueue(handle=fifo, components=one),
            raw.QueueEnqueue(handle=padding, components=[constant([1, 2, 3])]), raw.QueueEnqueue(handle=padding, components=[constant([4], np.int32)]),
            raw.QueueDequeueMany(handle=padding, n=2, component_types=[tf.int32]), many(priority, i64(3, 1, 2), strings(b"3", b"1", b"2")),
            raw.QueueDequeueMany(handle=priority, n=3, component_types=[tf.int64, tf.string]), many(shuffle, constant(np.arange(9, dtype=np.int32))),
            raw.QueueDequeueMany(handle=shuffle, n=9, component_types=[tf.int32]), many(fake, constant([7, 8])), raw.QueueSizeV2(handle=second),
            raw.QueueDequeue(handle=fake, component_types=[tf.int32]), raw.QueueIsClosedV2(handle=second)]


def first_stacks(pool: Pool) -> list[Any]:
    stack = raw.Stack(elem_type=tf.float32, stack_name="first")
    push = raw.StackPush(handle=stack, elem=constant([1.0, 2.0], np.float32))
    with tf.control_dependencies([push]):
        pop = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([pop]):
        close = raw.StackClose(handle=stack)
    return [pop, [pop, close], raw.StackPop(handle=stack, elem_type=tf.float32), raw.StackPush(handle=stack, elem=constant([1, 2]))]


def readers(pool: Pool) -> list[Any]:
    folder = tempfile.mkdtemp()

    def file(name: str, contents: bytes) -> str:
        path = os.path.join(folder, name)
        with open(path, "wb") as out:
            out.write(contents)
        return path
    text, header, empty = file("text", b"h1\na\r\nb\rb\n\nlast"), file("header", b"h\n"), file("empty", b"")
    fixed, packed = file("fixed", b"HHabcdefghijFF"), file("packed", zlib.compress(b"HHabcdefghijFF"))
    records = os.path.join(folder, "records")
    with tf.io.TFRecordWriter(records) as writer:
        for record in (b"one", b"", b"three"):
            writer.write(record)
    long = file("long", b"\n".join(b"line %d" % i * 40 for i in range(3000)))
    missing = os.path.join(folder, "missing")
    steps: list[Any] = []

    def use(kind: str, files: list[str], actions: str, **options: Any) -> None:
        name = "%s%d" % (kind, len(steps))
        queue = raw.FIFOQueueV2(component_types=[tf.string], shapes=[[]], shared_name="q" + name)
        reader = getattr(raw, kind + "V2")(shared_name="r" + name, **options)
        steps.append(raw.QueueEnqueueManyV2(handle=queue, components=[constant(np.array(files, object))]))
        steps.append(raw.QueueCloseV2(handle=queue))
        known = {"read": lambda: raw.ReaderReadV2(reader_handle=reader, queue_handle=queue),
                 "n": lambda: raw.ReaderNumRecordsProducedV2(reader_handle=reader), "w": lambda: raw.ReaderNumWorkUnitsCompletedV2(reader_handle=reader),
                 "save": lambda: raw.ReaderSerializeStateV2(reader_handle=reader), "reset": lambda: raw.ReaderResetV2(reader_handle=reader),
                 "restore": lambda: raw.ReaderRestoreStateV2(reader_handle=reader, state=constant(b"\x08\x01\x10\x01\x18\x02")),
                 "damaged": lambda: raw.ReaderRestoreStateV2(reader_handle=reader, state=constant(b"\xff"))}
        for action in actions.split():
            if action.isdigit():
                steps.append(raw.ReaderReadUpToV2(reader_handle=reader, queue_handle=queue, num_records=i64(int(action))[0]))
            else:
                steps.append(known[action]())
    use("TextLineReader", [text, header, empty], "read read read read read read read n w save")
    use("TextLineReader", [text, header, empty], "2 2 n w 2 2 reset n w restore n", skip_header_lines=1)
    use("TextLineReader", [text], "read", skip_header_lines=10)
    use("TextLineReader", [long], "2990 9 9 n")
    use("TextLineReader", [missing, header], "read read w")
    use("TFRecordReader", [records, records], "0 read 2 2 2 n w save")
    use("TFRecordReader", [text], "read read w n")
    use("FixedLengthRecordReader", [fixed], "read 2 read n w", record_bytes=3, header_bytes=2, footer_bytes=2)
    use("FixedLengthRecordReader", [fixed], "read read read read read", record_bytes=3, header_bytes=2, footer_bytes=2, hop_bytes=2)
    for hop in (0, 2):
        use("FixedLengthRecordReader", [packed], "read 2 read read", record_bytes=3, header_bytes=2, footer_bytes=2, hop_bytes=hop, encoding="ZLIB")
    use("FixedLengthRecordReader", [fixed], "read", record_bytes=1, header_bytes=-1)
    use("FixedLengthRecordReader", [fixed], "read", record_bytes=1, hop_bytes=-1)
    use("WholeFileReader", [text, empty], "2 save read n w save read")
    use("WholeFileReader", [missing, empty], "read read w")
    use("IdentityReader", [text, empty, "z"], "read save 2 n w save restore n w save damaged reset read")
    return steps


def staging(pool: Pool) -> list[Any]:
    types = [tf.float32, tf.string]
    values = [constant(pool((2,), "float32")), constant(b"x")]
    area: dict[str, Any] = {"dtypes": types, "capacity": 2, "shared_name": "area"}
    small: dict[str, Any] = {"dtypes": [tf.float32], "memory_limit": 4, "shared_name": "small"}

    def put(*tensors: tf.Tensor) -> Any:
        return raw.Stage(values=list(tensors), capacity=2, shared_name="area")
    steps = [put(*values), put(constant([7.0], np.float32), constant(b"y")), raw.StageSize(**area), raw.StagePeek(index=constant(1), **area),
             raw.Unstage(**area), raw.Unstage(**area), raw.StageSize(**area), put(*values), raw.StageClear(**area), raw.StageSize(**area),
             raw.Stage(values=[values[0]], memory_limit=4, shared_name="small"), raw.StageSize(**small)]
    for order in ("Map", "OrderedMap"):
        common: dict[str, Any] = {"dtypes": types, "shared_name": order}

        def op(name: str, **inputs: Any) -> Any:
            return getattr(raw, order + name)(**inputs, **common)
        both, first, second = constant([0, 1]), constant([0], np.int32), constant([1], np.int32)
        sizes = [op("Size"), op("IncompleteSize")]
        steps += [op("Stage", key=i64(5)[0], indices=both, values=values), sizes, op("Peek", key=i64(5)[0], indices=both),
                  op("Unstage", key=i64(5)[0], indices=both), sizes, op("Stage", key=i64(3)[0], indices=second, values=values[1:]), sizes,
                  op("Stage", key=i64(3)[0], indices=second, values=values[1:]), op("Stage", key=i64(3)[0], indices=first, values=values[:1]), sizes,
                  op("UnstageNoKey", indices=both), op("Stage", key=i64(9)[0], indices=both, values=values), op("Clear"), sizes]
    return steps


CONTAINERS: tuple[Program, ...] = (Program("Tables of the first version", first_tables), Program("Dense tables", dense_tables),
                                   Program("Anonymous tables", anonymous_tables), Program("Queues of the first version", first_queues),
                                   Program("Stacks of the first version", first_stacks), Program("Readers", readers), Program("Staging", staging))
