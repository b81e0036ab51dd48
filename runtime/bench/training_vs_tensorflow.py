#!/usr/bin/env python3
"""Training on TensorFlow's servers and on ours side by side: big tables, checkpoints, and getting up after a fault.

  training_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N] [--ours-only]

Measures as vs_tensorflow.py does. Needs some 6 GB of memory and 4 GB in --dir (a directory of the disk to be measured).
"""
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import vs_tensorflow as vs
from vs_tensorflow import session, tf, v1

QUESTIONS = []
WIDTH = 64
GIGABYTE_ROWS = (1 << 30) // (4 * WIDTH)
DIRECTORY = os.environ.get("TMPDIR", "/tmp")


def question(name, unit, jobs, smaller=True):
    return vs.question(name, unit, jobs, smaller, to=QUESTIONS)


# --- embeddings -------------------------------------------------------------------------------------------------------

def embedding(rows, optimizer, worker=0):
    """A bag of 16 words, 128 bags a step; the table is on the parameter server."""
    rng = np.random.RandomState(worker)
    with tf.device("/job:worker/task:%d" % worker):
        ids = v1.placeholder_with_default(tf.constant(rng.randint(rows, size=[128, 16])), [128, 16])
        y = v1.placeholder_with_default(tf.constant(rng.rand(128, 1).astype("f")), [128, 1])
    with tf.device("/job:ps/task:0"):
        table = v1.get_variable("table", [rows, WIDTH], initializer=v1.zeros_initializer(), use_resource=False)
        w = v1.get_variable("w", [WIDTH, 1], initializer=v1.ones_initializer(), use_resource=False)
    with tf.device("/job:worker/task:%d" % worker):
        bags = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), axis=1)
        loss = tf.reduce_mean(tf.square(tf.matmul(bags, w) - y))
        train = optimizer().minimize(loss)
    return train, v1.global_variables_initializer()


OPTIMIZERS = {"sgd": lambda: v1.train.GradientDescentOptimizer(0.1), "adagrad": lambda: v1.train.AdagradOptimizer(0.1)}
for optimizer in OPTIMIZERS:
    for size, rows in (("1 MB", GIGABYTE_ROWS >> 10), ("1 GB", GIGABYTE_ROWS)):
        @question("embedding, table of %s, %s" % (size, optimizer), "us/step", {"ps": 1, "worker": 1})
        def one_worker(c, rows=rows, optimizer=optimizer):
            return vs.repeated(c.target("worker"), lambda: embedding(rows, OPTIMIZERS[optimizer]))


@question("embedding, table of 1 GB, sgd, 2 workers at once", "steps/s", {"ps": 1, "worker": 2}, smaller=False)
def two_workers(c):
    sessions = []
    for worker in range(2):
        with tf.Graph().as_default() as graph:
            train, init = embedding(GIGABYTE_ROWS, OPTIMIZERS["sgd"], worker)
        sessions.append((session(c.target("worker", worker), graph), train))
        if worker == 0:
            sessions[0][0].run(init)

    def get():
        counts, end = [0, 0], time.perf_counter() + 1.5

        def work(k):
            s, train = sessions[k]
            while time.perf_counter() < end:
                s.run(train)
                counts[k] += 1
        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return sum(counts) / 1.5
    return get


# --- checkpoints ------------------------------------------------------------------------------------------------------

class Saving:
    """1 GB on one parameter server, saved by one client while another trains on the same table."""

    def __init__(self, c):
        self.directory = tempfile.mkdtemp(prefix="fleet-bench-", dir=DIRECTORY)
        with tf.Graph().as_default() as graph:
            self.train, init = embedding(GIGABYTE_ROWS, OPTIMIZERS["sgd"])
            saver = v1.train.Saver(sharded=True, max_to_keep=1)
        self.session, self.saver = session(c.target("worker"), graph), saver
        self.session.run(init)
        self.count = 0

    def save(self):
        self.count += 1
        start = time.perf_counter()
        self.saver.save(self.session, os.path.join(self.directory, "model"), self.count, write_meta_graph=False)
        return start, time.perf_counter()

    def save_while_training(self):
        """(seconds of the save, the longest step during it less the longest of a while before)."""
        ends, over = [time.perf_counter()], threading.Event()

        def work():
            while not over.is_set():
                self.session.run(self.train)
                ends.append(time.perf_counter())
        trainer = threading.Thread(target=work)
        trainer.start()
        time.sleep(2)
        start, end = self.save()
        over.set()
        trainer.join()
        shutil.rmtree(self.directory)
        os.mkdir(self.directory)
        steps = list(zip(np.diff(ends), ends[1:]))
        before = max(took for took, at in steps if at <= start)
        # Never quite nothing, for the sake of ratios.
        return end - start, max(1e-5, max(took for took, at in steps if at > start) - before)


def disk_rate(directory):
    """What dd writes and syncs, in GB/s."""
    path = os.path.join(directory, "dd")
    start = time.perf_counter()
    subprocess.run(["dd", "if=/dev/zero", "of=" + path, "bs=1M", "count=1024", "conv=fsync"], check=True,
                   stderr=subprocess.DEVNULL)
    rate = (1 << 30) / (time.perf_counter() - start) / 1e9
    os.remove(path)
    return rate


@question("checkpoint of 1 GB, share of dd's rate", "%", {"ps": 1, "worker": 1}, smaller=False)
def checkpoint_rate(c):
    saving = Saving(c)

    def get():
        disk = disk_rate(saving.directory)
        start, end = saving.save()
        shutil.rmtree(saving.directory)
        os.mkdir(saving.directory)
        return 100 * (1 << 30) / (end - start) / 1e9 / disk
    return get


@question("longest stop of training by a save of 1 GB", "% of it", {"ps": 1, "worker": 1})
def checkpoint_pause(c):
    saving = Saving(c)

    def get():
        took, paused = saving.save_while_training()
        return 100 * paused / took
    return get


# --- faults -----------------------------------------------------------------------------------------------------------

RECOVERY = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
v1 = tf.compat.v1; v1.disable_eager_execution(); v1.logging.set_verbosity(v1.logging.ERROR)
with tf.device("/job:ps/task:0"):
    step = v1.train.get_or_create_global_step()
    w = v1.get_variable("w", [1000])
with tf.device("/job:worker/task:0"):
    train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w * w), step)
with v1.train.MonitoredTrainingSession(sys.argv[1], True, sys.argv[2], save_checkpoint_steps=10**9,
                                       save_checkpoint_secs=None, save_summaries_steps=None,
                                       save_summaries_secs=None) as s:
    while True:
        s.run(train)
        print("%.6f" % time.time(), flush=True)
        time.sleep(0.002)
"""


@question("from kill -9 of a ps, restarted at once, to the next step", "s", {"ps": 1, "worker": 1})
def recovery(c):
    directory = tempfile.mkdtemp(prefix="fleet-bench-", dir=DIRECTORY)
    client = subprocess.Popen([sys.executable, "-c", RECOVERY, c.target("worker"), directory], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    c.processes.append(client)
    client.stdout.readline()

    def get():
        time.sleep(0.5)
        killed = time.time()
        c.kill_and_restart("ps", 0)
        # Steps that were over before the kill may still be in the pipe.
        while True:
            line = client.stdout.readline()
            if not line:
                raise RuntimeError("the client ended")
            if float(line) > killed + 0.02:
                return float(line) - killed
    return get


if __name__ == "__main__":
    vs.main(QUESTIONS, __doc__)
