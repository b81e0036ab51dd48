#!/usr/bin/env python3
"""Writes the meta graphs that `tensorfleet train` runs: train.meta and eval.meta, into a folder.

usage: export_meta_graphs.py OUT   (needs tensorflow)

An ordinary TensorFlow 1 program that stops where training would begin. The digits are constants of the graph;
an input queue shuffles them into batches. Nothing names a device: where things go is the business of the job.
"""
import pathlib
import sys

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
BATCH = 64
STEPS = 2000  # over which the learning rate falls


def load(name):
    path = pathlib.Path(__file__).resolve().parent / f"{name}.tfrecord.gz"
    images, labels = [], []
    for record in tf.compat.v1.io.tf_record_iterator(
            str(path), tf.io.TFRecordOptions(compression_type="GZIP")):
        feature = tf.train.Example.FromString(record).features.feature
        images.append(np.frombuffer(feature["image"].bytes_list.value[0], np.uint8))
        labels.append(feature["label"].int64_list.value[0])
    return np.stack(images), np.array(labels, np.int64)


def model(images, labels, noise=0.0):
    """Logits, mean cross-entropy and accuracy of a perceptron with one hidden layer."""
    x = tf.cast(images, tf.float32) / 16
    if noise:  # makes the few digits that there are teach more than themselves
        x += tf.random.normal(tf.shape(x), stddev=noise)
    hidden = 128
    w1 = v1.get_variable("hidden/kernel", [64, hidden], initializer=v1.glorot_uniform_initializer(seed=1))
    b1 = v1.get_variable("hidden/bias", [hidden], initializer=v1.zeros_initializer())
    w2 = v1.get_variable("logits/kernel", [hidden, 10], initializer=v1.glorot_uniform_initializer(seed=2))
    b2 = v1.get_variable("logits/bias", [10], initializer=v1.zeros_initializer())
    logits = tf.nn.relu(x @ w1 + b1) @ w2 + b2
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32), name="accuracy")
    return loss, accuracy


def export(path, build):
    with tf.Graph().as_default():
        v1.set_random_seed(7)
        build()
        v1.train.Scaffold().finalize()  # fills the collections: init_op, ready_op, savers, ...
        v1.train.export_meta_graph(str(path))


def train():
    images, labels = load("train")
    batch = v1.train.shuffle_batch([tf.constant(images), tf.constant(labels)], BATCH, capacity=4 * len(labels),
                                   min_after_dequeue=len(labels), enqueue_many=True, seed=3)
    loss, accuracy = model(*batch, noise=0.2)
    step = v1.train.get_or_create_global_step()
    rate = v1.train.polynomial_decay(0.05, step, STEPS, end_learning_rate=0.005)
    v1.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    v1.summary.scalar("loss", loss)
    v1.summary.scalar("batch_accuracy", accuracy)


def evaluate():
    images, labels = load("test")
    v1.train.get_or_create_global_step()
    loss, _ = model(tf.constant(images), tf.constant(labels))
    tf.identity(loss, name="loss")


def main():
    v1.disable_eager_execution()
    v1.disable_resource_variables()
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    export(out / "train.meta", train)
    export(out / "eval.meta", evaluate)


if __name__ == "__main__":
    main()
