"""A recurrent net in the first style of TensorFlow: dynamic_rnn is a while loop over TensorArrays, and so is its gradient.

Learns to add up the first numbers of sequences of different lengths.
"""
import argparse

import numpy as np
import task
import tensorflow.compat.v1 as tf

TIME, UNITS, BATCH = 10, 12, 32


def cell_of(kind):
    initializer = tf.random_uniform_initializer(-0.3, 0.3, seed=5)
    if kind == "lstm":
        return tf.nn.rnn_cell.LSTMCell(UNITS, initializer=initializer)
    return tf.nn.rnn_cell.GRUCell(UNITS, kernel_initializer=initializer)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--cell", choices=["lstm", "gru"], default="lstm")
    args = parser.parse_args()
    with task.device_setter():
        x = tf.placeholder(tf.float32, [None, TIME, 2])
        lengths = tf.placeholder(tf.int32, [None])
        y = tf.placeholder(tf.float32, [None])
        outputs, _ = tf.nn.dynamic_rnn(cell_of(args.cell), x, sequence_length=lengths, dtype=tf.float32,
                                       swap_memory=False)
        w = tf.get_variable("w", [UNITS, 1], initializer=tf.random_uniform_initializer(-0.3, 0.3, seed=6))
        last = tf.reduce_sum(outputs, axis=1)
        loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(last, w), 1) - y))
        variables = tf.trainable_variables()
        gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
        train_op = tf.train.AdamOptimizer(0.02).apply_gradients(
            zip(gradients, variables), tf.train.get_or_create_global_step())
    rng = np.random.RandomState(0)
    losses, norms = [], []
    with tf.Session(task.master) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(args.steps):
            xs = rng.uniform(-1, 1, [BATCH, TIME, 2]).astype("f")
            ns = rng.randint(1, TIME + 1, size=BATCH)
            ys = [xs[i, :n, 0].sum() for i, n in enumerate(ns)]
            got = session.run([loss, norm, train_op], {x: xs, lengths: ns, y: ys})
            losses.append(float(got[0]))
            norms.append(float(got[1]))
    task.report(losses=losses, norms=norms)


if __name__ == "__main__":
    main()
