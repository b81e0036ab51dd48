"""Lines for ops that move elements: joining, cutting, picking, turning, filling; and for strings."""

from __future__ import annotations

import numpy as np

from lines import COMPLEX, EVERY, INDEX, NUMBERS, PLAIN, REALS, Line, i32, i64, listed, refused

# A type of each size of element, for ops that only move elements; bool and strings are their own.
MOVED = ("uint8", "bfloat16", "float32", "int64", "complex128", "bool", "string")


def words(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def text(value: bytes) -> np.ndarray:
    return np.array(value, object)


STRINGS = words(b"", b"a", b"Hello World", b"  pad ", b"x,y,,z", "grüße, 日本".encode(), b"\xff\x00\xfe", b"12", b"a1b22c")

JOINING: tuple[Line, ...] = (
    listed("Pack", MOVED, *(
        lambda p, t, s=s, a=a, n=n: {"values": [p(s, t, d) for d in ("any", "small", "unit")[:n]], "axis": a}
        for s, a, n in (((), 0, 3), ((3,), 1, 2), ((2, 3), -1, 3), ((2, 3), -3, 1), ((0, 2), 1, 2)))),
    listed("Unpack", MOVED, *(
        lambda p, t, s=s, a=a: {"value": p(s, t), "axis": a, "num": s[a]} for s, a in (((3,), 0), ((2, 3), 1), ((2, 3, 4), -2), ((0, 2), 1)))),
    listed("ConcatV2", MOVED, *(
        lambda p, t, s=s, a=a, i=i: {"values": [p(x, t) for x in s], "axis": np.array(a, i)}
        for s, a in ((((2,), (3,)), 0), (((2, 3), (2, 1), (2, 0)), 1), (((0, 3), (2, 3)), -2), (((40, 30), (40, 7)), -1)) for i in INDEX)),
    listed("Concat", ("float32", "string"), lambda p, t: {"concat_dim": np.int32(1), "values": [p((2, 3), t), p((2, 1), t)]}),
    refused("ConcatV2", ("float32",), *(
        lambda p, t, s=s, a=a: {"values": [p(x, t) for x in s], "axis": np.int32(a)}
        for s, a in ((((2, 3), (3, 3)), 1), (((2,), (2, 1)), 0), (((2,), (2,)), 1), (((), ()), 0)))),
    listed("ConcatOffset", ("int32",), lambda p, t: {"concat_dim": np.int32(1), "shape": [i32(2, 3, 4), i32(2, 5, 4), i32(2, 0, 4)]}),
    listed("Split", MOVED, *(
        lambda p, t, s=s, a=a, n=n: {"axis": np.int32(a), "value": p(s, t), "num_split": n}
        for s, a, n in (((6,), 0, 3), ((2, 6), 1, 2), ((4, 3), -2, 4), ((0, 4), 1, 2), ((3,), 0, 1)))),
    refused("Split", ("float32",), *(
        lambda p, t, s=s, a=a, n=n: {"axis": np.int32(a), "value": p(s, t), "num_split": n} for s, a, n in (((5,), 0, 3), ((4,), 1, 2), ((), 0, 2)))),
    listed("SplitV", MOVED, *(
        lambda p, t, s=s, a=a, z=z, i=i: {"value": p(s, t), "size_splits": np.array(z, i), "axis": np.int32(a), "num_split": len(z)}
        for s, a, z in (((6,), 0, (1, 2, 3)), ((2, 5), 1, (2, -1)), ((3, 2), -2, (0, 3))) for i in INDEX)),
    refused("SplitV", ("float32",), *(
        lambda p, t, z=z: {"value": p((6,), t), "size_splits": i32(*z), "axis": np.int32(0), "num_split": len(z)} for z in ((1, 2), (-1, -1), (7, -1), (-2, 8)))),
)

SLICES = (((7,), (1,), (3,)), ((3, 4), (1, 0), (2, -1)), ((3, 4, 5), (0, 1, 2), (3, 2, 3)), ((0, 4), (0, 1), (0, 2)), ((60, 70), (10, 20), (40, -1)))
STRIDES = (((7,), (1,), (6,), (2,), {}), ((7,), (6,), (0,), (-2,), {"end_mask": 1}), ((3, 4), (1,), (2,), (1,), {"shrink_axis_mask": 1}),
           ((3, 4, 5), (0, 1), (0, 3), (1, 2), {"ellipsis_mask": 1}), ((3, 4), (0, 0, 1), (0, 0, 3), (1, 1, 1), {"new_axis_mask": 1, "begin_mask": 2, "end_mask": 2}),
           ((0, 3), (0, -2), (5, 9), (1, 1), {}), ((50, 40), (5, 30), (45, 2), (3, -4), {}))

CUTTING: tuple[Line, ...] = (
    listed("Slice", MOVED, *(
        lambda p, t, s=s, b=b, z=z, i=i: {"input": p(s, t), "begin": np.array(b, i), "size": np.array(z, i)} for s, b, z in SLICES for i in INDEX)),
    refused("Slice", ("float32",), *(
        lambda p, t, b=b, z=z: {"input": p((3, 4), t), "begin": i32(*b), "size": i32(*z)} for b, z in (((1, 0), (3, 1)), ((-1, 0), (1, 1)), ((4, 0), (0, 1)), ((0,), (1,))))),
    listed("StridedSlice", MOVED, *(
        lambda p, t, s=s, b=b, e=e, r=r, m=m: {"input": p(s, t), "begin": i32(*b), "end": i32(*e), "strides": i32(*r), **m} for s, b, e, r, m in STRIDES)),
    refused("StridedSlice", ("float32",), *(
        lambda p, t, b=b, e=e, r=r, m=m: {"input": p((3, 4), t), "begin": i32(*b), "end": i32(*e), "strides": i32(*r), **m}
        for b, e, r, m in (((0,), (1,), (0,), {}), ((3,), (4,), (1,), {"shrink_axis_mask": 1}), ((0, 0, 0), (1, 1, 1), (1, 1, 1), {}),
                           ((0, 0), (1, 1), (1, 1), {"ellipsis_mask": 3})))),
    listed("StridedSliceGrad", ("float32", "int32", "complex64"), *(
        lambda p, t, s=s, b=b, e=e, r=r: {"shape": i32(*s), "begin": i32(*b), "end": i32(*e), "strides": i32(*r),
                                          "dy": p(tuple(len(range(s[d])[b[d]:e[d]:r[d]]) for d in range(len(s))), t)}
        for s, b, e, r in (((7,), (1,), (6,), (2,)), ((3, 4), (0, 3), (3, 0), (2, -1))))),
    listed("Pad", MOVED[:-2] + ("bool",), *(
        lambda p, t, s=s, w=w, i=i: {"input": p(s, t), "paddings": np.array(w, i)}
        for s, w in (((3,), [[1, 2]]), ((2, 3), [[0, 0], [1, 0]]), ((0, 2), [[1, 1], [0, 1]]), ((2, 1, 2), [[0, 1], [2, 0], [1, 1]])) for i in INDEX)),
    listed("PadV2", MOVED[:-1], lambda p, t: {"input": p((2, 3), t), "paddings": i32(1, 0, 2, 1).reshape(2, 2), "constant_values": p((), t, "small")}),
    refused("Pad", ("float32",), *(lambda p, t, w=w: {"input": p((2, 3), t), "paddings": np.array(w, np.int32)} for w in ([[1, 1]], [[-1, 1], [0, 0]], [[1, 1, 1]] * 2))),
    listed("MirrorPad", ("float32", "int32", "float64", "complex64", "uint8"), *(
        lambda p, t, s=s, w=w, m=m: {"input": p(s, t), "paddings": i32(*w).reshape(-1, 2), "mode": m}
        for s, w in (((4,), (2, 3)), ((3, 4), (1, 2, 0, 3)), ((2, 3, 4), (1, 0, 0, 0, 2, 2))) for m in ("REFLECT", "SYMMETRIC"))),
    listed("MirrorPadGrad", ("float32", "float64", "int32", "float16"), *(
        lambda p, t, s=s, w=w, m=m: {"input": p(s, t, "small"), "paddings": i32(*w).reshape(-1, 2), "mode": m}
        for s, w in (((9,), (2, 3)), ((6, 7), (1, 2, 0, 3)), ((3, 3, 8), (1, 0, 0, 0, 2, 2))) for m in ("REFLECT", "SYMMETRIC"))),
    refused("MirrorPad", ("float32",), *(
        lambda p, t, m=m, w=w: {"input": p((3,), t), "paddings": i32(*w).reshape(1, 2), "mode": m} for m, w in (("REFLECT", (3, 0)), ("SYMMETRIC", (0, 4)), ("REFLECT", (-1, 0))))),
)

PICKING: tuple[Line, ...] = (
    *(listed("GatherV2", MOVED, *(
        lambda p, t, s=s, x=x, a=a, b=b, i=i: {"params": p(s, t), "indices": np.array(x, i), "axis": np.int32(a), "batch_dims": b}
        for s, x, a, b in (((5,), 3, 0, 0), ((5,), [1, 1, 4], 0, 0), ((3, 4), [[2, 0]], 1, 0), ((2, 3, 4), [[0, 1], [2, 2]], 1, 1), ((0, 3), [1], 1, 0),
                           ((2, 3), np.zeros((0,)), -1, 0), ((90, 40), list(range(0, 90, 2)), 0, 0)))) for i in INDEX),
    refused("GatherV2", ("float32",), *(
        lambda p, t, x=x, a=a, b=b: {"params": p((3, 4), t), "indices": np.array(x, np.int32), "axis": np.int32(a), "batch_dims": b}
        for x, a, b in (([3], 0, 0), ([-1], 0, 0), ([0], 2, 0), ([[0], [1]], 1, 1)))),
    listed("GatherNd", MOVED, *(
        lambda p, t, s=s, x=x, i=i: {"params": p(s, t), "indices": np.array(x, i)}
        for s, x in (((3, 4), [[0, 1], [2, 3]]), ((3, 4), [[2], [0]]), ((3, 4), [1]), ((2, 3, 4), [[[1, 2]], [[0, 0]]]), ((3,), np.zeros((0, 1)))) for i in INDEX)),
    refused("GatherNd", ("float32",), *(lambda p, t, x=x: {"params": p((3, 4), t), "indices": np.array(x, np.int32)} for x in ([[3, 0]], [[0, -1]], [[0, 0, 0]]))),
    listed("ScatterNd", NUMBERS, *(
        lambda p, t, s=s, x=x, u=u: {"indices": np.array(x, np.int32), "updates": p(u, t), "shape": i32(*s)}
        for s, x, u in (((5,), [[1], [3], [1]], (3,)), ((3, 4), [[0, 1], [2, 3]], (2,)), ((3, 4), [[2], [0]], (2, 4)), ((2, 2), np.zeros((0, 1)), (0, 2))))),
    refused("ScatterNd", ("float32",), *(
        lambda p, t, x=x, u=u: {"indices": np.array(x, np.int32), "updates": p(u, t), "shape": i32(3, 4)} for x, u in (([[3]], (1, 4)), ([[0, -1]], (1,)), ([[0]], (1, 3))))),
    *(listed(op, NUMBERS if op != "TensorScatterUpdate" else MOVED, lambda p, t: {
        "tensor": p((4, 3), t), "indices": i32(2, 0).reshape(2, 1), "updates": p((2, 3), t, "small")})
      for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub")),
    *(listed(op, REALS, lambda p, t: {"tensor": p((4, 3), t), "indices": i32(2, 0, 2).reshape(3, 1), "updates": p((3, 3), t, "small")},
             lambda p, t: {"tensor": p((4, 3), t), "indices": i32(2, 2, 0, 1).reshape(2, 2), "updates": p((2,), t, "small")})
      for op in ("TensorScatterMax", "TensorScatterMin")),
    *(refused(op, ("float32",), lambda p, t: {"tensor": p((2,), t), "indices": i32(5).reshape(1, 1), "updates": p((1,), t)})
      for op in ("TensorScatterMax", "TensorScatterMin")),
    listed("DynamicPartition", MOVED, *(
        lambda p, t, s=s, x=x, n=n: {"data": p(s, t), "partitions": np.array(x, np.int32), "num_partitions": n}
        for s, x, n in (((5,), [0, 1, 0, 2, 1], 3), ((3, 2), [1, 1, 0], 2), ((2, 2), [[0, 1], [1, 0]], 2), ((0, 2), [], 2), ((), 1, 2)))),
    refused("DynamicPartition", ("float32",), *(
        lambda p, t, x=x: {"data": p((3,), t), "partitions": np.array(x, np.int32), "num_partitions": 2} for x in ([0, 1, 2], [0, -1, 1], [0, 1]))),
    *(listed(op, MOVED, lambda p, t: {"indices": [i32(0, 2), i32(1, 3).reshape(2, 1)], "data": [p((2, 3), t), p((2, 1, 3), t, "small")]},
             lambda p, t: {"indices": [i32(1), i32(1, 0)], "data": [p((1,), t), p((2,), t, "small")]})
      for op in ("DynamicStitch", "ParallelDynamicStitch")),
    # TensorFlow has no Where for half.
    listed("Where", tuple(t for t in PLAIN if t != "float16"), lambda p, t: {"input": p((7,), t, "small")}, lambda p, t: {"input": p((3, 4, 2), t, "small")}, lambda p, t: {"input": p((0, 2), t)}),
    *(listed("Unique", REALS + ("string",), *(lambda p, t, n=n, i=i: {"x": p((n,), t, "small"), "out_idx": i} for n in (0, 1, 40))) for i in INDEX),
    listed("UniqueWithCounts", REALS + ("string",), lambda p, t: {"x": p((40,), t, "small"), "out_idx": "int64"}),
    listed("ListDiff", ("float32", "int32", "int64", "string"), lambda p, t: {"x": p((30,), t, "small"), "y": p((2,), t, "small")}),
    listed("Bucketize", ("float32", "float64", "int32", "int64"), lambda p, t: {"input": p((5, 9), t), "boundaries": [-2.0, 0.0, 1.5, 3.0]}),
    listed("InvertPermutation", INDEX, lambda p, t: {"x": np.array([3, 0, 2, 1], t)}),
    refused("InvertPermutation", INDEX, lambda p, t: {"x": np.array([3, 0, 0, 1], t)}, lambda p, t: {"x": np.array([4, 0, 2, 1], t)}),
)

TURNING: tuple[Line, ...] = (
    *(listed("Transpose", MOVED, *(
        lambda p, t, s=s, m=m, i=i: {"x": p(s, t), "perm": np.array(m, i)}
        for s, m in (((), ()), ((5,), (0,)), ((3, 4), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4, 5), (0, 3, 1, 2)), ((0, 3), (1, 0)), ((70, 90), (1, 0))))) for i in INDEX),
    refused("Transpose", ("float32",), *(lambda p, t, m=m: {"x": p((2, 3), t), "perm": i32(*m)} for m in ((0,), (0, 0), (0, 2)))),
    listed("ConjugateTranspose", COMPLEX + ("float32",), lambda p, t: {"x": p((3, 4), t), "perm": i32(1, 0)}),
    listed("ReverseV2", MOVED, *(lambda p, t, s=s, a=a: {"tensor": p(s, t), "axis": i32(*a)} for s, a in (((5,), (0,)), ((2, 3, 4), (0, -1)), ((2, 3), ()), ((0, 2), (1,))))),
    refused("ReverseV2", ("float32",), *(lambda p, t, a=a: {"tensor": p((2, 3), t), "axis": i32(*a)} for a in ((2,), (0, 0), (0, -2)))),
    listed("ReverseSequence", MOVED, lambda p, t: {"input": p((3, 5, 2), t), "seq_lengths": i64(0, 5, 3), "seq_dim": 1, "batch_dim": 0}),
    listed("Roll", MOVED, *(
        lambda p, t, s=s, h=h, a=a: {"input": p(s, t), "shift": i32(*h), "axis": i32(*a)} for s, h, a in (((5,), (2,), (0,)), ((3, 4), (-1, 7), (0, 1)), ((3, 4), (1, 1), (1, 1))))),
    listed("Tile", MOVED, *(lambda p, t, s=s, m=m, i=i: {"input": p(s, t), "multiples": np.array(m, i)}
                            for s, m in (((3,), (2,)), ((2, 3), (1, 2)), ((2, 1, 2), (2, 3, 1)), ((2,), (0,)), ((), ())) for i in INDEX)),
    listed("BroadcastTo", MOVED, *(lambda p, t, s=s, o=o: {"input": p(s, t), "shape": i32(*o)} for s, o in (((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 4)), ((1, 3), (0, 3))))),
    refused("BroadcastTo", ("float32",), *(lambda p, t, o=o: {"input": p((2, 3), t), "shape": i32(*o)} for o in ((3,), (2, 4), (3, 3)))),
    listed("Reshape", MOVED, *(lambda p, t, s=s, o=o, i=i: {"tensor": p(s, t), "shape": np.array(o, i)}
                               for s, o in (((6,), (2, 3)), ((2, 3), (-1,)), ((2, 3), (3, -1, 1)), ((1,), ()), ((0, 3), (3, 0))) for i in INDEX)),
    refused("Reshape", ("float32",), *(lambda p, t, o=o: {"tensor": p((2, 3), t), "shape": i32(*o)} for o in ((4,), (-1, 4), (-1, -1), (-2, 3)))),
    listed("ExpandDims", MOVED, *(lambda p, t, a=a: {"input": p((2, 3), t), "dim": np.int32(a)} for a in (0, 1, 2, -1, -3))),
    listed("Squeeze", MOVED, *(lambda p, t, d=d: {"input": p((1, 3, 1), t), "squeeze_dims": d} for d in ([], [0], [-1], [0, 2]))),
    listed("SpaceToDepth", MOVED[:-1], lambda p, t: {"input": p((2, 4, 6, 3), t), "block_size": 2}),
    listed("DepthToSpace", MOVED[:-1], lambda p, t: {"input": p((2, 2, 3, 8), t), "block_size": 2}),
    listed("SpaceToBatchND", ("float32", "int32", "uint8"), lambda p, t: {"input": p((2, 3, 4, 2), t), "block_shape": i32(2, 2), "paddings": i32(1, 0, 0, 2).reshape(2, 2)}),
    listed("BatchToSpaceND", ("float32", "int32", "uint8"), lambda p, t: {"input": p((8, 2, 3, 2), t), "block_shape": i32(2, 2), "crops": i32(1, 0, 0, 2).reshape(2, 2)}),
    listed("MatrixBandPart", NUMBERS + ("bool",), *(lambda p, t, l=l, u=u: {"input": p((2, 4, 5), t), "num_lower": np.int64(l), "num_upper": np.int64(u)} for l, u in ((0, 0), (-1, 1), (2, -1), (1, 0)))),
    listed("MatrixDiagV3", NUMBERS + ("bool",), *(
        lambda p, t, s=s, k=k, a=a: {"diagonal": p(s, t), "k": np.array(k, np.int32), "num_rows": np.int32(-1), "num_cols": np.int32(-1), "padding_value": p((), t, "small"), "align": a}
        for s, k in (((3,), 0), ((2, 3), 1), ((2, 3, 3), (-1, 1))) for a in ("RIGHT_LEFT", "LEFT_RIGHT"))),
    listed("MatrixDiagPartV3", NUMBERS + ("bool",), *(
        lambda p, t, k=k, a=a: {"input": p((2, 3, 4), t), "k": np.array(k, np.int32), "padding_value": p((), t, "small"), "align": a}
        for k in (0, 1, (-1, 2)) for a in ("RIGHT_LEFT", "LEFT_LEFT"))),
    listed("MatrixSetDiagV3", NUMBERS + ("bool",), lambda p, t: {"input": p((2, 3, 4), t), "diagonal": p((2, 3), t, "small"), "k": np.int32(1)}),
    listed("DiagPart", ("float32", "int32", "complex64"), lambda p, t: {"input": p((3, 3), t)}, lambda p, t: {"input": p((2, 3, 2, 3), t)}),
    listed("Diag", ("float32", "int32", "complex64"), lambda p, t: {"diagonal": p((3,), t)}, lambda p, t: {"diagonal": p((2, 2), t)}),
)

FILLING: tuple[Line, ...] = (
    *(listed("Fill", MOVED, *(lambda p, t, d=d, i=i: {"dims": np.array(d, i), "value": p((), t)} for d in ((), (3,), (2, 0), (40, 50)))) for i in INDEX),
    refused("Fill", ("float32",), lambda p, t: {"dims": i32(-1), "value": p((), t)}, lambda p, t: {"dims": i32(2), "value": p((1,), t)}),
    listed("ZerosLike", EVERY, lambda p, t: {"x": p((2, 3), t)}, lambda p, t: {"x": p((0,), t)}),
    listed("OnesLike", PLAIN, lambda p, t: {"x": p((2, 3), t)}),
    listed("OneHot", MOVED, *(
        lambda p, t, x=x, a=a, i=i: {"indices": np.array(x, i), "depth": np.int32(3), "on_value": p((), t), "off_value": p((), t, "small"), "axis": a}
        for x, a in ((1, -1), ([0, 2, 5, -1], -1), ([[0, 1], [2, 2]], 0), ([[0, 1], [2, 2]], 1)) for i in ("int32", "int64", "uint8"))),
    listed("Range", ("int32", "int64", "float32", "float64"), *(
        lambda p, t, s=s, l=l, d=d: {"start": np.array(s, t), "limit": np.array(l, t), "delta": np.array(d, t)} for s, l, d in ((0, 9, 2), (5, -4, -3), (2, 2, 1)))),
    refused("Range", ("int32",), *(lambda p, t, s=s, l=l, d=d: {"start": np.array(s, t), "limit": np.array(l, t), "delta": np.array(d, t)} for s, l, d in ((0, 9, 0), (5, 4, 1), (0, 4, -1)))),
    listed("LinSpace", ("float32", "float64"), *(lambda p, t, n=n: {"start": p((), t), "stop": p((), t, "small"), "num": np.int32(n)} for n in (1, 2, 7))),
    *(listed("Shape", ("float32", "string"), *(lambda p, t, s=s, o=o: {"input": p(s, t), "out_type": o} for s in ((), (2, 0, 3)))) for o in INDEX),
    *(listed("Size", ("float32", "string"), *(lambda p, t, s=s, o=o: {"input": p(s, t), "out_type": o} for s in ((), (2, 0), (2, 3)))) for o in INDEX),
    listed("Rank", ("float32", "string"), lambda p, t: {"input": p((2, 3), t)}),
    listed("Bitcast", ("float32",), *(lambda p, t, o=o: {"input": p((2, 4), t), "type": o} for o in ("int32", "uint8", "float16"))),
    listed("Bitcast", ("uint8",), lambda p, t: {"input": p((3, 4), t, "bits"), "type": "int32"}),
)

TEXT: tuple[Line, ...] = (
    listed("StringLower", ("string",), lambda p, t: {"input": STRINGS}),
    listed("StringUpper", ("string",), lambda p, t: {"input": STRINGS}),
    listed("StringStrip", ("string",), lambda p, t: {"input": STRINGS}),
    listed("StringLength", ("string",), lambda p, t: {"input": STRINGS}, lambda p, t: {"input": STRINGS[:6], "unit": "UTF8_CHAR"}),
    listed("StringJoin", ("string",), lambda p, t: {"inputs": [STRINGS, text(b"-"), STRINGS[::-1].copy()], "separator": "|"}),
    listed("Substr", ("string",), *(lambda p, t, b=b, n=n, i=i: {"input": words(b"hello", b"world"), "pos": np.array(b, i), "len": np.array(n, i)}
                                    for b, n in ((1, 3), (-3, 2), ([0, 4], [9, 1])) for i in INDEX)),
    refused("Substr", ("string",), lambda p, t: {"input": words(b"hello", b"wo"), "pos": np.int32(4), "len": np.int32(1)}),
    listed("StringToNumber", ("string",), *(lambda p, t, o=o: {"string_tensor": words(b"12", b" -3 ", b"0"), "out_type": o} for o in ("float32", "float64", "int32", "int64")),
           lambda p, t: {"string_tensor": words(b"1.5e3", b"nan", b"-inf"), "out_type": "float32"}),
    refused("StringToNumber", ("string",), *(lambda p, t, v=v, o=o: {"string_tensor": words(v), "out_type": o} for v, o in ((b"x", "float32"), (b"1.5", "int32"), (b"", "int64"), (b"99999999999", "int32")))),
    listed("StringToHashBucketFast", ("string",), lambda p, t: {"input": STRINGS, "num_buckets": 1000}),
    listed("AsString", REALS + ("bool", "complex64"), lambda p, t: {"input": p((7,), t)}, lambda p, t: {"input": p((3,), t), "width": 12}),
    listed("AsString", ("float32", "float64"), lambda p, t: {"input": p((7,), t), "precision": 3}, lambda p, t: {"input": p((7,), t), "scientific": True},
           lambda p, t: {"input": p((7,), t), "shortest": True}),
    listed("RegexReplace", ("string",), *(lambda p, t, r=r, w=w, g=g: {"input": STRINGS, "pattern": text(r), "rewrite": text(w), "replace_global": g}
                                          for r, w in ((b"[a-z]", b"_"), (b"(l+)", b"<\\1>"), (b"$", b"!")) for g in (False, True))),
    listed("RegexFullMatch", ("string",), *(lambda p, t, r=r: {"input": STRINGS, "pattern": text(r)} for r in (b"[a-z0-9]*", b".*o.*", b""))),
    refused("RegexFullMatch", ("string",), lambda p, t: {"input": STRINGS, "pattern": text(b"(")}),
    listed("StringSplit", ("string",), *(lambda p, t, d=d, s=s: {"input": STRINGS, "delimiter": text(d), "skip_empty": s} for d in (b",", b" ,", b"") for s in (False, True))),
    listed("StringSplitV2", ("string",), *(lambda p, t, d=d, m=m: {"input": STRINGS, "sep": text(d), "maxsplit": m} for d in (b",", b"", b"l") for m in (-1, 1))),
    listed("ReduceJoin", ("string",), *(lambda p, t, a=a, k=k: {"inputs": p((2, 3), t), "reduction_indices": i32(*a), "keep_dims": k, "separator": "+"}
                                        for a in ((0,), (1,), (0, 1), ()) for k in (False, True))),
    listed("DecodeRaw", ("string",), *(lambda p, t, o=o: {"bytes": words(b"abcdefgh", b"ijklmnop"), "out_type": o} for o in ("uint8", "int16", "float32", "int64", "bool")),
           lambda p, t: {"bytes": words(b"abcdefgh"), "out_type": "int32", "little_endian": False}),
    refused("DecodeRaw", ("string",), lambda p, t: {"bytes": words(b"abc", b"de"), "out_type": "uint8"}, lambda p, t: {"bytes": words(b"abc"), "out_type": "int16"}),
)

ARRAYS: tuple[Line, ...] = JOINING + CUTTING + PICKING + TURNING + FILLING + TEXT
