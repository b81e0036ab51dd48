"""What TensorFlow itself has kernels for."""

from __future__ import annotations

import functools

import tensorflow as tf
from tensorflow.python.framework import kernels as registry
from tensorflow.python.framework import op_def_registry

Types = dict[str, set[str]]  # by attribute


@functools.lru_cache(maxsize=None)
def cpu_types(op: str) -> Types:
    """The types of the op's CPU kernels that a node can have; attributes that any kernel takes all types of are absent."""
    found: Types = {}
    definition = op_def_registry.get(op)
    allowed = {attr.name: {tf.as_dtype(t).name for t in attr.allowed_values.list.type} for attr in definition.attr} if definition else {}
    for kernel in registry.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type != "CPU" or kernel.label:
            continue
        for constraint in kernel.constraint:
            names = {tf.as_dtype(t).name for t in constraint.allowed_values.list.type}
            # Some kernels are for types that no node can have.
            found.setdefault(constraint.name, set()).update(names & (allowed.get(constraint.name) or names))
    return found


def runs(op: str, dtype: str) -> bool:
    """Whether TensorFlow runs the op on a CPU with elements of this type."""
    return all(dtype in types for attr, types in cpu_types(op).items() if attr == "T")
