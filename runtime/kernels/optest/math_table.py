"""Lines for element-wise math, reductions and products of matrices."""

from __future__ import annotations

import numpy as np

from lines import (
    COMPLEX, EVERY, FLOATS, INDEX, INEXACT, INTS, Line, NUMBERS, PLAIN, REALS, SIGNED, batch_products, binary,
    casts, gradient, listed, products, reduction, refused, selections, unary,
)


def ordered(rows: np.ndarray) -> np.ndarray:
    return np.sort(rows.astype(np.float64), axis=-1).astype(rows.dtype)


def definite(matrices: np.ndarray) -> np.ndarray:
    """Hermitian and positive: each times its adjoint, and a little more."""
    wide = matrices.astype(np.complex128 if matrices.dtype.kind == "c" else np.float64) / 4
    product = wide @ np.conj(np.swapaxes(wide, -1, -2)) + np.eye(matrices.shape[-1])
    return product.astype(matrices.dtype)



def denormal(dtype: str) -> np.ndarray:
    """Numbers that TensorFlow's kernels take for zero, and three that they do not."""
    least = np.finfo(dtype).tiny
    return np.array([least / 2, -least / 2, least / 1000, 1, -3, 4 * least] * 7, dtype)


MATH: tuple[Line, ...] = (
    *(listed(op, ("float32", "float64"), lambda pool, dtype: {"x": np.abs(denormal(dtype))}) for op in ("Log", "Ceil", "Sqrt")),
    *(listed(op, ("float32", "float64"), lambda pool, dtype: {"x": np.ones(42, dtype), "y": denormal(dtype)})
      for op in ("DivNoNan", "FloorDiv", "RealDiv")),
    listed("SqrtGrad", INEXACT, lambda pool, dtype: {"y": np.zeros(42, dtype), "dy": np.zeros(42, dtype)}),
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
    binary("Polygamma", ("float32", "float64"), "small", "positive", names=("a", "x"), ulps=256),
    binary("Zeta", ("float32", "float64"), "positive", "positive", names=("x", "q"), ulps=256),
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
    listed("Cholesky", ("float32", "float64") + COMPLEX, *(
        lambda p, t, s=s: {"input": definite(p(s, t))} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 2, 2), (2, 0, 0), (30, 30))), ulps=512),
    listed("MatrixInverse", ("float16", "float32", "float64") + COMPLEX, *(
        lambda p, t, s=s, a=a: {"input": definite(p(s, t)), "adjoint": a} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 0)) for a in (False, True)),
        ulps=512),
    listed("MatrixDeterminant", ("float32", "float64") + COMPLEX, *(
        lambda p, t, s=s: {"input": p(s, t, "unit")} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 2, 2), (3, 0, 0))), ulps=512),
    listed("MatrixSolve", ("float32", "float64") + COMPLEX, *(
        lambda p, t, s=s, a=a: {"matrix": definite(p(s, t)), "rhs": p(s[:-1] + (2,), t), "adjoint": a}
        for s in ((1, 1), (4, 4), (2, 3, 3), (0, 2, 2)) for a in (False, True)), ulps=1024),
    listed("MatrixTriangularSolve", ("float32", "float64") + COMPLEX, *(
        lambda p, t, s=s, lo=lo, a=a: {"matrix": definite(p(s, t)), "rhs": p(s[:-1] + (2,), t), "lower": lo, "adjoint": a}
        for s in ((1, 1), (4, 4), (2, 3, 3)) for lo in (False, True) for a in (False, True)), ulps=1024),
    *(refused(op, ("float32",), lambda p, t: {"input": p((2, 3), t)}, lambda p, t: {"input": p((3,), t)}) for op in ("Cholesky", "MatrixInverse")),
    refused("MatrixInverse", ("float32",), lambda p, t: {"input": np.zeros((2, 2), t)}),
    listed("Cholesky", ("float32",), lambda p, t: {"input": np.array([[4, 1], [1, -3]], t)}),  # has none
    *(refused(op, ("float32",), lambda p, t: {"matrix": np.zeros((2, 2), t), "rhs": p((2, 1), t)},
              lambda p, t: {"matrix": p((2, 2), t), "rhs": p((3, 1), t)}, lambda p, t: {"matrix": p((2, 3), t), "rhs": p((2, 1), t)})
      for op in ("MatrixSolve", "MatrixTriangularSolve")),
    # Counting and searching.
    *(listed("DenseBincount", (kind,), *(
        lambda p, t, s=s, w=w, b=b: {"input": p(s, t, "small"), "size": np.array(4, t), "weights": p(s if w else (0,), w or "float32", "small"),
                                     "binary_output": b}
        for s in ((9,), (0,), (3, 7), (2, 0)) for w in ("", "int32", "int64", "float32", "float64") for b in (False, True))) for kind in INDEX),
    refused("DenseBincount", ("int32",), lambda p, t: {"input": np.array([1, -1], t), "size": np.array(3, t), "weights": p((0,), "float32")},
            lambda p, t: {"input": np.array([1, 2], t), "size": np.array(-3, t), "weights": p((0,), "float32")},
            lambda p, t: {"input": np.array([1, 2], t), "size": np.array(3, t), "weights": p((3,), "float32")}),
    *(listed(op, REALS, *(
        lambda p, t, s=s, v=v, o=o: {"sorted_inputs": ordered(p(s, t, "small")), "values": p(v, t, "small"), "out_type": o}
        for s, v in (((1, 7), (1, 9)), ((3, 5), (3, 2)), ((2, 0), (2, 3)), ((2, 3), (2, 0))) for o in INDEX)) for op in ("LowerBound", "UpperBound")),
    *(refused(op, ("float32",), lambda p, t: {"sorted_inputs": p((2, 3), t), "values": p((3, 3), t)},
              lambda p, t: {"sorted_inputs": p((3,), t), "values": p((3,), t)}) for op in ("LowerBound", "UpperBound")),
)
