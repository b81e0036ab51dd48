"""What a session holds on the engine, carried over to another session of the same graph."""
from __future__ import annotations

import re

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
# What holds more than a value that can be read and assigned. Random ops are not among them: they begin anew.
_OTHER_STATE = re.compile(r"queue|table|iterator|reader|stack|barrier|stage|accumulator|mutex|ensemble|cache", re.I)


class CannotCarry(Exception):
    """The message names the op whose state cannot go with the session."""


def _consumer(op, kind: str, known):
    return next((c for c in op.outputs[0].consumers() if c.type == kind and c.name in known), None)


def read(operations, fetch, uninitialized):
    """The values of the variables among `operations`.

    Args:
        operations: Those that the session's engine knows.
        fetch: Gives a tensor's value.
        uninitialized: The error of a variable that has none.

    Returns:
        A list of (the op that assigns it, the tensor to feed, its value). No op is added to the graph.

    Raises:
        CannotCarry: There is other state.
    """
    known = {op.name for op in operations}
    found = []
    for op in operations:
        if op.type not in _VARIABLES:
            # Ops that only use such state have it as an input.
            if _OTHER_STATE.search(op.type) and op.outputs and not any(i.op.type != "Const" for i in op.inputs):
                raise CannotCarry("%s (%s)" % (op.name, op.type))
            continue
        is_handle = op.type == "VarHandleOp"
        reader = _consumer(op, "ReadVariableOp", known) if is_handle else op
        assign = _consumer(op, "AssignVariableOp" if is_handle else "Assign", known)
        if reader is None or assign is None:
            raise CannotCarry("%s (%s), which the graph does not read and assign" % (op.name, op.type))
        try:
            value = fetch(reader.outputs[0])
        except uninitialized:
            continue
        found.append((assign, assign.inputs[1], value))
    return found
