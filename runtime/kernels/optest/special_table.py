"""Lines for special functions, counting and small math on shapes."""

from __future__ import annotations

import numpy as np

from lines import FLOATS, INDEX, INTS, Line, NUMBERS, REALS, binary, i32, i64, listed, refused, unary

FULL = ("float32", "float64")
BESSEL = ("float16", "float32", "float64")


def edges(dtype: str) -> np.ndarray:
    """Zeros, ones, large and small numbers, infinities, NaN."""
    most, least = float(np.finfo(dtype).max), float(np.finfo(dtype).tiny)
    return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, 2.5, 3.25, 4, 6.25, 8, 16, 32, 40, 64, 100, -3, -50, least, most, -most, np.inf, -np.inf,
                     np.nan], dtype)


def special(op: str, dtypes: tuple[str, ...], domain: str, ulps: float, over: slice = slice(None)) -> tuple[Line, ...]:
    return (unary(op, dtypes, domain, ulps=ulps), listed(op, dtypes, lambda p, t: {"x": edges(t)[over]}, ulps=ulps))


def bins(dtype: str, *values: int) -> np.ndarray:
    return np.array(values, dtype)


NONE = np.zeros((0,), np.float32)

SPECIAL: tuple[Line, ...] = (
    *(line for op in ("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1") for line in special(op, BESSEL, "any", 64, slice(0, 21))),
    *(line for op in ("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1")
      for line in special(op, BESSEL, "positive", 64, slice(2, 18, 2))),
    *special("Dawsn", FULL, "any", 32, slice(0, 21)),
    *special("Expint", FULL, "positive", 32, slice(2, None)),
    *special("FresnelCos", FULL, "any", 64),
    *special("FresnelSin", FULL, "any", 64),
    *special("Spence", FULL, "positive", 32),
    *special("Ndtri", FULL, "unit", 64),
    *special("Erfinv", FULL, "unit", 64),
    unary("PopulationCount", INTS, "bits"),
    binary("Igamma", FULL, "positive", "positive", names=("a", "x"), ulps=512),
    binary("Igammac", FULL, "positive", "positive", names=("a", "x"), ulps=512),
    *(listed(op, FULL, lambda p, t: {"a": np.array([0, -1, 1, np.nan, 3, 3, 1e3, 200], t), "x": np.array([1, 1, -1, 1, 0, np.inf, 990, 210], t)},
             ulps=4096) for op in ("Igamma", "Igammac")),
    binary("IgammaGradA", FULL, "positive", "positive", names=("a", "x"), ulps=4096),
    binary("RandomGammaGrad", FULL, "positive", "positive", names=("alpha", "sample"), ulps=4096),
    binary("NextAfter", FULL, names=("x1", "x2")),
    listed("NextAfter", FULL, lambda p, t: {"x1": edges(t), "x2": edges(t)[::-1].copy()}),
    listed("Betainc", FULL,
           lambda p, t: {"a": p((50,), t, "positive"), "b": p((50,), t, "positive"), "x": np.linspace(0, 1, 50).astype(t)},
           lambda p, t: {"a": p((), t, "positive"), "b": p((3, 4), t, "positive"), "x": np.array(0.3, t)},
           lambda p, t: {"a": p((), t, "positive"), "b": p((), t, "positive"), "x": np.array(0.3, t)},
           lambda p, t: {"a": np.array([-1, 1, 1, np.nan, 0], t), "b": np.array([1, -1, 1, 1, 1], t), "x": np.array([.5, .5, 2, .5, .5], t)},
           lambda p, t: {"a": p((0,), t), "b": p((0,), t), "x": p((0,), t)}, ulps=4096),
    refused("Betainc", FULL, lambda p, t: {"a": p((2,), t), "b": p((3,), t), "x": p((), t)}),
    listed("CumulativeLogsumexp", FLOATS, *(
        lambda p, t, e=e, r=r, s=s, a=a: {"x": p(s, t), "axis": np.int32(a), "exclusive": e, "reverse": r}
        for e in (False, True) for r in (False, True) for s, a in (((6,), 0), ((3, 4, 5), 1), ((0, 2), 0))), ulps=64),
    listed("CumulativeLogsumexp", FULL, lambda p, t: {"x": np.array([-np.inf, -np.inf, 3, 700, -800], t), "axis": np.int64(0)}),
    # Counting.
    listed("Bincount", ("int32", "int64", "float32", "float64"), *(
        lambda p, t, s=s, w=w: {"arr": p(s, "int32", "small"), "size": np.int32(4), "weights": p(s if w else (0,), t, "small")}
        for s in ((9,), (0,), (3, 7), ()) for w in (False, True))),
    refused("Bincount", ("float32",), lambda p, t: {"arr": i32(1, -1), "size": np.int32(3), "weights": NONE},
            lambda p, t: {"arr": i32(1, 2), "size": np.int32(-3), "weights": NONE},
            lambda p, t: {"arr": i32(1, 2), "size": i32(3), "weights": NONE},
            lambda p, t: {"arr": i32(1, 2), "size": np.int32(3), "weights": p((3,), t)}),
    *(listed("SparseBincount", ("int32", "int64", "float32", "float64"), *(
        lambda p, t, k=k, w=w, b=b: {"indices": np.array([[0, 0], [0, 2], [2, 1], [2, 2]], np.int64)[:, :k] * (1 if k == 2 else 2),
                                     "values": bins(kind, 3, 1, 1, 9), "dense_shape": i64(*(5, 3)[:k]), "size": np.array(4, kind),
                                     "weights": p((4 if w else 0,), t), "binary_output": b}
        for k in (1, 2) for w in (False, True) for b in (False, True))) for kind in INDEX),
    refused("SparseBincount", ("float32",),
            lambda p, t: {"indices": np.array([[9]], np.int64), "values": bins("int32", 1), "dense_shape": i64(4), "size": np.int32(3), "weights": NONE},
            lambda p, t: {"indices": np.array([[0]], np.int64), "values": bins("int32", 1), "dense_shape": i64(4), "size": np.int32(-3), "weights": NONE}),
    *(listed("RaggedBincount", ("int32", "int64", "float32", "float64"), *(
        lambda p, t, w=w, b=b: {"splits": i64(0, 2, 2, 5), "values": bins(kind, 3, 1, 1, 9, 1), "size": np.array(4, kind),
                                "weights": p((5 if w else 0,), t), "binary_output": b}
        for w in (False, True) for b in (False, True))) for kind in INDEX),
    refused("RaggedBincount", ("float32",),
            lambda p, t: {"splits": i64(1, 2), "values": i32(1, 2), "size": np.int32(3), "weights": NONE},
            lambda p, t: {"splits": i64(0, 3), "values": i32(1, 2), "size": np.int32(3), "weights": NONE}),
    listed("HistogramFixedWidth", ("int32", "int64", "float32", "float64"), *(
        lambda p, t, s=s, o=o, n=n: {"values": p(s, t), "value_range": np.array([-2, 3], t), "nbins": np.int32(n), "dtype": o}
        for s in ((), (0,), (300,), (4, 5)) for o in INDEX for n in (1, 7))),
    refused("HistogramFixedWidth", FULL,
            *(lambda p, t, r=r, n=n: {"values": p((3,), t), "value_range": np.array(r, t), "nbins": n}
              for r, n in (((1, 1), np.int32(2)), ((0, np.nan), np.int32(2)), ((0, 1, 2), np.int32(2)), ((0, 1), np.int32(0)), ((0, 1), i32(2)))),
            lambda p, t: {"values": np.array([np.nan], t), "value_range": np.array([0, 1], t), "nbins": np.int32(3)}),
    listed("NthElement", REALS, *(
        lambda p, t, s=s, n=n, r=r: {"input": p(s, t), "n": np.int32(n), "reverse": r}
        for s, n in (((1,), 0), ((9,), 4), ((3, 40), 7), ((0, 3), 2), ((2, 3, 5), 4)) for r in (False, True))),
    refused("NthElement", ("float32",), lambda p, t: {"input": p((3,), t), "n": i32(1)}, lambda p, t: {"input": p((), t), "n": np.int32(0)},
            lambda p, t: {"input": p((3,), t), "n": np.int32(3)}, lambda p, t: {"input": p((3,), t), "n": np.int32(-1)}),
    *(listed("IsotonicRegression", (kind,), *(lambda p, t, s=s, o=o: {"input": p(s, t), "output_dtype": o}
                                              for s in ((), (1,), (5,), (3, 30), (0, 3), (2, 0), (2, 3, 4))), ulps=16)
      for kind, o in (("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"), ("float64", "float64"), ("int8", "float32"),
                      ("int16", "float32"), ("int32", "float64"), ("int64", "float64"))),
    listed("ApproxTopK", ("float16", "bfloat16", "float32"), *(lambda p, t, s=s, k=k: {"input": p(s, t), "k": k}
                                                               for s, k in (((5,), 2), ((3, 40), 6), ((2, 3), 0)))),
    # Orders of dimensions.
    listed("DataFormatDimMap", INDEX, *(
        lambda p, t, x=x, s=s, d=d: {"x": np.array(x, t), "src_format": s, "dst_format": d}
        for x, s, d in (([0, 3, -1, -4], "NHWC", "NCHW"), (2, "NCHW", "NHWC"), ([], "NHWC", "NCHW"), ([[4, 0], [1, -5]], "NDHWC", "NCDHW")))),
    listed("DataFormatVecPermute", INDEX, *(
        lambda p, t, n=n, s=s, d=d: {"x": p(n, t), "src_format": s, "dst_format": d}
        for n, s, d in (((4,), "NHWC", "NCHW"), ((4, 2), "NHWC", "NCHW"), ((2,), "NCHW", "NHWC"), ((2, 2), "NHWC", "HWNC"), ((5,), "NDHWC", "NCDHW"),
                        ((3,), "NDHWC", "NCDHW"), ((3, 2), "NCDHW", "NDHWC")))),
    *(refused(op, ("int32",), *(lambda p, t, d=d: {"x": p((4,), t), "src_format": "NHWC", "dst_format": d} for d in ("NCH", "NXHW")))
      for op in ("DataFormatDimMap", "DataFormatVecPermute")),
    refused("DataFormatVecPermute", ("int32",), *(lambda p, t, s=s: {"x": p(s, t)} for s in ((), (3,), (2, 1), (1, 3)))),
    listed("UnravelIndex", INDEX, *(
        lambda p, t, i=i, d=d: {"indices": np.array(i, t), "dims": np.array(d, t)}
        for i, d in ((7, [3, 4]), ([1, 11], [3, 4]), ([], [3, 4]), ([5, 0, 23], [2, 3, 4]), ([0], [])))),
    refused("UnravelIndex", ("int32",), *(
        lambda p, t, i=i, d=d: {"indices": np.array(i, t), "dims": np.array(d, t)}
        for i, d in (([12], [3, 4]), ([0], [3, 0]), ([[1]], [3, 4]), ([0], [-3, 4]), ([1], [[3]]), ([1], [70000, 70000])))),
    # Rows and slices.
    *(listed(op, NUMBERS, *(lambda p, t, r=r: {"x": p((3, 2), t), "i": i32(*r), "v": p((len(r), 2), t, "small")}
                            for r in ((1,), (2, 0), (1, 1), (-1, 5), ())),
             lambda p, t: {"x": p((0, 2), t), "i": i32(1), "v": p((1, 2), t)}) for op in ("InplaceAdd", "InplaceSub")),
    listed("InplaceUpdate", NUMBERS + ("bool", "string"), lambda p, t: {"x": p((3, 2), t), "i": i32(2, 0), "v": p((2, 2), t, "small")}),
    refused("InplaceAdd", ("float32",), *(
        lambda p, t, x=x, i=i, v=v: {"x": p(x, t), "i": np.array(i, np.int32), "v": p(v, t)}
        for x, i, v in (((3, 2), 1, (2,)), ((3, 2), [[1]], (1, 2)), ((3, 2), [1, 2], (1, 2)), ((3, 2), [1], (1, 3)), ((), [1], (1,))))),
    *(refused(op, ("bool", "string"), lambda p, t: {"x": p((2,), t), "i": i32(0), "v": p((1,), t)}) for op in ("InplaceAdd", "InplaceSub")),
    listed("TensorStridedSliceUpdate", NUMBERS + ("bool", "string"), *(
        lambda p, t, v=v: {"input": p((4, 3), t), "begin": i32(0), "end": i32(4), "strides": i32(2), "value": p(v, t, "small")}
        for v in ((2, 3), (3,), (1, 3), (2, 1), ())),
        lambda p, t: {"input": p((4, 3), t), "begin": i64(1, 0), "end": i64(2, 3), "strides": i64(1, -1), "value": p((0,), t), "shrink_axis_mask": 1},
        lambda p, t: {"input": p((4, 3), t), "begin": i64(1, 2), "end": i64(2, 0), "strides": i64(1, -1), "value": p((2,), t), "shrink_axis_mask": 1}),
    refused("TensorStridedSliceUpdate", ("float32",),
            lambda p, t: {"input": p((4, 3), t), "begin": i32(0), "end": i32(2), "strides": i32(1), "value": p((1, 2), t)}),
    listed("ScatterNdNonAliasingAdd", NUMBERS + ("bool",),
           lambda p, t: {"input": p((5,), t), "indices": np.array([[1], [4], [1]], np.int32), "updates": p((3,), t, "small")},
           lambda p, t: {"input": p((3, 4), t), "indices": np.array([[2], [0]], np.int64), "updates": p((2, 4), t, "small")}),
    refused("ScatterNdNonAliasingAdd", ("float32",), lambda p, t: {"input": p((5,), t), "indices": np.array([[7]], np.int32), "updates": p((1,), t)}),
    *(listed("UnsortedSegmentJoin", ("string",), *(
        lambda p, t, s=s, ids=ids: {"inputs": p(s, t), "segment_ids": np.array(ids, kind).reshape(np.shape(ids)), "num_segments": np.array(4, kind),
                                    "separator": ", "}
        for s, ids in (((3,), [0, 2, 0]), ((2, 3), [1, 1]), ((2, 2), [[0, 3], [3, 0]]), ((0,), [])))) for kind in INDEX),
    refused("UnsortedSegmentJoin", ("string",), *(
        lambda p, t, s=s, ids=ids, n=n: {"inputs": p(s, t), "segment_ids": np.array(ids, np.int32), "num_segments": np.array(n, np.int32)}
        for s, ids, n in (((3,), [0, -1, 0], 4), ((3,), [0, 4, 0], 4), ((3,), [0, 1], 4), ((3,), [[0, 1]], 4), ((1,), [0], -1), ((), 0, 1), ((1,), [0], [1])))),
    listed("SpaceToBatch", REALS, lambda p, t: {"input": p((2, 4, 6, 3), t), "paddings": np.array([[0, 0], [1, 1]], np.int32), "block_size": 2},
           lambda p, t: {"input": p((0, 4, 6, 3), t), "paddings": np.array([[0, 2], [3, 0]], np.int64), "block_size": 3}),
    listed("BatchToSpace", REALS, lambda p, t: {"input": p((8, 2, 3, 2), t), "crops": np.array([[0, 1], [1, 0]], np.int32), "block_size": 2}),
    refused("SpaceToBatch", ("float32",), lambda p, t: {"input": p((2, 3, 6, 3), t), "paddings": np.array([[0, 0], [0, 0]], np.int32), "block_size": 2},
            lambda p, t: {"input": p((2, 4, 6), t), "paddings": np.array([[0, 0], [0, 0]], np.int32), "block_size": 2}),
)
