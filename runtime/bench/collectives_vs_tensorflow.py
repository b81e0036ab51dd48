#!/usr/bin/env python3
"""All-reduce over two servers, TensorFlow's and ours side by side, from 1 KB to 256 MB of floats.

  collectives_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD] [--rounds N]

Measures as vs_tensorflow.py does. One client's step runs several reductions one after the other at both servers; what is
reduced is in their variables and nothing is fetched, and the time of an empty step is taken off.
"""
import vs_tensorflow as vs
from tensorflow.python.ops import collective_ops
from vs_tensorflow import session, tf, v1

QUESTIONS = []
LEADER = "/job:worker/replica:0/task:0"
vs.THEIR_SERVER = """
import json, os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
c = json.loads(os.environ["TF_CONFIG"])
config = config_pb2.ConfigProto(experimental=config_pb2.ConfigProto.Experimental(collective_group_leader="%s"))
tf.distribute.Server(tf.train.ClusterSpec(c["cluster"]), c["task"]["type"], c["task"]["index"], config=config).join()
""" % LEADER


def reductions(c, kilobytes, in_a_row):
    """Seconds of one reduction."""
    with tf.Graph().as_default() as graph:
        variables, last = [], []
        for task in range(2):
            with tf.device("/job:worker/task:%d/cpu:0" % task):
                v = v1.get_variable("v%d" % task, initializer=tf.ones([kilobytes * 256]), use_resource=True)
                variables.append(v)
                x = v.read_value()
                for i in range(in_a_row):
                    x = collective_ops.all_reduce(x, 2, 1, i + 1, "Max", "Id")
                last.append(x.op)
        empty = tf.no_op()
    s = session(c.target("worker"), graph)
    s.run([v.initializer for v in variables])
    step = tf.compat.v1.Session.run

    def seconds():
        busy, idle = vs.seconds_per_call(lambda: step(s, last), lambda: step(s, empty))
        return (busy - idle) / in_a_row
    return seconds


def ask(kilobytes, in_a_row):
    megabytes = kilobytes / 1024
    if megabytes < 1:
        @vs.question("all-reduce of %d KB" % kilobytes, "us", {"worker": 2}, to=QUESTIONS)
        def latency(c):
            seconds = reductions(c, kilobytes, in_a_row)
            return lambda: seconds() * 1e6
    else:
        @vs.question("all-reduce of %d MB" % megabytes, "MB/s", {"worker": 2}, smaller=False, to=QUESTIONS)
        def bandwidth(c):
            seconds = reductions(c, kilobytes, in_a_row)
            return lambda: kilobytes * 1024 / 1e6 / seconds()


for size, count in ((1, 50), (64, 50), (1024, 10), (16 * 1024, 2), (256 * 1024, 1)):
    ask(size, count)

if __name__ == "__main__":
    vs.main(QUESTIONS, __doc__)
