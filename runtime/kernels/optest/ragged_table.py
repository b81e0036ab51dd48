"""Ragged tensors, and sparse and ragged ones as strings and variants."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from lines import Line, Pool, refused
from state_table import Program, constant

raw = tf.raw_ops


def i64(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def some_sparse(values: Any = None) -> dict[str, tf.Tensor]:
    return {"sparse_indices": constant(i64([0, 1], [0, 3], [2, 0], [2, 2])), "sparse_shape": constant(i64(4, 5)),
            "sparse_values": constant(np.array([1.5, 2.5, -3.0, 4.0], np.float32) if values is None else values)}


def serialized_sparse(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    for values in (None, i64(1, 2, 3, 4), np.array([b"a", b"", b"long" * 9, b"d"], object)):
        sparse = some_sparse(values)
        dtype = sparse["sparse_values"].dtype
        for kind in (tf.string, tf.variant):
            one, many = raw.SerializeSparse(**sparse, out_type=kind), raw.SerializeManySparse(**sparse, out_type=kind)
            stack = tf.stack([one, one, one])
            steps += [raw.DeserializeSparse(serialized_sparse=s, dtype=dtype) for s in (one, many, many[1], stack, tf.reshape(tf.stack([one] * 4), [2, 2, 3]))]
            steps += [tf.shape(one), tf.shape(many), raw.DeserializeSparse(serialized_sparse=one, dtype=tf.bool)]
        steps += [raw.DeserializeManySparse(serialized_sparse=raw.SerializeManySparse(**sparse), dtype=dtype)]
    hidden = constant(np.array([[b"x", b"y", b"z"]], object))
    vector = {"sparse_indices": constant(i64([0], [2])), "sparse_values": constant([1.0, 2.0], np.float32), "sparse_shape": constant(i64(3))}
    return steps + [raw.DeserializeManySparse(serialized_sparse=hidden, dtype=tf.float32), raw.DeserializeSparse(serialized_sparse=hidden[:, :2], dtype=tf.float32),
                    raw.DeserializeSparse(serialized_sparse=hidden[:0], dtype=tf.float32), raw.SerializeManySparse(**vector),
                    raw.DeserializeManySparse(serialized_sparse=raw.SerializeSparse(**vector)[None], dtype=tf.float32)]


def in_variants(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    outer, inner = constant(i64(0, 2, 2, 3)), constant(i64(0, 1, 4, 6))
    for values in (np.arange(6, dtype=np.float32), np.arange(12).reshape(6, 2), np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object)):
        dense = constant(values)
        for splits, rank in (([outer, inner], 2), ([inner], 1), ([], 0)):
            whole = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=dense, batched_input=False)
            steps.append(raw.RaggedTensorFromVariant(encoded_ragged=whole, input_ragged_rank=rank, output_ragged_rank=rank, Tvalues=dense.dtype))
            if rank:
                rows = raw.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=dense, batched_input=True)
                steps += [raw.RaggedTensorFromVariant(encoded_ragged=rows, input_ragged_rank=r, output_ragged_rank=rank, Tvalues=dense.dtype) for r in (rank - 1, -1)]
                table = tf.stack([rows, rows])
                steps.append(raw.RaggedTensorFromVariant(encoded_ragged=table, input_ragged_rank=rank - 1, output_ragged_rank=rank + 1, Tvalues=dense.dtype))
                steps.append(raw.RaggedTensorFromVariant(encoded_ragged=rows, input_ragged_rank=rank, output_ragged_rank=rank + 1, Tvalues=dense.dtype))
                steps.append(raw.RaggedTensorFromVariant(encoded_ragged=rows, input_ragged_rank=rank - 1, output_ragged_rank=rank, Tvalues=tf.bool))
                steps.append(tf.shape(rows))
    narrow = raw.RaggedTensorToVariant(rt_nested_splits=[constant([0, 1, 3])], rt_dense_values=constant([1, 2, 3]), batched_input=True)
    return steps + [raw.RaggedTensorFromVariant(encoded_ragged=narrow, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.int32, Tsplits=tf.int32)]


def variant_gradients(pool: Pool) -> list[Any]:
    """Of rows one by one and of all of them."""
    steps: list[Any] = []
    outer, inner = constant(i64(0, 2, 2, 3)), constant(i64(0, 1, 4, 6))
    for values in (constant(np.arange(6, dtype=np.float32)), constant(np.arange(12).reshape(6, 2).astype(np.float64))):
        shape = tf.shape(values)
        rows = raw.RaggedTensorToVariant(rt_nested_splits=[inner], rt_dense_values=values, batched_input=True)
        whole = raw.RaggedTensorToVariant(rt_nested_splits=[outer, inner], rt_dense_values=values, batched_input=False)
        steps += [raw.RaggedTensorToVariantGradient(encoded_ragged_grad=rows, row_splits=inner, dense_values_shape=shape, Tvalues=values.dtype),
                  raw.RaggedTensorToVariantGradient(encoded_ragged_grad=whole, row_splits=constant(i64()), dense_values_shape=shape, Tvalues=values.dtype)]
        ragged = tf.RaggedTensor.from_nested_row_splits(values, [np.array([0, 1, 4, 6], np.int64)])
        mapped = tf.map_fn(lambda row: tf.reduce_sum(row * row), ragged, fn_output_signature=values.dtype)
        steps.append(tf.gradients(mapped, values)[0])
    return steps


def sparse_maps(pool: Pool) -> list[Any]:
    """Sparse tensors that wait under numbers; the steps share the maps."""
    sparse = some_sparse()
    text = some_sparse(np.array([b"a", b"", b"long" * 9, b"d"], object))
    one = raw.AddSparseToTensorsMap(**sparse, shared_name="one")
    many = raw.AddManySparseToTensorsMap(**text, shared_name="many")
    private = raw.AddSparseToTensorsMap(**sparse, name="private")
    vector = {"sparse_indices": constant(i64([0], [2])), "sparse_values": constant([1.0, 2.0], np.float32), "sparse_shape": constant(i64(3))}

    def take(numbers: Any, name: str, dtype: Any = tf.float32) -> Any:
        return raw.TakeManySparseFromTensorsMap(sparse_handles=numbers, dtype=dtype, shared_name=name)
    unlike = raw.AddSparseToTensorsMap(**vector, shared_name="one")
    return [one, one, one, take(constant(i64(1, 0)), "one"), take(constant(i64(0)), "one"), take(constant(i64(2)), "one", tf.int32), many, many,
            take(constant(i64(3, 0, 1)), "many", tf.string), take(tf.stack([private, private[None][0]]), "private"), take(tf.reshape(private, [1]), "private"),
            unlike, one, take(constant(i64(3, 4)), "one"), take(constant(i64()), "one"), take(constant(i64([0])), "one"), raw.AddManySparseToTensorsMap(**vector, shared_name="many"),
            raw.AddManySparseToTensorsMap(sparse_indices=constant(i64([7, 0])), sparse_values=constant([1.0], np.float32), sparse_shape=constant(i64(2, 2)), shared_name="many")]


def ragged_crosses(pool: Pool) -> list[Any]:
    values, texts = constant(i64(1, -2, 3, 4)), constant(np.array([b"a", b"b", b"c", b"d"], object))
    splits, even = constant(i64(0, 1, 1, 4)), constant(i64(0, 2, 3, 4))  # TensorFlow's process ends when splits are of several types
    where, shape = constant(i64([0, 0], [1, 0], [1, 1], [2, 0])), constant(i64(3, 2))
    dense, numbers = constant(np.array([[b"x", b"y"], [b"z", b"w"], [b"u", b"v"]], object)), constant(i64([5], [6], [7]))

    def cross(order: str, ragged: Any = (), sparse: Any = (), dense: Any = (), out: Any = tf.string, buckets: int = 0, row_splits: Any = tf.int64, shape: Any = shape) -> Any:
        return raw.RaggedCross(ragged_values=[r[0] for r in ragged], ragged_row_splits=[r[1] for r in ragged], sparse_indices=[where] * len(sparse), sparse_values=list(sparse),
                               sparse_shape=[shape] * len(sparse), dense_inputs=list(dense), input_order=order, hashed_output=out == tf.int64, num_buckets=buckets,
                               hash_key=956888297470, out_values_type=out, out_row_splits_type=row_splits)
    mixed = {"ragged": [(values, splits), (texts, even)], "sparse": [texts, values], "dense": [dense, numbers]}
    return [*(cross("RSDRDS", **mixed, out=out, buckets=b) for out in (tf.string, tf.int64) for b in (0, 100)),
            cross("RR", [(values, tf.cast(splits, tf.int32)), (texts, tf.cast(even, tf.int32))], row_splits=tf.int32), cross("R", [(texts, splits)], out=tf.int64), cross("S", sparse=[values]), cross("DD", dense=[dense, numbers]),
            cross("RD", [(values[:3], splits)], dense=[dense]), cross("RD", [(values, constant(i64(0, 4)))], dense=[dense]), cross("R", [(values, constant(i64(0, 3, 2, 4)))]),
            cross("RS", [(values, splits)], [texts], shape=constant(i64(5, 2)))]


def to_tensors(pool: Pool) -> list[Any]:
    outer, inner, values = i64(0, 2, 2, 3), i64(0, 1, 4, 6), constant(np.arange(1, 7))
    pairs = constant(np.arange(12, dtype=np.float32).reshape(6, 2))
    text = constant(np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object))

    def dense(shape: Any, of: tf.Tensor, default: Any, partitions: list[Any], kinds: list[str]) -> tf.Tensor:
        return raw.RaggedTensorToTensor(shape=constant(np.asarray(shape)), values=of, default_value=constant(np.asarray(default)), row_partition_tensors=[constant(np.asarray(p)) for p in partitions],
                                        row_partition_types=kinds)
    splits, ids = ["ROW_SPLITS"] * 2, ["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"]
    two, by_ids = [outer, inner], [np.int64(3), i64(0, 0, 2), i64(0, 1, 1, 1, 2, 2)]
    zero = np.int64(0)
    steps = [dense(s, values, np.int64(-1), two, splits) for s in (i64(-1, -1, -1), np.int64(-1), i64(2, -1, 2), i64(5, 4, 7), i64(0, 0, 0), i64(-1, -1), i64(-2, 1, 1))]
    steps += [dense(i64(-1, -1, -1), values, zero, by_ids, ids), dense(i64(4, 3, 2), values, zero, by_ids, ids),
              dense(i64(-1, -1, -1, -1), pairs, np.float32(7), two, splits), dense(i64(-1, -1, -1, 2), pairs, np.array([8, 9], np.float32), two, splits),
              dense(i64(-1, -1, -1, 3), pairs, np.float32(7), two, splits), dense(i64(-1, -1), text, np.array(b"-", object), [inner], splits[:1]),
              dense(i64(-1, -1), values, zero, [np.int64(4), i64(0, 0, 1, 1, 3, 3)], ids[:2]), dense(i64(-1, -1), values, zero, [np.int64(4), i64(0, 0, 1, 1, 3, 4)], ids[:2])]
    sparse = [raw.RaggedTensorToSparse(rt_nested_splits=[constant(p) for p in s], rt_dense_values=v) for s in ([outer, inner], [inner]) for v in (values, pairs, text)]
    gathered = [raw.RaggedGather(params_nested_splits=[constant(p) for p in s], params_dense_values=v, indices=constant(i), OUTPUT_RAGGED_RANK=len(s) + i.ndim - 1)
                for s in (two, [inner]) for v in (values, pairs, text) for i in (i64(2, 0, 1, 2), i64([0, 1], [2, 2]), i64())]
    return steps + sparse + gathered + [raw.RaggedGather(params_nested_splits=[constant(inner)], params_dense_values=values, indices=constant(i64(3)), OUTPUT_RAGGED_RANK=1),
                                        raw.RaggedTensorToSparse(rt_nested_splits=[constant(i64(0, 9))], rt_dense_values=values)]


RANGES = ((i64(0, 5, 8), i64(3, 5, 12), i64(1, 1, 3)), (i64(5, 5), i64(0, 9), i64(-2, 2)), (np.int64(2), i64(3, 8, 1), np.int64(2)), (np.int64(0), np.int64(4), np.int64(1)))


def ranges(pool: Pool, dtype: str) -> Any:
    for start, limit, delta in RANGES:
        for splits in (tf.int32, tf.int64):
            yield {"starts": np.asarray(start, dtype), "limits": np.asarray(limit, dtype), "deltas": np.asarray(delta, dtype), "Tsplits": splits}


RAGGED_LINES: tuple[Line, ...] = (
    Line("RaggedRange", ("int32", "int64", "float32", "float64"), ranges),
    refused("RaggedRange", ("int32", "float32"), lambda p, t: {"starts": np.zeros(2, t), "limits": np.ones(2, t), "deltas": np.zeros(2, t)},
            lambda p, t: {"starts": np.zeros(2, t), "limits": np.ones(3, t), "deltas": np.ones(2, t)}),
)
RAGGED: tuple[Program, ...] = (Program("Serialized sparse tensors", serialized_sparse), Program("Ragged tensors in variants", in_variants),
                               Program("Gradients of ragged tensors in variants", variant_gradients), Program("Maps of sparse tensors", sparse_maps),
                               Program("Ragged crosses", ragged_crosses),
                               Program("Ragged tensors", to_tensors))
