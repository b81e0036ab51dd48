"""Lines for convolutions and pools over volumes, dilation, rounding as if quantized, CTC and edit distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lines import EVERY, FLOATS, Line, Pool, REALS, i32, i64, listed, refused

FULL = ("float32", "float64")
POOLED = ("bfloat16", "float32")

CONVOLUTIONS = (((1, 4, 5, 6, 2), (2, 3, 2, 2, 3), (1, 1, 1)), ((2, 5, 5, 5, 3), (3, 3, 3, 3, 4), (2, 1, 2)), ((1, 3, 3, 3, 4), (1, 1, 1, 4, 5), (1, 1, 1)),
                ((2, 7, 9, 8, 16), (3, 3, 3, 16, 24), (1, 1, 1)), ((1, 12, 12, 12, 8), (3, 3, 3, 8, 16), (2, 2, 2)), ((0, 4, 4, 4, 2), (2, 2, 2, 2, 3), (1, 1, 1)))


def output_of(volume: tuple[int, ...], filters: tuple[int, ...], strides: tuple[int, ...], padding: str) -> tuple[int, ...]:
    spaces = (-(-n // s) if padding == "SAME" else (n - k) // s + 1 for n, k, s in zip(volume[1:4], filters[:3], strides))
    return (volume[0], *spaces, filters[4])


def convolutions(gradient: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        for volume, filters, strides in CONVOLUTIONS:
            for padding in ("SAME", "VALID"):
                attrs: dict[str, Any] = {"strides": [1, *strides, 1], "padding": padding}
                out = pool(output_of(volume, filters, strides, padding), dtype, "unit")
                if not gradient:
                    yield {"input": pool(volume, dtype), "filter": pool(filters, dtype, "unit"), **attrs}
                elif gradient == "input":
                    yield {"input_sizes": i32(*volume), "filter": pool(filters, dtype, "unit"), "out_backprop": out, **attrs}
                else:
                    yield {"input": pool(volume, dtype), "filter_sizes": i32(*filters), "out_backprop": out, **attrs}
    return cases


POOLS = (((1, 4, 5, 6, 2), (2, 3, 2), (1, 1, 1)), ((2, 5, 5, 5, 3), (2, 2, 2), (2, 2, 2)), ((1, 3, 4, 3, 20), (3, 1, 2), (1, 2, 1)), ((0, 3, 3, 3, 2), (2, 2, 2), (1, 1, 1)))


def pools(op: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        for volume, ksize, strides in POOLS[:3] if op.endswith("GradGrad") else POOLS:  # TensorFlow's takes no empty ones
            for padding in ("SAME", "VALID"):
                attrs: dict[str, Any] = {"ksize": [1, *ksize, 1], "strides": [1, *strides, 1], "padding": padding}
                small = output_of(volume, (*ksize, 0, volume[4]), strides, padding)
                if op in ("MaxPool3D", "AvgPool3D"):
                    yield {"input": pool(volume, dtype), **attrs}
                elif op == "AvgPool3DGrad":
                    yield {"orig_input_shape": i32(*volume), "grad": pool(small, dtype), **attrs}
                else:
                    x = pool(volume, dtype)
                    grad = volume if op.endswith("GradGrad") else small
                    yield {"orig_input": x, "orig_output": pooled(x, ksize, strides, small, padding), "grad": pool(grad, dtype, "positive"), **attrs}
    return cases


def pooled(x: np.ndarray, ksize: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...], padding: str) -> np.ndarray:
    """The largest element of each window."""
    out = np.zeros(shape, x.dtype)
    before = [max((o - 1) * s + k - n, 0) // 2 if padding == "SAME" else 0 for o, s, k, n in zip(shape[1:4], strides, ksize, x.shape[1:4])]
    for at in np.ndindex(*shape[1:4]):
        window = tuple(slice(max(i * s - b, 0), max(i * s - b + k, 0)) for i, s, b, k in zip(at, strides, before, ksize))
        out[(slice(None), *at)] = x[(slice(None), *window)].astype(np.float64).max(axis=(1, 2, 3), initial=-np.inf)
    return out


def dilations(kind: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        for image, filters, strides, rates in (((1, 4, 5, 2), (2, 3, 2), (1, 1), (1, 1)), ((2, 6, 7, 3), (3, 2, 3), (2, 1), (1, 2)), ((0, 3, 3, 1), (2, 2, 1), (1, 1), (1, 1))):
            for padding in ("SAME", "VALID"):
                spread = [(k - 1) * r + 1 for k, r in zip(filters, rates)]
                out = output_of((image[0], 1, *image[1:3], image[3]), (1, *spread, 0, image[3]), (1, *strides), padding)
                grad = {"out_backprop": pool((out[0], *out[2:]), dtype, "small")} if kind else {}
                yield {"input": pool(image, dtype), "filter": pool(filters, dtype, "small"), **grad, "strides": [1, *strides, 1], "rates": [1, *rates, 1],
                       "padding": padding}
    return cases


# Sequences of 5 steps and their labels.
def labelled(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
    labels = {"labels_indices": np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]], np.int64), "labels_values": i32(1, 2, 0, 0, 3)}
    for merge in (True, False):
        for collapse in (True, False):
            yield {"inputs": pool((5, 2, 5), dtype), **labels, "sequence_length": i32(5, 4), "ctc_merge_repeated": merge, "preprocess_collapse_repeated": collapse}
    yield {"inputs": pool((5, 2, 5), dtype), **labels, "sequence_length": i32(5, 2), "ignore_longer_outputs_than_inputs": True}
    yield {"inputs": pool((5, 2, 5), dtype), **labels, "sequence_length": i32(5, 0), "ignore_longer_outputs_than_inputs": True}


def distances(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
    def sparse(name: str, entries: list[tuple[int, ...]], shape: tuple[int, ...]) -> dict[str, Any]:
        return {name + "_indices": np.array(entries, np.int64).reshape(-1, len(shape)), name + "_values": pool((len(entries),), dtype, "small"),
                name + "_shape": i64(*shape)}

    first = [(0, 0), (0, 1), (0, 2), (2, 0), (3, 1)]
    second = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    for normalize in (True, False):
        yield {**sparse("hypothesis", first, (4, 3)), **sparse("truth", second, (4, 3)), "normalize": normalize}
        yield {**sparse("hypothesis", [], (2, 3)), **sparse("truth", second[:3], (2, 3)), "normalize": normalize}
        yield {**sparse("hypothesis", [(0, 1, 0), (1, 0, 0)], (2, 2, 3)), **sparse("truth", [(0, 1, 0), (0, 1, 1)], (2, 2, 3)), "normalize": normalize}


RANGES = ((-1.0, 1.0), (0.0, 3.0), (-3.0, 0.5), (-4.0, 4.0))

VOLUMES: tuple[Line, ...] = (
    Line("Conv3D", FLOATS, convolutions(""), ulps=512),
    Line("Conv3DBackpropInputV2", FLOATS, convolutions("input"), ulps=512),
    Line("Conv3DBackpropFilterV2", FLOATS, convolutions("filter"), ulps=2048),
    *(Line(op, POOLED, pools(op), ulps=32) for op in ("MaxPool3D", "AvgPool3D", "AvgPool3DGrad", "MaxPool3DGrad", "MaxPool3DGradGrad")),
    *(Line("Dilation2D" + kind, REALS, dilations(kind), ulps=8) for kind in ("", "BackpropInput", "BackpropFilter")),
    refused("Conv3D", ("float32",), *(lambda p, t, v=v, f=f: {"input": p(v, t), "filter": p(f, t), "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
                                      for v, f in (((1, 3, 3, 3, 3), (1, 1, 1, 2, 4)), ((1, 3, 3, 3), (1, 1, 1, 3, 4)), ((1, 3, 3, 3, 2), (4, 1, 1, 2, 4))))),
    refused("MaxPool3D", ("float32",), lambda p, t: {"input": p((3, 3, 3), t), "ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"}),
    # Rounding as if quantized.
    listed("FakeQuantWithMinMaxArgs", ("float32",), *(lambda p, t, r=r, b=b, n=n: {"inputs": p((7, 9), t), "min": r[0], "max": r[1], "num_bits": b, "narrow_range": n}
                                                      for r in RANGES for b in (2, 8, 16) for n in (False, True))),
    listed("FakeQuantWithMinMaxArgsGradient", ("float32",), *(
        lambda p, t, r=r: {"gradients": p((7, 9), t, "unit"), "inputs": p((7, 9), t), "min": r[0], "max": r[1]} for r in RANGES)),
    listed("FakeQuantWithMinMaxVars", ("float32",), *(lambda p, t, r=r, b=b: {"inputs": p((5000,), t), "min": np.float32(r[0]), "max": np.float32(r[1]), "num_bits": b}
                                                      for r in (*RANGES, (0.0, 0.0)) for b in (4, 8))),
    listed("FakeQuantWithMinMaxVarsGradient", ("float32",), *(
        lambda p, t, r=r: {"gradients": p((50,), t, "unit"), "inputs": p((50,), t), "min": np.float32(r[0]), "max": np.float32(r[1])} for r in (*RANGES, (0.0, 0.0))),
        ulps=64),
    listed("FakeQuantWithMinMaxVarsPerChannel", ("float32",), *(
        lambda p, t, s=s: {"inputs": p(s, t), "min": np.array([-1, 0, -3, 0], t), "max": np.array([1, 3, 0.5, 0], t)} for s in ((4,), (3, 4), (2, 3, 3, 4)))),
    listed("FakeQuantWithMinMaxVarsPerChannelGradient", ("float32",), *(
        lambda p, t, s=s: {"gradients": p(s, t, "unit"), "inputs": p(s, t), "min": np.array([-1, 0, -3, 0], t), "max": np.array([1, 3, 0.5, 0], t)}
        for s in ((4,), (3, 4), (2, 3, 3, 4))), ulps=64),
    *(listed(op, FULL, *(lambda p, t, r=r, s=s, g=g, b=b, n=n: {"input": p((6, 5), t), "input_min": np.array(r[0], t), "input_max": np.array(r[1], t), "signed_input": s,
                                                               "range_given": g, "num_bits": b, "narrow_range": n}
                         for r in RANGES[:2] for s in (True, False) for g in (True, False) for b in (4, 8) for n in (True, False)),
             lambda p, t: {"input": p((6, 5), t), "input_min": np.array(-1, t), "input_max": np.array(2, t), "range_given": True, "round_mode": "HALF_UP"},
             lambda p, t: {"input": p((6, 3, 5), t), "input_min": np.array([-1, -2, 0], t), "input_max": np.array([1, 2, 3], t), "range_given": True, "axis": 1},
             lambda p, t: {"input": p((6, 3), t), "input_min": np.array([-1, -2, 0], t), "input_max": np.array([1, 2, 3], t), "range_given": False, "axis": 1}, ulps=16)
      for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4")),
    listed("QuantizeAndDequantizeV3", FULL, *(lambda p, t, b=b, g=g: {"input": p((6, 5), t), "input_min": np.array(-1, t), "input_max": np.array(2, t), "num_bits": np.int32(b),
                                                                     "range_given": g} for b in (4, 8) for g in (True, False)), ulps=16),
    refused("QuantizeAndDequantizeV3", FULL, lambda p, t: {"input": p((6, 5), t), "input_min": np.array(-1, t), "input_max": np.array(2, t), "num_bits": np.int32(0)},
            lambda p, t: {"input": p((6, 5), t), "input_min": np.array(3, t), "input_max": np.array(2, t), "num_bits": np.int32(8)}),
    listed("QuantizeAndDequantizeV4Grad", FULL,
           lambda p, t: {"gradients": p((6, 5), t, "unit"), "input": p((6, 5), t), "input_min": np.array(-1, t), "input_max": np.array(2, t)},
           lambda p, t: {"gradients": p((6, 3, 5), t, "unit"), "input": p((6, 3, 5), t), "input_min": np.array([-1, -2, 0], t), "input_max": np.array([1, 2, 3], t), "axis": 1}),
    # Sequences.
    Line("CTCLoss", ("float32",), labelled, ulps=512),
    Line("CTCLoss", ("float64",), labelled, ulps=1e9),  # TensorFlow's is as exact as float
    listed("CTCGreedyDecoder", FULL, *(lambda p, t, m=m, b=b: {"inputs": p((6, 3, 4), t), "sequence_length": i32(6, 3, 0), "merge_repeated": m, "blank_index": b}
                                       for m in (True, False) for b in (-1, 0, 2))),
    refused("CTCLoss", ("float32",), *(lambda p, t, v=v, s=s: {"inputs": p((3, 1, 4), t), "labels_indices": np.array([[0, 0], [0, 1]], np.int64), "labels_values": i32(*v),
                                                              "sequence_length": i32(s)} for v, s in (((0, 9), 3), ((-1, 0), 3), ((1, 1), 2), ((0, 3), 3)))),
    refused("CTCGreedyDecoder", ("float32",), lambda p, t: {"inputs": p((3, 1, 4), t), "sequence_length": i32(9)},
            lambda p, t: {"inputs": p((3, 1, 4), t), "sequence_length": i32(1, 2)}),
    Line("EditDistance", EVERY, distances),
)
