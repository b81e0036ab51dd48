"""The points of ops_vs_tensorflow.py: special functions, decompositions, Fourier transforms, einsum, volumes, distributions."""
from collections.abc import Callable
from typing import Any

import numpy as np
from op_points import POINTS, Point, add, node, unary, value
from vs_tensorflow import tf

GROUP = "science"


def single(name: str, make: Callable[[], Callable[[], tf.Operation]]) -> None:
    POINTS.append(Point(name, GROUP, make))


for _op in ("BesselI0e", "BesselJ0", "Ndtri", "Expint"):
    unary(_op, low=0.1)


def gammas(op: str) -> None:
    def make(n: int) -> Callable[[], tf.Operation]:
        a, x = value(n, tf.float32, 0.2), value(n, tf.float32, 0.1)
        return lambda: node(op, a=a, x=x)
    add(op, make, (1_000, 100_000))


gammas("Igamma")
gammas("Igammac")


def one(op: str, shape: tuple[int, ...], dtype: Any = tf.float32, name: str = "input", **attrs: Any) -> None:
    def make() -> Callable[[], tf.Operation]:
        x = value(shape, dtype)
        return lambda: node(op, **{name: x}, **attrs)
    single("%s %s %s" % (op, tf.as_dtype(dtype).name, "x".join(map(str, shape))), make)


for _shape in ((16, 16), (8, 100, 100)):
    for _op in ("Svd", "SelfAdjointEigV2", "Lu", "LogMatrixDeterminant"):
        one(_op, _shape)
for _shape in ((64, 1024), (1, 65536), (100, 1000), (16, 1021)):
    one("FFT", _shape, tf.complex64)
one("FFT2D", (8, 256, 256), tf.complex64)
one("IFFT3D", (32, 32, 32), tf.complex64)
one("RFFT", (64, 1024), fft_length=np.array([1024], np.int32), Tcomplex=tf.complex64)
one("IRFFT", (64, 513), tf.complex64, fft_length=np.array([1024], np.int32), Treal=tf.float32)
one("RFFT2D", (8, 256, 256), fft_length=np.array([256, 256], np.int32), Tcomplex=tf.complex64)


def einsum(equation: str, *shapes: tuple[int, ...]) -> None:
    def make() -> Callable[[], tf.Operation]:
        inputs = [value(shape) for shape in shapes]
        return lambda: node("Einsum", inputs=inputs, equation=equation)
    single("Einsum %s" % equation, make)


einsum("bqhd,bkhd->bhqk", (4, 64, 8, 32), (4, 64, 8, 32))
einsum("bhqk,bkhd->bqhd", (4, 8, 64, 64), (4, 64, 8, 32))
einsum("abc,cd->abd", (32, 64, 128), (128, 256))
einsum("ij,kj->ik", (256, 512), (256, 512))


def convolution(volume: tuple[int, ...], filters: tuple[int, ...]) -> None:
    attrs: dict[str, Any] = {"strides": [1, 1, 1, 1, 1], "padding": "SAME"}
    out = volume[:4] + filters[4:]
    label = "x".join(map(str, volume + filters[3:]))

    def forward() -> Callable[[], tf.Operation]:
        x, w = value(volume), value(filters)
        return lambda: node("Conv3D", input=x, filter=w, **attrs)

    def image() -> Callable[[], tf.Operation]:
        w, dy = value(filters), value(out)
        return lambda: node("Conv3DBackpropInputV2", input_sizes=np.array(volume, np.int32), filter=w, out_backprop=dy, **attrs)

    def taps() -> Callable[[], tf.Operation]:
        x, dy = value(volume), value(out)
        return lambda: node("Conv3DBackpropFilterV2", input=x, filter_sizes=np.array(filters, np.int32), out_backprop=dy, **attrs)

    single("Conv3D " + label, forward)
    single("Conv3DBackpropInputV2 " + label, image)
    single("Conv3DBackpropFilterV2 " + label, taps)


convolution((2, 16, 16, 16, 16), (3, 3, 3, 16, 32))
convolution((1, 8, 32, 32, 8), (3, 3, 3, 8, 8))
one("MaxPool3D", (2, 16, 32, 32, 16), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="SAME")
one("AvgPool3D", (2, 16, 32, 32, 16), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="SAME")


def gamma_numbers(n: int) -> Callable[[], tf.Operation]:
    alpha = value(10, tf.float32, 0.5)
    return lambda: node("RandomGamma", shape=np.array([n // 10], np.int32), alpha=alpha, seed=1, seed2=2)


def poisson_numbers(n: int) -> Callable[[], tf.Operation]:
    rate = value(10, tf.float32, 5.0, 30.0)
    return lambda: node("RandomPoissonV2", shape=np.array([n // 10], np.int32), rate=rate, seed=1, seed2=2, dtype=tf.float32)


add("RandomGamma", gamma_numbers, (1_000, 100_000))
add("RandomPoissonV2", poisson_numbers, (1_000, 100_000))


def candidates() -> Callable[[], tf.Operation]:
    true = tf.constant(np.arange(128, dtype=np.int64).reshape(128, 1))
    return lambda: node("LogUniformCandidateSampler", true_classes=true, num_true=1, num_sampled=64, unique=True, range_max=100_000, seed=1, seed2=2)


single("LogUniformCandidateSampler 64 of 100000", candidates)


def ctc() -> Callable[[], tf.Operation]:
    x = value((50, 16, 30))
    places = np.array([[b, i] for b in range(16) for i in range(10)], np.int64)
    return lambda: node("CTCLoss", inputs=x, labels_indices=places, labels_values=np.arange(160, dtype=np.int32) % 29,
                        sequence_length=np.full(16, 50, np.int32))


single("CTCLoss 50x16x30", ctc)
