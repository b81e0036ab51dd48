"""A variable of over 4 GB: saved by a server, read in part here, changed, and restored. Needs 10 GB of memory and 5 of disk."""
import argparse
import os

import numpy as np
import task
import tensorflow.compat.v1 as tf

ROWS, COLUMNS = 1100, 1 << 20  # 4.6 GB of floats


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [ROWS, COLUMNS], use_resource=False, initializer=tf.zeros_initializer())
        mark = tf.scatter_update(v, [0, ROWS - 1], tf.stack([tf.fill([COLUMNS], 1.0), tf.fill([COLUMNS], 2.0)])).op
        erase = tf.assign(v, tf.zeros([ROWS, COLUMNS])).op
        looked_at = tf.stack([v[0, 7], v[500, 7], v[ROWS - 1, COLUMNS - 1]])
    saver = tf.train.Saver([v])
    with tf.Session(task.master) as session:
        session.run(v.initializer)
        session.run(mark)
        path = saver.save(session, os.path.join(args.dir, "big"), write_meta_graph=False)
        session.run(erase)
        erased = session.run(looked_at).tolist()
        saver.restore(session, path)
        restored = session.run(looked_at).tolist()
    spec = "%d %d %d,1:%d,2" % (ROWS, COLUMNS, ROWS - 1, COLUMNS - 2)
    with tf.Graph().as_default(), tf.Session() as here:
        piece = here.run(tf.raw_ops.RestoreV2(prefix=path, tensor_names=["v"], shape_and_slices=[spec],
                                              dtypes=[tf.float32])[0])
    task.report(erased=erased, restored=restored, read_here=np.asarray(piece).ravel().tolist(),
                bytes=os.path.getsize(path + ".data-00000-of-00001"))


if __name__ == "__main__":
    main()
