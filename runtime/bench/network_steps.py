#!/usr/bin/env python3
"""A training step of a whole network on TensorFlow's server and on ours: the same graph, in turns.

  network_steps.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N]

Printed for each network: the step time at --quantile and the processor time of a step, of both servers, and their ratios.
Processor time hardly depends on what else the machine does. Needs Python 3.11 with tensorflow-cpu==2.15.1.
"""
import argparse
import shlex
import time

import numpy as np

from vs_tensorflow import Cluster, session, tf, v1


def held(value, dtype=np.float32):
    """A value that the server holds, so that a step transfers nothing."""
    return v1.Variable(np.asarray(value, dtype), trainable=False)


def loss_of(features, classes):
    width, batch = features.shape[-1], features.shape[0]
    logits = tf.matmul(features, v1.get_variable("out", (width, classes))) + v1.get_variable("out_bias", (classes,))
    labels = held(np.arange(batch) % classes, np.int32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def cnn():
    """Convolutions 3x3 of 32 and 64 channels, each pooled, and a dense layer; batch 32, Adam."""
    x = held(np.random.RandomState(0).rand(32, 28, 28, 1))
    for i, channels in enumerate((32, 64)):
        filters = v1.get_variable("filter%d" % i, (3, 3, x.shape[-1], channels))
        x = tf.nn.bias_add(tf.nn.conv2d(x, filters, 1, "SAME"), v1.get_variable("bias%d" % i, (channels,)))
        x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")
    x = tf.reshape(x, (32, 7 * 7 * 64))
    x = tf.nn.relu(tf.matmul(x, v1.get_variable("dense", (7 * 7 * 64, 128))) + v1.get_variable("dense_bias", (128,)))
    return v1.train.AdamOptimizer(1e-3).minimize(loss_of(x, 10))


def resnet():
    """ResNet-18 on 64x64 images, batch 16, forward, backward and SGD."""
    def convolved(x, channels, stride, size=3):
        with v1.variable_scope(None, "conv"):
            x = tf.nn.conv2d(x, v1.get_variable("filter", (size, size, x.shape[-1], channels)), stride, "SAME")
            scale = v1.get_variable("scale", (channels,), initializer=v1.ones_initializer())
            return v1.nn.fused_batch_norm(x, scale, v1.get_variable("offset", (channels,)))[0]

    x = tf.nn.relu(convolved(held(np.random.RandomState(0).rand(16, 64, 64, 3)), 64, 2, 7))
    x = tf.nn.max_pool2d(x, 3, 2, "SAME")
    for channels, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        y = convolved(tf.nn.relu(convolved(x, channels, stride)), channels, 1)
        x = tf.nn.relu(y + (convolved(x, channels, stride, 1) if stride > 1 else x))
    return v1.train.GradientDescentOptimizer(1e-3).minimize(loss_of(tf.reduce_mean(x, (1, 2)), 10))


class Side:
    def __init__(self, build, command):
        self.cluster, self.times, self.processor = Cluster({"local": 1}, command), [], 0.0
        with tf.Graph().as_default() as graph:
            self.step = build()
            init = v1.global_variables_initializer()
        self.session = session(self.cluster.target("local"), graph)
        self.session.run(init)
        for _ in range(3):
            self.session.run(self.step)

    def processor_seconds(self):
        with open("/proc/%d/stat" % self.cluster.processes[0].pid) as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def measure(self, seconds):
        end, before = time.perf_counter() + seconds, self.processor_seconds()
        while (begin := time.perf_counter()) < end:
            self.session.run(self.step)
            self.times.append(time.perf_counter() - begin)
        self.processor += self.processor_seconds() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="our server's command")
    parser.add_argument("-k", default="", help="only networks whose name contains this")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=2, help="of one server in one round")
    parser.add_argument("--quantile", type=float, default=0.5, help="which of the steps counts")
    args = parser.parse_args()
    print("%-8s %14s %10s %7s   %22s %10s %7s" % ("network", "TensorFlow ms", "ours ms", "ratio", "processor: TensorFlow", "ours", "ratio"))
    for build in (cnn, resnet):
        if args.k not in build.__name__:
            continue
        sides = []
        try:
            sides += [Side(build, None)]
            sides += [Side(build, shlex.split(args.server))]
            for _ in range(args.rounds):
                for side in sides:
                    side.measure(args.seconds)
            step = [sorted(s.times)[int(args.quantile * (len(s.times) - 1))] * 1e3 for s in sides]
            processor = [s.processor / len(s.times) * 1e3 for s in sides]
            print("%-8s %14.1f %10.1f %6.2fx   %22.1f %10.1f %6.2fx" % (build.__name__, *step, step[1] / step[0], *processor, processor[1] / processor[0]), flush=True)
        finally:
            for side in sides:
                side.cluster.stop()


if __name__ == "__main__":
    main()
