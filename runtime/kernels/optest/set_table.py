"""Programs for operations on sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool
from state_table import Program, constant

raw = tf.raw_ops
OPERATIONS = ("a-b", "b-a", "intersection", "union")


def i64(values: Any) -> tf.Tensor:
    return constant(np.array(values, np.int64))


def sets(pool: Pool) -> list[Any]:
    steps: list[Any] = []

    def dense(a: Any, b: Any, operation: str) -> Any:
        return raw.DenseToDenseSetOperation(set1=constant(a), set2=constant(b), set_operation=operation)

    def mixed(a: Any, at: Any, values: Any, shape: Any, operation: str) -> Any:
        return raw.DenseToSparseSetOperation(set1=constant(a), set2_indices=i64(at), set2_values=constant(values), set2_shape=i64(shape), set_operation=operation)

    def sparse(a: Any, b: Any, operation: str) -> Any:
        return raw.SparseToSparseSetOperation(set1_indices=i64(a[0]), set1_values=constant(a[1]), set1_shape=i64(a[2]), set2_indices=i64(b[0]),
                                              set2_values=constant(b[1]), set2_shape=i64(b[2]), set_operation=operation)

    def size(at: Any, values: Any, shape: Any) -> Any:
        return raw.SetSize(set_indices=i64(at), set_values=constant(values), set_shape=i64(shape))
    where = [[0, 0], [1, 0], [1, 1]]
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "string"):
        a, b, few = pool((5, 4), dtype), pool((5, 6), dtype, "small"), pool((3,), dtype)
        for operation in OPERATIONS:
            steps += [dense(a, b, operation), dense(a.reshape(5, 2, 2), b.reshape(5, 2, 3), operation), mixed(a, where, few, [5, 2], operation),
                      sparse((where, few, [3, 2]), ([[0, 1], [2, 0]], few[:2], [3, 5]), operation)]
        steps += [size(where, few, [2, 2]), size(where, few, [4, 2]), size([[0, 1, 0]], few[:1], [2, 2, 3])]
    x, y = pool((2, 3), "int32"), pool((2, 2), "int32")
    steps += [dense(x[0], y[0], "union"), dense(x, y[:1], "union"), dense(x[:, :0], y[:, :0], "union"), dense(x, y, "xor"),
              mixed(x, [[1, 0], [0, 0], [1, 1]], y.reshape(-1)[:3], [2, 2], "union"), mixed(x, [[0, 0], [2, 0], [1, 1]], y.reshape(-1)[:3], [2, 2], "union"),
              mixed(x, where, y.reshape(-1)[:3], [3, 2], "union"), sparse((where, x[0], [2, 2]), (where, x[1], [3, 2]), "union"),
              size([[0, 0], [2, 0], [1, 1]], x[0], [2, 2]), size([[0]], x[0, :1], [2])]
    return steps


SETS: tuple[Program, ...] = (Program("Sets", sets),)
