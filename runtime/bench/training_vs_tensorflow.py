#!/usr/bin/env python3
"""Training on TensorFlow's servers and on ours side by side: big tables, checkpoints, and getting up after a fault.

  training_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N] [--ours-only]

Measures as vs_tensorflow.py does. Needs some 6 GB of memory and 4 GB in --dir (a directory of the disk to be measured).
"""
import json
import os
import shutil
import statistics
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
        self.count, self.last_took = 0, 2.0

    def save(self):
        self.count += 1
        start = time.perf_counter()
        self.saver.save(self.session, os.path.join(self.directory, "model"), self.count, write_meta_graph=False)
        return start, time.perf_counter()

    def save_while_training(self):
        """(what the save takes from training as a share of its time, its longest stop as a share).

        A step's client sees a save as steps that did not happen. So steps are counted while it runs, and in times of
        the same length before and after it, by the same loop on the same machine: with a save taking as long as it
        likes, the share of steps that are missing is the share of its time that training stood still. It counts what
        the save takes of processors and memory too. The longest stop, less the longest of the other two times, tells a
        stop from a slower pace.
        """
        ends, over = [time.perf_counter()], threading.Event()

        def work():
            while not over.is_set():
                self.session.run(self.train)
                ends.append(time.perf_counter())
        trainer = threading.Thread(target=work)
        trainer.start()
        time.sleep(self.last_took)
        start, end = self.save()
        time.sleep(end - start)
        over.set()
        trainer.join()
        shutil.rmtree(self.directory)
        os.mkdir(self.directory)
        took, ends = end - start, np.array(ends)
        before, during, after = ends[ends < start], ends[(ends >= start) & (ends < end)], ends[ends >= end]
        span = min(took, start - ends[0], ends[-1] - end)
        quiet = np.sum(before >= start - span) + np.sum(after < end + span)
        expected = quiet / (2 * span) * took
        longest = [max(np.diff(part), default=0.0) for part in (before, np.concatenate([before[-1:], during, after[:1]]),
                                                               after)]
        self.last_took = took
        # Both may come out below nothing: what they are compared with varies by itself.
        return 1 - len(during) / expected, (longest[1] - max(longest[0], longest[2])) / took


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


@question("steps missing during a save of 1 GB", "% of them", {"ps": 1, "worker": 1})
def checkpoint_cost(c):
    saving = Saving(c)
    saving.save_while_training()
    return lambda: 100 * saving.save_while_training()[0]


@question("longest stop of training by a save of 1 GB", "% of it", {"ps": 1, "worker": 1})
def checkpoint_pause(c):
    saving = Saving(c)
    saving.save_while_training()
    return lambda: 100 * saving.save_while_training()[1]


# --- whole training jobs: TensorFlow's chief on TensorFlow's server, and `tensorfleet train` -----------------------------

CHIEF = """
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
v1 = tf.compat.v1; v1.disable_eager_execution(); v1.logging.set_verbosity(v1.logging.ERROR)
target, meta, directory, save_steps = sys.argv[1:]
v1.train.import_meta_graph(meta)
train = v1.get_collection("train_op")
with v1.train.MonitoredTrainingSession(target, True, directory, save_checkpoint_steps=int(save_steps),
                                       save_checkpoint_secs=None, save_summaries_steps=None,
                                       save_summaries_secs=None, log_step_count_steps=None) as s:
    step = v1.train.get_global_step()
    while True:
        print("STEP %d" % s.run([train, step])[1], flush=True)
"""
NEVER = 10 ** 9


def export_mlp(path):
    """784-512-10 with batches of 128, the variables on the parameter server."""
    with tf.Graph().as_default(), v1.device(v1.train.replica_device_setter(ps_tasks=1, worker_device="/job:chief/task:0")):
        x = v1.placeholder_with_default(tf.constant(np.random.RandomState(0).rand(128, 784).astype("f")), [128, 784])
        y = v1.placeholder_with_default(tf.constant(np.arange(128) % 10), [128])
        hidden = tf.nn.relu(tf.matmul(x, v1.get_variable("w1", [784, 512])) + v1.get_variable("b1", [512]))
        logits = tf.matmul(hidden, v1.get_variable("w2", [512, 10])) + v1.get_variable("b2", [10])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        v1.train.GradientDescentOptimizer(0.01).minimize(loss, v1.train.get_or_create_global_step())
        v1.train.export_meta_graph(path)


class TrainingJob:
    """A chief with one parameter server. Ours is `tensorfleet train`, which is its own server."""

    def __init__(self, c):
        self.c, self.ours, self.chief, self.reader = c, c.command[-1] == "server", None, None
        self.directory = tempfile.mkdtemp(prefix="fleet-bench-", dir=DIRECTORY)
        export_mlp(os.path.join(self.directory, "mlp.meta"))
        self.ends, self.arrived = [], threading.Condition()
        if self.ours:
            c.tasks["chief", 0].kill()
            c.tasks["chief", 0].wait()

    def stop(self):
        self.chief.kill()
        self.chief.wait()
        self.reader.join()  # its last lines are not the next one's

    def start(self, save_steps=NEVER):
        meta, model = os.path.join(self.directory, "mlp.meta"), os.path.join(self.directory, "model")
        command = [sys.executable, "-c", CHIEF, self.c.target("chief"), meta, model, str(save_steps)]
        if self.ours:
            command = self.c.command[:-1] + ["train", "--meta_graph", meta, "--checkpoint_dir", model, "--save_steps",
                                             str(save_steps), "--log_steps", "1", "--summary_steps", "0"]
        config = {"cluster": self.c.spec, "task": {"type": "chief", "index": 0}}
        self.chief = subprocess.Popen(command, env=dict(os.environ, TF_CONFIG=json.dumps(config)), text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.c.processes.append(self.chief)
        self.reader = threading.Thread(target=self._read, args=(self.chief.stdout,), daemon=True)
        self.reader.start()

    def _read(self, out):
        for line in out:
            if line.startswith("STEP") or "Training step=" in line:
                with self.arrived:
                    self.ends.append(time.time())
                    self.arrived.notify_all()

    def wait_for_steps(self, count, seconds=120):
        wanted = len(self.ends) + count
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.ends) >= wanted, seconds):
                raise RuntimeError("the chief makes no steps")
        return self.ends[wanted - count]

    def seconds_per_step(self, save_steps, seconds=1.5):
        if self.chief is not None:
            self.stop()
        self.start(save_steps)
        self.wait_for_steps(50)
        first = len(self.ends) - 1
        time.sleep(seconds)
        last = len(self.ends) - 1
        return (self.ends[last] - self.ends[first]) / (last - first)

    def kill(self):
        """Seconds from kill -9 of the chief, which is started again at once, to its next step."""
        killed = time.time()
        self.stop()
        if not self.ours:  # in one pod with its server, which goes too
            self.c.kill_and_restart("chief", 0)
        self.start()
        return self.wait_for_steps(1) - killed


@question("MLP, a save every 10 steps, longer than without any", "%", {"ps": 1, "chief": 1})
def saves(c):
    job = TrainingJob(c)

    def get():
        # In turns, each for a short time: machines change their speed in the course of seconds.
        return statistics.median(100 * (job.seconds_per_step(10) / job.seconds_per_step(NEVER) - 1) for _ in range(8))
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


@question("from kill -9 of the chief, restarted at once, to the next step", "s", {"ps": 1, "chief": 1})
def chief_recovery(c):
    job = TrainingJob(c)
    job.start()

    def get():
        job.wait_for_steps(50)
        return job.kill()
    return get


if __name__ == "__main__":
    vs.main(QUESTIONS, __doc__)
