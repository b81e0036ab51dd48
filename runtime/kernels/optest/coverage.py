#!/usr/bin/env python3
"""Holds the list of our ops against TensorFlow's own and against the op test.

  coverage.py --ops 'build/bin/tensorfleet ops'

Says which element types TensorFlow has CPU kernels for and we have not, and which of our ops no line or program of the
op test runs; for both, excuses.py may give a reason. Exits 1 when something is missing without one, or excused in vain.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from excuses import UNTESTED, WITHOUT_TYPES  # noqa: E402
from optest import values  # noqa: E402
from table import PROGRAMS, TABLE  # noqa: E402
from tensorflows import Types, cpu_types  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.FATAL)


def our_ops(command: str) -> dict[str, Types]:
    """By op; the types of those that have kernels of their own, None for the others."""
    ops: dict[str, Types] = {}
    for line in subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, rest = line.partition("  ")
        if rest.startswith("(no kernel"):
            continue
        ops[name] = {}
        for part in filter(None, rest.split("; ")):
            attr, _, types = part.partition(": ")
            ops[name][attr] = set(types.split())
    return ops


def name_of(ours: str) -> str:
    """TensorFlow's Python name of a type that our list calls as in C++."""
    return {"float": "float32", "double": "float64", "half": "float16"}.get(ours, ours)


def missing_types(ops: dict[str, Types]) -> dict[str, set[str]]:
    missing: dict[str, set[str]] = {}
    for op, ours in ops.items():
        for attr, theirs in cpu_types(op).items():
            if attr not in ours:
                continue  # our kernel takes any
            lacks = theirs - {name_of(t) for t in ours[attr]}
            if lacks:
                missing.setdefault(op, set()).update("%s:%s" % (attr, t) for t in lacks)
    return missing


def ops_of(graph_def: tf.compat.v1.GraphDef) -> set[str]:
    used = {node.op for node in graph_def.node}
    for function in graph_def.library.function:
        used |= {node.op for node in function.node_def}
    return used


def tested() -> set[str]:
    used = {line.op for line in TABLE}
    for program in PROGRAMS:
        with tf.Graph().as_default() as graph:
            program.build(values)
            used |= ops_of(graph.as_graph_def())
    return used


def report(title: str, found: dict[str, str], excused: dict[str, str]) -> int:
    unexcused = {k: v for k, v in found.items() if k not in excused}
    for name in sorted(unexcused):
        print("%s: %s %s" % (title, name, unexcused[name]))
    for name in sorted(set(excused) - set(found)):
        print("%s: %s is excused in vain" % (title, name))
    return len(unexcused) + len(set(excused) - set(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", required=True, help="command that lists our ops")
    ops = our_ops(parser.parse_args().ops)
    types = {op: " ".join(sorted(lacks)) for op, lacks in missing_types(ops).items()}
    untested = {op: "" for op in sorted(set(ops) - tested())}
    faults = report("types missing", types, WITHOUT_TYPES) + report("not in the op test", untested, UNTESTED)
    print("%d ops with kernels, %d in the op test, %d faults" % (len(ops), len(ops) - len(untested), faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
