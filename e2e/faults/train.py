"""The program that the faults happen to: counts steps on every parameter server, and fits a line.

An unmodified tf.compat.v1 program. What it did is told in lines that the harness reads:
  BEGIN step   a session is there, with this global step
  SAVED step   a checkpoint was acknowledged
  RESTORES, RESTORED  around each restore
  STEP         (not the chief) a step is over
  END step ... the program is over: the global step, and the counter on each parameter server
"""
import argparse
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "jobs", "programs"))
import numpy as np  # noqa: E402
import task  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402


def tell(*words):
    print("FAULTS", "%.6f" % time.time(), *words, flush=True)


class Listener(tf.train.CheckpointSaverListener):
    def after_save(self, session, global_step_value):
        tell("SAVED", global_step_value)


class Saver(tf.train.Saver):
    def restore(self, sess, save_path):
        tell("RESTORES")
        super().restore(sess, save_path)
        tell("RESTORED")


class Teller(tf.train.SessionRunHook):
    """Says where each session begins, and when its first step is over."""

    def after_create_session(self, session, coord):
        tell("BEGIN", session.run(tf.train.get_global_step()))
        self.first = True

    def after_run(self, run_context, run_values):
        if self.first:
            tell("FIRST")
        self.first = False


class Waiting(tf.train.SessionCreator):
    """A worker's session, ready as soon as the chief has made the model; TensorFlow's own looks every 30 seconds."""

    def __init__(self, scaffold):
        self.scaffold = scaffold

    def create_session(self):
        self.scaffold.finalize()
        manager = tf.train.SessionManager(
            local_init_op=self.scaffold.local_init_op, ready_op=self.scaffold.ready_op,
            ready_for_local_init_op=self.scaffold.ready_for_local_init_op, graph=tf.get_default_graph(),
            recovery_wait_secs=0.1)
        return manager.wait_for_session(task.master, max_wait_secs=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--save_steps", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.01, help="seconds between steps")
    args = parser.parse_args()
    counters = []
    with task.device_setter():
        x = tf.placeholder(tf.float32, [None])
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(x * w + b - (3.0 * x - 1.0)))
        global_step = tf.train.get_or_create_global_step()
        fit = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    for i in range(task.cluster.num_tasks("ps")):
        with tf.device("/job:ps/task:%d" % i):
            counters.append(tf.get_variable("counter_%d" % i, [], tf.int64, initializer=tf.zeros_initializer()))
    with tf.control_dependencies([tf.assign_add(c, 1) for c in counters] + [fit]), tf.device(global_step.device):
        train_op = tf.assign_add(global_step, 1)
    # Several MB, so that a save takes a while and a full disk is met in the middle.
    with tf.device("/job:ps/task:0"):
        tf.get_variable("ballast", [400_000], initializer=tf.zeros_initializer(), trainable=False)
    scaffold = tf.train.Scaffold(saver=Saver(sharded=True))
    hooks = [Teller(), tf.train.StopAtStepHook(last_step=args.steps)]
    if task.is_chief:
        creator = tf.train.ChiefSessionCreator(scaffold, master=task.master, checkpoint_dir=args.dir)
        hooks.append(tf.train.CheckpointSaverHook(args.dir, save_steps=args.save_steps, scaffold=scaffold,
                                                  listeners=[Listener()]))
    else:
        creator = Waiting(scaffold)
    rng = np.random.RandomState(task.worker_number)
    state = None
    with tf.train.MonitoredSession(creator, hooks, stop_grace_period_secs=5) as session:
        while not session.should_stop():
            time.sleep(args.pause)
            state = session.run([train_op, counters, loss], {x: rng.uniform(-1, 1, 32)})
            if not task.is_chief:
                tell("STEP")
    if state is not None:
        tell("END", state[0], *state[1], "loss", float(state[2]))


if __name__ == "__main__":
    main()
