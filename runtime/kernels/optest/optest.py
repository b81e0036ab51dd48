#!/usr/bin/env python3
"""Runs every op of table.py on a server of ours and in TensorFlow's own process, and compares the results.

  optest.py --server 'build/bin/tensorfleet server'     starts the server with TF_CONFIG in its environment
  optest.py --target grpc://localhost:2222              uses one that runs
  optest.py --server ... -k Softmax                     only ops and programs whose name contains it
  optest.py --server tensorflow                         TensorFlow's own server, to see that the table is fair

Integers, bools and strings must be equal, and so must the errors' codes; floating results may differ by what
table.py allows. Prints a line per op that differs, then 'N passed, N failed'. Needs the packages of
requirements-test.txt.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import shlex
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# TensorFlow's own kernels: those of oneDNN, which it would put in their place, check less and end the process on some
# bad arguments.
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lines import Line  # noqa: E402
from state_table import Program  # noqa: E402
from table import PROGRAMS, TABLE  # noqa: E402

v1 = tf.compat.v1

# What one unit of the last place is, relative to 1.
PRECISION = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52,
             "complex64": 2.0**-23, "complex128": 2.0**-52}
PARTNER = {"complex64": "float32", "complex128": "float64", "float32": "complex64", "float64": "complex128"}
# A fetch of a dead value, which TensorFlow's own server answers with another code than the session in its process.
DEAD_HERE = "does not have value"
DEAD_ON_SERVER = "was not valid"
TF_SERVER = ("import json, os, tensorflow as tf; c = json.loads(os.environ['TF_CONFIG']); "
             "tf.compat.v1.train.Server(c['cluster'], c['task']['type'], c['task']['index']).join()")


def values(shape: tuple[int, ...], dtype: str, domain: str = "any") -> np.ndarray:
    """The same values for the same arguments on every run."""
    rng = np.random.default_rng(zlib.crc32(repr((shape, dtype, domain)).encode()))
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype == "string":
        return np.array([b"s%d" % v for v in rng.integers(0, 4, shape).reshape(-1)], object).reshape(shape)
    as_type = tf.as_dtype(dtype).as_numpy_dtype
    if dtype.startswith(("int", "uint")):
        limits = np.iinfo(dtype)
        if domain == "bits":
            return np.asarray(rng.integers(limits.min, limits.max, shape, dtype, endpoint=True))
        low = {"small": 0, "positive": 1, "nonzero": 1}.get(domain, max(-4, int(limits.min)))
        drawn = np.asarray(rng.integers(low, 6, shape))
        if domain == "nonzero" and limits.min < 0:
            drawn = drawn * rng.choice([-1, 1], shape)
        return drawn.astype(dtype)
    ranges = {"positive": (0.1, 4), "unit": (-0.9, 0.9), "near1": (0.9, 1.1), "above1": (1.1, 5), "small": (0, 5), "nonzero": (0.2, 4)}
    low, high = ranges.get(domain, (-4, 4))
    drawn = rng.uniform(low, high, shape)
    if domain == "small":
        drawn = np.floor(drawn)
    if domain == "nonzero":
        drawn = drawn * rng.choice([-1, 1], shape)
    if dtype.startswith("complex"):
        drawn = drawn + 1j * rng.uniform(0.1 if domain in ("positive", "above1") else -1, 1, shape)
    return np.asarray(drawn).astype(as_type)


class Case:
    """One node of the graph: its feeds and its outputs."""

    def __init__(self, line: Line, dtype: str, arguments: dict[str, Any]) -> None:
        self.line, self.dtype = line, dtype
        self.feeds: dict[Any, np.ndarray] = {}
        definition = op_def_registry.get(line.op)
        inputs = [arg.name for arg in definition.input_arg]
        of_types = {attr.name for attr in definition.attr if attr.type == "type"}
        # Axes go by other names in the definitions of some ops.
        axis = next((name for name in ("reduction_indices", "split_dim") if name in inputs), "axis")
        arguments = {(axis if k == "axis" else k): v for k, v in arguments.items()}
        # Attributes that are not given take their defaults, which is asked for by None.
        of_inputs = {name for arg in definition.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
        built: dict[str, Any] = {attr.name: None for attr in definition.attr if attr.name not in of_inputs}
        for key, value in arguments.items():
            if key in inputs:
                built[key] = [self._feed(v) for v in value] if isinstance(value, list) else self._feed(value)
            elif key in of_types:
                built[key] = tf.as_dtype(PARTNER[dtype] if value in ("real", "complex") else value)
            else:
                built[key] = value
        with v1.device("/cpu:0"):
            self.node = op_def_library._apply_op_helper(line.op, **built)[2]
        self.shown = ", ".join("%s=%s" % (k, "%s%s" % (v.dtype, list(v.shape)) if isinstance(v, np.ndarray) else v)
                               for k, v in arguments.items())

    def _feed(self, value: np.ndarray) -> Any:
        placeholder = v1.placeholder(tf.string if value.dtype == object else tf.as_dtype(value.dtype),
                                     None if self.line.open_shapes else value.shape)
        self.feeds[placeholder] = value
        return placeholder

    def run(self, session: v1.Session) -> list[np.ndarray] | tf.errors.OpError:
        try:
            return session.run(list(self.node.outputs), self.feeds)
        except tf.errors.OpError as error:
            return error


def brief(error: tf.errors.OpError) -> str:
    """The line of an error's message that says what was wrong, without the stacks around it."""
    lines = [line.strip() for line in error.message.split("\n")]
    return next((before for before, line in zip(lines, lines[1:]) if line.startswith("[[{{node")), lines[0])


def differ(got: Any, want: Any, ulps: float, outputs: int | None = None) -> str | None:
    """What is wrong with `got`, or None."""
    if isinstance(want, tf.errors.OpError) or isinstance(got, tf.errors.OpError):
        if isinstance(want, tf.errors.OpError) and isinstance(got, tf.errors.OpError):
            if DEAD_HERE in want.message and DEAD_ON_SERVER in got.message:
                return None
            return None if got.error_code == want.error_code else "%s instead of %s: %s" % (
                type(got).__name__, type(want).__name__, brief(want))
        return "error: %s" % brief(got) if isinstance(got, tf.errors.OpError) else "no error instead of: %s" % brief(want)
    for i, (a, b) in enumerate(zip(got[:outputs], want)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return "output %d is %s%s instead of %s%s" % (i, a.dtype, list(a.shape), b.dtype, list(b.shape))
        name = tf.as_dtype(b.dtype).name if b.dtype != object else "string"
        if name not in PRECISION:
            if not np.array_equal(a, b):
                return "output %d is %s instead of %s" % (i, a.reshape(-1)[:8], b.reshape(-1)[:8])
            continue
        wide = np.complex128 if name.startswith("complex") else np.float64
        a, b = a.astype(wide), b.astype(wide)
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            scale = np.maximum(np.abs(b), 1.0)
            off = np.where(same, 0.0, np.abs(a - b) / scale)
        worst = float(np.max(off)) if off.size else 0.0
        allowed = ulps * PRECISION[name]
        if not worst <= allowed:
            at = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
            return "output %d off by %.3g (allowed %.3g): %s instead of %s" % (
                i, worst, allowed, a.reshape(-1)[at], b.reshape(-1)[at])
    return None


@contextlib.contextmanager
def started(command: str) -> Iterator[str]:
    """A server as a process; gives its target."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        address = "localhost:%d" % probe.getsockname()[1]
    argv = [sys.executable, "-c", TF_SERVER] if command == "tensorflow" else shlex.split(command)
    config = {"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}}
    server = subprocess.Popen(argv, env=dict(os.environ, TF_CONFIG=json.dumps(config)),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        host, port = address.split(":")
        while True:
            try:
                socket.create_connection((host, int(port)), 1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the server did not start: %s" % command) from None
                time.sleep(0.05)
        yield "grpc://" + address
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@contextlib.contextmanager
def sessions(target: str) -> Iterator[tuple[v1.Session, v1.Session]]:
    """On the server and in this process, with graphs as they are."""
    plain = v1.ConfigProto()
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    plain.graph_options.optimizer_options.opt_level = -1
    plain.operation_timeout_in_ms = 60000
    with v1.Session(target, config=plain) as ours, v1.Session(config=plain) as theirs:
        yield ours, theirs


def step(session: v1.Session, fetch: Any) -> list[Any] | tf.errors.OpError:
    try:
        fetched = session.run(fetch)
    except tf.errors.OpError as error:
        return error
    return [value for value in tf.nest.flatten(fetched) if value is not None]


def check_program(program: Program, target: str) -> tuple[int, list[str]]:
    """Passed steps, and a text for each that failed."""
    failures: list[str] = []
    with tf.Graph().as_default(), v1.device("/cpu:0"):
        steps = program.build(values)
        with sessions(target) as (ours, theirs):
            for number, fetch in enumerate(steps):
                wrong = differ(step(ours, fetch), step(theirs, fetch), program.ulps)
                if wrong is not None:
                    shown = ", ".join(getattr(f, "op", f).name for f in tf.nest.flatten(fetch))
                    failures.append("%s, step %d (%s): %s" % (program.name, number, shown, wrong))
    return len(steps) - len(failures), failures


def check(line: Line, target: str) -> tuple[int, list[str]]:
    """Passed cases, and a text for each that failed."""
    failures: list[str] = []
    with tf.Graph().as_default():
        cases = [Case(line, dtype, arguments) for dtype in line.dtypes for arguments in line.cases(values, dtype)]
        with sessions(target) as (ours, theirs):
            for case in cases:
                wrong = differ(case.run(ours), case.run(theirs), line.ulps, line.outputs)
                if wrong is not None:
                    failures.append("%s %s(%s): %s" % (case.dtype, line.op, case.shown, wrong))
    return len(cases) - len(failures), failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--server", help="command that starts a server for the TF_CONFIG in its environment")
    where.add_argument("--target", help="target of a server that runs")
    parser.add_argument("-k", default="", help="only ops whose name contains this")
    parser.add_argument("--shown", type=int, default=3, help="failures shown per op")
    options = parser.parse_args()
    work: list[tuple[str, Callable[[str], tuple[int, list[str]]]]] = [
        (line.op, functools.partial(check, line)) for line in TABLE if options.k in line.op]
    work += [(program.name, functools.partial(check_program, program)) for program in PROGRAMS if options.k in program.name]
    if not work:
        parser.error("no op's name contains '%s'" % options.k)
    passed = failed = 0
    with contextlib.ExitStack() as stack:
        target = options.target or stack.enter_context(started(options.server))
        for name, run in work:
            try:
                good, failures = run(target)
            except (tf.errors.OpError, TypeError, ValueError) as error:  # a graph that cannot even be built
                good, failures = 0, ["%s: %s" % (name, str(error).split("\n")[0])]
            passed += good
            failed += len(failures)
            for failure in failures[:options.shown]:
                print("FAILED", failure[:600], flush=True)
            if len(failures) > options.shown:
                print("FAILED %s: and %d more cases" % (name, len(failures) - options.shown), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
