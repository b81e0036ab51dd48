"""A variable of over 4 GB between a server and this process's own TensorFlow, saved by each and restored by both.

Needs 20 GB of memory and 10 of disk.
"""
import argparse
import os

import numpy as np
import task
import tensorflow.compat.v1 as tf

ROWS, COLUMNS = 1100, 1 << 20  # 4.6 GB of floats


class Model:
    """The variable in a graph of its own. `mark` writes `first` and `last` into its ends, `look` reads them and a
    place between."""

    def __init__(self, device, first, last):
        with tf.Graph().as_default() as self.graph, tf.device(device):
            self.v = tf.get_variable("v", [ROWS, COLUMNS], use_resource=False, initializer=tf.zeros_initializer())
            rows = tf.stack([tf.fill([COLUMNS], first), tf.fill([COLUMNS], last)])
            self.mark = tf.scatter_update(self.v, [0, ROWS - 1], rows).op
            self.erase = tf.assign(self.v, tf.zeros([ROWS, COLUMNS])).op
            self.looked_at = tf.stack([self.v[0, 7], self.v[500, 7], self.v[ROWS - 1, COLUMNS - 1]])
            self.saver = tf.train.Saver([self.v])

    def make(self, session):
        session.run(self.v.initializer)
        session.run(self.mark)

    def look(self, session):
        return session.run(self.looked_at).tolist()

    def save(self, session, path):
        return self.saver.save(session, path, write_meta_graph=False)


def bytes_of(path):
    return os.path.getsize(path + ".data-00000-of-00001")


def remove(path):
    for suffix in (".index", ".data-00000-of-00001"):
        os.remove(path + suffix)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()

    there = Model("/job:ps/task:0", 1.0, 2.0)
    with tf.Session(task.master, graph=there.graph) as session:
        there.make(session)
        path = there.save(session, os.path.join(args.dir, "served"))
        session.run(there.erase)
        erased = there.look(session)
        there.saver.restore(session, path)
        task.report(erased=erased, restored=there.look(session), bytes=bytes_of(path))
    spec = "%d %d %d,1:%d,2" % (ROWS, COLUMNS, ROWS - 1, COLUMNS - 2)
    with tf.Graph().as_default(), tf.Session() as session:
        piece = session.run(tf.raw_ops.RestoreV2(prefix=path, tensor_names=["v"], shape_and_slices=[spec],
                                                 dtypes=[tf.float32])[0])
        task.report(piece_read_here=np.asarray(piece).ravel().tolist())

    here = Model("", 3.0, 4.0)
    with tf.Session(graph=here.graph) as session:
        here.saver.restore(session, path)
        task.report(read_here=here.look(session))
        remove(path)
        here.make(session)
        path = here.save(session, os.path.join(args.dir, "local"))
    with tf.Session(task.master, graph=there.graph) as session:
        there.saver.restore(session, path)
        task.report(read_there=there.look(session))


if __name__ == "__main__":
    main()
