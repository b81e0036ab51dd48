#!/usr/bin/env python3
"""Differentiates every graph of graphs.py and list_graphs.py twice, by TensorFlow's front-end and by our C++ library, and compares.

  gradtest.py --tool build/test/add_gradients --server 'build/bin/tensorfleet server'
  gradtest.py --tool ... -k gather                  only the rows whose name contains 'gather'; without a server

TensorFlow's gradients are worked out in its own process. Ours are worked out there too, and on a server of ours when one
is given. Also compares the lists of ops that have gradients. Prints a line per difference, then 'N passed, N failed'.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Without oneDNN TensorFlow has no gradients of dilated convolutions; its own choice depends on the processor.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops as tf_ops

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernels", "optest"))
from optest import started  # noqa: E402
from graphs import Row, table  # noqa: E402
from list_graphs import tensor_lists  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()

# Relative to 1, or to the value where it is larger.
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-12, "complex128": 1e-12}
# Ops of which TensorFlow has a gradient and we say that they have none.
CONSTANT_HERE: set[str] = set()


class Case:
    def __init__(self, row: Row) -> None:
        self.row = row
        self.graph = tf.Graph()
        self.feeds: dict[str, np.ndarray] = {}
        (v1.enable_control_flow_v2 if row.functional else v1.disable_control_flow_v2)()
        with self.graph.as_default():
            placeholders, xs = [], []
            for argument in row.arguments:
                shape = argument.value.shape if argument.has_shape else None
                placeholders.append(v1.placeholder(argument.value.dtype, shape))
                self.feeds[placeholders[-1].name] = argument.value
                if argument.is_x:
                    xs.append(placeholders[-1])
            ys = row.build(*placeholders)
            # Of complex results a real function, which both parts change.
            self.ys = [tf.math.real(y) + 0.5 * tf.math.imag(y) if y.dtype.is_complex else y
                       for y in (ys if isinstance(ys, (list, tuple)) else [ys])]
            self.xs = xs
            self.forward = self.graph.as_graph_def()
            slopes = v1.gradients(self.ys, xs)
            if row.twice:
                slopes = v1.gradients([g for g in slopes if g is not None], xs)
            dense = [g if g is None else tf.convert_to_tensor(g) for g in slopes]
            # A gradient may be a tensor that is fed.
            self.expected = [g if g is None else tf.identity(g) for g in dense]

    def write(self, stem: str) -> None:
        with open(stem + ".pb", "wb") as f:
            f.write(self.forward.SerializeToString())
        with open(stem + ".txt", "w") as f:
            f.write(" ".join(t.name for t in self.ys) + "\n" + " ".join(t.name for t in self.xs) + "\n")
            f.write("twice\n" if self.row.twice else "")

    def read(self, stem: str) -> str | None:
        """An error, or None."""
        with open(stem + ".out.txt") as f:
            names = f.read().strip()
        if names.startswith("error:"):
            return names
        definition = v1.GraphDef()
        with open(stem + ".out.pb", "rb") as f:
            definition.ParseFromString(f.read())
        self.found = names.split()
        self.with_gradients = tf.Graph()
        with self.with_gradients.as_default():
            tf.import_graph_def(definition, name="")
        return None


def run(graph: tf.Graph, target: str, fetches: list[Any], feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    config = v1.ConfigProto(operation_timeout_in_ms=60000)
    with v1.Session(target, graph=graph, config=config) as session:
        return session.run(fetches, feeds)


def compare(case: Case, target: str) -> str | None:
    absent = [name == "-" for name in case.found]
    if absent != [g is None for g in case.expected]:
        return "absent gradients: %s instead of %s" % (absent, [g is None for g in case.expected])
    want = run(case.graph, "", [g for g in case.expected if g is not None], case.feeds)
    try:
        got = run(case.with_gradients, target, [name for name in case.found if name != "-"], case.feeds)
    except tf.errors.OpError as error:
        return error.message
    for i, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return "gradient %d is %s%s instead of %s%s" % (i, a.dtype, a.shape, b.dtype, b.shape)
        off = np.abs(a - b) / np.maximum(np.abs(b), 1)
        if not np.all((off <= TOLERANCE[b.dtype.name]) | (np.isnan(a) & np.isnan(b))):
            return "gradient %d is %s instead of %s" % (i, a.reshape(-1)[:6], b.reshape(-1)[:6])
    return None


def compare_lists(tool: str) -> list[str]:
    """Differences between the ops that have gradients."""
    ours = dict(line.split() for line in subprocess.check_output([tool, "--list"], text=True, timeout=60).splitlines())
    registry = tf_ops.gradient_registry
    wrong = []
    for op, kind in ours.items():
        try:
            has_one = registry.lookup(op) is not None
        except LookupError:
            continue  # TensorFlow has no opinion: an error there
        if kind == "constant" and has_one and op not in CONSTANT_HERE:
            try:
                flows = not is_always_none(registry.lookup(op))
            except (TypeError, OSError):
                flows = True
            if flows:
                wrong.append("%s: TensorFlow has a gradient, and we say that there is none" % op)
    return wrong


def is_always_none(gradient: Any) -> bool:
    """Whether TensorFlow's gradient function does nothing but return None for each input."""
    import inspect
    body = [line.strip() for line in inspect.getsource(gradient).splitlines() if line.strip().startswith("return")]
    return bool(body) and all(set(line[len("return"):].replace("[", "").replace("]", "").replace(",", " ").split()) == {"None"}
                              for line in body)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the program add_gradients")
    parser.add_argument("--server", help="the command that starts a server of ours")
    parser.add_argument("-k", dest="only", default="", help="only rows whose name contains this")
    options = parser.parse_args()
    failures = compare_lists(options.tool) if not options.only else []
    cases = [Case(row) for row in [*table(), *tensor_lists()] if options.only in row.name]
    if not cases:
        raise SystemExit("no row is called so: %s" % options.only)
    with tempfile.TemporaryDirectory() as folder:
        for i, case in enumerate(cases):
            case.write(os.path.join(folder, str(i)))
        subprocess.run([options.tool, folder], check=True, timeout=600)
        errors = [case.read(os.path.join(folder, str(i))) for i, case in enumerate(cases)]

    def check(target: str, where: str) -> None:
        for case, error in zip(cases, errors):
            wrong = error or compare(case, target)
            if wrong is not None:
                failures.append("%s (%s): %s" % (case.row.name, where, wrong))

    check("", "in TensorFlow's process")
    if options.server:
        with started(options.server) as target:
            check(target, "on our server")
    for failure in failures:
        print("FAILED", failure)
    runs = len(cases) * (2 if options.server else 1)
    print("%d passed, %d failed" % (runs - len(failures), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
