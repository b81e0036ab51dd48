#!/usr/bin/env python3
"""TensorFlow's servers and ours side by side: the same client, the same graphs, in turns in one run.

  vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N]

Every question is asked of both in turns, so that a machine that changes its speed changes it for both. Printed for each:
the median of TensorFlow's and of our figures, the ratio of the medians, the smallest and largest ratio of a round, and
the load average of the machine, which should be little more than what the question itself makes (see --quantile where
it is not). A question that has no answer after --patience seconds is given up, and the next one asked. Needs Python
3.11 with tensorflow-cpu==2.15.1.
"""
import argparse
import contextlib
import json
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import textwrap
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.ERROR)

THEIR_SERVER = textwrap.dedent("""
    import json, os
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    c = json.loads(os.environ["TF_CONFIG"])
    tf.compat.v1.train.Server(c["cluster"], c["task"]["type"], c["task"]["index"]).join()
""")


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def serves(address):
    host, port = address.split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


def theirs():
    """The command of TensorFlow's server."""
    return [sys.executable, "-c", THEIR_SERVER]


class Cluster:
    """The servers of one cluster as processes of one kind: `command` is a list, or None for TensorFlow's."""

    def __init__(self, jobs, command):
        self.spec = {j: ["localhost:%d" % free_port() for _ in range(n)] for j, n in jobs.items()}
        self.command = command or theirs()
        self.tasks = {(j, i): self._start(j, i) for j, n in jobs.items() for i in range(n)}
        self.processes = list(self.tasks.values())
        for addresses in self.spec.values():
            for address in addresses:
                deadline = time.time() + 120
                while not serves(address):
                    if time.time() > deadline:
                        raise RuntimeError("no server at " + address)
                    time.sleep(0.001)

    def _start(self, job, index):
        config = {"cluster": self.spec, "task": {"type": job, "index": index}}
        return subprocess.Popen(self.command, env=dict(os.environ, TF_CONFIG=json.dumps(config)),
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill_and_restart(self, job, index):
        """By SIGKILL; the new one is not waited for."""
        self.tasks[job, index].kill()
        self.tasks[job, index].wait()
        self.tasks[job, index] = self._start(job, index)
        self.processes.append(self.tasks[job, index])

    def target(self, job, index=0):
        return "grpc://" + self.spec[job][index]

    def stop(self):
        for p in self.processes:
            p.kill()
        for p in self.processes:
            p.wait()


def session(target, graph, plain=False):
    config = v1.ConfigProto(operation_timeout_in_ms=30_000)
    if plain:  # the nodes as they are written
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    return v1.Session(target, graph=graph, config=config)


# Which call counts: the median one on a quiet machine; on one that others use too, an early one, which they did not hold
# up. Set by --quantile.
QUANTILE = 0.5


def seconds_per_call(*calls, at_least=0.4):
    """The time of each call, at QUANTILE; the calls take turns."""
    for call in calls:
        call()
    times = [[] for _ in calls]
    start = time.perf_counter()
    while len(times[0]) < 5 or time.perf_counter() - start < at_least * len(calls):
        for call, seen in zip(calls, times):
            begin = time.perf_counter()
            call()
            seen.append(time.perf_counter() - begin)
    return [sorted(seen)[int(QUANTILE * (len(seen) - 1))] for seen in times]


# --- questions: (name, unit, smaller is better, jobs, measure(cluster) -> list of figures' getters) ------------------

QUESTIONS = []


def question(name, unit, jobs, smaller=True, to=QUESTIONS):
    def add(function):
        to.append((name, unit, smaller, jobs, function))
        return function
    return add


def repeated(target, build, scale=1e6, plain=False):
    """A getter: microseconds (by default) of one run of what `build` returns."""
    graph = tf.Graph()
    with graph.as_default():
        fetch, init = build()
    s = session(target, graph, plain)
    if init is not None:
        s.run(init)
    return lambda: seconds_per_call(lambda: s.run(fetch))[0] * scale


@question("empty step over grpc", "us", {"local": 1})
def empty_step(c):
    return repeated(c.target("local"), lambda: (tf.no_op(), None))


@question("constant fetched over grpc", "us", {"local": 1})
def constant(c):
    return repeated(c.target("local"), lambda: (tf.constant(1.0), None))


def negs(chained):
    def build():
        x = v1.placeholder_with_default(tf.constant(1.0), [])
        ys, y = [], x
        for _ in range(1000):
            y = tf.negative(y if chained else x)
            ys.append(y)
        return y.op if chained else tf.group(*ys)
    return build


def nanoseconds_per_neg(c, chained):
    graph = tf.Graph()
    with graph.as_default():
        whole, empty = negs(chained)(), tf.no_op()
    s = session(c.target("local"), graph, plain=True)

    def get():
        with_ops, without = seconds_per_call(lambda: s.run(whole), lambda: s.run(empty))
        return (with_ops - without) * 1e9 / 1000
    return get


@question("chain of 1000 scalar Neg, per op, empty step taken off", "ns", {"local": 1})
def chain(c):
    return nanoseconds_per_neg(c, True)


@question("1000 independent scalar Neg, per op, empty step taken off", "ns", {"local": 1})
def independent(c):
    return nanoseconds_per_neg(c, False)


# Nothing of these is tied to a place: where they run is the placement's choice, as it stands by default.

@question("empty step, a worker beside a ps", "us", {"ps": 1, "worker": 1})
def empty_step_beside_ps(c):
    return repeated(c.target("worker"), lambda: (tf.no_op(), None))


@question("constant fetched, a worker beside a ps", "us", {"ps": 1, "worker": 1})
def constant_beside_ps(c):
    return repeated(c.target("worker"), lambda: (tf.constant(1.0), None))


@question("chain of 1000 scalar Neg, a worker beside a ps", "us", {"ps": 1, "worker": 1})
def chain_beside_ps(c):
    return repeated(c.target("worker"), lambda: (negs(True)(), None), plain=True)


@question("session over a graph of 10,000 nodes, created, asked once, closed", "ms", {"local": 1})
def session_creation(c):
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder_with_default(tf.constant(1.0), [])
        for i in range(2500):
            with tf.name_scope("layer_%d" % i):
                x = tf.tanh(tf.add(tf.multiply(x, 0.5), x))
        nothing = tf.no_op()

    def once():
        with session(c.target("local"), graph) as s:
            s.run(nothing)
    return lambda: seconds_per_call(once)[0] * 1e3


def read_from_ps(elements):
    def build():
        with tf.device("/job:ps/task:0"):
            v = v1.Variable(tf.zeros([elements]) if elements > 1 else 0.0, use_resource=False)
        with tf.device("/job:worker/task:0"):
            return tf.identity(v).op, v1.global_variables_initializer()
    return build


@question("scalar variable read from ps by a worker", "us", {"ps": 1, "worker": 1})
def scalar_from_ps(c):
    return repeated(c.target("worker"), read_from_ps(1))


def bytes_from_ps(megabytes):
    @question("%d MB variable read from ps by a worker" % megabytes, "GB/s", {"ps": 1, "worker": 1}, smaller=False)
    def read(c):
        get = repeated(c.target("worker"), read_from_ps(megabytes << 18), 1)
        return lambda: (megabytes << 20) / get() / 1e9


for size in (1, 16, 64, 256):
    bytes_from_ps(size)


def mlp(variables_on, work_on):
    def build():
        rng = np.random.RandomState(0)
        with tf.device(work_on):
            x = tf.constant(rng.rand(128, 784).astype("f"))
            y = tf.constant(np.eye(10, dtype="f")[rng.randint(10, size=128)])
            # Kept out of constant folding, as a real input would be.
            x, y = v1.placeholder_with_default(x, [128, 784]), v1.placeholder_with_default(y, [128, 10])
        with tf.device(variables_on):
            w1 = v1.Variable((rng.randn(784, 512) * 0.05).astype("f"), use_resource=False)
            b1 = v1.Variable(np.zeros(512, "f"), use_resource=False)
            w2 = v1.Variable((rng.randn(512, 10) * 0.05).astype("f"), use_resource=False)
            b2 = v1.Variable(np.zeros(10, "f"), use_resource=False)
        with tf.device(work_on):
            hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
            logits = tf.matmul(hidden, w2) + b2
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
            train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        return train, v1.global_variables_initializer()
    return build


@question("MLP 784-512-10, batch 128, SGD, one process", "samples/s", {"local": 1}, smaller=False)
def mlp_one(c):
    get = repeated(c.target("local"), mlp("/job:local/task:0", "/job:local/task:0"), 1)
    return lambda: 128 / get()


@question("MLP 784-512-10, batch 128, SGD, ps and worker", "samples/s", {"ps": 1, "worker": 1}, smaller=False)
def mlp_ps(c):
    get = repeated(c.target("worker"), mlp("/job:ps/task:0", "/job:worker/task:0"), 1)
    return lambda: 128 / get()


@question("matmul 2048x2048x2048, float", "GFLOP/s", {"local": 1}, smaller=False)
def matmul(c):
    def build():
        a = v1.Variable(np.random.RandomState(1).rand(2048, 2048).astype("f"), use_resource=False)
        return tf.matmul(a, a).op, v1.global_variables_initializer()
    get = repeated(c.target("local"), build, 1)
    return lambda: 2 * 2048 ** 3 / get() / 1e9


CLIENT = textwrap.dedent("""
    import os, sys, time
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    v1 = tf.compat.v1; v1.disable_eager_execution()
    op = tf.no_op(); s = v1.Session(sys.argv[1])
    for _ in range(50): s.run(op)
    print("ready", flush=True)
    for line in sys.stdin:
        end = time.time() + float(line); n = 0
        while time.time() < end:
            s.run(op); n += 1
        print(n, flush=True)
""")


@question("4 clients at once, empty steps", "steps/s", {"local": 1}, smaller=False)
def four_clients(c):
    clients = [subprocess.Popen([sys.executable, "-c", CLIENT, c.target("local")], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(4)]
    c.processes += clients
    for p in clients:
        assert p.stdout.readline().strip() == "ready"

    def get():
        for p in clients:
            p.stdin.write("1.0\n")
            p.stdin.flush()
        return sum(int(p.stdout.readline()) for p in clients)
    return get


@question("resident memory of an idle server", "MB", {"local": 1})
def memory(c):
    def get():
        with open("/proc/%d/status" % c.processes[0].pid) as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024
    return get


@question("from exec to serving", "ms", {"local": 1})
def start_up(c):
    def get():
        start = time.perf_counter()
        other = Cluster({"local": 1}, c.command)
        took = time.perf_counter() - start
        other.stop()
        return took * 1e3
    return get


def main(questions, description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="our server's command")
    parser.add_argument("-k", default="", help="only questions whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ours-only", action="store_true", help="leave TensorFlow's servers out")
    parser.add_argument("--patience", type=int, default=240, help="seconds for one question")
    parser.add_argument("--quantile", type=float, default=0.5,
                        help="which call of a round counts: 0.5 is the median; 0.1 where others use the machine too")
    args = parser.parse_args()
    global QUANTILE
    QUANTILE = args.quantile
    def give_up(*_):
        raise TimeoutError("no answer after %d s" % args.patience)
    signal.signal(signal.SIGALRM, give_up)
    print("%-58s %-9s %12s %12s %7s  %-12s %s" % ("question", "unit", "TensorFlow", "ours", "ratio", "spread", "load"))
    for name, unit, smaller, jobs, measure in questions:
        if args.k not in name:
            continue
        clusters, getters = [], []
        signal.alarm(args.patience)
        try:
            for command in ([] if args.ours_only else [None]) + [shlex.split(args.server)]:
                clusters.append(Cluster(jobs, command))
                getters.append(measure(clusters[-1]))
            rounds = [[get() for get in getters] for _ in range(args.rounds)]
            medians = [statistics.median(column) for column in zip(*rounds)]
            if args.ours_only:
                print("%-58s %-9s %12s %12.1f" % (name, unit, "", medians[0]), flush=True)
                continue
            ratios = [ours / theirs for theirs, ours in rounds]
            print("%-58s %-9s %12.1f %12.1f %6.2fx  %-12s %.1f" % (
                name, unit, *medians, medians[1] / medians[0], "%.2f..%.2f" % (min(ratios), max(ratios)),
                os.getloadavg()[0]), flush=True)
        except Exception as e:
            print("%-58s failed: %s" % (name, str(e).splitlines()[0][:200]), flush=True)
        finally:
            signal.alarm(0)
            for c in clusters:
                c.stop()


if __name__ == "__main__":
    main(QUESTIONS, __doc__)
