"""Programs for ops that only mean something together: variables, queues, lists, arrays and tables of tensors, loops."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool

v1 = tf.compat.v1
raw = tf.raw_ops


@dataclasses.dataclass(frozen=True)
class Program:
    """Builds a graph and says what to run: fetches, step after step in one session. Errors are compared by their codes."""

    name: str
    build: Callable[[Pool], list[Any]]
    ulps: float = 16.0


def constant(value: Any, dtype: Any = None) -> tf.Tensor:
    """A value whose shape and contents no part of a graph knows before the step; whole numbers are int32 unless said."""
    given = np.asarray(value, dtype)
    if dtype is None and given.dtype == np.int64 and not isinstance(value, np.ndarray):
        given = given.astype(np.int32)
    return v1.placeholder_with_default(given, None)


ANY = np.int32(-1)


def hidden(handle: tf.Tensor) -> tf.Tensor:
    """The same list, of whose elements the graph knows nothing: mistakes are found by the kernels."""
    return v1.placeholder_with_default(handle, ())


def filled_list(*rows: list[float]) -> tf.Tensor:
    handle = raw.EmptyTensorList(element_shape=ANY, max_num_elements=-1, element_dtype=tf.float32)
    for row in rows:
        handle = raw.TensorListPushBack(input_handle=handle, tensor=constant(row, np.float32))
    return handle


def stacked(handle: tf.Tensor, shape: Any = ANY) -> tf.Tensor:
    return raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=tf.float32)


def list_items(pool: Pool) -> list[Any]:
    three = filled_list([1, 2], [3, 4], [5, 6])
    shorter, last = raw.TensorListPopBack(input_handle=three, element_shape=ANY, element_dtype=tf.float32)
    changed = raw.TensorListSetItem(input_handle=three, index=constant(1), item=constant([7, 8], np.float32))
    reserved = raw.TensorListReserve(element_shape=[2], num_elements=constant(3), element_dtype=tf.float32)
    some = raw.TensorListSetItem(input_handle=reserved, index=constant(2), item=constant([9, 9], np.float32))
    grown = raw.TensorListSetItem(input_handle=three, index=constant(4), item=constant([9, 9], np.float32), resize_if_index_out_of_bounds=True)
    both = raw.TensorListConcatLists(input_a=three, input_b=filled_list([0, 1]), element_dtype=tf.float32)
    unlike = raw.TensorListConcatLists(input_a=three, input_b=some, element_dtype=tf.float32)
    get = [raw.TensorListGetItem(input_handle=some, index=constant(i), element_shape=ANY, element_dtype=tf.float32) for i in (0, 2, 3, -1)]
    shapes = [raw.TensorListElementShape(input_handle=h, shape_type=tf.int32) for h in (three, reserved)]
    resized = raw.TensorListResize(input_handle=some, size=constant(5))
    return [stacked(three), stacked(shorter), last, stacked(changed), stacked(some), stacked(grown), stacked(both), stacked(unlike), stacked(resized), *get,
            raw.TensorListLength(input_handle=both), *shapes,
            stacked(raw.AddN(inputs=[three, changed])), stacked(raw.ZerosLike(x=three)), stacked(filled_list()), stacked(filled_list(), [2]),
            raw.TensorListPopBack(input_handle=filled_list(), element_shape=ANY, element_dtype=tf.float32)[1],
            raw.TensorListGetItem(input_handle=hidden(three), index=constant(0), element_shape=ANY, element_dtype=tf.int32),
            stacked(raw.TensorListSetItem(input_handle=hidden(reserved), index=constant(0), item=constant([1, 2, 3], np.float32))),
            stacked(filled_list([1], [1, 2])), stacked(hidden(three), [3])]


def list_conversions(pool: Pool) -> list[Any]:
    rows = constant(pool((4, 2), "float32"))
    whole = raw.TensorListFromTensor(tensor=rows, element_shape=[2])
    ragged = raw.TensorListSplit(tensor=rows, element_shape=ANY, lengths=constant([1, 0, 3], np.int64))
    scattered = raw.TensorListScatterV2(tensor=rows, indices=constant([3, 0, 1, 5]), element_shape=[2], num_elements=constant(6))
    older = raw.TensorListScatter(tensor=rows, indices=constant([3, 0, 1, 2]), element_shape=[2])
    existing = raw.TensorListScatterIntoExistingList(input_handle=whole, tensor=rows, indices=constant([4, 0, 1, 2]))

    def joined(handle: tf.Tensor, leading: Any = ()) -> Any:
        return list(raw.TensorListConcatV2(input_handle=handle, element_shape=ANY, leading_dims=constant(leading, np.int64), element_dtype=tf.float32))
    batch = raw.TensorListPushBackBatch(input_handles=tf.stack([whole, older]), tensor=rows[:2])
    old_join = list(raw.TensorListConcat(input_handle=ragged, element_dtype=tf.float32, element_shape=[None, 2]))
    return [old_join, stacked(batch[0]), stacked(batch[1]), stacked(whole), joined(ragged), stacked(scattered), stacked(older), stacked(existing),
            raw.TensorListGather(input_handle=whole, indices=constant([2, 0]), element_shape=ANY, element_dtype=tf.float32),
            raw.TensorListGather(input_handle=whole, indices=constant([4]), element_shape=ANY, element_dtype=tf.float32),
            stacked(raw.TensorListFromTensor(tensor=constant(1.0, np.float32), element_shape=ANY)),
            stacked(raw.TensorListSplit(tensor=rows, element_shape=ANY, lengths=constant([1, 1], np.int64))),
            stacked(raw.TensorListSplit(tensor=rows, element_shape=ANY, lengths=constant([9], np.int64)))]


def stacks(pool: Pool) -> list[Any]:
    stack = raw.StackV2(max_size=constant(3), elem_type=tf.float32)
    push = raw.StackPushV2(handle=stack, elem=constant([1.0, 2.0], np.float32))
    with tf.control_dependencies([push]):
        pop = raw.StackPopV2(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([pop]):
        close = raw.StackCloseV2(handle=stack)
    return [pop, [pop, close], raw.StackPopV2(handle=stack, elem_type=tf.float32)]


def optionals(pool: Pool) -> list[Any]:
    some = raw.OptionalFromValue(components=[constant([1.0, 2.0], np.float32), constant(b"x")])
    none = raw.OptionalNone()

    def value(optional: tf.Tensor, shape: Any = None, dtype: Any = tf.float32) -> Any:
        return list(raw.OptionalGetValue(optional=optional, output_types=[dtype, tf.string], output_shapes=[shape, None]))
    return [raw.OptionalHasValue(optional=some), raw.OptionalHasValue(optional=none), value(some), value(none), value(some, [3]), value(some, None, tf.int32)]


def tensor_arrays(pool: Pool) -> list[Any]:
    """As lists of tensors, or as resources where control flow is of the first kind."""
    def array(size: int, **options: Any) -> tf.TensorArray:
        return tf.TensorArray(tf.float32, constant(size), **options)
    rows = constant(pool((3, 2), "float32"))
    return [array(3).unstack(rows).stack(), array(3, clear_after_read=False).unstack(rows).gather(constant([2, 0, 2])),
            array(2, infer_shape=False).split(rows, constant([1, 2])).concat(), array(2, element_shape=[2]).write(constant(1), rows[0]).stack(),
            array(0, dynamic_size=True).write(constant(2), rows[0]).size(), array(1).write(constant(4), rows[0]).size(),
            array(2).write(constant(0), rows[0]).write(constant(0), rows[0]).size(), array(2).read(constant(0)), array(2).read(constant(5)),
            array(3).unstack(rows).read(constant(1)), array(2).unstack(rows).size()]


def tensor_array_resources(pool: Pool) -> list[Any]:
    v1.disable_control_flow_v2()
    try:
        array = tf.TensorArray(tf.float32, constant(2))
        return [*tensor_arrays(pool), array.close()]
    finally:
        v1.enable_control_flow_v2()


def loops(control_flow_v2: bool) -> Callable[[Pool], list[Any]]:
    """Loops with their gradients, through TensorArrays, in the v1 style or as functions."""
    def build(pool: Pool) -> list[Any]:
        was_on = v1.control_flow_v2_enabled()
        (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
        try:
            x = constant(pool((5, 3), "float32", "unit"))
            x.set_shape((5, 3))
            scanned = tf.scan(lambda a, e: tf.tanh(a + e), x)
            mapped = tf.map_fn(lambda e: tf.reduce_sum(e * e), x)
            total = v1.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * 1.5 + tf.gather(x, i)), [tf.constant(0), tf.zeros([3])])[1]
            chosen = v1.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: tf.sin(x))
            outputs = [scanned, mapped, total, chosen]
            return [*outputs, *(v1.gradients(y, [x])[0] for y in outputs)]
        finally:
            (v1.enable_control_flow_v2 if was_on else v1.disable_control_flow_v2)()
    return build


def tables(pool: Pool) -> list[Any]:
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "vocabulary")
    with open(path, "w", encoding="utf-8") as out:
        out.write("a\t1\nb\t2\nc\t3\n")
    keys = constant([b"b", b"x", b"a"])

    def find(table: tf.Tensor, default: Any = -1) -> tf.Tensor:
        return raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=np.int64(default))

    def static(name: str) -> tf.Tensor:
        return raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=name)
    table, from_file, by_line = static("one"), static("file"), static("line")
    mutable = raw.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="mutable")
    of_tensors = raw.MutableHashTableOfTensorsV2(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[2], shared_name="tensors")
    fill = raw.InitializeTableV2(table_handle=table, keys=constant([b"a", b"b"]), values=constant([1, 2], np.int64))
    refill = raw.InitializeTableV2(table_handle=table, keys=constant([b"a", b"b"]), values=constant([1, 3], np.int64))
    twice = raw.InitializeTableV2(table_handle=static("twice"), keys=constant([b"a", b"a"]), values=constant([1, 3], np.int64))
    fill_file = raw.InitializeTableFromTextFileV2(table_handle=from_file, filename=path, key_index=0, value_index=1)
    fill_line = raw.InitializeTableFromTextFileV2(table_handle=by_line, filename=path, key_index=0, value_index=-1, offset=10, vocab_size=2)
    bad_file = raw.InitializeTableFromTextFileV2(table_handle=static("bad"), filename=path, key_index=1, value_index=0)
    insert = raw.LookupTableInsertV2(table_handle=mutable, keys=constant([b"a", b"b", b"a"]), values=constant([1, 2, 3], np.int64))
    bad_insert = raw.LookupTableInsertV2(table_handle=mutable, keys=constant([b"a"]), values=constant([1, 2], np.int64))
    remove = raw.LookupTableRemoveV2(table_handle=mutable, keys=constant([b"b", b"nobody"]))
    export = list(raw.LookupTableExportV2(table_handle=mutable, Tkeys=tf.string, Tvalues=tf.int64))
    replace = raw.LookupTableImportV2(table_handle=mutable, keys=constant([b"b"]), values=constant([9], np.int64))
    insert_rows = raw.LookupTableInsertV2(table_handle=of_tensors, keys=constant([7, -7], np.int64), values=constant(pool((2, 2), "float32")))
    rows = raw.LookupTableFindV2(table_handle=of_tensors, keys=constant([-7, 1], np.int64), default_value=constant([0.5, 0.25], np.float32))
    return [find(table), fill, fill, find(table), find(table, 7), refill, twice, raw.LookupTableSizeV2(table_handle=table), fill_file, find(from_file),
            fill_line, find(by_line), bad_file, find(mutable), insert, find(mutable), bad_insert, remove, export, raw.LookupTableSizeV2(table_handle=mutable),
            replace, find(mutable), insert_rows, rows]


def ref_variables(pool: Pool) -> list[Any]:
    return variables(pool, False)


def resource_variables(pool: Pool) -> list[Any]:
    return variables(pool, True)


def variables(pool: Pool, use_resource: bool) -> list[Any]:
    steps: list[Any] = []
    for dtype in ("float32", "float64", "int32", "int64"):
        start = pool((4, 3), dtype, "small")
        v = v1.get_variable("v_" + dtype, initializer=start, use_resource=use_resource)
        unset = v1.get_variable("unset_" + dtype, initializer=start, use_resource=use_resource)
        rows, updates = constant([0, 2, 0]), constant(pool((3, 3), dtype, "positive"))
        places = constant([[0, 1], [3, 2]])
        two = constant(pool((2,), dtype, "positive"))
        steps += [v.initializer, v1.is_variable_initialized(v), v1.is_variable_initialized(unset), unset, v1.assign_add(v, start), v1.assign_sub(v, start * 2)]
        for op in ("add", "sub", "mul", "max", "min", "update"):
            steps += [getattr(v1, "scatter_" + op)(v, rows if op != "update" else rows[:2], updates if op != "update" else updates[:2]), v]
        for op in ("add", "sub", "update"):
            steps += [getattr(v1, "scatter_nd_" + op)(v, places, two), v]
        steps += [v[1:3, 0].assign(two), v, v1.scatter_add(v, constant([7]), updates[:1]), tf.gather(v, constant([3, 1])), tf.gather_nd(v, places),
                  tf.gather(v, constant([4]))]
    return steps


def queues(pool: Pool) -> list[Any]:
    fifo = v1.FIFOQueue(4, [tf.float32, tf.string], shapes=[[2], []], shared_name="fifo")
    padding = v1.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]], shared_name="padding")
    priority = v1.PriorityQueue(10, [tf.string], shapes=[[]], shared_name="priority")
    shuffle = v1.RandomShuffleQueue(20, 0, [tf.int32], shapes=[[]], seed=5, shared_name="shuffle")
    many = fifo.enqueue_many([constant(pool((3, 2), "float32")), constant([b"a", b"b", b"c"])])
    bad = fifo.enqueue([constant([1.0, 2.0, 3.0], np.float32), constant(b"x")])
    return [many, fifo.size(), bad, fifo.dequeue(), fifo.dequeue_many(2), fifo.enqueue([constant([1.0, 2.0], np.float32), constant(b"z")]), fifo.close(),
            fifo.is_closed(), fifo.dequeue_up_to(3), fifo.dequeue(), many,
            padding.enqueue([constant([1, 2, 3])]), padding.enqueue([constant([4], np.int32)]), padding.dequeue_many(2),
            priority.enqueue_many([constant([3, 1, 2], np.int64), constant([b"3", b"1", b"2"])]), priority.dequeue(), priority.dequeue_many(2),
            shuffle.enqueue_many([constant(np.arange(12, dtype=np.int32))]), shuffle.dequeue_many(6), shuffle.dequeue(), shuffle.dequeue_many(5)]


def accumulators(pool: Pool) -> list[Any]:
    dense = v1.ConditionalAccumulator(tf.float32, shape=[2], shared_name="dense")
    total = v1.ConditionalAccumulator(tf.float64, shape=[2], shared_name="sum", reduction_type="SUM")
    sparse = v1.SparseConditionalAccumulator(tf.float32, shape=[4, 2], shared_name="sparse")

    def indexed(*rows: int) -> tf.IndexedSlices:
        return tf.IndexedSlices(constant(pool((len(rows), 2), "float32")), constant(rows, np.int64), constant([4, 2], np.int64))
    taken = sparse.take_indexed_slices_grad(2)
    return [dense.apply_grad(constant([1.0, 2.0], np.float32)), dense.apply_grad(constant([5.0, 5.0], np.float32)), dense.num_accumulated(), dense.take_grad(2),
            dense.num_accumulated(), dense.apply_grad(constant([1.0, 2.0], np.float32), local_step=0), dense.num_accumulated(),
            dense.apply_grad(constant([1.0, 2.0, 3.0], np.float32), local_step=5), dense.set_global_step(9),
            total.apply_grad(constant([1.0, 2.0])), total.apply_grad(constant([5.0, 5.0])), total.take_grad(1),
            sparse.apply_indexed_slices_grad(indexed(0, 2)), sparse.apply_indexed_slices_grad(indexed(2, 3)),
            [taken.indices, taken.values, taken.dense_shape]]


def random_ops(pool: Pool) -> list[Any]:
    """Stateful: two steps of each, in which the second goes on where the first stopped."""
    shape = constant([3, 50])
    drawn: list[Any] = []
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        for op in (raw.RandomUniform, raw.RandomStandardNormal, raw.TruncatedNormal):
            drawn.append(op(shape=shape, dtype=dtype, seed=7, seed2=11))
    for dtype in (np.int32, np.int64):
        drawn.append(raw.RandomUniformInt(shape=shape, minval=dtype(-5), maxval=dtype(1000), seed=3, seed2=1 << 40))
    drawn += [raw.RandomShuffle(value=constant(np.arange(40)), seed=1, seed2=2), raw.RandomShuffle(value=constant(pool((9, 2), "float32")), seed=3, seed2=2),
              raw.Multinomial(logits=constant(pool((3, 7), "float32")), num_samples=constant(20), seed=4, seed2=5),
              raw.RandomUniform(shape=constant([0, 3]), dtype=tf.float32, seed=1), raw.RandomUniform(shape=constant([-1]), dtype=tf.float32, seed=1),
              raw.RandomUniformInt(shape=shape, minval=np.int32(5), maxval=np.int32(5), seed=1)]
    return drawn * 2


def stateless_random_ops(pool: Pool) -> list[Any]:
    shape, seed = constant([2, 37]), constant([5, -9], np.int64)
    drawn: list[Any] = [list(raw.StatelessRandomGetKeyCounter(seed=seed))]
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        for op in (raw.StatelessRandomUniform, raw.StatelessRandomNormal, raw.StatelessTruncatedNormal):
            drawn.append(op(shape=shape, seed=seed, dtype=dtype))
        key, counter = raw.StatelessRandomGetKeyCounter(seed=constant([1, 2], np.int32))
        for op in (raw.StatelessRandomUniformV2, raw.StatelessRandomNormalV2, raw.StatelessTruncatedNormalV2):
            drawn.append(op(shape=shape, key=key, counter=counter, alg=1, dtype=dtype))
    for dtype in (tf.int32, tf.int64):
        drawn.append(raw.StatelessRandomUniformInt(shape=shape, seed=seed, minval=tf.cast(-3, dtype), maxval=tf.cast(99, dtype)))
        drawn.append(raw.StatelessRandomUniformFullInt(shape=shape, seed=seed, dtype=dtype))
    drawn += [raw.StatelessMultinomial(logits=constant(pool((3, 7), "float32")), num_samples=constant(20), seed=seed),
              raw.StatelessRandomUniform(shape=shape, seed=constant([1, 2, 3], np.int64), dtype=tf.float32),
              raw.StatelessRandomUniformV2(shape=shape, key=constant([1], np.uint64), counter=constant([1, 2], np.uint64), alg=9, dtype=tf.float32)]
    return drawn


PROGRAMS: tuple[Program, ...] = (
    Program("TensorList items", list_items),
    Program("TensorList conversions", list_conversions),
    Program("Optionals", optionals),
    Program("Stacks", stacks),
    Program("TensorArrays", tensor_arrays),
    Program("TensorArrays that are resources", tensor_array_resources),
    Program("Loops in the v1 style", loops(False), 64),
    Program("Loops as functions", loops(True), 64),
    Program("Tables", tables),
    Program("Variables by reference", ref_variables),
    Program("Variables by handle", resource_variables),
    Program("Queues", queues),
    Program("Accumulators", accumulators),
    Program("Random ops", random_ops, 4),
    Program("Stateless random ops", stateless_random_ops, 4),
)
