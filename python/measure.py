#!/usr/bin/env python3
"""How long steps of sessions without a target take, on our engine and in TensorFlow, in turns in one process.

    measure.py --program build/bin/tensorfleet      prints a line for each question: ours, TensorFlow's, the ratio
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
PYTHON = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(PYTHON))


def timed(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each question and engine")
    arguments = parser.parse_args()
    os.environ["TENSORFLEET_PROGRAM"] = os.path.abspath(arguments.program)
    import numpy as np
    import tensorfleet
    import tensorfleet.tensorflow as tf

    rng = np.random.RandomState(0)
    x, y = rng.rand(128, 784).astype("f"), rng.randint(0, 10, 128)

    def empty():
        return tf.no_op(), {}

    def chain():
        v = tf.constant(1.0)
        for _ in range(1000):
            v = tf.identity(v)
        return v.op, {}

    def mlp():
        image, label = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
        hidden = tf.layers.dense(image, 256, tf.nn.relu) if hasattr(tf.layers, "dense") else image
        w = tf.get_variable("w", [hidden.shape[1], 10])
        loss = tf.losses.sparse_softmax_cross_entropy(label, tf.matmul(hidden, w))
        return tf.train.AdamOptimizer().minimize(loss), {image: x, label: y}

    def fetch():
        return tf.get_variable("big", [25_000_000], initializer=tf.zeros_initializer()), {}

    for name, build in (("empty step", empty), ("chain of 1,000 ops", chain), ("MLP's training step, fed", mlp), ("fetch of 100 MB", fetch)):
        medians = {}
        for engine in ("tensorfleet", "tensorflow"):
            os.environ["TENSORFLEET_SESSIONS"] = engine
            tf.reset_default_graph()
            what, feed = build()
            with tf.Session() as s:
                s.run(tf.global_variables_initializer())
                for _ in range(5):
                    s.run(what, feed)
                medians[engine] = timed(lambda: s.run(what, feed), arguments.seconds)
        print("%-26s ours %9.1f us, TensorFlow's %9.1f us, %.2fx" % (
            name, medians["tensorfleet"] * 1e6, medians["tensorflow"] * 1e6, medians["tensorfleet"] / medians["tensorflow"]))
    print("steps", tensorfleet.steps())
    code = "import time; t = time.perf_counter(); import tensorfleet; print((time.perf_counter() - t) * 1e3)"
    times = [float(subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=str(PYTHON)), check=True,
                                  capture_output=True, text=True).stdout) for _ in range(5)]
    print("import tensorfleet         %.1f ms" % statistics.median(times))


if __name__ == "__main__":
    main()
