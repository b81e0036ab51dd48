"""Programs for crossed columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool
from state_table import Program, constant

raw = tf.raw_ops


def strings(values: Any) -> tf.Tensor:
    return constant(np.array(values, object))


def i64(values: Any) -> tf.Tensor:
    return constant(np.array(values, np.int64))


def crosses(pool: Pool) -> list[Any]:
    where, shape = i64([[0, 0], [1, 0], [1, 1]]), i64([2, 2])
    texts, numbers = strings([b"a", b"b", b"c"]), i64([1, -2, 3])
    dense_texts, dense_numbers = strings([[b"x", b"y"], [b"z", b"w"]]), i64([[5], [6]])

    def first(values: list[Any], dense: list[Any], out: Any, internal: Any, buckets: int = 0) -> Any:
        n = len(values)
        return raw.SparseCross(indices=[where] * n, values=values, shapes=[shape] * n, dense_inputs=dense, hashed_output=out == tf.int64, num_buckets=buckets,
                               hash_key=0xDECAFCAFFE, out_type=out, internal_type=internal)

    def second(values: list[Any], dense: list[Any], indices: Any = where, shapes: Any = None) -> Any:
        n = len(values)
        return raw.SparseCrossV2(indices=[indices] * n, values=values, shapes=shapes or [shape] * n, dense_inputs=dense, sep=constant(b"-"))

    def hashed(values: list[Any], dense: list[Any], buckets: int = 0, strong: bool = False, salt: Any = (1, 2)) -> Any:
        n = len(values)
        return raw.SparseCrossHashed(indices=[where] * n, values=values, shapes=[shape] * n, dense_inputs=dense, num_buckets=i64(buckets),
                                     strong_hash=constant(strong), salt=i64(salt))
    rng = np.random.default_rng(8)
    rows = np.sort(rng.integers(0, 300, 900))
    many = i64(np.stack([rows, np.arange(900)], 1))
    big = [strings([b"value %d" % v for v in rng.integers(0, 99, 900)]), i64(rng.integers(-2**63, 2**63 - 1, 900))]
    wide = i64([300, 900])
    return [*(first([texts, numbers], [dense_texts], out, internal) for out in (tf.string, tf.int64) for internal in (tf.string, tf.int64)),
            *(first([texts], [dense_texts], out, tf.string) for out in (tf.string, tf.int64)), first([texts, numbers], [dense_numbers], tf.int64, tf.int64, 100),
            second([texts], [dense_numbers, dense_texts]), second([], [dense_texts]), second([], []), second([texts], [], i64([[0, 0], [2, 0], [1, 1]])),
            second([texts], [], i64([[1, 0], [0, 0], [1, 1]])), second([texts], [], shapes=[i64([2, 2, 2])]), second([texts[:2]], []),
            second([texts, texts], [], shapes=[shape, i64([3, 2])]), second([texts], [strings([[b"a"]])]), second([texts], [strings([b"a", b"b"])]),
            hashed([texts, numbers], [dense_numbers]), hashed([texts, numbers], [dense_numbers], 100), hashed([texts], []), hashed([numbers], [], -3),
            hashed([texts], [dense_texts], 0, True), hashed([i64([0, 0, 0]), numbers], []),
            raw.SparseCrossHashed(indices=[many, many], values=big, shapes=[wide, wide], dense_inputs=[], num_buckets=i64(10000), strong_hash=constant(False), salt=i64([0, 0])),
            raw.SparseCrossV2(indices=[many, many], values=big, shapes=[wide, wide], dense_inputs=[], sep=constant(b"_X_"))]


CROSSES: tuple[Program, ...] = (Program("Crosses", crosses),)
