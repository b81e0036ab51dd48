"""Lines for segments, sparse tensors and distinct elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from lines import COMPLEX, FLOATS, INDEX, NUMBERS, REALS, SIGNED, Arguments, Line, Pool, i32, i64, listed, refused


def segments(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for index in INDEX:
        for shape, ids in (((4, 3), (0, 0, 1, 3)), ((5,), (2, 2, 2, 2, 4)), ((0, 2), ()), ((3, 2, 2), (0, 1, 2)), ((3, 0), (0, 1, 1))):
            yield {"data": pool(shape, dtype, "near1"), "segment_ids": np.array(ids, index)}
    yield {"data": pool((300, 9), dtype, "near1"), "segment_ids": np.arange(300, dtype=np.int32) // 40}


def unsorted_segments(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for index in INDEX:
        for shape, ids, count in (((4, 3), [3, 0, -1, 3], 5), ((2, 2, 3), [[0, 1], [1, 0]], 2), ((0, 2), [], 3), ((3,), [0, 0, 0], 1)):
            yield {"data": pool(shape, dtype, "near1"), "segment_ids": np.array(ids, index), "num_segments": np.int32(count)}
    yield {"data": pool((700, 17), dtype, "near1"), "segment_ids": np.arange(700, dtype=np.int32) * 7 % 41, "num_segments": np.int64(41)}


ENTRIES = (((3, 1, 1, 0), (0, 0, 1, 3)), ((0,), (2,)), ((), ()), (tuple(i * 3 % 5 for i in range(40)), tuple(i // 7 for i in range(40))))


def sparse_segments(with_count: bool) -> Callable[[Pool, str], Iterator[Arguments]]:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for index in INDEX:
            for rows, ids in ENTRIES:
                for shape in ((5, 3), (5,)):
                    given: Arguments = {"data": pool(shape, dtype), "indices": np.array(rows, index), "segment_ids": np.array(ids, np.int32)}
                    if with_count:
                        given["num_segments"] = np.int32(9)
                    yield given
    return cases


def sparse_segment_gradients(count: str) -> Callable[[Pool, str], Iterator[Arguments]]:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for rows, ids in ENTRIES[:2] + ENTRIES[3:]:
            yield {"grad": pool((max(ids) + 1, 4), dtype), "indices": np.array(rows, np.int32), "segment_ids": np.array(ids, np.int32), count: np.int32(5)}
    return cases


INDICES = np.array([[0, 1], [0, 2], [2, 0]], np.int64)
SHAPE = i64(4, 3)


def sparse(pool: Pool, dtype: str, prefix: str = "", names: tuple[str, str, str] = ("indices", "values", "shape")) -> Arguments:
    return {prefix + names[0]: INDICES, prefix + names[1]: pool((3,), dtype), prefix + names[2]: SHAPE}


SPARSE: tuple[Line, ...] = (
    *(Line("Segment" + op, REALS if op in ("Min", "Max") else NUMBERS, segments, 64) for op in ("Sum", "Mean", "Prod", "Min", "Max")),
    *(Line("UnsortedSegment" + op, REALS if op in ("Min", "Max") else NUMBERS, unsorted_segments, 256) for op in ("Sum", "Prod", "Min", "Max")),
    refused("SegmentSum", ("float32",), *(
        lambda p, t, i=i: {"data": p((3, 2), t), "segment_ids": np.array(i, np.int32)}
        for i in ([1, 0, 2], [-1, 0, 2], [0, 1], [[0, 1, 1]]))),
    refused("UnsortedSegmentSum", ("float32",), *(
        lambda p, t, i=i, n=n: {"data": p((3, 2), t), "segment_ids": np.array(i, np.int32), "num_segments": np.array(n, np.int32)}
        for i, n in (([0, 5, 1], 3), ([0, 1], 3), ([0, 1, 1], -3), ([0, 1, 1], [3])))),
    *(Line("SparseSegment" + op, REALS if op == "Sum" else FLOATS, sparse_segments(False), 64) for op in ("Sum", "Mean", "SqrtN")),
    *(Line("SparseSegment%sWithNumSegments" % op, FLOATS, sparse_segments(True), 64) for op in ("Sum", "Mean", "SqrtN")),
    *(Line("SparseSegment%sGrad" % op, FLOATS, sparse_segment_gradients("output_dim0"), 64) for op in ("Sum", "Mean", "SqrtN")),
    *(Line("SparseSegment%sGradV2" % op, FLOATS, sparse_segment_gradients("dense_output_dim0"), 64) for op in ("Sum", "Mean", "SqrtN")),
    refused("SparseSegmentSum", ("float32",), *(
        lambda p, t, r=r, i=i: {"data": p((3, 2), t), "indices": i32(*r), "segment_ids": i32(*i)}
        for r, i in (((0, 5), (0, 0)), ((0, 1), (0,)), ((0, 1), (1, 0)), ((0,), (-1,))))),
    listed("UniqueV2", REALS + ("string",), *(
        lambda p, t, s=s, a=a, o=o: {"x": p(s, t, "small"), "axis": i32(*a), "out_idx": o}
        for s, a in (((9,), ()), ((9,), (0,)), ((6, 2), (0,)), ((2, 7), (-1,)), ((0, 2), (0,))) for o in INDEX)),
    listed("UniqueWithCountsV2", ("float32", "int64"), lambda p, t: {"x": p((30, 1), t, "small"), "axis": i64(0)}),
    refused("UniqueV2", ("float32",), *(
        lambda p, t, a=a: {"x": p((6, 2), t, "small"), "axis": i32(*a)} for a in ((), (0, 1), (2,)))),
    # Sparse tensors.
    listed("SparseToDense", REALS + ("string", "bool"),
           lambda p, t: {"sparse_indices": INDICES, "output_shape": SHAPE, "sparse_values": p((3,), t), "default_value": p((), t, "small")},
           lambda p, t: {"sparse_indices": i32(1, 3), "output_shape": i32(5), "sparse_values": p((), t), "default_value": p((), t, "small")},
           lambda p, t: {"sparse_indices": np.array(2, np.int32), "output_shape": i32(5), "sparse_values": p((), t), "default_value": p((), t)}),
    refused("SparseToDense", ("float32",), *(
        lambda p, t, i=i, s=s, n=n: {"sparse_indices": np.array(i, np.int64), "output_shape": i64(*s), "sparse_values": p((n,), t), "default_value": p((), t)}
        for i, s, n in (([[1, 1], [1, 0]], (2, 3), 2), ([[1, 0], [1, 0]], (2, 3), 2), ([[1, 0], [1, 5]], (2, 3), 2), ([[1, 0]], (2,), 1),
                        ([[1, 0], [1, 1]], (2, 3), 3)))),
    listed("SparseTensorDenseMatMul", ("float32", "float64", "int32", "bfloat16", "float16") + COMPLEX, *(
        lambda p, t, a=a, b=b: {"a_indices": INDICES[:, ::-1].copy() if a else INDICES, "a_values": p((3,), t), "a_shape": i64(3, 4) if a else SHAPE,
                                "b": p((5, 3) if b else (3, 5), t), "adjoint_a": a, "adjoint_b": b}
        for a in (False, True) for b in (False, True))),
    refused("SparseTensorDenseMatMul", ("float32",), *(
        lambda p, t, i=i, s=s: {"a_indices": np.array(i, np.int64), "a_values": p((2,), t), "a_shape": i64(*s), "b": p((3, 2), t)}
        for i, s in (([[0, 1], [5, 0]], (2, 3)), ([[0, 1], [1, 3]], (2, 3)), ([[0, 1], [1, 0]], (2, 4)), ([[0, 1], [1, 0]], (2, 3, 1))))),
    *(listed("SparseMatMul", ("float32",), lambda p, t, a=a, b=b: {
        "a": p((5, 4) if a else (4, 5), "bfloat16" if a else t), "b": p((3, 5) if b else (5, 3), t), "transpose_a": a, "transpose_b": b})
      for a in (False, True) for b in (False, True)),
    listed("SparseFillEmptyRows", ("float32", "string"),
           lambda p, t: {**sparse(p, t, names=("indices", "values", "dense_shape")), "default_value": p((), t)},
           lambda p, t: {"indices": np.array([[2, 1], [0, 0]], np.int64), "values": p((2,), t), "dense_shape": SHAPE, "default_value": p((), t)},
           lambda p, t: {"indices": np.zeros((0, 2), np.int64), "values": p((0,), t), "dense_shape": SHAPE, "default_value": p((), t)},
           lambda p, t: {"indices": np.zeros((0, 2), np.int64), "values": p((0,), t), "dense_shape": i64(0, 3), "default_value": p((), t)}),
    refused("SparseFillEmptyRows", ("float32",), lambda p, t: {
        "indices": np.array([[9, 1]], np.int64), "values": p((1,), t), "dense_shape": SHAPE, "default_value": p((), t)}),
    listed("SparseFillEmptyRowsGrad", ("float32", "int64"), lambda p, t: {"reverse_index_map": i64(2, 1), "grad_values": p((4,), t)}),
    listed("SparseReshape", ("int64",), *(
        lambda p, t, s=s: {"input_indices": INDICES, "input_shape": SHAPE, "new_shape": i64(*s)} for s in ((-1, 2), (12,), (2, 3, 2), (4, 3)))),
    refused("SparseReshape", ("int64",), *(
        lambda p, t, s=s: {"input_indices": INDICES, "input_shape": SHAPE, "new_shape": i64(*s)} for s in ((-1, 5), (7, 5), (-1, -1)))),
    listed("SparseReorder", ("float32", "string"), lambda p, t: {
        "input_indices": INDICES[::-1].copy(), "input_values": p((3,), t), "input_shape": SHAPE}),
    listed("SparseConcat", ("float32", "string"), *(
        lambda p, t, d=d: {"indices": [INDICES, INDICES], "values": [p((3,), t), p((3,), t, "small")], "shapes": [SHAPE, SHAPE], "concat_dim": d}
        for d in (0, 1, -1))),
    listed("SparseSlice", ("float32", "string"), *(
        lambda p, t, s=s, n=n: {**sparse(p, t), "start": i64(*s), "size": i64(*n)} for s, n in (((0, 0), (4, 3)), ((0, 1), (2, 9)), ((2, 0), (1, 1))))),
    *(listed(op, ("float32", "int32", "bfloat16"), *(
        lambda p, t, a=a, k=k: {**sparse(p, t, "input_"), "reduction_axes": i32(*a), "keep_dims": k}
        for a in ((0,), (-1,), (0, 1), ()) for k in (False, True))) for op in ("SparseReduceSum", "SparseReduceMax")),
    listed("SparseSoftmax", ("float32", "float64"), lambda p, t: sparse(p, t, "sp_")),
    listed("SparseAdd", ("float32", "float64") + SIGNED, *(
        lambda p, t, h=h: {**sparse(p, t, "a_"), "b_indices": INDICES[1:] + i64(0, 0), "b_values": p((2,), t, "small"), "b_shape": SHAPE,
                           "thresh": np.array(h, t)} for h in (0, 2))),
    listed("SparseAddGrad", ("float32", "float64") + SIGNED + COMPLEX, lambda p, t: {
        "backprop_val_grad": p((3,), t), "a_indices": INDICES, "b_indices": INDICES[1:], "sum_indices": INDICES}),
    # Beside dense and other sparse tensors.
    *(listed(op, REALS, *(
        lambda p, t, d=d: {**sparse(p, t, "sp_"), "dense": p(d, t, "nonzero")} for d in ((4, 3), (3,), (1, 3), (4, 1), (1,), ())))
      for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv")),
    listed("SparseTensorDenseAdd", NUMBERS, *(
        lambda p, t, i=i: {"a_indices": INDICES[[0, 2, 2, 1]].astype(i), "a_values": p((4,), t), "a_shape": SHAPE.astype(i), "b": p((4, 3), t, "small")} for i in INDEX)),
    *(listed(op, REALS, lambda p, t: {**sparse(p, t, "a_"), "b_indices": INDICES[1:] + i64(0, 0), "b_values": p((2,), t, "small"), "b_shape": SHAPE})
      for op in ("SparseSparseMaximum", "SparseSparseMinimum")),
    *(listed(op, dtypes, *(
        lambda p, t, a=a, k=k: {**sparse(p, t, "input_"), "reduction_axes": i32(*a), "keep_dims": k}
        for a in ((0,), (-1,), (0, 1), (), (1, 1)) for k in (False, True)))
      for op, dtypes in (("SparseReduceSumSparse", NUMBERS), ("SparseReduceMaxSparse", REALS))),
    listed("SparseSliceGrad", NUMBERS, lambda p, t: {
        "backprop_val_grad": p((2,), t), "input_indices": INDICES, "input_start": i64(0, 1), "output_indices": INDICES[:2] - i64(0, 1)}),
    listed("SparseSplit", ("float32", "string"), *(
        lambda p, t, d=d, n=n: {"split_dim": np.int64(d), **sparse(p, t), "num_split": n} for d, n in ((0, 2), (0, 3), (1, 3), (-1, 1), (-2, 4)))),
    *(refused(op, ("float32", "int32"), *(
        lambda p, t, i=i, s=s, d=d: {"sp_indices": np.array(i, np.int64), "sp_values": p((2,), t), "sp_shape": i64(*s), "dense": p(d, t, "nonzero")}
        for i, s, d in (([[0, 1], [1, 0]], (2, 3), (4, 2, 3)), ([[0, 1], [1, 0]], (2, 3), (2, 2)), ([[0, 1], [5, 0]], (2, 3), (2, 3)), ([[0], [1]], (2, 3), (2, 3)))))
      for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul")),
    refused("SparseTensorDenseAdd", ("float32",), *(
        lambda p, t, i=i, s=s, d=d: {"a_indices": np.array(i, np.int64), "a_values": p((2,), t), "a_shape": i64(*s), "b": p(d, t)}
        for i, s, d in (([[0, 1], [1, 0]], (2, 3), (2, 4)), ([[0, 1], [5, 0]], (2, 3), (2, 3)), ([[0, 1], [1, 0]], (2, 3), (2,)), ([[0], [1]], (2, 3), (2, 3))))),
    refused("SparseSparseMaximum", ("float32",), lambda p, t: {**sparse(p, t, "a_"), "b_indices": INDICES, "b_values": p((3,), t), "b_shape": i64(4, 4)}),
    refused("SparseSplit", ("float32",), *(lambda p, t, d=d, n=n: {"split_dim": np.int64(d), **sparse(p, t), "num_split": n} for d, n in ((2, 1), (0, 5), (-3, 2)))),
    refused("SparseReduceSumSparse", ("float32",), lambda p, t: {**sparse(p, t, "input_"), "reduction_axes": i32(2)}),
    # Counts.
    *(listed("DenseCountSparseOutput", ("float32", "float64", "int32", "int64"), *(
        lambda p, t, s=s, v=v, w=w, l=l, m=m: {"values": p(s, v, "small"), "weights": p(s if w else (0,), t), "binary_output": not w and m == 3, "minlength": l, "maxlength": m}
        for s in ((9,), (3, 7), (0,), (2, 0)) for w in (False, True) for l, m in ((-1, -1), (9, -1), (-1, 3), (0, 0), (5, 3)))) for v in INDEX),
    *(listed("SparseCountSparseOutput", ("float32", "int64"), *(
        lambda p, t, i=i, s=s, w=w, v=v: {"indices": np.array(i, np.int64).reshape(-1, len(s)), "values": np.array([3, 1, 3, 0, 3][:len(i)], v), "dense_shape": i64(*s),
                                     "weights": p((len(i),) if w else (0,), t), "binary_output": False}
        for i, s in (([[0, 0], [0, 2], [0, 3], [2, 0], [2, 1]], (4, 5)), ([0, 1, 2, 4], (9,)), ([[2, 0], [0, 1], [2, 1], [0, 0], [2, 4]], (3, 5)), ([[0, 0, 1], [1, 1, 0]], (2, 2, 2)), ([], (3, 3))) for w in (False, True))) for v in INDEX),
    *(listed("RaggedCountSparseOutput", ("float64", "int32"), *(
        lambda p, t, s=s, w=w, v=v: {"splits": i64(*s), "values": p((6,), v, "small"), "weights": p((6,) if w else (0,), t), "binary_output": w}
        for s in ((0, 2, 2, 6), (0, 6)) for w in (False, True))) for v in INDEX),
    refused("DenseCountSparseOutput", ("float32",), *(
        lambda p, t, v=v, w=w: {"values": p(v, "int32", "small"), "weights": p(w, t), "binary_output": False} for v, w in (((), ()), ((2, 2, 2), ()), ((3,), (2,)), ((2, 3), (6,)))),
            lambda p, t: {"values": i32(1, -1), "weights": p((0,), t), "binary_output": False}),
    refused("RaggedCountSparseOutput", ("float32",), *(
        lambda p, t, s=s: {"splits": i64(*s), "values": p((6,), "int32", "small"), "weights": p((0,), t), "binary_output": False} for s in ((0,), (), (1, 6), (0, 5), (0, 7)))),
    refused("SparseCountSparseOutput", ("float32",), *(
        lambda p, t, i=i, s=s, n=n: {"indices": np.array(i, np.int64), "values": p((n,), "int32", "small"), "dense_shape": i64(*s), "weights": p((0,), t), "binary_output": False}
        for i, s, n in (([[0, 1], [5, 0]], (2, 3), 2), ([[0, 1], [1, 5]], (2, 3), 2), ([[0, 1], [1, 0]], (2, 3), 3), ([[0, 1], [1, 0]], (2, 3, 1), 2)))),
    # Ragged tensors by the rows of their values.
    listed("RaggedFillEmptyRows", ("float32", "string"), *(
        lambda p, t, r=r, n=n: {"value_rowids": i64(*r), "values": p((len(r),), t), "nrows": np.int64(n), "default_value": p((), t, "small")}
        for r, n in (((0, 0, 2), 4), ((), 3), ((1, 0, 1), 2)))),
    listed("RaggedFillEmptyRowsGrad", NUMBERS, lambda p, t: {"reverse_index_map": i64(2, 1), "grad_values": p((4,), t)}),
    refused("RaggedFillEmptyRows", ("float32",), *(
        lambda p, t, r=r, n=n: {"value_rowids": i64(*r), "values": p((2,), t), "nrows": np.int64(n), "default_value": p((), t)} for r, n in (((0, 5), 4), ((-1, 0), 2), ((0, 0), 0)))),
)
