"""Points of ops_vs_tensorflow.py: rows by index, random numbers, strings, variables and optimizers."""
from collections.abc import Callable
from typing import Any

import numpy as np
from op_points import MIDDLE, SIZES, add, constant, held, node, numbers, value
from tensorflow.python.framework import op_def_registry
from vs_tensorflow import tf, v1

WIDTH = 50  # of a table's rows


# --- rows by index --------------------------------------------------------------------------------------------------------

def gather(n: int) -> Callable[[], tf.Operation]:
    table, indices = value((n // WIDTH * 2, WIDTH)), value(n // WIDTH, tf.int64, 0, n // WIDTH * 2)
    return lambda: node("GatherV2", params=table, indices=indices, axis=0)


def gather_elements(n: int) -> Callable[[], tf.Operation]:
    x, indices = value(n), value(n, tf.int32, 0, n)
    return lambda: node("GatherV2", params=x, indices=indices, axis=0)


def one_hot(n: int) -> Callable[[], tf.Operation]:
    indices = value(n // WIDTH, tf.int64, 0, WIDTH)
    return lambda: node("OneHot", indices=indices, depth=WIDTH, on_value=1.0, off_value=0.0)


def gather_nd(n: int) -> Callable[[], tf.Operation]:
    table, indices = value((n // WIDTH * 2, WIDTH)), value((n // WIDTH, 1), tf.int64, 0, n // WIDTH * 2)
    return lambda: node("GatherNd", params=table, indices=indices)


def scatter_nd(n: int) -> Callable[[], tf.Operation]:
    updates, indices = value((n // WIDTH, WIDTH)), value((n // WIDTH, 1), tf.int64, 0, n // WIDTH)
    return lambda: node("ScatterNd", indices=indices, updates=updates, shape=constant([n // WIDTH, WIDTH], tf.int64))


def segments(op: str) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        rows = n // WIDTH
        x, count = value((rows, WIDTH)), max(rows // 4, 1)
        if op.startswith("Unsorted"):
            ids = value(rows, tf.int64, 0, count)
            return lambda: node(op, data=x, segment_ids=ids, num_segments=count)
        ids = held(tf.range(rows, dtype=tf.int32) * count // rows)
        if op.startswith("Sparse"):
            indices = value(rows, tf.int32, 0, rows)
            return lambda: node(op, data=x, indices=indices, segment_ids=ids)
        return lambda: node(op, data=x, segment_ids=ids)
    return make


def partition(n: int) -> Callable[[], tf.Operation]:
    x, parts = value((n // WIDTH, WIDTH)), value(n // WIDTH, tf.int32, 0, 4)
    return lambda: node("DynamicPartition", data=x, partitions=parts, num_partitions=4)


def stitch(n: int) -> Callable[[], tf.Operation]:
    rows = n // WIDTH // 2
    parts = [value((rows, WIDTH)) for _ in range(2)]
    evens = held(tf.range(rows) * 2)
    odds = held(tf.range(rows) * 2 + 1)
    return lambda: node("DynamicStitch", indices=[evens, odds], data=parts)


def sparse_matmul(n: int) -> Callable[[], tf.Operation]:
    rows = n // WIDTH
    indices = held(tf.concat([tf.range(rows, dtype=tf.int64)[:, None], numbers((rows, 1), tf.int64, 0, rows)], 1))
    weights, dense = value(rows), value((rows, WIDTH))
    return lambda: node("SparseTensorDenseMatMul", a_indices=indices, a_values=weights, a_shape=constant([rows, rows], tf.int64), b=dense)


add("GatherV2 of rows", gather)
add("GatherV2 of elements", gather_elements)
add("OneHot", one_hot)
add("GatherNd", gather_nd)
add("ScatterNd", scatter_nd)
for _op in ("UnsortedSegmentSum", "UnsortedSegmentMax", "SegmentSum", "SparseSegmentMean"):
    add(_op, segments(_op))
add("DynamicPartition", partition)
add("DynamicStitch", stitch)
add("SparseTensorDenseMatMul", sparse_matmul)


# --- random numbers, strings ----------------------------------------------------------------------------------------------

for _op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    add(_op, lambda n, op=_op: lambda: node(op, shape=constant([n]), dtype=tf.float32, seed=1, seed2=2))
add("StatelessRandomNormal", lambda n: lambda: node("StatelessRandomNormal", shape=constant([n]), seed=constant([1, 2]), dtype=tf.float32))


def shuffled(n: int) -> Callable[[], tf.Operation]:
    x = value((n // WIDTH, WIDTH))
    return lambda: node("RandomShuffle", value=x, seed=1, seed2=2)


def of_strings(op: str, **attrs: Any) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        whole = numbers(n, tf.int64, 0, 1 << 40)
        if op == "AsString":
            x = held(whole)
            return lambda: node(op, input=x)
        words = held(tf.strings.as_string(whole))
        return lambda: node(op, **({"inputs": [words, words]} if op == "StringJoin" else {"input": words}), **attrs)
    return make


add("RandomShuffle of rows", shuffled)
add("AsString", of_strings("AsString"), SIZES[:2])
add("StringJoin", of_strings("StringJoin"), SIZES[:2])
add("StringToHashBucketFast", of_strings("StringToHashBucketFast", num_buckets=1000), SIZES[:2])


# --- variables and optimizers ---------------------------------------------------------------------------------------------

def variable(by_handle: bool, *arguments: Any, **more: Any) -> Any:
    """A node's way to a variable: a handle or a reference."""
    v = v1.Variable(numbers(*arguments, **more), use_resource=by_handle)
    return v.handle if by_handle else v._ref()


def assign_add(by_handle: bool) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        v, x = variable(by_handle, n), value(n)
        if by_handle:
            return lambda: node("AssignAddVariableOp", resource=v, value=x)
        return lambda: node("AssignAdd", ref=v, value=x)
    return make


def scatter_add(by_handle: bool) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        rows = n // WIDTH
        v, x = variable(by_handle, (rows * 2, WIDTH)), value((rows, WIDTH))
        indices = value(rows, tf.int64, 0, rows * 2)
        if by_handle:
            return lambda: node("ResourceScatterAdd", resource=v, indices=indices, updates=x)
        return lambda: node("ScatterAdd", ref=v, indices=indices, updates=x)
    return make


def resource_gather(n: int) -> Callable[[], tf.Operation]:
    v, indices = variable(True, (n // WIDTH * 2, WIDTH)), value(n // WIDTH, tf.int64, 0, n // WIDTH * 2)
    return lambda: node("ResourceGather", resource=v, indices=indices, dtype=tf.float32)


for _by_handle in (False, True):
    add("AssignAddVariableOp" if _by_handle else "AssignAdd", assign_add(_by_handle))
    add("ResourceScatterAdd" if _by_handle else "ScatterAdd", scatter_add(_by_handle))
add("ResourceGather", resource_gather)

SCALARS = {"alpha": 1e-3, "lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.9, "beta2_power": 0.99, "epsilon": 1e-2,
           "rho": 0.75, "momentum": 0.5, "l1": 0.01, "l2": 0.02, "l2_shrinkage": 0.03, "lr_power": -0.5}
OPTIMIZERS = ("GradientDescent", "Momentum", "KerasMomentum", "Adam", "Adagrad", "AdagradV2", "RMSProp", "CenteredRMSProp", "Adadelta",
              "AdagradDA", "Ftrl", "FtrlV2", "ProximalGradientDescent", "ProximalAdagrad")


def optimizer(op: str) -> Callable[[int], Callable[[], tf.Operation]]:
    """Sparse: the gradient of some rows, in a table of four times as many."""
    definition = op_def_registry.get(op)

    def make(n: int) -> Callable[[], tf.Operation]:
        arguments: dict[str, Any] = {}
        rows = max(n // WIDTH, 1)
        for i, argument in enumerate(definition.input_arg):
            if argument.is_ref or argument.type == tf.resource.as_datatype_enum:
                shape = (rows * 4, WIDTH) if "Sparse" in op else n
                arguments[argument.name] = variable(op.startswith("Resource"), shape, low=1.0)
            elif argument.name in ("grad", "delta"):
                arguments[argument.name] = value((rows, WIDTH) if "Sparse" in op else n, low=-1.0, high=1.0)
            elif argument.name == "indices":
                arguments[argument.name] = value(rows, tf.int64, 0, rows * 4)
            else:
                arguments[argument.name] = constant(np.int64(3) if argument.name == "global_step" else np.float32(SCALARS[argument.name]))
        return lambda: node(op, **arguments)
    return make


for _name in OPTIMIZERS:
    for _prefix, _sizes in (("ResourceApply", SIZES), ("Apply", (MIDDLE,)), ("ResourceSparseApply", SIZES), ("SparseApply", (MIDDLE,))):
        if op_def_registry.get(_prefix + _name) is not None:
            add(_prefix + _name, optimizer(_prefix + _name), _sizes)
