"""Points of ops_vs_tensorflow.py: convolutions, pools, normalisations and products with the shapes of real networks."""
from collections.abc import Callable

import numpy as np
from op_points import POINTS, Point, constant, held, node, numbers, value
from vs_tensorflow import tf

GROUP = "networks"
BATCH = 8


def add(name: str, make: Callable[[], Callable[[], tf.Operation]]) -> None:
    POINTS.append(Point(name, GROUP, make))


# name, height and width, input channels, filter, output channels, stride
CONVOLUTIONS = (
    ("ResNet 7x7/2 224x224x3", 224, 3, 7, 64, 2),
    ("ResNet 1x1 56x56x64 to 256", 56, 64, 1, 256, 1),
    ("ResNet 3x3 56x56x64", 56, 64, 3, 64, 1),
    ("ResNet 3x3 28x28x128", 28, 128, 3, 128, 1),
    ("ResNet 3x3/2 28x28x256", 28, 256, 3, 256, 2),
    ("ResNet 3x3 14x14x256", 14, 256, 3, 256, 1),
    ("ResNet 1x1 7x7x2048 to 512", 7, 2048, 1, 512, 1),
    ("MNIST 3x3 28x28x1 to 32", 28, 1, 3, 32, 1),
    ("MNIST 3x3 28x28x32 to 64", 28, 32, 3, 64, 1),
    ("MNIST 5x5 14x14x32 to 64", 14, 32, 5, 64, 1),
    ("CIFAR 3x3 32x32x3 to 32", 32, 3, 3, 32, 1),
)
DEPTHWISE = (("MobileNet 3x3 112x112x32", 112, 32, 3, 1), ("MobileNet 3x3/2 56x56x128", 56, 128, 3, 2),
             ("MobileNet 3x3 14x14x512", 14, 512, 3, 1), ("EfficientNet 5x5 28x28x240", 28, 240, 5, 1))


def convolution(kind: str, size: int, channels: int, window: int, outputs: int, stride: int) -> Callable[[], Callable[[], tf.Operation]]:
    """`outputs` 0: depthwise."""
    x_shape, w_shape = (BATCH, size, size, channels), (window, window, channels, outputs or 1)
    out = -(-size // stride)
    y_shape = (BATCH, out, out, outputs or channels)
    op = "DepthwiseConv2dNative" if outputs == 0 else "Conv2D"
    attrs = {"strides": [1, stride, stride, 1], "padding": "SAME"}

    def make() -> Callable[[], tf.Operation]:
        if kind == "":
            x, w = value(x_shape), value(w_shape)
            return lambda: node(op, input=x, filter=w, **attrs)
        y = value(y_shape)
        if kind == "BackpropInput":
            w = value(w_shape)
            return lambda: node(op + kind, input_sizes=constant(x_shape), filter=w, out_backprop=y, **attrs)
        x = value(x_shape)
        return lambda: node(op + kind, input=x, filter_sizes=constant(w_shape), out_backprop=y, **attrs)
    return make


for _kind in ("", "BackpropInput", "BackpropFilter"):
    for _name, *_rest in CONVOLUTIONS:
        add("Conv2D%s %s" % (_kind, _name), convolution(_kind, *_rest))
    for _name, _size, _channels, _window, _stride in DEPTHWISE:
        add("DepthwiseConv2dNative%s %s" % (_kind, _name), convolution(_kind, _size, _channels, _window, 0, _stride))


POOLS = (("2x2/2 28x28x32", 28, 32, 2), ("3x3/2 112x112x64", 112, 64, 3), ("3x3/2 14x14x480", 14, 480, 3))


def pool(op: str, size: int, channels: int, window: int) -> Callable[[], Callable[[], tf.Operation]]:
    shape, out = (BATCH, size, size, channels), (BATCH, size // 2, size // 2, channels)
    attrs = {"ksize": [1, window, window, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}

    def make() -> Callable[[], tf.Operation]:
        if op == "AvgPoolGrad":
            y = value(out)
            return lambda: node(op, orig_input_shape=constant(shape), grad=y, **attrs)
        x = value(shape)
        if op == "MaxPoolGrad":
            y, dy = held(node("MaxPool", input=numbers(shape), **attrs).outputs[0]), value(out)
            return lambda: node(op, orig_input=x, orig_output=y, grad=dy, **attrs)
        return lambda: node(op, **{"input" if op == "MaxPool" else "value": x}, **attrs)
    return make


for _op in ("MaxPool", "MaxPoolGrad", "AvgPool", "AvgPoolGrad"):
    for _name, *_rest in POOLS:
        add("%s %s" % (_op, _name), pool(_op, *_rest))


IMAGES = ((BATCH, 14, 14, 256), (BATCH, 56, 56, 64), (32, 28, 28, 32))


def lrn(shape: tuple[int, ...], is_grad: bool) -> Callable[[], Callable[[], tf.Operation]]:
    def make() -> Callable[[], tf.Operation]:
        x = value(shape)
        if is_grad:
            y, dy = value(shape), value(shape)
            return lambda: node("LRNGrad", input_grads=dy, input_image=x, output_image=y)
        return lambda: node("LRN", input=x)
    return make


def batch_norm(shape: tuple[int, ...], is_training: bool, is_grad: bool) -> Callable[[], Callable[[], tf.Operation]]:
    def make() -> Callable[[], tf.Operation]:
        x, scale, offset, mean, variance = value(shape), *(value(shape[-1], low=0.5) for _ in range(4))
        if is_grad:
            dy = value(shape)
            return lambda: node("FusedBatchNormGradV3", y_backprop=dy, x=x, scale=scale, reserve_space_1=mean, reserve_space_2=variance,
                                reserve_space_3=mean, is_training=is_training)
        if is_training:
            return lambda: node("FusedBatchNormV3", x=x, scale=scale, offset=offset, mean=np.zeros(0, "f"), variance=np.zeros(0, "f"))
        return lambda: node("FusedBatchNormV3", x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False)
    return make


for _shape in IMAGES:
    _label = "x".join(map(str, _shape))
    add("LRN " + _label, lrn(_shape, False))
    add("LRNGrad " + _label, lrn(_shape, True))
    add("FusedBatchNormV3 training " + _label, batch_norm(_shape, True, False))
    add("FusedBatchNormV3 inference " + _label, batch_norm(_shape, False, False))
    add("FusedBatchNormGradV3 " + _label, batch_norm(_shape, True, True))


def product(a: tuple[int, ...], b: tuple[int, ...], **transposed: bool) -> Callable[[], Callable[[], tf.Operation]]:
    def make() -> Callable[[], tf.Operation]:
        x, y = value(a), value(b)
        if len(a) > 2:
            return lambda: node("BatchMatMulV2", x=x, y=y)
        return lambda: node("MatMul", a=x, b=y, **transposed)
    return make


add("MatMul 32x64x32", product((32, 64), (64, 32)))
add("MatMul MLP 128x784x512", product((128, 784), (784, 512)))
add("MatMul MLP gradient 784x128x512", product((128, 784), (128, 512), transpose_a=True))
add("MatMul LSTM 32x256x512", product((32, 256), (256, 512)))
add("MatMul logits 32x512x10000", product((32, 512), (512, 10000)))
add("MatMul 1024x1024x1024", product((1024, 1024), (1024, 1024)))
add("BatchMatMulV2 attention 64x128x64x128", product((64, 128, 64), (64, 64, 128)))
