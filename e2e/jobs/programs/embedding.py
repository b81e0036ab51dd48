"""A model of words: a table cut into parts over the parameter servers, looked up and updated by rows.

The score of a bag of words is learnt from a table of targets. Prints the losses; the chief then restores the table into
another number of parts, in a session of its own process, and compares it with what the servers hold.
"""
import argparse

import numpy as np
import task
import tensorflow.compat.v1 as tf

WORDS, WIDTH, BAG = 1000, 8, 6
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.5),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.02),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.05),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.5),
}


def table_of(parts):
    return tf.get_variable("table", [WORDS, WIDTH], partitioner=tf.fixed_size_partitioner(parts),
                           initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=3))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--strategy", choices=["div", "mod"], default="div")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adam")
    parser.add_argument("--resource", action="store_true")
    args = parser.parse_args()
    if args.resource:
        tf.enable_resource_variables()
    rng = np.random.RandomState(task.worker_number)
    targets = np.random.RandomState(7).normal(size=WORDS).astype(np.float32)
    with task.device_setter():
        ids = tf.placeholder(tf.int64, [None, BAG])
        wanted = tf.placeholder(tf.float32, [None])
        global_step = tf.train.get_or_create_global_step()
        table = table_of(args.parts)
        looked_up = tf.nn.embedding_lookup(table, ids, partition_strategy=args.strategy)
        w = tf.get_variable("w", [WIDTH, 1], initializer=tf.ones_initializer())
        score = tf.squeeze(tf.matmul(tf.reduce_mean(looked_up, axis=1), w), axis=1)
        loss = tf.reduce_mean(tf.square(score - wanted))
        train_op = OPTIMIZERS[args.optimizer]().minimize(loss, global_step)
        whole = tf.identity(tf.convert_to_tensor(table), name="whole_table")
    losses = []
    with tf.train.MonitoredTrainingSession(
            task.master, task.is_chief, checkpoint_dir=args.dir, save_checkpoint_steps=10 ** 9,
            save_checkpoint_secs=None, save_summaries_steps=None, save_summaries_secs=None) as session:
        for _ in range(args.steps):
            # Repeated words in a bag and in a batch: their gradients must be summed.
            x = rng.zipf(1.3, size=[32, BAG]) % WORDS
            losses.append(float(session.run([loss, train_op], {ids: x, wanted: targets[x].mean(axis=1)})[0]))
        held = session.run_step_fn(lambda step_context: step_context.session.run(whole))
    task.report(losses=losses, table_sum=float(np.sum(held)), table_norm=float(np.linalg.norm(held)))
    if task.is_chief:
        with tf.Graph().as_default(), tf.Session() as session:
            other = table_of(args.parts + 1)
            tf.train.Saver({"table": other}).restore(session, tf.train.latest_checkpoint(args.dir))
            task.report(restored_elsewhere=bool(np.array_equal(session.run(tf.convert_to_tensor(other)), held)))


if __name__ == "__main__":
    main()
