"""The optimizers' checkpoints, both ways: TensorFlow goes on from ours and we go on from TensorFlow's.

The same model and optimizers are built twice, in C++ (write_optimizer_graphs.cc) and here. For each, with resource
variables and with references:
  - `tensorfleet train` trains the first half of the steps; TensorFlow restores all variables, slots included, from that
    checkpoint, trains the second half, and must come to where it comes by itself;
  - the other way round;
  - the checkpoints hold the same names, shapes and types.

  optimizer_checkpoints.py --tool write_optimizer_graphs --tensorfleet build/bin/tensorfleet [-k WORD]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
v1.logging.set_verbosity(v1.logging.ERROR)
HALF = 6
Values = dict[str, np.ndarray]

OPTIMIZERS: dict[str, Callable[[], v1.train.Optimizer]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered": lambda: v1.train.RMSPropOptimizer(0.01, centered=True),
    "adam": lambda: v1.train.AdamOptimizer(0.01),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
}


def ramp(shape: tuple[int, ...], first: float, step: float) -> np.ndarray:
    return (first + step * np.arange(int(np.prod(shape)))).astype("f").reshape(shape)


class Theirs:
    """TensorFlow's own graph and session."""

    def __init__(self, name: str, use_resource: bool) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            step = v1.get_variable("global_step", [], tf.int64, v1.zeros_initializer(), trainable=False,
                                   use_resource=use_resource,
                                   collections=[v1.GraphKeys.GLOBAL_STEP, v1.GraphKeys.GLOBAL_VARIABLES])
            table = v1.get_variable("table", initializer=ramp((5, 3), -0.5, 0.1), use_resource=use_resource)
            w = v1.get_variable("w", initializer=ramp((4, 3), 1, -0.2), use_resource=use_resource)
            rows = tf.gather(table, [0, 2, 2, 4])
            loss = tf.reduce_mean(tf.square(rows * w - ramp((4, 3), 0.3, 0.15)))
            self.train = OPTIMIZERS[name]().minimize(loss, step)
            self.saver = v1.train.Saver()
            self.session = v1.Session()
            self.session.run(v1.global_variables_initializer())

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.session.run(self.train)

    def restore(self, prefix: str) -> None:
        with self.graph.as_default():
            self.saver.restore(self.session, prefix)

    def save(self, directory: str) -> str:
        os.makedirs(directory, exist_ok=True)
        with self.graph.as_default():
            return self.saver.save(self.session, os.path.join(directory, "model.ckpt"), global_step=HALF)


def train_ours(tensorfleet: str, meta: str, directory: str, steps: int) -> str:
    """The checkpoint of the last step."""
    environment = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
    done = subprocess.run([tensorfleet, "train", "--meta_graph", meta, "--checkpoint_dir", directory, "--max_steps",
                           str(steps)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise AssertionError("tensorfleet train ended with %d: %s" % (done.returncode, done.stderr[-800:]))
    found = tf.train.latest_checkpoint(directory)
    if not found or not found.endswith("-%d" % steps):
        raise AssertionError("the last checkpoint is %s" % found)
    return found


def read(prefix: str) -> Values:
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def compare(got: Values, want: Values, what: str) -> None:
    if set(got) != set(want):
        raise AssertionError("%s: variables %s" % (what, sorted(set(got) ^ set(want))))
    for name, value in want.items():
        if got[name].shape != value.shape or got[name].dtype != value.dtype:
            raise AssertionError("%s: %s is %s%s, not %s%s" % (what, name, got[name].dtype, got[name].shape, value.dtype,
                                                               value.shape))
        if not np.allclose(got[name], value, rtol=2e-5, atol=1e-6):
            raise AssertionError("%s: %s is\n%s, not\n%s" % (what, name, got[name], value))


def check(name: str, use_resource: bool, folder: str, tensorfleet: str) -> None:
    meta = os.path.join(folder, name + ".meta")
    alone = Theirs(name, use_resource)
    alone.steps(HALF)
    half = alone.save(os.path.join(folder, name + "-theirs"))
    at_half = read(half)
    alone.steps(HALF)
    wanted = read(alone.save(os.path.join(folder, name + "-alone")))

    ours = train_ours(tensorfleet, meta, os.path.join(folder, name + "-ours"), HALF)
    compare(read(ours), at_half, "our first half")
    taken_over = Theirs(name, use_resource)
    taken_over.restore(ours)
    taken_over.steps(HALF)
    compare(read(taken_over.save(os.path.join(folder, name + "-on"))), wanted, "TensorFlow after us")

    both = train_ours(tensorfleet, meta, os.path.dirname(half), 2 * HALF)
    compare(read(both), wanted, "we after TensorFlow")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the program write_optimizer_graphs")
    parser.add_argument("--tensorfleet", required=True, help="the program tensorfleet")
    parser.add_argument("-k", default="", help="only optimizers whose name contains this")
    args = parser.parse_args()
    passed = failed = 0
    for use_resource in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([args.tool, folder] + ([] if use_resource else ["--references"]), check=True, timeout=60)
            for name in OPTIMIZERS:
                if args.k not in name:
                    continue
                try:
                    check(name, use_resource, folder, args.tensorfleet)
                    passed += 1
                except (AssertionError, tf.errors.OpError) as e:
                    failed += 1
                    print("FAILED %s, %s: %s" % (name, "resources" if use_resource else "references", e))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
