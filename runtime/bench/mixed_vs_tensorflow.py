#!/usr/bin/env python3
"""TensorFlow's workers with our parameter servers, beside TensorFlow's workers with TensorFlow's: steps per second.

  mixed_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N]

Measures as vs_tensorflow.py does; the column "ours" is a cluster whose parameter servers alone are ours.
"""
import numpy as np
import vs_tensorflow as vs
from vs_tensorflow import session, tf, v1

QUESTIONS = []


class MixedCluster(vs.Cluster):
    """As vs.Cluster, but all tasks other than parameter servers are TensorFlow's."""

    def _start(self, job, index):
        own = self.command
        if job != "ps":
            self.command = vs.theirs()
        try:
            return super()._start(job, index)
        finally:
            self.command = own


vs.Cluster = MixedCluster


def setter(ps):
    return v1.device(v1.train.replica_device_setter(ps_tasks=ps, worker_device="/job:worker/task:0"))


def mlp(batch=128):
    """784-512-10, one parameter server."""
    rng = np.random.RandomState(0)
    with setter(1):
        with tf.device("/job:worker/task:0"):
            x, y = tf.constant(rng.rand(batch, 784).astype("f")), tf.constant(rng.randint(10, size=batch))
        w1 = v1.get_variable("w1", [784, 512], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
        b1 = v1.get_variable("b1", [512], initializer=v1.zeros_initializer(), use_resource=False)
        w2 = v1.get_variable("w2", [512, 10], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        b2 = v1.get_variable("b2", [10], initializer=v1.zeros_initializer(), use_resource=False)
        logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        return v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def tables(count=26, rows=100_000, width=16, batch=256):
    """A click-through model: a table for each categorical feature, over two parameter servers."""
    rng = np.random.RandomState(0)
    with setter(2):
        with tf.device("/job:worker/task:0"):
            ids = tf.constant(rng.randint(rows, size=[count, batch]))
            y = tf.constant(rng.randint(2, size=[batch, 1]).astype("f"))
        found = [tf.nn.embedding_lookup(v1.get_variable("t%d" % i, [rows, width], initializer=v1.zeros_initializer(),
                                                        use_resource=False), ids[i]) for i in range(count)]
        layer = tf.concat(found, 1)
        for i, units in enumerate((64, 1)):
            w = v1.get_variable("w%d" % i, [layer.shape[1], units], initializer=v1.glorot_uniform_initializer(seed=i),
                                use_resource=False)
            layer = tf.matmul(layer, w)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=layer))
        return v1.train.AdagradOptimizer(0.1).minimize(loss)


def steps_per_second(c, build):
    with tf.Graph().as_default() as graph:
        train = build()
        init = v1.global_variables_initializer()
    s = session(c.target("worker"), graph)
    s.run(init)
    return lambda: 1 / vs.seconds_per_call(lambda: s.run(train), at_least=1.5)[0]


@vs.question("MLP 784-512-10, batch 128, SGD, TensorFlow's worker", "steps/s", {"ps": 1, "worker": 1}, smaller=False, to=QUESTIONS)
def of_the_mlp(c):
    return steps_per_second(c, mlp)


@vs.question("26 tables over 2 ps, Adagrad, TensorFlow's worker", "steps/s", {"ps": 2, "worker": 1}, smaller=False, to=QUESTIONS)
def of_the_tables(c):
    return steps_per_second(c, tables)


if __name__ == "__main__":
    vs.main(QUESTIONS, __doc__)
