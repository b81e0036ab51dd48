"""Data sets that data_cases.py runs on a server and in TensorFlow's own process: each function gives one."""
import glob
import gzip
import tempfile
import zlib

import numpy as np

from tensorflow.python.data.experimental.ops.distribute import _LegacyRebatchDataset

from case_tools import tf, v1

D = tf.data.Dataset


def tensors():
    return D.from_tensors((tf.constant([1.0, 2.0]), tf.constant("a")))


def slices():
    return D.from_tensor_slices({"x": np.arange(12).reshape(4, 3), "y": tf.constant(["a", "b", "c", "d"])})


def slices_of_nothing():
    return D.from_tensor_slices(np.zeros([0, 3], np.float32))


def ranges():
    return D.range(-3, 11, 4).concatenate(D.range(5, 0, -2))


def range_of_floats():
    return D.range(5, output_type=tf.float32)


def map_with_captures():
    scale, table = tf.constant(2.5), tf.constant([10.0, 20.0, 30.0])
    return D.range(6).map(lambda x: (scale * tf.cast(x, tf.float32), tf.gather(table, x % 3)))


def map_of_strings():
    return D.from_tensor_slices(["a b", "c", ""]).map(lambda s: (s, tf.strings.length(s), s + "!"))


def map_with_conditionals_and_loops():
    def f(x):
        y = tf.cond(x > 3, lambda: x * 10, lambda: x)
        return tf.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [tf.constant(0, tf.int64), y])[1]
    return D.range(8).map(f)


def map_with_seeded_random():
    return D.range(5).map(lambda x: tf.random.uniform([2], seed=7)).repeat(2)


def filtered():
    return D.range(20).filter(lambda x: tf.equal(x % 3, 1))


def filtered_all_out():
    return D.range(20).filter(lambda x: x > 100)


def batches():
    return D.range(10).map(lambda x: (x, tf.fill([2], x))).batch(4)


def batches_without_remainder():
    return D.range(10).batch(4, drop_remainder=True)


def batch_of_strings():
    return D.from_tensor_slices(["a", "bb", "ccc", "", "e" * 40]).batch(2)


def batch_of_batches():
    return D.range(24).batch(4).batch(4)


def batch_larger_than_the_data():
    return D.range(10).batch(1 << 40)


def batch_of_empty_tensors():
    return D.range(3).map(lambda x: tf.zeros([0, 2])).batch(2)


def padded_batches():
    return D.range(1, 8).map(lambda x: tf.fill([x], x)).padded_batch(3, padded_shapes=[None])


def padded_batches_with_values():
    d = D.range(1, 8).map(lambda x: (tf.fill([x, 2], x), tf.as_string(tf.fill([x], x))))
    return d.padded_batch(2, padded_shapes=([None, 3], [9]), padding_values=(tf.constant(-1, tf.int64), "none"),
                          drop_remainder=True)


def padded_batches_of_cubes():
    d = D.range(1, 6).map(lambda x: tf.reshape(tf.range(x * 6), [x, 2, 3]))
    return d.padded_batch(2, padded_shapes=[None, None, 4], padding_values=tf.constant(7, tf.int64))


def padded_batches_of_scalars():
    return D.range(5).padded_batch(2, padded_shapes=[])


def repeated():
    return D.range(3).repeat(3)


def repeated_never():
    return D.range(3).repeat(0)


def repeated_for_ever():
    return D.range(3).repeat().take(10)


def nothing_repeated_for_ever():
    return D.range(0).repeat()


def taken_and_skipped():
    return D.range(100).skip(5).take(7).concatenate(D.range(4).skip(9)).concatenate(D.range(3).take(-1))


def skipped_all():
    return D.range(100).skip(-1)


def zipped():
    return D.zip((D.range(5), D.range(10, 14), D.from_tensor_slices(["a", "b", "c", "d", "e", "f"])))


def shuffled():
    return D.range(50).shuffle(10, seed=42)


def shuffled_whole():
    return D.range(50).shuffle(1000, seed=1).repeat(2)


def shuffled_the_same_every_time():
    return D.range(20).shuffle(7, seed=5, reshuffle_each_iteration=False).repeat(3)


def shuffled_by_a_graph_seed():
    v1.set_random_seed(12)
    return D.range(30).shuffle(5).repeat(2)


def shuffled_after_repeat():
    return D.range(10).repeat(4).shuffle(15, seed=3)


def shuffled_and_repeated():
    return D.range(10).apply(tf.data.experimental.shuffle_and_repeat(25, count=6, seed=9))


def shuffled_batches():
    return D.range(40).shuffle(40, seed=8).batch(6).shuffle(3, seed=2)


def flat_mapped():
    return D.range(5).flat_map(lambda x: D.range(x).map(lambda y: x * 10 + y))


def interleaved():
    return D.range(7).interleave(lambda x: D.from_tensors(x).repeat(x), cycle_length=3, block_length=2)


def interleaved_more_than_there_are():
    return D.range(3).interleave(lambda x: D.range(x, 10, 3), cycle_length=100, block_length=1)


def nested_flat_maps():
    inner = lambda x: D.range(x).flat_map(lambda y: D.from_tensors(x * 100 + y).repeat(2))
    return D.range(4).flat_map(inner)


def cached():
    return D.range(6).map(lambda x: tf.random.uniform([], seed=3)).cache().repeat(3)


def cached_in_a_file():
    return D.range(6).map(lambda x: (x, tf.as_string(x))).cache(tempfile.mktemp()).repeat(2)


def with_the_asserted_number():
    return D.range(5).filter(lambda x: x > 1).apply(tf.data.experimental.assert_cardinality(3))


def with_another_number():
    return D.range(5).apply(tf.data.experimental.assert_cardinality(3))


def prefetched():
    return D.range(40).map(lambda x: x * x).prefetch(3).batch(4).prefetch(tf.data.AUTOTUNE)


def with_options():
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 2
    return D.range(9).map(lambda x: x + 1).with_options(options)


def reduced():
    total = D.range(10).reduce(tf.constant(0, tf.int64), lambda s, x: s + x)
    pair = D.range(5).reduce((tf.constant(1.0), tf.constant("")),
                             lambda s, x: (s[0] * 2.0, s[1] + tf.as_string(x)))
    return D.from_tensors((total, pair[0], pair[1]))


def single_element():
    return D.from_tensors(tf.data.experimental.get_single_element(D.range(7).skip(6)))


def cardinalities():
    all_of = [D.range(7).batch(2), D.range(7).repeat(), D.range(7).filter(lambda x: x > 1), D.range(9).skip(4).take(3),
              D.range(3).concatenate(D.range(2)).repeat(2), D.zip((D.range(3), D.range(2))), D.range(4).shuffle(2),
              D.range(4).map(lambda x: x).prefetch(1)]
    return D.from_tensors(tf.stack([tf.data.experimental.cardinality(d) for d in all_of]))


def batches_of_different_shapes():
    return D.range(7).batch(2).batch(3)


def optionals():
    def f(x):
        some = tf.experimental.Optional.from_value(x)
        return some.get_value() + 1, some.has_value()
    return D.range(3).map(f)


def big_elements():
    return D.range(5).map(lambda x: tf.fill([300, 400], x)).batch(2).prefetch(1)


def many_components():
    return D.range(5).map(lambda x: tuple(x + i for i in range(40))).batch(3)


def mapped_in_parallel():
    return D.range(50).map(lambda x: (x * 2, tf.fill([x % 3], x)), num_parallel_calls=4)


def mapped_in_parallel_by_autotuning():
    return D.range(50).map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE).batch(7, num_parallel_calls=2)


def mapped_in_any_order():
    d = D.range(30).map(lambda x: x * 3, num_parallel_calls=3, deterministic=False)
    return d.batch(30).map(tf.sort)


def mapped_and_batched():
    return D.range(23).apply(tf.data.experimental.map_and_batch(lambda x: (x, tf.fill([2], x)), 5, num_parallel_calls=3))


def mapped_and_batched_whole():
    return D.range(23).apply(
        tf.data.experimental.map_and_batch(lambda x: x, 5, drop_remainder=True, num_parallel_batches=2))


def interleaved_in_parallel():
    return D.range(9).interleave(lambda x: D.range(x * 10, x * 10 + x), cycle_length=4, block_length=2,
                                 num_parallel_calls=3, deterministic=True)


def interleaved_by_autotuning():
    d = D.range(9).interleave(lambda x: D.range(x), cycle_length=3, num_parallel_calls=tf.data.AUTOTUNE)
    return d.batch(100).map(tf.sort)


def interleaved_the_old_way():
    return D.range(8).apply(tf.data.experimental.parallel_interleave(
        lambda x: D.range(x, x + 4), cycle_length=3, block_length=2, sloppy=False))


def interleaved_sloppily():
    d = D.range(8).apply(tf.data.experimental.parallel_interleave(lambda x: D.range(x), cycle_length=3, sloppy=True))
    return d.batch(100).map(tf.sort)


def random_numbers():
    return tf.data.experimental.RandomDataset(seed=4).take(10)


def rebatched():
    return D.range(23).map(lambda x: (x, tf.strings.as_string(x), tf.fill([2], x))).batch(4).rebatch([3, 1, 7])


def rebatched_whole():
    return D.range(23).batch(4).rebatch(5, drop_remainder=True)


def rebatched_from_empty_batches():
    return D.range(6).map(lambda x: tf.range(x)).rebatch([2, 4])


def rebatched_with_empty_ones():
    return D.range(7).map(lambda x: (x, tf.fill([2], x))).batch(3).rebatch([2, 0])


def rebatched_in_parallel():
    return D.range(50).map(lambda x: x * x, num_parallel_calls=3).batch(7, num_parallel_calls=2).rebatch([4, 9]).prefetch(2)


def rebatched_scalars():
    return D.range(3).map(lambda x: v1.placeholder_with_default(x, None)).rebatch(2)


def rebatched_of_other_shapes():
    return D.from_tensor_slices([2, 3, 2]).map(lambda n: tf.zeros([3, n])).rebatch(2)


def rebatched_of_unequal_components():
    return D.range(3).map(lambda x: (tf.range(x), tf.range(2))).rebatch(2)


def split_for_replicas():
    return _LegacyRebatchDataset(D.range(18).map(lambda x: (x, tf.strings.as_string(x))).batch(5), 3)


def split_for_more_replicas_than_rows():
    return _LegacyRebatchDataset(D.range(5).batch(2), 5)


def windows():
    d = D.range(11).window(4, shift=3, stride=2)
    return d.flat_map(lambda w: w.batch(4)).batch(1).map(lambda x: tf.reduce_sum(x))


def windows_of_pairs():
    d = D.zip((D.range(10), D.range(10, 20))).window(3, drop_remainder=True)
    return d.flat_map(lambda a, b: D.zip((a, b)).batch(3))


def windows_far_apart():
    return D.range(20).window(2, shift=7).flat_map(lambda w: w)


def unbatched():
    return D.from_tensor_slices((np.arange(12).reshape(3, 4), np.arange(24).reshape(3, 4, 2))).unbatch()


def scanned():
    return D.range(8).scan(tf.constant(1, tf.int64), lambda s, x: (s + x, (s, x * s)))


def grouped_by_window():
    return D.range(25).group_by_window(lambda x: x % 3, lambda key, d: d.batch(10).map(lambda b: (key, b)),
                                       window_size=4)


def grouped_by_window_of_its_key():
    return D.range(25).group_by_window(lambda x: x % 4, lambda key, d: d.batch(30),
                                       window_size_func=lambda key: key + 1)


def bucketed_by_length():
    d = D.range(1, 20).map(lambda x: tf.fill([x % 7 + 1], x))
    return d.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [3, 2, 4])


def grouped_by_reducer():
    reducer = tf.data.experimental.Reducer(lambda key: (key, tf.constant(0, tf.int64)),
                                           lambda s, x: (s[0], s[1] + x), lambda k, s: (k, s * 2))
    return D.range(20).apply(tf.data.experimental.group_by_reducer(lambda x: 5 - x % 4, reducer))


def taken_while():
    return D.range(20).take_while(lambda x: x < 7)


def unique():
    return D.from_tensor_slices(["a", "b", "a", "c", "b", "", ""]).unique()


def errors_ignored():
    d = D.from_tensor_slices([1.0, float("nan"), 3.0, float("inf")])
    return d.map(lambda x: tf.debugging.check_numerics(x, "bad")).apply(tf.data.experimental.ignore_errors())


def sampled_from_data_sets():
    sets = [D.range(i * 100, i * 100 + 20) for i in range(3)]
    return D.sample_from_datasets(sets, [0.5, 0.3, 0.2], seed=11)


def chosen_from_data_sets():
    sets = [D.range(3), D.range(10, 12), D.range(20, 30)]
    return D.choose_from_datasets(sets, D.from_tensor_slices(np.array([0, 1, 2, 2, 1, 1, 0, 0, 0, 2], np.int64)),
                                  stop_on_empty_dataset=False)


def sharded():
    return D.range(17).shard(5, 3)


def rejection_resampled():
    d = D.from_tensor_slices(np.array([0, 0, 0, 1, 0, 1, 1, 0] * 4, np.int32))
    return d.rejection_resample(lambda x: x, [0.5, 0.5], [0.6, 0.4], seed=3)


def _sparse():
    return tf.sparse.SparseTensor(np.array([[0, 1], [0, 3], [2, 0]], np.int64), ["a", "b", "c"], np.array([3, 4], np.int64))


def sparse_slices():
    return D.from_tensor_slices(_sparse())


def sparse_tensor_slices():
    return v1.data.Dataset.from_sparse_tensor_slices(_sparse())


def sparse_tensor_slices_of_numbers():
    cube = tf.sparse.SparseTensor(np.array([[1, 0, 2], [1, 1, 0], [3, 0, 0]], np.int64), [1.5, 2.5, 3.5], np.array([5, 2, 3], np.int64))
    return v1.data.Dataset.from_sparse_tensor_slices(cube).repeat(2)


def sparse_batches():
    return D.range(5).map(lambda x: tf.sparse.SparseTensor(tf.reshape(tf.range(x), [-1, 1]), tf.range(x) * 2, [x + 1])).batch(2).unbatch().batch(3)


def sparse_features():
    examples = [tf.train.Example(features=tf.train.Features(feature={
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=range(i)))})).SerializeToString() for i in range(5)]
    return D.from_tensor_slices(examples).map(lambda e: tf.io.parse_single_example(e, {"n": tf.io.VarLenFeature(tf.int64)})).batch(2)


def ragged_batches():
    def rows(x):
        return tf.RaggedTensor.from_row_lengths(tf.range(x * 2), [x, 0, x])
    return D.range(4).map(rows).batch(3).map(lambda r: (r.to_tensor(-1), r.row_lengths()))


def ragged_slices():
    return D.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3, 4, 5]])).map(lambda r: tf.reduce_sum(r))


def pictures():
    def png(x):
        return tf.io.encode_png(tf.cast(tf.fill([4, 6, 3], x * 40), tf.uint8))
    return D.range(5).map(png).map(lambda p: tf.image.resize(tf.io.decode_png(p), [2, 3]), num_parallel_calls=2).batch(2)


def lines():
    return tf.data.TextLineDataset(files("text"), buffer_size=100)


def compressed_lines():
    return tf.data.TextLineDataset(files("text.gz"), compression_type="GZIP").skip(1)


def fixed_length_records():
    return tf.data.FixedLengthRecordDataset(files("fixed"), 5, header_bytes=3, footer_bytes=4)


def fixed_length_records_of_zlib():
    return tf.data.FixedLengthRecordDataset(files("fixed.zz"), 5, header_bytes=3, footer_bytes=4, compression_type="ZLIB")


def tf_records():
    return tf.data.TFRecordDataset(files("records"))


def tf_records_interleaved():
    return tf.data.TFRecordDataset(files("records"), num_parallel_reads=2).map(tf.strings.length)


def tf_records_of_gzip():
    return D.from_tensor_slices(files("records.gz")).flat_map(
        lambda f: tf.data.TFRecordDataset(f, compression_type="GZIP"))


def truncated_tf_records():
    return tf.data.TFRecordDataset(files("cut"))


def files_that_are_not_there():
    return tf.data.TextLineDataset("/no/such/file")


_DIRECTORY = None


def files(kind):
    """Paths of files of that kind, written once."""
    global _DIRECTORY
    if _DIRECTORY is None:
        _DIRECTORY = tempfile.mkdtemp()
        _write_files(_DIRECTORY)
    return sorted(glob.glob("%s/*.%s" % (_DIRECTORY, kind)))


def _write_files(directory):
    for i in range(3):
        text = "".join("line %d of %d%s" % (n, i, "\r\n" if n % 2 else "\n") for n in range(5)) + "\n" + "x" * 300 * i
        fixed = b"HED" + bytes(range(5 * (i + 2))) + b"FOOT"
        for name, data, opener in (("text", text.encode(), open), ("text.gz", text.encode(), gzip.open), ("fixed", fixed, open),
                                   ("fixed.zz", zlib.compress(fixed), open)):
            with opener("%s/%d.%s" % (directory, i, name), "wb") as f:
                f.write(data)
        for name, compression in (("records", ""), ("records.gz", "GZIP")):
            path = "%s/%d.%s" % (directory, i, name)
            with tf.io.TFRecordWriter(path, compression) as writer:
                for n in range(7):
                    writer.write(b"record %d of %d " % (n, i) + b"y" * (n * 1000))
    with open("%s/0.records" % directory, "rb") as f, open("%s/0.cut" % directory, "wb") as cut:
        cut.write(f.read()[:2500])
