"""The handwritten digits of deploy/examples/digits, as arrays."""
import os

import numpy as np
import tensorflow.compat.v1 as tf

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "deploy", "examples", "digits")


class Data:
    def __init__(self, train, test):
        self.train_images, self.train_labels = train
        self.test_images, self.test_labels = test

    def train_batches(self, batch, seed):
        """Endless random batches; the same for the same seed."""
        rng = np.random.RandomState(seed)
        while True:
            rows = rng.randint(len(self.train_images), size=batch)
            yield self.train_images[rows], self.train_labels[rows]


def _read(name):
    images, labels = [], []
    for record in tf.io.tf_record_iterator(os.path.join(DIRECTORY, name), tf.io.TFRecordOptions("GZIP")):
        features = tf.train.Example.FromString(record).features.feature
        images.append(np.frombuffer(features["image"].bytes_list.value[0], np.uint8))
        labels.append(features["label"].int64_list.value[0])
    return np.array(images, np.float32) / 16, np.array(labels, np.int32)


def load():
    return Data(_read("train.tfrecord.gz"), _read("test.tfrecord.gz"))
