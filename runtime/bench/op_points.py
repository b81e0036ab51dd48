"""The points of ops_vs_tensorflow.py: what one kernel is given to work on. Here: element by element, reductions, moves.

A point is made in two steps: `make()` adds its inputs to the graph, as variables that both kinds of servers fill with the
same random numbers, and returns a function that adds one node of the op each time it is called.
"""
import dataclasses
from collections.abc import Callable
from typing import Any

from tensorflow.python.framework import op_def_library, op_def_registry
from vs_tensorflow import tf, v1

SMALL, MIDDLE, LARGE = SIZES = 1_000, 100_000, 4_000_000
MATRIX = {SMALL: (20, 50), MIDDLE: (250, 400), LARGE: (2000, 2000)}
IMAGES = {SMALL: (2, 5, 5, 20), MIDDLE: (4, 25, 25, 40), LARGE: (16, 50, 50, 100)}


@dataclasses.dataclass(frozen=True)
class Point:
    name: str
    size: int | str  # roughly how many elements, or the name of another group
    make: Callable[[], Callable[[], tf.Operation]]


POINTS: list[Point] = []


def add(name: str, make: Callable[[int], Callable[[], tf.Operation]], sizes: tuple[int, ...] = SIZES) -> None:
    for n in sizes:
        POINTS.append(Point("%s %d" % (name, n), n, lambda n=n: make(n)))


def node(op: str, **arguments: Any) -> tf.Operation:
    """Straight from the op's definition, so that no client code puts other nodes in between."""
    inferred = {name for a in op_def_registry.get(op).input_arg for name in (a.type_attr, a.number_attr, a.type_list_attr)}
    defaults = {a.name: None for a in op_def_registry.get(op).attr if a.name not in inferred}
    return op_def_library._apply_op_helper(op, **{**defaults, **arguments})[2]


def numbers(shape: Any, dtype: Any = tf.float32, low: float = -2.0, high: float = 2.0) -> tf.Tensor:
    """The same for the same arguments."""
    shape, dtype = (shape,) if isinstance(shape, int) else tuple(shape), tf.as_dtype(dtype)
    if dtype == tf.bool:
        return v1.random_uniform(shape, seed=1) < 0.5
    if dtype.is_integer:
        return tf.cast(v1.random_uniform(shape, int(low), int(high), tf.int64, seed=1), dtype)
    return tf.cast(v1.random_uniform(shape, low, high, seed=1), dtype)


def held(start: tf.Tensor) -> tf.Tensor:
    """Nobody may write over it, as over what a variable holds."""
    return v1.Variable(start, use_resource=False).value()


def value(*arguments: Any, **more: Any) -> tf.Tensor:
    return held(numbers(*arguments, **more))


def constant(of: Any, dtype: Any = None) -> tf.Tensor:
    return tf.constant(of, dtype)


# --- element by element ---------------------------------------------------------------------------------------------------

def unary(op: str, low: float = -2.0, name: str = "x", dtype: Any = tf.float32, **attrs: Any) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        x = value(n, dtype, low)
        return lambda: node(op, **{name: x}, **attrs)
    kinds = [v.name for v in attrs.values()]
    add(" ".join([op] + (["%s to" % tf.as_dtype(dtype).name] + kinds if kinds else [])), make)


for _op in ("Neg", "Abs", "Sign", "Square", "Round", "Exp", "Tanh", "Sigmoid", "Sin", "Erf"):
    unary(_op)
for _op in ("Sqrt", "Rsqrt", "Log", "Log1p"):
    unary(_op, low=0.1)
for _op in ("Relu", "Elu", "Softplus"):
    unary(_op, name="features")
for _from, _to in ((tf.float32, tf.int32), (tf.float32, tf.half), (tf.bfloat16, tf.float32), (tf.int64, tf.float32), (tf.bool, tf.float32)):
    unary("Cast", dtype=_from, DstT=_to)


def binary(op: str, low: float = -2.0, dtype: Any = tf.float32, names: tuple[str, str] = ("x", "y")) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        x, y = value(n, dtype, low), value(n, dtype, low)
        return lambda: node(op, **{names[0]: x, names[1]: y})
    add(op, make)


for _op in ("AddV2", "Mul", "Maximum", "SquaredDifference", "Greater"):
    binary(_op)
for _op in ("RealDiv", "Pow"):
    binary(_op, low=0.1)
binary("FloorMod", low=1, dtype=tf.int32)
binary("TanhGrad", names=("y", "dy"))
binary("ReluGrad", names=("gradients", "features"))


def broadcast(name: str, op: str, second: Callable[[tuple[int, int]], Any], names: tuple[str, str] = ("x", "y")) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        x, y = value(MATRIX[n]), value(second(MATRIX[n]))
        return lambda: node(op, **{names[0]: x, names[1]: y})
    add(name, make)


broadcast("AddV2 of a scalar", "AddV2", lambda shape: ())
broadcast("AddV2 of a row", "AddV2", lambda shape: shape[1:])
broadcast("Mul by a column", "Mul", lambda shape: (shape[0], 1))
broadcast("BiasAdd", "BiasAdd", lambda shape: shape[1:], ("value", "bias"))


def select(n: int) -> Callable[[], tf.Operation]:
    condition, x, y = value(n, tf.bool), value(n), value(n)
    return lambda: node("SelectV2", condition=condition, t=x, e=y)


def add_n(n: int) -> Callable[[], tf.Operation]:
    inputs = [value(n) for _ in range(4)]
    return lambda: node("AddN", inputs=inputs)


add("SelectV2", select)
add("AddN of 4", add_n)


# --- reductions -----------------------------------------------------------------------------------------------------------

def reduction(op: str, axes: list[int], label: str, dtype: Any = tf.float32) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        x = value(MATRIX[n], dtype)
        name = "input" if op in ("Sum", "Mean", "Max", "Prod", "All") else "x"
        return lambda: node(op, **{name: x, "reduction_indices": constant(axes, tf.int32)})
    add("%s of %s" % (op, label), make)


for _op in ("Sum", "Max"):
    for _axes, _label in (([0, 1], "all"), ([1], "rows"), ([0], "columns")):
        reduction(_op, _axes, _label)
reduction("Mean", [1], "rows")
reduction("All", [0, 1], "all", tf.bool)


def over_matrix(name: str, op: str, argument: str, **more: Any) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        x = value(MATRIX[n])
        return lambda: node(op, **{argument: x}, **more)
    add(name, make)


over_matrix("L2Loss", "L2Loss", "t")
over_matrix("ArgMax of rows", "ArgMax", "input", dimension=1)
over_matrix("ArgMax of columns", "ArgMax", "input", dimension=0)
over_matrix("Cumsum along rows", "Cumsum", "x", axis=1)
over_matrix("BiasAddGrad", "BiasAddGrad", "out_backprop")
over_matrix("TopKV2", "TopKV2", "input", k=8)
over_matrix("Softmax", "Softmax", "logits")
over_matrix("LogSoftmax", "LogSoftmax", "logits")


def cross_entropy(sparse: bool) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        rows, classes = MATRIX[n]
        x = value(MATRIX[n])
        if sparse:
            labels = value(rows, tf.int64, 0, classes)
            return lambda: node("SparseSoftmaxCrossEntropyWithLogits", features=x, labels=labels)
        labels = value(MATRIX[n], tf.float32, 0)
        return lambda: node("SoftmaxCrossEntropyWithLogits", features=x, labels=labels)
    return make


add("SoftmaxCrossEntropyWithLogits", cross_entropy(False))
add("SparseSoftmaxCrossEntropyWithLogits", cross_entropy(True))


# --- what only moves elements ---------------------------------------------------------------------------------------------

over_matrix("Transpose of a matrix", "Transpose", "x", perm=[1, 0])
over_matrix("Split by columns", "Split", "value", split_dim=1, num_split=2)
over_matrix("Pad", "Pad", "input", paddings=[[1, 1], [2, 2]])
over_matrix("MirrorPad", "MirrorPad", "input", paddings=[[1, 1], [2, 2]], mode="REFLECT")
over_matrix("Slice", "Slice", "input", begin=[1, 2], size=[-1, -1])
over_matrix("StridedSlice by 2", "StridedSlice", "input", begin=[0, 0], end=[0, 0], strides=[2, 2], begin_mask=3, end_mask=3)
over_matrix("ReverseV2", "ReverseV2", "tensor", axis=[1])
over_matrix("Tile", "Tile", "input", multiples=[1, 2])
over_matrix("Where", "Where", "input")


def transpose_images(n: int) -> Callable[[], tf.Operation]:
    x = value(IMAGES[n])
    return lambda: node("Transpose", x=x, perm=[0, 3, 1, 2])


def joined(op: str, axis: int, name: str) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        rows, columns = MATRIX[n]
        parts = [value((rows // 2, columns // 2)) for _ in range(4)]
        return lambda: node(op, values=parts, **{name: axis})
    return make


def fill(n: int) -> Callable[[], tf.Operation]:
    return lambda: node("Fill", dims=constant(MATRIX[n]), value=1.5)


def broadcast_to(n: int) -> Callable[[], tf.Operation]:
    x = value(MATRIX[n][1])
    return lambda: node("BroadcastTo", input=x, shape=constant(MATRIX[n]))


def number_range(n: int) -> Callable[[], tf.Operation]:
    return lambda: node("Range", start=0, limit=n, delta=1)


def unique(n: int) -> Callable[[], tf.Operation]:
    x = value(n, tf.int64, 0, n // 2)
    return lambda: node("Unique", x=x)


add("Transpose of images to channels first", transpose_images)
add("ConcatV2 of rows", joined("ConcatV2", 0, "axis"))
add("ConcatV2 of columns", joined("ConcatV2", 1, "axis"))
add("Pack", joined("Pack", 0, "axis"))
add("Fill", fill)
add("BroadcastTo", broadcast_to)
add("Range", number_range)
add("Unique", unique)
