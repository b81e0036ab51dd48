"""What lines of the op test are made of. A line names an op, its element types and where its cases come from.

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
    outputs: int | None = None  # how many outputs are compared, where TensorFlow leaves the others to chance
    open_shapes: bool = False  # the graph does not say the inputs' shapes: errors are the kernels', not the client's


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
           ulps: float = 16.0, **options: Any) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for make in makers:
            yield make(pool, dtype)
    return Line(op, dtypes, cases, ulps, **options)


def refused(op: str, dtypes: tuple[str, ...], *makers: Callable[[Pool, str], Arguments]) -> Line:
    """Arguments that TensorFlow's kernels refuse, and so must ours, with the same code."""
    return listed(op, dtypes, *makers, open_shapes=True)


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


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)
