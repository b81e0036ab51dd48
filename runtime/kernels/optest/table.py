"""What the op test runs: one line per op. A line names the op, its element types and where its cases come from.

`pool` makes the values: pool(shape, dtype, domain) is an array that is the same on every run. Domains: any
(-4 to 4), positive, nonzero, unit (inside -1 to 1), near1, above1, small (0 to 5), bits (the whole range of an integer).
Element types are compared exactly unless they are floating; `ulps` widens a floating tolerance for functions
that are allowed more than rounding (in units of the type's precision).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
REALS = FLOATS + INTS
NUMBERS = REALS + COMPLEX
INEXACT = FLOATS + COMPLEX
PLAIN = NUMBERS + ("bool",)
EVERY = PLAIN + ("string",)
INDEX = ("int32", "int64")

SHAPES = ((), (0,), (1,), (7,), (2, 3), (3, 0, 2), (4, 1, 5), (1025,), (33, 65), (120, 90))
PAIRS = (((), ()), ((5,), ()), ((), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((4, 1, 3), (2, 1)),
         ((0, 3), (1, 3)), ((64, 1), (1, 65)), ((5, 7, 11), (5, 7, 11)), ((5000,), (5000,)))

Pool = Callable[..., np.ndarray]
Arguments = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Line:
    """One op of the table. `cases` gives the arguments of each case: arrays are fed, the rest are attributes."""

    op: str
    dtypes: tuple[str, ...]
    cases: Callable[[Pool, str], Iterator[Arguments]]
    ulps: float = 4.0
    unordered: bool = False  # outputs may come in any order along the last axis


def unary(op: str, dtypes: tuple[str, ...], domain: str = "any", name: str = "x", ulps: float = 4.0,
          **attrs: Any) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for shape in SHAPES:
            yield {name: pool(shape, dtype, domain), **attrs}
    return Line(op, dtypes, cases, ulps)


def binary(op: str, dtypes: tuple[str, ...], first: str = "any", second: str = "any",
           names: tuple[str, str] = ("x", "y"), ulps: float = 4.0, **attrs: Any) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for a, b in PAIRS:
            yield {names[0]: pool(a, dtype, first), names[1]: pool(b, dtype, second), **attrs}
    return Line(op, dtypes, cases, ulps)


def gradient(op: str, dtypes: tuple[str, ...], names: tuple[str, str], domain: str = "any",
             ulps: float = 4.0) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for shape in SHAPES:
            yield {names[0]: pool(shape, dtype, domain), names[1]: pool(shape, dtype, "any")}
    return Line(op, dtypes, cases, ulps)


REDUCTIONS = (((), []), ((7,), [0]), ((0,), [0]), ((2, 3), []), ((2, 3), [1]), ((3, 4, 5), [1]),
              ((3, 4, 5), [0, -1]), ((2, 3, 4, 5), [1, 3]), ((0, 3), [0]), ((3000,), [0]),
              ((70, 33), [0]), ((33, 70), [-1]))


def reduction(op: str, dtypes: tuple[str, ...], domain: str = "any", ulps: float = 64.0) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for i, (shape, axes) in enumerate(REDUCTIONS):
            for keep in (False, True):
                yield {"input": pool(shape, dtype, domain), "keep_dims": keep,
                       "axis": np.array(axes, INDEX[i % 2])}
    return Line(op, dtypes, cases, ulps)


def listed(op: str, dtypes: tuple[str, ...], *makers: Callable[[Pool, str], Arguments],
           ulps: float = 16.0, unordered: bool = False) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for make in makers:
            yield make(pool, dtype)
    return Line(op, dtypes, cases, ulps, unordered)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def products(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for m, k, n in ((1, 1, 1), (3, 4, 5), (1, 64, 9), (40, 50, 60), (2, 0, 3), (0, 2, 3), (130, 70, 33)):
        for ta in (False, True):
            for tb in (False, True):
                yield {"a": pool((k, m) if ta else (m, k), dtype), "b": pool((n, k) if tb else (k, n), dtype),
                       "transpose_a": ta, "transpose_b": tb}


def batch_products(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for x, y in (((2, 3, 4), (2, 4, 5)), ((3, 1, 2, 3), (2, 3, 4)), ((3, 4), (2, 4, 1)), ((0, 2, 3), (0, 3, 2))):
        yield {"x": pool(x, dtype), "y": pool(y, dtype), "adj_x": False, "adj_y": False}
    yield {"x": pool((2, 4, 3), dtype), "y": pool((2, 5, 4), dtype), "adj_x": True, "adj_y": True}


def casts(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for to in PLAIN:
        yield {"x": pool((3, 50), dtype, "small"), "DstT": to}
        yield {"x": pool((), dtype, "small"), "DstT": to}


def selections(op: str) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for c, t in (((), (2, 3)), ((2, 3), (2, 3)), ((0, 3), (0, 3)), ((90, 80), (90, 80))):
            yield {"condition": pool(c, "bool"), "t": pool(t, dtype), "e": pool(t, dtype)}
        if op == "Select":
            yield {"condition": pool((4,), "bool"), "t": pool((4, 5), dtype), "e": pool((4, 5), dtype)}
        else:
            yield {"condition": pool((4, 1), "bool"), "t": pool((5,), dtype), "e": pool((4, 5), dtype)}
    return Line(op, EVERY, cases)


def softmax_losses(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for rows, classes in ((1, 1), (5, 10), (0, 4), (64, 100)):
        yield {"features": pool((rows, classes), dtype), "labels": pool((rows, classes), dtype, "unit")}
    yield {"features": pool((6, 5), dtype), "labels": pool((1, 5), dtype, "unit")}


TABLE: tuple[Line, ...] = (
    # Element by element, one argument.
    unary("Abs", FLOATS + SIGNED),
    unary("Neg", INEXACT + SIGNED),
    unary("Reciprocal", INEXACT, "nonzero"),
    unary("Inv", INEXACT, "nonzero"),
    unary("Sign", INEXACT + SIGNED),
    unary("Square", NUMBERS),
    unary("Sqrt", INEXACT, "positive"),
    unary("Rsqrt", INEXACT, "positive", ulps=16),
    unary("Exp", INEXACT, ulps=16),
    unary("Expm1", INEXACT, ulps=32),
    unary("Log", INEXACT, "positive", ulps=16),
    unary("Log1p", INEXACT, "positive", ulps=16),
    unary("Sin", INEXACT, ulps=16),
    unary("Cos", INEXACT, ulps=16),
    unary("Tan", INEXACT, "unit", ulps=16),
    unary("Asin", INEXACT, "unit", ulps=16),
    unary("Acos", INEXACT, "unit", ulps=16),
    unary("Atan", INEXACT, "unit", ulps=16),
    unary("Sinh", INEXACT, ulps=16),
    unary("Cosh", INEXACT, ulps=16),
    unary("Asinh", INEXACT, "positive", ulps=16),
    unary("Acosh", INEXACT, "above1", ulps=32),
    unary("Atanh", INEXACT, "unit", ulps=32),
    unary("Tanh", INEXACT, ulps=16),
    unary("Sigmoid", INEXACT, ulps=16),
    unary("Softplus", FLOATS, name="features", ulps=16),
    unary("Softsign", FLOATS, name="features"),
    unary("Floor", FLOATS),
    unary("Ceil", FLOATS),
    unary("Round", FLOATS + INDEX),
    unary("Rint", ("float32", "float64")),
    unary("IsNan", FLOATS),
    unary("IsInf", FLOATS),
    unary("IsFinite", FLOATS),
    unary("Erf", FLOATS, ulps=16),
    unary("Erfc", FLOATS, ulps=64),
    unary("LogicalNot", ("bool",)),
    unary("Invert", INTS, "bits"),
    unary("Relu", REALS, name="features"),
    unary("Relu6", REALS, name="features"),
    unary("Elu", FLOATS, name="features", ulps=16),
    unary("Selu", FLOATS, name="features", ulps=16),
    unary("LeakyRelu", FLOATS, name="features", alpha=0.3),
    unary("Real", COMPLEX, name="input", Tout="real"),
    unary("Imag", COMPLEX, name="input", Tout="real"),
    unary("Angle", COMPLEX, name="input", Tout="real"),
    unary("ComplexAbs", COMPLEX, Tout="real"),
    unary("Conj", COMPLEX, name="input"),
    gradient("TanhGrad", INEXACT, ("y", "dy"), "unit", ulps=8),
    gradient("SigmoidGrad", INEXACT, ("y", "dy"), "unit", ulps=8),
    gradient("SqrtGrad", INEXACT, ("y", "dy"), "positive", ulps=8),
    gradient("RsqrtGrad", INEXACT, ("y", "dy"), "positive", ulps=16),
    gradient("ReciprocalGrad", INEXACT, ("y", "dy"), ulps=8),
    gradient("InvGrad", INEXACT, ("y", "dy"), ulps=8),
    gradient("ReluGrad", REALS, ("gradients", "features")),
    gradient("Relu6Grad", REALS, ("gradients", "features")),
    gradient("SoftplusGrad", FLOATS, ("gradients", "features"), ulps=16),
    gradient("SoftsignGrad", FLOATS, ("gradients", "features"), ulps=8),
    gradient("EluGrad", FLOATS, ("gradients", "outputs"), ulps=8),
    gradient("SeluGrad", FLOATS, ("gradients", "outputs"), ulps=8),
    gradient("LeakyReluGrad", FLOATS, ("gradients", "features")),
    # Element by element, two arguments that broadcast.
    binary("Add", FLOATS + SIGNED + ("uint8",) + COMPLEX + ("string",)),
    binary("AddV2", NUMBERS),
    binary("Sub", NUMBERS),
    binary("Mul", NUMBERS),
    binary("MulNoNan", INEXACT),
    binary("RealDiv", INEXACT, second="nonzero"),
    binary("Div", NUMBERS, second="nonzero"),
    binary("DivNoNan", INEXACT),
    binary("FloorDiv", REALS, second="nonzero"),
    binary("TruncateDiv", REALS, second="nonzero"),
    binary("FloorMod", REALS, second="nonzero", ulps=16),
    binary("Mod", ("float32", "float64") + INDEX, second="nonzero", ulps=16),
    binary("Maximum", REALS),
    binary("Minimum", REALS),
    binary("Pow", INEXACT, "positive", ulps=64),
    binary("Pow", SIGNED, second="small"),
    binary("SquaredDifference", INEXACT + INDEX, ulps=8),
    binary("Xdivy", INEXACT, second="nonzero"),
    binary("Xlogy", INEXACT, second="positive", ulps=16),
    binary("Xlog1py", INEXACT, second="positive", ulps=16),
    binary("Atan2", FLOATS, names=("y", "x"), ulps=16),
    binary("Equal", EVERY, "small", "small"),
    binary("NotEqual", EVERY, "small", "small"),
    binary("Less", REALS, "small", "small"),
    binary("LessEqual", REALS, "small", "small"),
    binary("Greater", REALS, "small", "small"),
    binary("GreaterEqual", REALS, "small", "small"),
    binary("LogicalAnd", ("bool",)),
    binary("LogicalOr", ("bool",)),
    binary("BitwiseAnd", INTS, "bits", "bits"),
    binary("BitwiseOr", INTS, "bits", "bits"),
    binary("BitwiseXor", INTS, "bits", "bits"),
    binary("LeftShift", INTS, "bits", "small"),
    binary("RightShift", INTS, "bits", "small"),
    binary("Complex", ("float32", "float64"), names=("real", "imag"), Tout="complex"),
    # Choosing, adding up, converting.
    selections("Select"),
    selections("SelectV2"),
    listed("ClipByValue", FLOATS + SIGNED + ("uint8", "uint16"),  # TensorFlow has no others
           lambda p, t: {"t": p((6, 7), t), "clip_value_min": p((), t, "small"), "clip_value_max": p((), t, "small")},
           lambda p, t: {"t": p((9,), t), "clip_value_min": p((9,), t), "clip_value_max": p((), t)}),
    listed("AddN", NUMBERS,
           lambda p, t: {"inputs": [p((), t)]},
           lambda p, t: {"inputs": [p((3, 5), t), p((3, 5), t, "small"), p((3, 5), t, "unit")]},
           lambda p, t: {"inputs": [p((5000,), t, d) for d in ("any", "small", "unit", "positive") * 3]}),
    Line("Cast", PLAIN, casts),
    listed("BroadcastGradientArgs", INDEX,
           lambda p, t: {"s0": np.array([2, 1, 3], t), "s1": np.array([4, 1], t)},
           lambda p, t: {"s0": np.array([1, 2, 1], t), "s1": np.array([3, 2, 1], t)},
           lambda p, t: {"s0": np.array([], t), "s1": np.array([1, 5], t)},
           lambda p, t: {"s0": np.array([1, 1], t), "s1": np.array([1, 1], t)}),
    listed("BroadcastArgs", INDEX, lambda p, t: {"s0": np.array([2, 1, 3], t), "s1": np.array([4, 1], t)}),
    # Reductions and scans.
    reduction("Sum", NUMBERS),
    reduction("Mean", NUMBERS),
    reduction("Prod", NUMBERS, "near1", ulps=256),
    reduction("Max", REALS),
    reduction("Min", REALS),
    reduction("All", ("bool",)),
    reduction("Any", ("bool",)),
    reduction("EuclideanNorm", INEXACT, ulps=32),
    listed("ArgMax", REALS + ("bool",), *(
        lambda p, t, s=s, a=a, o=o: {"input": p(s, t), "dimension": np.int32(a), "output_type": o}
        for s, a in (((7,), 0), ((3, 4), 1), ((3, 4, 5), 1), ((0, 3), 1), ((90, 41), 0)) for o in INDEX)),
    listed("ArgMin", REALS + ("bool",), *(
        lambda p, t, s=s, a=a, o=o: {"input": p(s, t), "dimension": np.int64(a), "output_type": o}
        for s, a in (((7,), 0), ((3, 4), -1), ((3, 4, 5), 0), ((90, 41), 1)) for o in INDEX)),
    unary("L2Loss", FLOATS, name="t", ulps=64),
    listed("Cumsum", NUMBERS, *(
        lambda p, t, e=e, r=r, s=s, a=a: {"x": p(s, t), "axis": np.int32(a), "exclusive": e, "reverse": r}
        for e in (False, True) for r in (False, True) for s, a in (((6,), 0), ((3, 4, 5), 1), ((0, 2), 0))), ulps=32),
    listed("Cumprod", NUMBERS, *(
        lambda p, t, e=e, r=r: {"x": p((3, 5), t, "small"), "axis": np.int64(1), "exclusive": e, "reverse": r}
        for e in (False, True) for r in (False, True)), ulps=64),
    # Matrices.
    Line("MatMul", INEXACT + INDEX, products, ulps=512),
    Line("BatchMatMulV2", INEXACT + ("int16",) + INDEX, batch_products, ulps=64),
    listed("Qr", ("float32", "float64") + COMPLEX, *(
        lambda p, t, s=s, f=f: {"input": p(s, t), "full_matrices": f}
        for s in ((4, 3), (3, 4), (2, 5, 5)) for f in (False, True)), ulps=256),
    # Neural networks.
    listed("BiasAdd", NUMBERS, *(
        lambda p, t, s=s: {"value": p(s, t), "bias": p(s[-1:], t)} for s in ((2, 3), (4, 5, 6), (0, 3), (128, 100)))),
    listed("BiasAddGrad", NUMBERS, *(
        lambda p, t, s=s: {"out_backprop": p(s, t)} for s in ((2, 3), (4, 5, 6), (0, 3), (128, 100))), ulps=64),
    *(listed(op, FLOATS, *(lambda p, t, s=s: {"logits": p(s, t)} for s in ((1,), (7,), (2, 3), (3, 4, 5), (0, 4), (64, 100))),
             ulps=32) for op in ("Softmax", "LogSoftmax")),
    Line("SoftmaxCrossEntropyWithLogits", FLOATS, softmax_losses, ulps=128),
    *(listed("SparseSoftmaxCrossEntropyWithLogits", FLOATS, *(
        lambda p, t, r=r, c=c, i=i: {"features": p((r, c), t), "labels": (np.arange(r) % c).astype(i)}
        for r, c in ((1, 1), (5, 10), (0, 4), (64, 100))), ulps=64) for i in INDEX),
    unary("CheckNumerics", FLOATS, name="tensor", message="here"),
    listed("TopKV2", REALS, *(
        lambda p, t, s=s, k=k: {"input": p(s, t), "k": np.int32(k)}
        for s, k in (((7,), 3), ((3, 9), 1), ((3, 9), 9), ((2, 5), 0), ((4, 200), 20)))),
    listed("InTopKV2", INDEX, lambda p, t: {
        "predictions": p((20, 9), "float32"), "targets": (np.arange(20) % 9).astype(t), "k": np.array(3, t)}),
)
