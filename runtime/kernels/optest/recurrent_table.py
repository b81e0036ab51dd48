"""Lines for layers of LSTM and GRU cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lines import Line, Pool, refused

BOTH = ("float16", "float32")
SIZES = ((2, 3, 4), (1, 1, 1), (5, 7, 6), (0, 2, 3))  # batch, inputs, cells


def lstm(pool: Pool, dtype: str, x: tuple[int, ...], cells: int) -> dict[str, np.ndarray]:
    batch, inputs = x[-2:]
    return {"x": pool(x, dtype), "cs_prev": pool((batch, cells), dtype), "h_prev": pool((batch, cells), dtype, "unit"),
            "w": pool((inputs + cells, 4 * cells), dtype, "unit"), "wci": pool((cells,), dtype, "unit"), "wcf": pool((cells,), dtype, "positive"),
            "wco": pool((cells,), dtype), "b": pool((4 * cells,), dtype, "unit")}


def made(pool: Pool, dtype: str, shape: tuple[int, ...], names: str) -> dict[str, np.ndarray]:
    """What a forward op would have given, by its look."""
    return {name: pool((*shape, i)[:-1], dtype, "unit" if name in ("ci", "co", "h") else "positive") / np.asarray(4, dtype).astype(dtype)
            for i, name in enumerate(names.split())}


def cells(op: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        for batch, inputs, n in SIZES if op.endswith("Grad") else SIZES[:3]:  # TensorFlow's refuses none
            for peephole in (False, True):
                some: dict[str, Any] = {**lstm(pool, dtype, (batch, inputs), n), "use_peephole": peephole}
                if op.endswith("Grad"):
                    yield {**some, **made(pool, dtype, (batch, n), "i cs f o ci co"), "cs_grad": pool((batch, n), dtype, "unit"), "h_grad": pool((batch, n), dtype)}
                else:
                    yield {**some, "cell_clip": 0.7 if peephole else -1.0, "forget_bias": 0.5}
    return cases


def layers(op: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
        # Of steps that do not count, and of no examples, TensorFlow leaves some results to chance.
        for batch, inputs, n in SIZES[:3]:
            for steps, length in ((4, 4), (1, 1)) + (((4, 2), (3, 0)) if "Grad" in op else ()):
                for peephole in (False, True):
                    some: dict[str, Any] = {"seq_len_max": np.int64(length), **lstm(pool, dtype, (steps, batch, inputs), n), "use_peephole": peephole}
                    if "Grad" in op:
                        state = (steps, batch, n)
                        yield {**some, **made(pool, dtype, state, "i cs f o ci co h"), "cs_grad": pool(state, dtype, "unit"), "h_grad": pool(state, dtype)}
                    else:
                        yield {**some, "cell_clip": 0.7 if peephole else 0.0}
    return cases


def gru(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
    for batch, inputs, n in SIZES:
        yield {"x": pool((batch, inputs), dtype), "h_prev": pool((batch, n), dtype, "unit"), "w_ru": pool((inputs + n, 2 * n), dtype, "unit"),
               "w_c": pool((inputs + n, n), dtype, "unit"), "b_ru": pool((2 * n,), dtype), "b_c": pool((n,), dtype)}


def gru_gradients(pool: Pool, dtype: str) -> Iterator[dict[str, Any]]:
    for some in gru(pool, dtype):
        state = some["h_prev"].shape
        yield {**some, "r": pool(state, dtype, "positive") / 4, "u": pool(state, dtype, "positive") / 5, "c": pool(state, dtype, "unit"), "d_h": pool(state, dtype)}


RECURRENT: tuple[Line, ...] = (
    *(Line(op, BOTH, cells(op), ulps=64) for op in ("LSTMBlockCell", "LSTMBlockCellGrad")),
    *(Line(op, BOTH, layers(op), ulps=512) for op in ("BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2")),
    Line("GRUBlockCell", ("float32",), gru, ulps=64),
    Line("GRUBlockCellGrad", ("float32",), gru_gradients, ulps=64),
    refused("LSTMBlockCell", ("float32",), lambda p, t: {**lstm(p, t, (2, 3), 4), "b": p((4,), t)}, lambda p, t: {**lstm(p, t, (2, 3), 4), "cs_prev": p((3, 4), t)}),
    refused("GRUBlockCell", ("float32",), lambda p, t: {**next(gru(p, t)), "w_c": p((3, 3), t)}),
)
