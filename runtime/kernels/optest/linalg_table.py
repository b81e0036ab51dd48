"""Lines for decompositions and functions of matrices, systems of equations, Fourier transforms and einsum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lines import COMPLEX, FLOATS, INDEX, INEXACT, Line, Pool, REALS, i32, listed, refused
from math_table import definite

FULL = ("float32", "float64")
ALL = FULL + COMPLEX
REAL_OF = {"complex64": "float32", "complex128": "float64"}


def hermitian(matrices: np.ndarray) -> np.ndarray:
    return ((matrices + np.conj(np.swapaxes(matrices, -1, -2))) / 2).astype(matrices.dtype)


def triangle(matrices: np.ndarray) -> np.ndarray:
    return np.tril(definite(matrices)).astype(matrices.dtype)


EQUATIONS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("ij,jk->ik", ((3, 4), (4, 5))), ("ij,kj->ki", ((3, 4), (5, 4))), ("abc,cd->abd", ((2, 3, 4), (4, 5))), ("bij,bjk->bik", ((3, 2, 4), (3, 4, 5))),
    ("bqhd,bkhd->bhqk", ((2, 3, 2, 4), (2, 5, 2, 4))), ("bhqk,bkhd->bqhd", ((2, 2, 3, 5), (2, 5, 2, 4))), ("i,j->ij", ((3,), (4,))), ("i,i->", ((7,), (7,))),
    ("ij,ij->j", ((3, 4), (3, 4))), ("ij->ji", ((3, 4),)), ("ij->", ((3, 4),)), ("ij->j", ((3, 4),)), ("ii->i", ((4, 4),)), ("ii->", ((4, 4),)),
    ("iij->ji", ((3, 3, 2),)), ("i->ii", ((3,),)), ("ij->iji", ((2, 3),)), ("...ij,...jk->...ik", ((2, 3, 4), (4, 5))),
    ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))), ("...a->a...", ((2, 3, 4),)), ("...,...->...", ((2, 1), (3,))), ("iij,jk->ik", ((3, 3, 4), (4, 2))),
    ("abc,ad->bd", ((2, 3, 4), (2, 5))), (",->", ((), ())), (",i->i", ((), (3,))), ("ij,jk->ik", ((0, 4), (4, 5))), ("ij,jk->ik", ((3, 0), (0, 5))),
    ("ij,jk->kik", ((3, 4), (4, 2))), ("aB,Bc->ac", ((2, 3), (3, 4))), ("ij,jk->ik", ((70, 60), (60, 50))), ("bij,bjk->bik", ((40, 6, 7), (40, 7, 8))))


def equations(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
    for equation, shapes in EQUATIONS:
        yield {"inputs": [pool(s, dtype, "unit" if i else "any") for i, s in enumerate(shapes)], "equation": equation}


LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 30, 37, 49, 60, 64, 100, 101, 128, 210, 211, 360, 1000, 1021, 1024)


def transforms(rank: int) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        shapes = [(n,) for n in LENGTHS] + [(3, 6), (40, 9), (0,), (0, 4), (4, 0)] if rank == 1 else [(6, 5), (8, 12), (3, 4, 9), (2, 0, 3)]
        for shape in shapes if rank < 3 else [(4, 6, 5), (2, 3, 4, 7)]:
            yield {"input": pool(shape, dtype)}
    return cases


def real_transforms(rank: int, is_inverse: bool) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        kind, other = ("Tcomplex", {"float32": "complex64", "float64": "complex128"}) if not is_inverse else ("Treal", REAL_OF)
        shapes = [(n,) for n in LENGTHS] + [(3, 6), (40, 9), (17, 16)] if rank == 1 else [(6, 5), (8, 12), (3, 4, 9)]
        for shape in shapes if rank < 3 else [(4, 6, 5), (2, 3, 4, 6)]:
            lengths = shape[-rank:]
            given = shape[:-1] + (shape[-1] // 2 + 1,) if is_inverse else shape
            yield {"input": pool(given, dtype), "fft_length": i32(*lengths), kind: other[dtype]}
            yield {"input": pool(tuple(d + 2 for d in given), dtype), "fft_length": i32(*lengths), kind: other[dtype]}
    return cases


RANKS = (("", 1), ("2D", 2), ("3D", 3))

LINALG: tuple[Line, ...] = (
    # The signs of vectors are the algorithm's own: those of small matrices are Eigen's everywhere.
    listed("Svd", ALL, *(lambda p, t, s=s, c=c, f=f: {"input": p(s, t), "compute_uv": c, "full_matrices": f}
                         for s in ((4, 3), (3, 4), (2, 5, 5), (0, 3), (3, 0), (2, 3, 0), (40, 30)) for c, f in ((False, False),)), ulps=512, outputs=1),
    listed("SelfAdjointEigV2", ALL, *(lambda p, t, s=s: {"input": hermitian(p(s, t)), "compute_v": False}
                                      for s in ((1, 1), (4, 4), (2, 3, 3), (0, 0), (2, 0, 0), (30, 30))), ulps=1024, outputs=1),
    # Of real matrices TensorFlow's eigenvalues come in another order.
    listed("Eig", COMPLEX, *(lambda p, t, s=s, c=c: {"input": p(s, t), "compute_v": c, "Tout": {"float32": "complex64", "float64": "complex128"}.get(t, t)}
                         for s in ((1, 1), (3, 3), (2, 4, 4), (0, 0)) for c in (True,)), ulps=4096),
    listed("Lu", ALL, *(lambda p, t, s=s, o=o: {"input": p(s, t), "output_idx_type": o} for s in ((1, 1), (5, 5), (2, 3, 3), (0, 0)) for o in INDEX),
           ulps=256),
    refused("Lu", ("float32",), lambda p, t: {"input": np.zeros((2, 2), t)}, lambda p, t: {"input": p((2, 3), t)}),
    listed("LogMatrixDeterminant", ALL, *(lambda p, t, s=s: {"input": p(s, t)} for s in ((1, 1), (5, 5), (2, 3, 3), (0, 0), (0, 2, 2))),
           lambda p, t: {"input": np.zeros((2, 2), t)}, lambda p, t: {"input": np.ones((2, 2), t)}, ulps=512),
    listed("MatrixLogarithm", COMPLEX, *(lambda p, t, s=s: {"input": definite(p(s, t))} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 0))), ulps=2048),
    listed("MatrixSquareRoot", ALL, *(lambda p, t, s=s: {"input": definite(p(s, t))} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 0))), ulps=2048),
    listed("CholeskyGrad", FULL, *(lambda p, t, s=s: {"l": triangle(p(s, t)), "grad": p(s, t, "unit")} for s in ((1, 1), (4, 4), (2, 3, 3), (0, 0), (40, 40))),
           ulps=2048),
    listed("Cross", REALS, *(lambda p, t, s=s: {"a": p(s, t, "small"), "b": p(s, t)} for s in ((3,), (5, 3), (2, 2, 3), (0, 3)))),
    refused("Cross", ("float32",), lambda p, t: {"a": p((4,), t), "b": p((4,), t)}, lambda p, t: {"a": p((2, 3), t), "b": p((3,), t)}),
    *(refused(op, ("complex64",), lambda p, t: {"input": p((2, 3), t)}, lambda p, t: {"input": p((3,), t)})
      for op in ("MatrixLogarithm", "MatrixSquareRoot", "LogMatrixDeterminant", "SelfAdjointEigV2")),
    # Systems of equations.
    *(listed("MatrixSolveLs", ALL, *(lambda p, t, s=s, l=l: {"matrix": p(s, t), "rhs": p(s[:-1] + (2,), t), "l2_regularizer": np.float64(l), "fast": fast}
                                     for s in ((5, 3), (3, 5), (4, 4), (2, 6, 3), (3, 0)) for l in (0.1, 0.5)), ulps=8192) for fast in (True, False)),
    refused("MatrixSolveLs", ("float32",), lambda p, t: {"matrix": np.zeros((2, 2), t), "rhs": p((2, 1), t), "l2_regularizer": np.float64(0)},
            lambda p, t: {"matrix": p((2, 2), t), "rhs": p((3, 1), t), "l2_regularizer": np.float64(0)},
            lambda p, t: {"matrix": p((2, 2), t), "rhs": p((2, 1), t), "l2_regularizer": np.float64(-1)}),
    listed("BandedTriangularSolve", ALL, *(
        lambda p, t, s=s, r=r, lo=lo, a=a: {"matrix": p(s, t, "positive"), "rhs": p(r, t), "lower": lo, "adjoint": a}
        for s, r in (((1, 4), (4, 2)), ((3, 5), (5, 2)), ((2, 2, 4), (2, 4, 1)), ((2, 2, 4), (4, 3)), ((2, 4), (3, 4, 2)))
        for lo in (True, False) for a in (True, False)), ulps=4096),
    refused("BandedTriangularSolve", ("float32",), lambda p, t: {"matrix": p((2, 3), t), "rhs": p((4, 1), t)}),
    *(listed("TridiagonalSolve", ALL, *(
        lambda p, t, s=s, k=k: {"diagonals": p(s, t) + np.array([[0], [9], [0]], t), "rhs": p(s[:-2] + (s[-1], k), t), "partial_pivoting": pivots}
        for s in ((3, 1), (3, 2), (3, 7), (2, 3, 5), (0, 3, 2)) for k in (1, 3)), ulps=512) for pivots in (True, False)),
    listed("TridiagonalSolve", ALL, *(lambda p, t, s=s: {"diagonals": p(s, t), "rhs": p((s[-1], 2), t)} for s in ((3, 3), (3, 9))), ulps=8192),
    refused("TridiagonalSolve", ("float32",), lambda p, t: {"diagonals": p((2, 3), t), "rhs": p((3, 1), t)}, lambda p, t: {"diagonals": p((3, 3), t), "rhs": p((4, 1), t)}),
    listed("TridiagonalMatMul", ALL, *(
        lambda p, t, s=s, k=k: {"superdiag": p(s[:-1] + (1, s[-1]), t), "maindiag": p(s[:-1] + (1, s[-1]), t, "unit"),
                                "subdiag": p(s[:-1] + (1, s[-1]), t, "positive"), "rhs": p(s + (k,), t)}
        for s in ((1,), (5,), (2, 4)) for k in (1, 3)), ulps=32),
    # Products.
    Line("Einsum", INEXACT + INDEX, equations, ulps=256),
    refused("Einsum", ("float32",), *(lambda p, t, e=e, s=s: {"inputs": [p(x, t) for x in s], "equation": e} for e, s in (
        ("ij,jk->ik", ((3, 4), (5, 2))), ("ij->i", ((3,),)), ("ii->i", ((3, 4),))))),
    *(listed("BatchMatMulV3", (a,), *(lambda p, t, s=s, r=r: {"x": p(s, t), "y": p(r, b), "Tout": out, "adj_x": False, "adj_y": False}
                                      for s, r in (((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((0, 3), (3, 2)))), ulps=256)
      for a, b, out in [(t, t, t) for t in INEXACT + ("int16",) + INDEX] + [(a, b, "int32") for a in ("int8", "uint8") for b in ("int8", "uint8")] +
      [(a, "bfloat16", "bfloat16") for a in ("int8", "uint8")] + [("bfloat16", b, "bfloat16") for b in ("int8", "uint8")] if a != "float16"),
    listed("MatrixSetDiag", REALS + COMPLEX + ("bool",), *(
        lambda p, t, s=s: {"input": p(s, t), "diagonal": p(s[:-2] + (min(s[-2:]),), t, "small")} for s in ((3, 3), (2, 3, 4), (0, 2, 2)))),
    listed("MatrixSetDiagV2", REALS + COMPLEX + ("bool",),
           lambda p, t: {"input": p((3, 4), t), "diagonal": p((3,), t, "small"), "k": i32(1)},
           lambda p, t: {"input": p((2, 3, 4), t), "diagonal": p((2, 2, 3), t, "small"), "k": i32(-1, 0)}),
    # Fourier transforms.
    *(Line(way + name, COMPLEX, transforms(rank), ulps=256) for way in ("FFT", "IFFT") for name, rank in RANKS),
    *(Line("RFFT" + name, FULL, real_transforms(rank, False), ulps=1024) for name, rank in RANKS),
    *(Line("IRFFT" + name, COMPLEX, real_transforms(rank, True), ulps=256) for name, rank in RANKS),
    refused("RFFT", ("float32",), *(lambda p, t, n=n: {"input": p((4,), t), "fft_length": n} for n in (i32(8), i32(-1), i32(1, 2)))),
    refused("FFT2D", ("complex64",), lambda p, t: {"input": p((4,), t)}),
    listed("RFFT", ("float32",), lambda p, t: {"input": p((0, 4), t), "fft_length": i32(4)}),
)
