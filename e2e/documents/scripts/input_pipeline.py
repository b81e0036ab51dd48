# Document 003: slices of a data set are preprocessed and serialized by several processes, a TFRecord file for each slice;
# two workers read them, each its own share.
import os
import sys
import tempfile
from multiprocessing import Pool

SLICES, ROWS = 4, 25
folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()

def path_of(part):
    return os.path.join(folder, "slice-%d.tfrecord" % part)

def write(part):
    import tensorfleet.tensorflow as tf
    with tf.io.TFRecordWriter(path_of(part)) as writer:
        for row in range(ROWS):
            number = part * ROWS + row
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                "square": tf.train.Feature(float_list=tf.train.FloatList(value=[number * number])),
            })).SerializeToString())
    return ROWS

def read():
    import tensorfleet
    import tensorfleet.tensorflow as tf
    cluster = tf.train.ClusterSpec({"worker": ["localhost:2222", "localhost:2223"]})
    servers = [tf.train.Server(cluster, job_name="worker", task_index=i) for i in range(2)]

    def parse(record):
        return tf.io.parse_single_example(record, {"number": tf.io.FixedLenFeature([], tf.int64),
                                                   "square": tf.io.FixedLenFeature([], tf.float32)})
    seen = []
    for worker, server in enumerate(servers):
        with tf.Graph().as_default(), tf.device("/job:worker/task:%d" % worker):
            files = tf.data.Dataset.from_tensor_slices([path_of(i) for i in range(SLICES)]).shard(2, worker)
            iterator = tf.data.make_initializable_iterator(
                files.flat_map(tf.data.TFRecordDataset).map(parse).batch(10))
            batch = iterator.get_next()
            with tf.Session(server.target) as sess:
                sess.run(iterator.initializer)
                mine = []
                try:
                    while True:
                        rows = sess.run(batch)
                        assert (rows["square"] == rows["number"].astype("f") ** 2).all()
                        mine += rows["number"].tolist()
                except tf.errors.OutOfRangeError:
                    pass
            print("worker %d read %d rows" % (worker, len(mine)))
            assert len(mine) == SLICES * ROWS // 2
            seen += mine
    assert sorted(seen) == list(range(SLICES * ROWS))
    print("every row was read once")

if __name__ == "__main__":
    with Pool(SLICES) as pool:
        print("wrote", sum(pool.map(write, range(SLICES))), "rows")
    read()
