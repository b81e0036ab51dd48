"""Programs for the optimizers' steps: each op on variables by reference and by handle, dense and in rows, for each type."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from lines import COMPLEX, FLOATS, Pool
from state_table import Program, constant
from tensorflows import runs

v1 = tf.compat.v1

SCALARS = {"alpha": 0.1, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.9, "beta2_power": 0.99, "epsilon": 1e-2, "rho": 0.75,
           "momentum": 0.5, "logbase": 0.5, "sign_decay": 0.8, "beta": 0.9, "l1": 0.01, "l2": 0.02, "l2_shrinkage": 0.03, "lr_power": -0.5}
OPTIMIZERS = ("GradientDescent", "Momentum", "KerasMomentum", "Adam", "Adagrad", "AdagradV2", "RMSProp", "CenteredRMSProp", "Adadelta",
              "AdagradDA", "Ftrl", "FtrlV2", "ProximalGradientDescent", "ProximalAdagrad", "AdaMax", "AdamWithAmsgrad", "AddSign", "PowerSign")
DENSE_ONLY = ("GradientDescent", "Adam", "AdaMax", "AdamWithAmsgrad", "AddSign", "PowerSign")


def apply_steps(op: str, dtype: str, pool: Pool, number: int, **attrs: Any) -> list[Any]:
    """Two steps of the op on fresh variables, with what they hold before, between and after."""
    definition = op_def_registry.get(op)
    by_handle = op.startswith("Resource")
    variables: list[Any] = []
    arguments: dict[str, Any] = dict(attrs, use_locking=False)
    for i, argument in enumerate(definition.input_arg):
        name = argument.name
        if argument.is_ref or argument.type == tf.resource.as_datatype_enum:
            start = np.asarray(pool((6, 5), dtype, "positive"))
            v = v1.get_variable("%s_%s_%d_%d" % (op, dtype, number, i), initializer=start, use_resource=by_handle, trainable=False)
            variables.append(v)
            arguments[name] = v.handle if by_handle else v._ref()
        elif name in ("grad", "delta"):
            arguments[name] = constant(pool((4, 5) if "Sparse" in op else (6, 5), dtype, "unit"))
        elif name == "indices":
            arguments[name] = constant(np.array([1, 5, 1, 0], np.int64 if number % 2 else np.int32))
        elif name == "global_step":
            arguments[name] = constant(3, np.int64)
        else:
            arguments[name] = constant(np.asarray(SCALARS[name]).astype(tf.as_dtype(dtype).as_numpy_dtype))
    step = op_def_library._apply_op_helper(op, **arguments)[2]
    reads = [tf.identity(v.read_value() if by_handle else v._ref()) for v in variables]
    return [[v.initializer for v in variables], step, reads, step, reads]


def optimizers(prefix: str) -> Callable[[Pool], list[Any]]:
    def build(pool: Pool) -> list[Any]:
        steps: list[Any] = []
        for name in OPTIMIZERS:
            op = prefix + name
            if ("Sparse" in prefix and name in DENSE_ONLY) or op_def_registry.get(op) is None:
                continue
            flag = next((a.name for a in op_def_registry.get(op).attr if a.name in ("use_nesterov", "update_slots", "multiply_linear_by_lr")), None)
            for dtype in filter(functools.partial(runs, op), FLOATS + COMPLEX):
                for number, attrs in enumerate([{flag: False}, {flag: True}] if flag else [{}]):
                    steps += apply_steps(op, dtype, pool, number, **attrs)
        return steps
    return build


def wrong_updates(pool: Pool) -> list[Any]:
    """Shapes and indices that do not fit."""
    v = v1.get_variable("v", initializer=np.ones([2, 3], np.float32), use_resource=True)
    apply = tf.raw_ops.ResourceApplyGradientDescent
    rate = constant(0.5, np.float32)
    rows = tf.raw_ops.ResourceSparseApplyProximalGradientDescent
    some = {"alpha": rate, "l1": rate, "l2": rate}
    return [v.initializer, apply(var=v.handle, alpha=rate, delta=constant(np.ones([3, 2], np.float32))),
            apply(var=v.handle, alpha=constant([0.5], np.float32), delta=constant(np.ones([2, 3], np.float32))),
            rows(var=v.handle, **some, grad=constant(np.ones([1, 3], np.float32)), indices=constant([7])),
            rows(var=v.handle, **some, grad=constant(np.ones([1, 3], np.float32)), indices=constant([0, 1])),
            rows(var=v.handle, **some, grad=constant(np.ones([1, 2], np.float32)), indices=constant([0])), tf.identity(v.read_value())]


TRAINING: tuple[Program, ...] = tuple(
    Program("Optimizers: %s*" % prefix, optimizers(prefix), 64) for prefix in ("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply")
) + (Program("Optimizers: wrong updates", wrong_updates),)
