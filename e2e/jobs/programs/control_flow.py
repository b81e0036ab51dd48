"""Branches and loops with their gradients, tables, and steps run in parts, on ops spread over two tasks."""
import argparse

import numpy as np
import task
import tensorflow.compat.v1 as tf


def branches(session):
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(3.0)
    y = tf.cond(x > 0, lambda: x * x * w, lambda: tf.exp(x) + w)
    gradients = tf.gradients(y, [x, w])
    session.run(tf.variables_initializer([w]))
    return [[float(v) for v in session.run([y] + gradients, {x: value})] for value in (2.0, -1.0, 0.5)]


def nested(session):
    x = tf.placeholder(tf.float32, [3])

    def outer(i, total):
        inner = tf.while_loop(lambda j, t: j < i + 1, lambda j, t: (j + 1, tf.tanh(t * x)), [0, total])[1]
        return i + 1, tf.cond(i % 2 > 0, lambda: inner * 2.0, lambda: inner + 1.0)
    total = tf.while_loop(lambda i, t: i < 5, outer, [0, x])[1]
    gradient = tf.gradients(tf.reduce_sum(total), x)[0]
    return [v.tolist() for v in session.run([total, gradient], {x: [0.3, -0.7, 1.1]})]


def mapped(session):
    x = tf.placeholder(tf.float32, [None])
    squares = tf.map_fn(lambda v: v * v, x)
    sums = tf.scan(lambda a, v: a + v, squares)
    folded = tf.foldl(lambda a, v: a * 0.5 + v, sums)
    return [np.asarray(v).tolist() for v in session.run([squares, sums, folded, tf.gradients(folded, x)[0]],
                                                        {x: [1, 2, 3, 4]})]


def tables(session):
    keys, values = tf.constant(["a", "b", "c"]), tf.constant([10, 20, 30], tf.int64)
    with tf.device("/job:ps/task:0"):
        fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
        words = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(keys, tf.constant(
            [0, 1, 2], tf.int64)), num_oov_buckets=3)
        changing = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0) if hasattr(
            tf.lookup.experimental, "MutableHashTable") else None
    asked = tf.placeholder(tf.string, [None])
    session.run(tf.tables_initializer())
    feed = {asked: ["c", "zz", "a", ""]}
    found = session.run([fixed.lookup(asked), words.lookup(asked), fixed.size()], feed)
    result = [np.asarray(v).tolist() for v in found]
    if changing is not None:
        session.run(changing.insert(tf.constant([5, 6], tf.int64), tf.constant([0.5, 0.25])))
        result.append(session.run(changing.lookup(tf.constant([6, 7], tf.int64))).tolist())
    return result


def in_parts(session):
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    with tf.device("/job:ps/task:0"):
        first = a + b
    second = first * c
    handle = session.partial_run_setup([first, second], [a, b, c])
    one = session.partial_run(handle, first, {a: 1, b: 2})
    return [float(one), float(session.partial_run(handle, second, {c: one + 4}))]


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    for part in (branches, nested, mapped, tables, in_parts):
        with tf.Graph().as_default(), tf.device(task.worker_device), tf.Session(task.master) as session:
            try:
                task.report(**{part.__name__: part(session)})
            except tf.errors.OpError as e:
                task.report(**{part.__name__: "%s: %s" % (type(e).__name__, e.message.splitlines()[0])})


if __name__ == "__main__":
    main()
