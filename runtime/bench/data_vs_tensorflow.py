#!/usr/bin/env python3
"""Input pipelines on TensorFlow's servers and on ours side by side: files, shuffles, parallel maps.

  data_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N]

Measures as vs_tensorflow.py does. The files are in the page cache. A step takes a whole run through a data set, folded
into a count on the server, so that the client's calls do not count.
"""
import os
import sys
import tempfile

import numpy as np
import vs_tensorflow as vs
from vs_tensorflow import session, tf, v1

QUESTIONS = []
D = tf.data.Dataset
FILES = {}


def question(name, unit, smaller=False):
    return vs.question(name, unit, {"local": 1}, smaller, to=QUESTIONS)


def records(count, size):
    """A TFRecord file of so many records of so many bytes."""
    path = FILES.get((count, size))
    if path is None:
        fd, path = tempfile.mkstemp(suffix=".tfrecord")
        os.close(fd)
        rng = np.random.RandomState(1)
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(count):
                writer.write(rng.bytes(size))
        FILES[count, size] = path
    return path


def runs(c, build, amount):
    """`amount` a second of what a run through the data set has."""
    with tf.Graph().as_default() as graph:
        # Counted by elements, which are batches where that matters: one call of a function each.
        total = build().reduce(tf.constant(0, tf.int64), lambda n, *_: n + 1)
    s = session(c.target("local"), graph)
    s.run(total)
    return lambda: amount / vs.seconds_per_call(lambda: s.run(total), at_least=1.0)[0]


@question("TFRecords of 1 MB, one file", "MB/s")
def large_records(c):
    path = records(300, 1 << 20)
    return runs(c, lambda: tf.data.TFRecordDataset(path), 300 * (1 << 20) / 1e6)


@question("TFRecords of 100 bytes, one file, batches of 1000", "records/s")
def small_records(c):
    path = records(200000, 100)
    return runs(c, lambda: tf.data.TFRecordDataset(path).batch(1000), 200000)


@question("shuffle of 10000 and batch of 100-byte records", "records/s")
def shuffled_records(c):
    path = records(200000, 100)
    return runs(c, lambda: tf.data.TFRecordDataset(path).shuffle(10000, seed=1).batch(128), 200000)


@question("shuffle and batch of rows in memory", "rows/s")
def shuffled_rows(c):
    def build():
        rows = D.from_tensor_slices((tf.zeros([200000, 25]), tf.zeros([200000], tf.int64)))
        return rows.shuffle(10000, seed=1).batch(128)
    return runs(c, build, 200000)


def work(x):
    """Some 100 microseconds of one core."""
    y = tf.random.stateless_uniform([64, 64], seed=[x, 1])
    for _ in range(4):
        y = tf.tanh(tf.matmul(y, y))
    return y


for calls in (1, 2):
    @question("map of %d at once, batch of 16, prefetch" % calls, "elements/s")
    def mapped(c, calls=calls):
        def build():
            return D.range(4000).map(work, num_parallel_calls=calls).batch(16).prefetch(2)
        return runs(c, build, 4000)


@question("map of a cheap function", "elements/s")
def cheap_map(c):
    return runs(c, lambda: D.range(50000).map(lambda x: x + 1).batch(1000), 50000)


@question("interleave of 8 files of 100-byte records, 2 at once", "records/s")
def interleaved(c):
    path = records(50000, 100)

    def build():
        files = D.from_tensors(path).repeat(8)
        d = files.interleave(tf.data.TFRecordDataset, cycle_length=4, block_length=16, num_parallel_calls=2)
        return d.batch(1000)
    return runs(c, build, 400000)


@question("a step's element out of a prefetch", "us/step", smaller=True)
def one_element(c):
    with tf.Graph().as_default() as graph:
        element = v1.data.make_one_shot_iterator(D.range(1 << 40).prefetch(16)).get_next().op
    s = session(c.target("local"), graph)
    s.run(element)
    return lambda: vs.seconds_per_call(lambda: s.run(element))[0] * 1e6


if __name__ == "__main__":
    try:
        vs.main(QUESTIONS, __doc__)
    finally:
        for file in FILES.values():
            os.unlink(file)
