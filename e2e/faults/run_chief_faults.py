#!/usr/bin/env python3
"""`tensorfleet train` that survives: faults at random moments, drawn from a seed, and what its checkpoints must hold.

  run_chief_faults.py --program build/bin/tensorfleet [--runs 200] [--seed 1]

Each run trains an exported graph that counts, by a chief (`tensorfleet train`) and two parameter servers, with a save as
often as saves can be had. Up to three times one of them is killed (kill -9), paused, or told to go; what ends is started
again, as the operator would, until the chief has ended well. Afterwards:
  - the last checkpoint is of the step asked for;
  - every checkpoint that was kept can be read by TensorFlow, holds the step that it is named after, and no tensor in it
    is of two moments;
  - where no parameter server lost its state, the counters of both servers agree with the step, but for those steps that a
    fault cut in two: checkpoints are of one moment across the servers;
  - nothing is left in the directory but checkpoints.
A run is repeated by its seed. Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per run.
"""
import os
import random
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from launch import Server, fork, free_ports, join  # noqa: E402
from seeded import parser as seeded_parser, run_all  # noqa: E402

import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
STEPS, SAVE_STEPS = 400, 7
DEADLINE = 120  # seconds of one run; training alone takes some 1.5 on a machine with nothing else to do
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "restart": signal.SIGTERM}
# Elements of a tensor on each server: held as it is while it is saved, and read in pieces (save_job.cc).
SIZES = [600_000, 100_000]


def export(path, uses_resources, sharded):
    """A graph whose train op adds one to a counter and to a tensor on each server. `sharded`: its own Saver; None: none."""
    (v1.enable_resource_variables if uses_resources else v1.disable_resource_variables)()
    updates = []
    with tf.Graph().as_default():
        for i, size in enumerate(SIZES):
            with tf.device("/job:ps/task:%d" % i):
                counter = v1.get_variable("counter_%d" % i, [], tf.int64, initializer=v1.zeros_initializer())
                tensor = v1.get_variable("tensor_%d" % i, [size], initializer=v1.zeros_initializer())
                updates += [v1.assign_add(counter, 1), v1.assign_add(tensor, tf.ones([size]))]
        with tf.device("/job:ps/task:0"):
            step = v1.train.get_or_create_global_step()
            with tf.control_dependencies(updates):
                v1.add_to_collection("train_op", v1.assign_add(step, 1))
        if sharded is not None:
            v1.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver(sharded=sharded))
        v1.train.export_meta_graph(path)


class Run:
    def __init__(self, program, seed):
        self.rng = random.Random(seed)
        self.directory = tempfile.mkdtemp(prefix="fleet-chief-faults-%d-" % seed)
        self.model, self.log = self.path("model"), self.path("log")
        graph = self.path("graph.meta")
        arguments = (graph, self.rng.random() < 0.5, self.rng.choice([None, False, True]))
        # In a process of its own: in this one nothing may start TensorFlow's threads.
        exporter = fork(lambda: export(*arguments), self.log, {})
        if join(exporter, 60) != 0:
            raise AssertionError("the graph was not exported")
        ports = free_ports(3)
        cluster = {"chief": ["localhost:%d" % ports[0]], "ps": ["localhost:%d" % port for port in ports[1:]]}
        train = "%s train --meta_graph %s --checkpoint_dir %s --save_steps %d --max_steps %d --max_to_keep 1000" % (
            program, graph, self.model, SAVE_STEPS, STEPS)
        self.chief = Server(train, cluster, "chief", 0, self.log)
        self.servers = [Server(program + " server", cluster, "ps", i, self.log) for i in range(2)]
        self.starts, self.told = 0, []

    def path(self, name):
        return os.path.join(self.directory, name)

    def go(self):
        rng = self.rng
        plan = sorted((rng.uniform(0.1, 1.5), rng.choice(["kill", "kill", "restart", "stop"]), rng.choice(["chief", "ps:0", "ps:1"]))
                      for _ in range(rng.randint(0, 3)))
        tasks = {"chief": self.chief, "ps:0": self.servers[0], "ps:1": self.servers[1]}
        for task in tasks.values():
            task.start()
        self.starts, began, paused = 1, time.monotonic(), []
        while True:
            now = time.monotonic() - began
            if now > DEADLINE:
                raise AssertionError("hangs")
            if plan and now >= plan[0][0]:
                at, kind, name = plan.pop(0)
                self.told.append("%s %s at %.2f s" % (kind, name, at))
                tasks[name].process.send_signal(SIGNALS[kind])
                if kind == "stop":
                    paused.append((now + rng.uniform(0.2, 2), tasks[name].process))
            for entry in [e for e in paused if now >= e[0]]:
                paused.remove(entry)
                entry[1].send_signal(signal.SIGCONT)
            if self.chief.process.poll() == 0:
                return
            for task in tasks.values():
                if task.process.poll() is not None:
                    self.starts += task is self.chief
                    task.start()
            time.sleep(0.005)

    def check(self):
        with open(self.log, errors="replace") as f:
            log = f.read()
        saved = [int(step) for step in re.findall(r"Saved a checkpoint step=(\d+)", log)]
        if not saved or max(saved) != STEPS:
            raise AssertionError("the last checkpoint is of step %s" % (max(saved) if saved else "none"))
        sessions = log.count("opening another session") + self.starts
        lost_state = any(fault.startswith(("kill ps", "restart ps")) for fault in self.told)
        for prefix in tf.train.get_checkpoint_state(self.model).all_model_checkpoint_paths:
            self.check_checkpoint(prefix, None if lost_state else sessions - 1)
        left = [name for name in os.listdir(self.model) if name.startswith(".") or "temp" in name]
        if left:
            raise AssertionError("files are left: %s" % ", ".join(left[:3]))

    @staticmethod
    def check_checkpoint(prefix, may_differ):
        step, reader = int(prefix.rsplit("-", 1)[1]), tf.train.load_checkpoint(prefix)
        if reader.get_tensor("global_step") != step:
            raise AssertionError("%s holds step %d" % (prefix, reader.get_tensor("global_step")))
        if not os.path.exists(prefix + ".meta"):
            raise AssertionError("%s has no graph" % prefix)
        for i in range(len(SIZES)):
            counter, tensor = int(reader.get_tensor("counter_%d" % i)), reader.get_tensor("tensor_%d" % i)
            if tensor.min() != tensor.max():
                raise AssertionError("%s: a tensor of two moments" % prefix)
            if may_differ is not None and max(abs(counter - step), abs(tensor[0] - step)) > may_differ:
                raise AssertionError("%s: a counter of %d, a tensor of %d; %d may be between" % (
                    prefix, counter, tensor[0], may_differ))

    def close(self):
        for task in [self.chief, *self.servers]:
            if task.process is not None:
                task.process.send_signal(signal.SIGCONT)
                task.kill()


def main():
    parser = seeded_parser(__doc__)
    parser.add_argument("--program", required=True, help="our program")
    args = parser.parse_args()
    return run_all(args, lambda seed: Run(args.program, seed))


if __name__ == "__main__":
    sys.exit(main())
