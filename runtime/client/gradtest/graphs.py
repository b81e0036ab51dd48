"""The graphs that gradtest.py differentiates, both ways.

A row is a name, the values of its arguments, and a function from placeholders to one or more results. An argument
whose value is wrapped in `open_` has a placeholder without a shape; one in `fixed` is no x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


@dataclass
class Argument:
    value: np.ndarray
    has_shape: bool = True
    is_x: bool = True


@dataclass
class Row:
    name: str
    arguments: list[Argument]
    build: Callable[..., Any]
    twice: bool = False  # the gradients of the sum of the gradients
    functional: bool = False  # control flow as calls of functions (If, While) rather than as Switch and Merge


def values(shape: tuple[int, ...], dtype: str = "float32", low: float = -2, high: float = 2) -> np.ndarray:
    """Distinct numbers in random order, the same on every run."""
    rng = np.random.default_rng(sum(ord(c) for c in repr((shape, dtype, low, high))))
    count = int(np.prod(shape))
    drawn = low + (high - low) * (np.arange(count) + rng.uniform(0.2, 0.8, count)) / max(1, count)
    drawn = rng.permutation(drawn).reshape(shape)
    if dtype.startswith("complex"):
        drawn = drawn + 1j * rng.uniform(0.2, 1, shape)
    return drawn.astype(dtype)


def row(name: str, build: Callable[..., Any], *arguments: Any, **how: Any) -> Row:
    made = [a if isinstance(a, Argument) else Argument(values(a, **how)) for a in arguments]
    return Row(name, made, build)


def fixed(value: Any, dtype: Any = np.int32) -> Argument:
    return Argument(np.asarray(value, dtype), is_x=False)


def open_(shape: tuple[int, ...], **how: Any) -> Argument:
    return Argument(values(shape, **how), has_shape=False)


def both(name: str, build: Callable[..., Any], *shapes: tuple[int, ...], **how: Any) -> Iterator[Row]:
    """With shapes that are known, and that only the step knows."""
    yield row(name, build, *shapes, **how)
    yield row(name + ", open shapes", build, *[open_(shape, **how) for shape in shapes])


def elementwise() -> Iterator[Row]:
    math = tf.math
    for dtype in ("float32", "float64", "complex128"):
        how = {"dtype": dtype, "low": 0.3, "high": 0.9}
        for fn in (math.negative, math.reciprocal, math.sign, math.square, math.sqrt, math.rsqrt, math.exp, math.expm1,
                   math.log, math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh,
                   math.tanh, math.asinh, math.atanh, math.sigmoid):
            yield row("%s %s" % (fn.__name__, dtype), fn, (2, 3), **how)
        for fn in (math.add, math.subtract, math.multiply, math.divide, math.divide_no_nan, math.pow, math.squared_difference):
            yield row("%s %s" % (fn.__name__, dtype), fn, (2, 1, 3), (4, 1), **how)
    # Real ones only: for complex numbers TensorFlow forgets to conjugate.
    for fn in (math.multiply_no_nan, math.xdivy, math.xlogy):
        yield row(fn.__name__, fn, (2, 1, 3), (4, 1), low=0.3, high=0.9)
    for fn in (math.abs, math.erf, math.erfc, math.softplus, tf.nn.softsign, tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu,
               tf.nn.leaky_relu, math.floor, math.ceil, math.round, math.rint):
        yield row(fn.__name__, fn, (3, 4))
    yield row("lgamma", math.lgamma, (3,), low=0.3, high=4)
    yield row("digamma", math.digamma, (3,), low=0.3, high=4)
    yield row("polygamma", lambda x: math.polygamma([[1.0], [2.0]], x), (3,), low=0.5, high=4)
    yield row("zeta", lambda x: math.zeta([[2.0], [3.5]], x), (3,), low=0.5, high=4)
    yield row("acosh", math.acosh, (3,), low=1.5, high=3)
    for fn in (math.add, math.multiply, math.divide, math.pow, math.maximum, math.minimum, math.atan2, math.floormod):
        yield from both(fn.__name__ + " repeated", fn, (3, 1), (2, 1, 4), low=0.3, high=2)
        yield from both(fn.__name__ + " scalar", fn, (), (2, 3), low=0.3, high=2)
    yield from both("where", lambda x, y: v1.where_v2(x > 0, x * y, y), (2, 3), (3,))
    yield row("old where", lambda x, y: v1.where(x > 0, x * y, y), (5,), (5,))
    yield row("clip", lambda x: tf.raw_ops.ClipByValue(t=x, clip_value_min=-0.5, clip_value_max=1.0), (6,))
    for dtype in ("complex64", "complex128"):
        for fn in (math.real, math.imag, math.angle, math.abs, math.conj):
            yield row("%s %s" % (fn.__name__, dtype), fn, (3,), dtype=dtype)
    yield row("complex", lambda x, y: math.real(tf.complex(x, y) ** 2), (2, 1), (3,))
    yield row("second derivative", lambda x: v1.gradients(math.tanh(x) * math.sigmoid(x), x)[0], (3,))
    yield row("second derivative of a loss", lambda x: v1.gradients(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0], logits=x), x)[0] * x, (2, 3))


def matrices() -> Iterator[Row]:
    for dtype in ("float32", "complex64"):
        for ta in (False, True):
            for tb in (False, True):
                a, b = ((3, 2) if ta else (2, 3)), ((4, 3) if tb else (3, 4))
                yield row("matmul %s %s %s" % (dtype, ta, tb),
                          lambda x, y, ta=ta, tb=tb: tf.matmul(x, y, transpose_a=ta, transpose_b=tb), a, b, dtype=dtype)
                yield row("batch matmul %s %s %s" % (dtype, ta, tb),
                          lambda x, y, ta=ta, tb=tb: tf.matmul(x, y, adjoint_a=ta, adjoint_b=tb), (2,) + a, (2,) + b,
                          dtype=dtype)
    yield from both("matmul of repeated batches", tf.matmul, (3, 1, 2, 3), (2, 3, 2))
    yield row("tensordot", lambda x, y: tf.tensordot(x, y, [[2], [0]]), (2, 3, 4), (4, 2))
    for fn in (tf.linalg.diag, tf.linalg.diag_part, tf.linalg.tensor_diag, lambda x: tf.linalg.band_part(x, 1, 0)):
        yield row(getattr(fn, "__name__", "band_part"), fn, (3, 3))
    yield row("diagonals", lambda x: tf.linalg.diag(x, k=(0, 1)), (2, 3))
    yield row("parts of diagonals", lambda x: tf.linalg.diag_part(x, k=(-1, 1)), (3, 4))
    yield row("set diagonals", lambda x, y: tf.linalg.set_diag(x, y, k=(0, 1)), (3, 4), (2, 3))


def reductions() -> Iterator[Row]:
    for fn in (v1.reduce_sum, v1.reduce_mean, v1.reduce_max, v1.reduce_min, v1.reduce_prod, tf.math.reduce_euclidean_norm,
               v1.reduce_logsumexp, tf.math.reduce_variance, tf.math.reduce_std):
        for axis, keep in ((None, False), (1, False), ((0, -1), True)):
            yield from both("%s of %s" % (fn.__name__, axis),
                            lambda x, fn=fn, axis=axis, keep=keep: fn(x, axis=axis, keepdims=keep), (2, 3, 2), low=0.3)
    yield row("max with equals", lambda x: v1.reduce_max(x, axis=1), Argument(np.array([[1, 2, 2], [3, 3, 3]], "float32")))
    for fn in (tf.cumsum, tf.math.cumprod):
        for exclusive in (False, True):
            yield row("%s %s" % (fn.__name__, exclusive),
                      lambda x, fn=fn, exclusive=exclusive: fn(x, axis=1, exclusive=exclusive, reverse=True), (2, 3), low=0.3)
    yield row("l2 loss", tf.nn.l2_loss, (2, 3))


def arrays() -> Iterator[Row]:
    yield from both("reshape", lambda x: tf.reshape(x, [3, -1]), (2, 3))
    yield from both("expand and squeeze", lambda x: tf.squeeze(tf.expand_dims(x, 1) ** 2, [1]), (2, 3))
    yield row("transpose", lambda x: tf.transpose(x, [2, 0, 1]), (2, 3, 4))
    yield row("adjoint", lambda x: tf.linalg.adjoint(x), (2, 3), dtype="complex64")
    yield row("reverse", lambda x: tf.reverse(x, [1]), (2, 3))
    yield row("reverse sequence", lambda x: tf.reverse_sequence(x, [2, 3], seq_axis=1), (2, 3))
    yield row("roll", lambda x: tf.roll(x, [1, 2], [0, 1]), (3, 4))
    yield from both("tile", lambda x: tf.tile(x, [3, 2]), (2, 3))
    yield from both("broadcast", lambda x: tf.broadcast_to(x, [3, 2, 4]), (2, 1))
    yield row("fill", lambda x: tf.fill([2, 3], x), ())
    yield row("pad", lambda x: tf.pad(x, [[1, 0], [2, 1]]), (2, 3))
    yield row("pad with a value", lambda x: tf.pad(x, [[1, 0], [2, 1]], constant_values=3), (2, 3))
    for mode in ("REFLECT", "SYMMETRIC"):
        yield row("pad " + mode, lambda x, mode=mode: tf.pad(x, [[1, 0], [2, 1]], mode) ** 2, (2, 3))
    yield row("space to batch", lambda x: tf.space_to_batch_nd(x, [2], [[1, 1]]), (1, 4, 1))
    yield row("batch to space", lambda x: tf.raw_ops.BatchToSpaceND(input=x, block_shape=[2], crops=[[1, 0]]), (2, 3, 1))
    yield row("space to depth", lambda x: tf.nn.space_to_depth(x, 2), (1, 2, 4, 1))
    yield row("depth to space", lambda x: tf.nn.depth_to_space(x, 2), (1, 1, 2, 4))
    yield row("cast", lambda x: tf.cast(tf.cast(x, tf.float64) ** 2, tf.float32), (3,))
    yield row("to int and back", lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32) * x, (3,))
    yield row("stop", lambda x: tf.stop_gradient(x) * x, (3,))
    yield row("identities", lambda x: tf.identity_n([x, tf.identity(x)]), (3,))
    yield row("add_n", lambda x, y: tf.add_n([x, y, x]), (3,), (3,))
    yield from both("concat", lambda x, y: tf.concat([x, y, x], -1) ** 2, (2, 1), (2, 3))
    yield from both("stack", lambda x, y: tf.stack([x, y], 1) ** 2, (2, 3), (2, 3))
    yield row("unstack", lambda x: tf.unstack(x, 3, 1)[1] ** 2, (2, 3))
    yield row("split", lambda x: tf.split(x, 3, 1)[0] ** 2, (2, 6))
    yield row("split by sizes", lambda x: [p ** 2 for p in tf.split(x, [1, 3, 2], 1)], (2, 6))


def picks() -> Iterator[Row]:
    yield from both("slice", lambda x: tf.slice(x, [1, 1], [-1, 2]) ** 2, (3, 4))
    yield from both("strided slice", lambda x: x[tf.newaxis, 1, ::-2] ** 2, (3, 4))
    yield from both("gather", lambda x: tf.gather(x, [2, 0, 2]) ** 2, (3, 2))
    for axis, batch_dims in ((1, 0), (-1, 0), (1, 1), (2, 1)):
        yield row("gather %d %d" % (axis, batch_dims), lambda x, a=axis, b=batch_dims: tf.gather(
            x, [[1, 0], [1, 1]], axis=a, batch_dims=b) ** 2, (2, 3, 3))
    yield row("gather twice", lambda x: [tf.gather(x, [2, 0]), tf.gather(x, [2]) ** 2], (3, 2))
    yield row("gather and all", lambda x: [tf.gather(x, [2, 0]), x ** 2], (3, 2))
    yield row("embedding lookup", lambda x, y: tf.nn.embedding_lookup([x, y], [[0, 3], [1, 1]]) ** 2, (2, 3), (2, 3))
    yield row("gather_nd", lambda x: tf.gather_nd(x, [[2, 1], [0, 0]]) ** 2, (3, 2))
    yield row("gather_nd of rows", lambda x: tf.gather_nd(x, [[2], [0], [2]]) ** 2, (3, 2))
    yield row("scatter_nd", lambda x: tf.scatter_nd([[3], [0], [3]], x, [4, 2]) ** 2, (3, 2))
    yield from both("gather from the last axis", lambda x: tf.gather(x, [[1, 0], [2, 2]], axis=-1) ** 2, (2, 3))
    for fn in (tf.tensor_scatter_nd_max, tf.tensor_scatter_nd_min):
        yield row(fn.__name__, lambda x, y, fn=fn: fn(x, [[3], [0], [3]], y) ** 2, (4, 2), (3, 2))
        yield row(fn.__name__ + " of equals", lambda x, fn=fn: fn(x, [[3], [0], [3]], tf.gather(x, [3, 3, 3])), (4, 2))
    for fn in (tf.tensor_scatter_nd_update, tf.tensor_scatter_nd_add, tf.tensor_scatter_nd_sub):
        yield row(fn.__name__, lambda x, y, fn=fn: fn(x, [[3], [0]], y) ** 2, (4, 2), (2, 2))
    yield row("dynamic partition", lambda x: [p ** 2 for p in tf.dynamic_partition(x, [1, 0, 1, 2], 3)], (4, 2))
    yield row("dynamic stitch", lambda x, y: tf.dynamic_stitch([1, [2, 0]], [x, y]) ** 2, (2,), (2, 2))
    yield row("boolean mask", lambda x: tf.boolean_mask(x, x > 0) ** 2, (4, 2))
    yield row("top_k", lambda x: tf.nn.top_k(x, 2)[0] ** 2, (2, 4))


def losses() -> Iterator[Row]:
    nn = tf.nn
    yield row("bias add", lambda x, b: nn.bias_add(x, b) ** 2, (2, 3), (3,))
    yield row("softmax", lambda x: nn.softmax(x) ** 2, (2, 3))
    yield row("log softmax", lambda x: nn.log_softmax(x) ** 2, (2, 3))
    yield row("cross entropy", lambda x, y: nn.softmax_cross_entropy_with_logits(
        labels=nn.softmax(y), logits=x) ** 2, (2, 3), (2, 3))
    yield from both("sparse cross entropy", lambda x: nn.sparse_softmax_cross_entropy_with_logits(
        labels=[1, 0], logits=x) ** 2, (2, 3))
    yield row("sigmoid cross entropy", lambda x, y: nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x), (3,), (3,))
    yield row("moments", lambda x: nn.moments(x, [0]), (4, 3))
    yield row("layer norm", lambda x, s: (x - tf.reduce_mean(x, 1, keepdims=True)) * tf.math.rsqrt(
        tf.math.reduce_variance(x, 1, keepdims=True) + 1e-3) * s, (3, 4), (4,))
    yield row("a perceptron", lambda x, w, b, v: nn.sparse_softmax_cross_entropy_with_logits(
        labels=[1, 0, 1], logits=tf.matmul(nn.relu(nn.bias_add(tf.matmul(x, w), b)), v)), (3, 4), (4, 5), (5,), (5, 2))


def windows() -> Iterator[Row]:
    nn = tf.nn
    for padding in ("SAME", "VALID", [[0, 0], [1, 0], [2, 1], [0, 0]]):
        yield from both("conv2d %s" % padding, lambda x, w, p=padding: v1.nn.conv2d(x, w, [1, 2, 2, 1], p), (2, 5, 4, 2), (3, 2, 2, 3))
    yield row("conv2d with holes", lambda x, w: v1.nn.conv2d(x, w, [1, 1, 1, 1], "VALID", dilations=[1, 2, 1, 1]),
              (1, 6, 4, 2), (2, 2, 2, 3))
    for padding in ("SAME", "VALID"):
        yield row("depthwise %s" % padding, lambda x, w, p=padding: nn.depthwise_conv2d(x, w, [1, 2, 2, 1], p), (2, 5, 4, 2), (3, 2, 2, 2))
        yield from both("max pool %s" % padding, lambda x, p=padding: nn.max_pool2d(x, 2, 2, p) ** 2, (2, 5, 4, 2))
        yield from both("mean pool %s" % padding, lambda x, p=padding: nn.avg_pool2d(x, 2, 2, p) ** 2, (2, 5, 4, 2))
        yield row("pool with places %s" % padding, lambda x, p=padding: nn.max_pool_with_argmax(x, 2, 2, p)[0] ** 2, (1, 5, 4, 2))
    yield row("second derivative of max pool", lambda x: v1.gradients(nn.max_pool2d(x, 2, 2, "VALID") ** 2, x)[0] * x, (1, 4, 4, 1))
    yield row("second derivative of conv2d", lambda x, w: v1.gradients(
        v1.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") ** 2, x)[0] * x, (1, 4, 4, 1), (2, 2, 1, 2))
    yield row("lrn", lambda x: nn.local_response_normalization(x, 2, 1.0, 0.5, 0.7), (2, 2, 2, 6))
    for training in (True, False):
        def norm(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, training: bool = training) -> Any:
            y = v1.nn.fused_batch_norm(x, scale, offset, None if training else mean, None if training else variance,
                                       epsilon=0.01, is_training=training)[0]
            return y ** 2
        yield row("batch norm, training %s" % training, norm, (2, 3, 3, 2), (2,), (2,), Argument(values((2,), "float32"), is_x=False),
                  Argument(values((2,), "float32", 0.5, 2), is_x=False))
    for training in (True, False):
        for data_format in ("NHWC", "NCHW"):
            channels = (2,)
            statistics = Argument(values(channels, "float32", 0.5, 2), is_x=False)

            def bent(x: Any, scale: Any, offset: Any, seed: Any, given: Any, training: bool = training,
                     data_format: str = data_format) -> Any:
                """All three gradients of a normalization, as a function of what they depend on."""
                empty = tf.zeros([0])
                y = tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=empty if training else given,
                                                variance=empty if training else given, epsilon=0.01,
                                                data_format=data_format, is_training=training).y
                return [g ** 2 for g in v1.gradients(y ** 2, [x, scale, offset], seed)]
            shape = (2, 3, 4, 2) if data_format == "NHWC" else (2, 2, 3, 4)
            yield row("second derivative of batch norm, training %s %s" % (training, data_format), bent, shape, channels,
                      channels, shape, statistics)


def segments() -> Iterator[Row]:
    math = tf.math
    for fn in (math.segment_sum, math.segment_mean, math.segment_min, math.segment_max):
        yield from both(fn.__name__, lambda x, fn=fn: fn(x, [0, 0, 2, 2]) ** 2, (4, 2))
    for fn in (math.unsorted_segment_sum, math.unsorted_segment_mean, math.unsorted_segment_prod, math.unsorted_segment_min,
               math.unsorted_segment_max, math.unsorted_segment_sqrt_n):
        yield from both(fn.__name__, lambda x, fn=fn: fn(x, [3, 0, -1, 3, 3], 4), (5, 2), low=0.5)
    for fn in (v1.sparse_segment_sum, v1.sparse_segment_mean, v1.sparse_segment_sqrt_n):
        yield row(fn.__name__, lambda x, fn=fn: fn(x, [3, 0, 3, 1], [0, 0, 1, 1]) ** 2, (4, 2))
        yield row(fn.__name__ + " counted", lambda x, fn=fn: fn(x, [3, 0, 3], [0, 2, 2], num_segments=4) ** 2, (4, 2))

    def sparse(values: Any) -> tf.SparseTensor:
        return tf.SparseTensor([[0, 1], [0, 3], [2, 0], [2, 3]], values, [3, 4])
    for a in (False, True):
        for b in (False, True):
            inner = 3 if a else 4
            yield row("sparse by dense %s %s" % (a, b), lambda x, y, a=a, b=b: tf.sparse.sparse_dense_matmul(
                sparse(x), y, adjoint_a=a, adjoint_b=b), (4,), (2, inner) if b else (inner, 2))
    yield row("sparse to dense", lambda x: v1.sparse_to_dense([[0, 1], [2, 0]], [3, 4], x, 1.0) ** 2, (2,))
    yield row("embedding of sparse ids", lambda x: tf.nn.embedding_lookup_sparse(
        x, tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([3, 0, 3], tf.int64), [3, 2]), None, combiner="mean") ** 2, (4, 2))


def linear_algebra() -> Iterator[Row]:
    linalg = tf.linalg

    def regular(x: Any) -> Any:
        return x * 0.5 + 3 * tf.eye(int(x.shape[-1]), dtype=x.dtype)

    def definite(x: Any) -> Any:
        return tf.matmul(regular(x), regular(x), adjoint_a=True)
    for dtype in ("float32", "float64", "complex128"):
        for adjoint in (False, True):
            how = "%s %s" % (dtype, adjoint)
            yield row("inverse " + how, lambda x, a=adjoint: linalg.inv(regular(x), adjoint=a), (2, 3, 3), dtype=dtype)
            yield row("solve " + how, lambda x, y, a=adjoint: linalg.solve(regular(x), y, adjoint=a), (2, 3, 3), (2, 3, 2),
                      dtype=dtype)
            for lower in (False, True):
                yield row("triangular solve %s %s" % (how, lower), lambda x, y, a=adjoint, low=lower: linalg.triangular_solve(
                    regular(x), y, lower=low, adjoint=a), (2, 3, 3), (2, 3, 2), dtype=dtype)
        yield row("cholesky " + dtype, lambda x: linalg.cholesky(definite(x)) ** 2, (2, 3, 3), dtype=dtype)
        for shape in ((3, 3), (2, 4, 2), (2, 2, 4)):
            yield row("qr %s %s" % (dtype, shape), lambda x: [part ** 2 for part in linalg.qr(x)], shape, dtype=dtype)
    for dtype in ("float32", "float64"):  # of complex ones, TensorFlow forgets to conjugate
        yield row("determinant " + dtype, lambda x: linalg.det(regular(x)) ** 2, (2, 3, 3), dtype=dtype)
    yield row("determinant", lambda x: linalg.det(x), (3, 3))


def array(size: int = 3, **how: Any) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, size, clear_after_read=False, **how)


def unrolled(x: Any, w: Any) -> Any:
    """A recurrent network: its state goes on, and each is kept."""
    inputs = array().unstack(x)

    def body(i: Any, h: Any, kept: Any) -> Any:
        h = tf.tanh(tf.matmul(h, w) + inputs.read(i))
        return i + 1, h, kept.write(i, h)
    _, last, kept = tf.while_loop(lambda i, h, kept: i < 3, body, (0, tf.zeros([2, 4]), array()))
    return [kept.stack() ** 2, last]


def tensor_arrays() -> Iterator[Row]:
    yield from both("array, written and read", lambda x, y: (lambda a: a.read(0) * a.read(1) + a.read(0))(
        array().write(0, x).write(1, y)), (2,), (2,))
    yield row("array, scattered and gathered", lambda x: array().scatter([2, 0, 1], x).gather([0, 1, 2, 0]) ** 2, (3, 2))
    yield row("array, split and concatenated", lambda x: array(infer_shape=False).split(x, [1, 3, 2]).concat() ** 2, (6, 2))
    yield row("arrays in a loop", unrolled, (3, 2, 4), (4, 4))
    yield row("map", lambda x, y: tf.map_fn(lambda v: v ** 2 * y, x), (3, 2), (2,))
    yield row("scan", lambda x: tf.scan(lambda a, v: a * v + a, x), (4, 2))
    yield row("fold", lambda x: tf.foldl(lambda a, v: tf.sin(a) * v, x), (4, 2))


def control_flow() -> Iterator[Row]:
    def repeat(n: Any, body: Any, x: Any) -> Any:
        return v1.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, body(v)), (0, x))[1]
    for n in (0, 1, 5):
        yield from both("loop of %d" % n, lambda x, c, n=n: repeat(n, lambda v: tf.tanh(v * c) + v, x), (2, 3), (3,))
    yield row("loop of a matrix", lambda x, w: repeat(4, lambda v: tf.tanh(tf.matmul(v, w)), x), (2, 3), (3, 3))
    yield row("loop in a loop", lambda x, c: repeat(3, lambda v: repeat(2, lambda u: u * tf.sin(u) + c, v), x), (2,), (2,))
    yield row("cond taken", lambda x, y: v1.cond(tf.reduce_sum(x) > -100, lambda: x * y, lambda: tf.sin(x)), (3,), (3,))
    yield row("cond not taken", lambda x, y: v1.cond(tf.reduce_sum(x) > 100, lambda: x * y, lambda: tf.sin(x)), (3,), (3,))
    yield row("cond in a loop", lambda x: repeat(4, lambda v: v1.cond(tf.reduce_sum(v) > 2, lambda: v * 0.5,
                                                                      lambda: v * v + 1), x), (2,))
    yield row("loop in a cond in a loop", lambda x: repeat(3, lambda v: v1.cond(
        tf.reduce_sum(v) > 2, lambda: repeat(2, lambda u: tf.sin(u) * u, v), lambda: v * v + 1), x), (2,))


def functional() -> Iterator[Row]:
    """Calls of functions, and branches and loops that are such calls."""
    def repeat(n: Any, body: Any, *xs: Any) -> Any:
        return tf.while_loop(lambda i, *v: i < n, lambda i, *v: (i + 1, *body(*v)), (0, *xs))[1:]

    def choose(x: Any, then: Any, otherwise: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 1, then, otherwise)

    def f(build: Any) -> Any:
        return tf.function(build, autograph=False)
    scaled = f(lambda x, y: tf.tanh(x) * y)
    nested = f(lambda x, y: (scaled(x, y) + scaled(y, x), tf.sin(x)))
    rows = [
        row("function", lambda x, y: scaled(x, y) ** 2, (2, 3), (3,)),
        row("function, open shapes", lambda x, y: scaled(x, y) ** 2, open_((2, 3)), open_((3,))),
        row("functions in functions", nested, (3,), (3,)),
        # TensorFlow has zeros rather than nothing for what such a result does not use.
        row("one result of a function", lambda x, y: nested(x, y)[1] * x + y, (3,), (3,)),
        row("function of integers", lambda x: f(lambda v, i: tf.gather(v, i) ** 2)(x, tf.constant([2, 0, 2])), (3,)),
        row("function with a stateful op", lambda x: f(lambda v: tf.random.uniform([3]) * 0 + v ** 2)(x), (3,)),
        row("if in a function", lambda x, y: f(lambda v, w: choose(v, lambda: v * w, lambda: tf.sin(v)))(x, y), (3,), (3,)),
        row("second derivative of a function", lambda x, y: scaled(x, y) ** 2, (3,), (3,)),
    ]
    for low, high in ((0.5, 2), (-2, -0.5)):
        how = {"low": low, "high": high}
        rows += [
            row("if above %s" % low, lambda x, y: choose(x, lambda: (x * y, y), lambda: (tf.sin(x), x)), (3,), (3,), **how),
            row("if in an if above %s" % low, lambda x, y: choose(x, lambda: choose(-y, lambda: x, lambda: y * x),
                                                                  lambda: tf.exp(x)) ** 2, (3,), (3,), **how),
            row("if with unused inputs above %s" % low, lambda x, y: choose(x, lambda: x * 2, lambda: tf.constant([1.0, 2, 3]))
                * y, (3,), (3,), **how),
            row("if of open shapes above %s" % low, lambda x, y: choose(x, lambda: x * y, lambda: x - y),
                open_((2, 3), **how), open_((3,), **how)),
        ]
    for index in (0, 1, 2, 7):
        rows.append(row("case %d" % index, lambda x, y, i: tf.switch_case(
            i, [lambda: x * y, lambda: tf.sin(x), lambda: y ** 3]), (3,), (3,), fixed(index)))
    for n in (0, 1, 5):
        rows += [
            row("while of %d" % n, lambda x, c, n=n: repeat(n, lambda v: (tf.tanh(v * c) + v,), x), (2, 3), (3,)),
            row("while of %d of open shapes" % n, lambda x, c, n=n: repeat(n, lambda v: (tf.tanh(v * c) + v,), x),
                open_((2, 3)), open_((3,))),
            row("while of %d with several variables" % n,
                lambda x, y, c, n=n: repeat(n, lambda v, w: (tf.sin(w) * c, v + w * v), x, y), (3,), (3,), (3,)),
        ]
    rows += [
        row("while with rounds to be fed", lambda x, c, n: repeat(n, lambda v: (v * c,), x), (3,), (3,), fixed(3)),
        row("while in a while", lambda x, c: repeat(3, lambda v: repeat(2, lambda u: (u * tf.sin(u) + c,), v), x), (2,), (2,)),
        row("if in a while", lambda x: repeat(4, lambda v: (choose(v, lambda: v * 0.5, lambda: v * v + 1),), x), (2,)),
        row("while in an if", lambda x, c: choose(x, lambda: repeat(2, lambda v: (v * c,), x), lambda: (x,)), (3,), (3,),
            low=0.5),
        row("case in a while", lambda x: tf.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, tf.switch_case(
            i, [lambda: v * 2, lambda: tf.sin(v), lambda: v * v])), (0, x))[1], (3,)),
        row("second derivative of a while", lambda x, c: repeat(3, lambda v: (tf.sin(v) * c,), x),
            (3,), (3,)),
        row("second derivative of a while with several variables", lambda x, y, c: repeat(
            4, lambda v, w: (tf.sin(w) * c, v + w * v), x, y), (3,), (3,), (3,)),
        row("second derivative of a while in a while", lambda x, c: repeat(
            3, lambda v: repeat(2, lambda u: (u * tf.sin(u) + c,), v), x), (2,), (2,)),
        row("second derivative of an if in a while", lambda x: repeat(
            4, lambda v: (choose(v, lambda: v * v * 0.5, lambda: v * v + 1),), x), (2,)),
        row("function in a while", lambda x, y: repeat(3, lambda v: (scaled(v, y),), x), (3,), (3,)),
        row("while in a function", lambda x, y: f(lambda v, w: repeat(3, lambda u: (tf.cos(u) * w,), v))(x, y), (3,), (3,)),
    ]
    for made in rows:
        made.functional = True
        made.twice = made.name.startswith("second derivative of a")
        yield made


def table() -> Iterator[Row]:
    for family in (elementwise, matrices, linear_algebra, reductions, arrays, picks, losses, windows, segments, tensor_arrays,
                   control_flow, functional):
        yield from family()
