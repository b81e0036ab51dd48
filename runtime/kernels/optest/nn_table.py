"""Lines for the ops of neural networks: biases, softmax and losses, convolutions, pools, normalizations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lines import FLOATS, INDEX, NUMBERS, REALS, Arguments, Line, Pool, i32, listed, refused, softmax_losses, unary

# Image, filter, stride and dilation of both spaces, padding.
CONVOLUTIONS = (
    ((1, 4, 4, 1), (2, 2, 1, 1), 1, 1, "VALID"),
    ((2, 7, 5, 3), (3, 2, 3, 4), 2, 1, "SAME"),
    ((3, 9, 8, 2), (3, 3, 2, 5), 1, 2, "VALID"),
    ((1, 6, 6, 4), (1, 1, 4, 3), 1, 1, "VALID"),
    ((2, 5, 5, 4), (2, 2, 2, 6), 1, 1, "SAME"),
    ((0, 4, 4, 2), (2, 2, 2, 3), 1, 1, "SAME"),
    ((8, 14, 14, 8), (3, 3, 8, 16), 1, 1, "SAME"),
)


def window(stride: int, dilation: int, padding: str) -> Arguments:
    return {"strides": [1, stride, stride, 1], "dilations": [1, dilation, dilation, 1], "padding": padding}


def convolved(shape: tuple[int, ...], taps: tuple[int, ...], stride: int, dilation: int, padding: str) -> list[int]:
    reach = [(taps[i] - 1) * dilation + 1 for i in (0, 1)]
    return [-(-shape[1 + i] // stride) if padding == "SAME" else (shape[1 + i] - reach[i]) // stride + 1 for i in (0, 1)]


def convolutions(op: str) -> Iterator[Line]:
    """The convolution, or a gradient of it; small whole numbers, so that all orders of summing give the same."""
    depthwise = op.startswith("Depthwise")

    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for image, taps, stride, dilation, padding in CONVOLUTIONS:
            grouped = taps[2] != image[3]
            # TensorFlow's kernels for CPUs lack groups and dilations here, and leave memory unset for an empty batch.
            if (depthwise or op != "Conv2D") and (grouped or dilation > 1) or op.startswith("DepthwiseConv2dNativeBack") and not image[0]:
                continue
            filters = (taps[0], taps[1], image[3], 2) if depthwise else taps
            out = (image[0], *convolved(image, taps, stride, dilation, padding), image[3] * 2 if depthwise else taps[3])
            given: Arguments = window(stride, dilation, padding)
            if op.endswith("BackpropInput"):
                given |= {"input_sizes": i32(*image), "filter": pool(filters, dtype, "small"), "out_backprop": pool(out, dtype, "small")}
            elif op.endswith("BackpropFilter"):
                given |= {"input": pool(image, dtype, "small"), "filter_sizes": i32(*filters), "out_backprop": pool(out, dtype, "small")}
            else:
                given |= {"input": pool(image, dtype, "small"), "filter": pool(filters, dtype, "small")}
            yield given
    # TensorFlow adds half and bfloat16 up in half and bfloat16.
    yield Line(op, ("float32", "float64"), cases, 16)
    yield Line(op, ("float16", "bfloat16"), cases, 256)


POOLS = (((1, 4, 4, 1), 2, 2, "VALID"), ((2, 7, 5, 3), 3, 2, "SAME"), ((2, 5, 6, 2), 2, 1, "VALID"), ((0, 4, 4, 2), 2, 2, "SAME"),
         ((3, 9, 9, 17), 3, 2, "SAME"), ((2, 3, 3, 4), 1, 1, "VALID"))


def pooled(shape: tuple[int, ...], size: int, stride: int, padding: str) -> tuple[int, ...]:
    return (shape[0], *convolved(shape, (size, size), stride, 1, padding), shape[3])


def sliding(size: int, stride: int, padding: str) -> Arguments:
    return {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1], "padding": padding}


def reference_max(image: np.ndarray, size: int, stride: int, padding: str) -> np.ndarray:
    """What MaxPool gives, for the gradients that ask for it."""
    n, height, width, channels = image.shape
    out = np.zeros(pooled(image.shape, size, stride, padding), image.dtype)
    before = [max(0, (out.shape[1 + i] - 1) * stride + size - image.shape[1 + i]) // 2 if padding == "SAME" else 0 for i in (0, 1)]
    for y in range(out.shape[1] if n else 0):
        for x in range(out.shape[2]):
            top, left = y * stride - before[0], x * stride - before[1]
            part = image[:, max(top, 0):top + size, max(left, 0):left + size]
            out[:, y, x] = part.reshape(n, -1, channels).max(1)
    return out


def max_gradients(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for shape, size, stride, padding in POOLS:
        image = pool(shape, dtype, "small")  # with many equal elements
        largest = reference_max(image, size, stride, padding)
        yield {"orig_input": image, "orig_output": largest, "grad": pool(largest.shape, dtype, "small"), **sliding(size, stride, padding)}


def batch_norms(training: bool, data_format: str, *shapes: tuple[int, ...], outputs: int) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for shape in shapes:
            channels = shape[-1]
            x = pool(shape, dtype)
            vector = [pool((channels,), "float32", d) for d in ("any", "unit", "near1", "positive")]
            yield {"x": x if data_format == "NHWC" else np.ascontiguousarray(np.moveaxis(x, 3, 1)), "scale": vector[0], "offset": vector[1],
                   "mean": vector[2], "variance": vector[3], "is_training": training, "data_format": data_format,
                   "exponential_avg_factor": 0.25 if training and channels % 2 else 1.0}
    return Line("FusedBatchNormV3", ("float16", "bfloat16", "float32"), cases, 64, outputs=outputs)


def batch_norm_gradients(training: bool) -> Line:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for shape in ((2, 3, 4, 5), (16, 7, 7, 3), (0, 3, 3, 2)):
            x = pool(shape, dtype)
            axes = (0, 1, 2)
            wide = x.astype(np.float32)
            empty = not x.size
            yield {"y_backprop": pool(shape, dtype, "unit"), "x": x, "scale": pool(shape[-1:], "float32"),
                   "reserve_space_1": np.zeros(shape[-1], np.float32) if empty else wide.mean(axes),
                   "reserve_space_2": np.ones(shape[-1], np.float32) if empty else wide.var(axes),
                   "reserve_space_3": np.zeros(0, np.float32), "is_training": training}
    return Line("FusedBatchNormGradV3", ("float16", "bfloat16", "float32"), cases, 128, outputs=3)


NEURAL: tuple[Line, ...] = (
    listed("BiasAdd", NUMBERS, *(
        lambda p, t, s=s: {"value": p(s, t), "bias": p(s[-1:], t)} for s in ((2, 3), (4, 5, 6), (0, 3), (128, 100)))),
    listed("BiasAddGrad", NUMBERS, *(
        lambda p, t, s=s: {"out_backprop": p(s, t)} for s in ((2, 3), (4, 5, 6), (0, 3), (128, 100))), ulps=64),
    *(listed(op, FLOATS, *(lambda p, t, s=s: {"logits": p(s, t)} for s in ((1,), (7,), (2, 3), (3, 4, 5), (0, 4), (64, 100))),
             ulps=32) for op in ("Softmax", "LogSoftmax")),
    Line("SoftmaxCrossEntropyWithLogits", FLOATS, softmax_losses, ulps=128),
    *(listed("SparseSoftmaxCrossEntropyWithLogits", FLOATS, *(
        lambda p, t, r=r, c=c, i=i: {"features": p((r, c), t), "labels": (np.arange(r) % c).astype(i)}
        for r, c in ((1, 1), (5, 10), (0, 4), (64, 100))), ulps=64) for i in INDEX),
    unary("CheckNumerics", FLOATS, name="tensor", message="here"),
    listed("TopKV2", REALS, *(
        lambda p, t, s=s, k=k: {"input": p(s, t), "k": np.int32(k)}
        for s, k in (((7,), 3), ((3, 9), 1), ((3, 9), 9), ((2, 5), 0), ((4, 200), 20)))),
    listed("InTopKV2", INDEX, lambda p, t: {
        "predictions": p((20, 9), "float32"), "targets": (np.arange(20) % 9).astype(t), "k": np.array(3, t)}),
    # Convolutions.
    *(line for op in ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative",
                      "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter") for line in convolutions(op)),
    listed("Conv2D", ("int32",), lambda p, t: {"input": p((2, 5, 5, 3), t), "filter": p((2, 3, 3, 4), t), **window(2, 1, "SAME")}),
    listed("Conv2D", ("float32",), lambda p, t: {
        "input": p((2, 5, 4, 3), t, "small"), "filter": p((3, 3, 3, 2), t, "small"), "strides": [1, 2, 1, 1],
        "padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]}),
    refused("Conv2D", ("float32",),
            lambda p, t: {"input": p((3, 4, 4), t), "filter": p((2, 2, 3, 1), t), **window(1, 1, "VALID")},
            lambda p, t: {"input": p((1, 4, 4, 3), t), "filter": p((2, 3, 1), t), **window(1, 1, "VALID")},
            lambda p, t: {"input": p((1, 4, 4, 3), t), "filter": p((2, 2, 2, 1), t), **window(1, 1, "VALID")},
            lambda p, t: {"input": p((1, 2, 2, 3), t), "filter": p((4, 4, 3, 1), t), **window(1, 1, "VALID")},
            lambda p, t: {"input": p((1, 4, 4, 3), t), "filter": p((2, 2, 3, 1), t), "strides": [2, 1, 1, 1], "padding": "VALID"}),
    refused("Conv2DBackpropInput", ("float32",), *(
        lambda p, t, s=s, o=o: {"input_sizes": i32(*s), "filter": p((2, 2, 3, 1), t), "out_backprop": p(o, t), **window(1, 1, "VALID")}
        for s, o in (((1, 4, 4, 3), (1, 2, 3, 1)), ((2, 4, 4, 3), (1, 3, 3, 1)), ((1, 4, 4, 3), (1, 3, 3, 2)), ((1, 4, 4), (1, 3, 3, 1))))),
    refused("Conv2DBackpropFilter", ("float32",), *(
        lambda p, t, s=s: {"input": p((1, 4, 4, 3), t), "filter_sizes": i32(*s), "out_backprop": p((1, 3, 3, 1), t), **window(1, 1, "VALID")}
        for s in ((2, 2, 3), (2, 2, 2, 1)))),
    # Pools. TensorFlow's bfloat16 mean is of bfloat16 sums.
    listed("MaxPool", FLOATS + ("int32", "int64", "uint8", "int16", "int8", "uint16"), *(
        lambda p, t, s=s, k=k, r=r, d=d: {"input": p(s, t), **sliding(k, r, d)} for s, k, r, d in POOLS)),
    listed("MaxPool", ("float32",), lambda p, t: {"input": p((2, 3, 3, 6), t), "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}),
    listed("MaxPoolV2", ("float32",), *(
        lambda p, t, s=s, k=k, r=r, d=d: {"input": p(s, t), "ksize": i32(1, k, k, 1), "strides": i32(1, r, r, 1), "padding": d}
        for s, k, r, d in POOLS)),
    listed("MaxPoolWithArgmax", ("float32", "int32"), *(
        lambda p, t, s=s, k=k, r=r, d=d, b=b, i=i: {"input": p(s, t, "small"), "include_batch_in_index": b, "Targmax": i, **sliding(k, r, d)}
        for s, k, r, d in POOLS if s[0] for b in (False, True) for i in INDEX)),
    Line("MaxPoolGrad", FLOATS + ("int32", "uint8"), max_gradients, 64),
    listed("AvgPool", FLOATS, *(
        lambda p, t, s=s, k=k, r=r, d=d: {"value": p(s, t), **sliding(k, r, d)} for s, k, r, d in POOLS), ulps=64),
    listed("AvgPoolGrad", FLOATS, *(
        lambda p, t, s=s, k=k, r=r, d=d: {"orig_input_shape": i32(*s), "grad": p(pooled(s, k, r, d), t), **sliding(k, r, d)}
        for s, k, r, d in POOLS), ulps=64),
    refused("MaxPool", ("float32",),
            lambda p, t: {"input": p((3, 4, 4), t), **sliding(2, 2, "VALID")},
            lambda p, t: {"input": p((2, 4, 4, 4), t), "ksize": [2, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"},
            lambda p, t: {"input": p((1, 4, 4, 4), t), "ksize": [1, 2, 2, 2], "strides": [1, 2, 2, 2], "padding": "VALID"},
            lambda p, t: {"input": p((1, 4, 4, 3), t), "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}),
    refused("AvgPool", ("float32",),
            lambda p, t: {"value": p((1, 4, 4, 4), t), "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}),
    refused("MaxPoolGrad", ("float32",), *(
        lambda p, t, o=o, g=g: {"orig_input": p((1, 4, 4, 2), t), "orig_output": p(o, t), "grad": p(g, t), **sliding(2, 2, "VALID")}
        for o, g in (((1, 2, 2, 2), (1, 2, 3, 2)), ((1, 2, 3, 2), (1, 2, 2, 2))))),
    # Normalizations.
    listed("LRN", ("float16", "float32"), *(
        lambda p, t, s=s, r=r: {"input": p(s, t), "depth_radius": r, "alpha": 0.5, "beta": 0.75, "bias": 1.5}
        for s, r in (((1, 2, 2, 9), 2), ((2, 3, 3, 4), 5), ((0, 3, 3, 4), 1), ((1, 1, 1, 20), 0))), ulps=64),
    listed("LRNGrad", ("float16", "float32"), *(
        lambda p, t, s=s, r=r: {"input_grads": p(s, t, "unit"), "input_image": p(s, t), "output_image": p(s, t, "near1"), "depth_radius": r,
                                "alpha": 0.5, "beta": 0.75, "bias": 1.5}
        for s, r in (((1, 2, 2, 9), 2), ((2, 3, 3, 4), 5), ((0, 3, 3, 4), 1))), ulps=256),
    refused("LRN", ("float32",), lambda p, t: {"input": p((4, 4, 3), t)}),
    # The third reserve is for GPUs; without a batch, or without training, none of them is set.
    *(batch_norms(training, data_format, (2, 3, 4, 5), (16, 7, 7, 3), (1, 1, 1, 4), (300, 2, 2, 2), outputs=5 if training else 3)
      for training in (True, False) for data_format in ("NHWC", "NCHW")),
    *(batch_norms(training, "NHWC", (0, 3, 3, 2), outputs=3) for training in (True, False)),
    *(batch_norm_gradients(training) for training in (True, False)),
    refused("FusedBatchNormV3", ("float32",), *(
        lambda p, t, x=x, s=s, m=m, tr=tr: {"x": p(x, t), "scale": p(s, t), "offset": p((3,), t), "mean": p(m, t), "variance": p(m, t), "is_training": tr}
        for x, s, m, tr in (((2, 2, 3), (3,), (0,), True), ((1, 2, 2, 3), (2,), (0,), True), ((1, 2, 2, 3), (3, 1), (0,), True),
                            ((1, 2, 2, 3), (3,), (0,), False)))),
)
