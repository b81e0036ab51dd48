"""Checkpoints and records in both directions between this project and an installed TensorFlow.

usage: bundle_interop_test.py TOOL
TOOL is `checkpoint_tool` of this folder's tests. Needs the package `tensorflow`; without it the test says so and
exits with 77, which ctest shows as skipped.
"""

import os
import subprocess
import sys
import tempfile

SKIPPED = 77


def check(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def main(tool: str) -> int:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    try:
        import numpy as np
        import tensorflow as tf
    except ImportError as error:
        print(f"skipped: TensorFlow is not installed ({error})")
        return SKIPPED

    def run(*args: str) -> str:
        done = subprocess.run([tool, *args], check=True, capture_output=True, text=True, timeout=60)
        return done.stdout

    rng = np.random.default_rng(7)
    tensors = {
        "dense/kernel": rng.standard_normal((37, 11)).astype(np.float32),
        "step": np.array(12345678901, np.int64),
        "flags": np.array([True, False, True]),
        "empty": np.zeros((0, 3), np.float64),
        "words": np.array([b"", b"caf\xc3\xa9", b"x" * 300], object),
        "half": np.arange(5, dtype=np.float16),
    }
    for i in range(300):  # enough for several blocks of the index
        tensors[f"layer_with_a_long_name_{i:04d}/{'n' * 200}"] = np.array([i], np.int32)
    whole = np.arange(70_000, dtype=np.float32).reshape(1000, 70)

    with tempfile.TemporaryDirectory() as directory:
        theirs = os.path.join(directory, "theirs")
        names = list(tensors) + ["part", "part"]
        specs = [""] * len(tensors) + ["1000 70 0,334:-", "1000 70 334,666:0,70"]
        values = [tf.constant(t) for t in tensors.values()]
        values += [tf.constant(whole[:334]), tf.constant(whole[334:])]
        tf.raw_ops.SaveV2(prefix=theirs, tensor_names=names, shape_and_slices=specs, tensors=values)

        # Ours reads theirs and writes it anew; theirs reads that, byte for byte the same values.
        ours = os.path.join(directory, "ours")
        listed = run("copy", theirs, ours).split()
        check(sorted(listed) == sorted(set(names)), "the names differ")
        for name, value in list(tensors.items()) + [("part", whole)]:
            (read,) = tf.raw_ops.RestoreV2(
                prefix=ours, tensor_names=[name], shape_and_slices=[""], dtypes=[tf.constant(value).dtype])
            check(read.shape == value.shape and np.array_equal(read.numpy(), value), f"{name} differs")

        # Variants.
        listed = os.path.join(directory, "listed")
        rows = np.arange(12, dtype=np.float32).reshape(4, 3)
        lists = tf.stack([tf.raw_ops.TensorListFromTensor(tensor=tf.constant(rows + i), element_shape=[3]) for i in range(2)])
        tf.raw_ops.SaveV2(prefix=listed, tensor_names=["lists"], shape_and_slices=[""], tensors=[lists])
        run("copy", listed, listed + "_copy")
        (read,) = tf.raw_ops.RestoreV2(prefix=listed + "_copy", tensor_names=["lists"], shape_and_slices=[""], dtypes=[tf.variant])
        # Not the same bytes: the message leaves open in which field elements stand.
        for i in range(2):
            stacked = tf.raw_ops.TensorListStack(input_handle=read[i], element_shape=[3], element_dtype=tf.float32)
            check(np.array_equal(stacked.numpy(), rows + i), "a list that was read differs")

        # The same tensors in the same order give the same files.
        plain = os.path.join(directory, "plain")
        again = os.path.join(directory, "again")
        tf.raw_ops.SaveV2(prefix=plain, tensor_names=sorted(tensors), shape_and_slices=[""] * len(tensors),
                          tensors=[tf.constant(tensors[n]) for n in sorted(tensors)])
        run("copy", plain, again)
        for suffix in (".index", ".data-00000-of-00001"):
            with open(plain + suffix, "rb") as a, open(again + suffix, "rb") as b:
                check(a.read() == b.read(), f"the bytes of {suffix} differ")

        # Pieces that ours wrote, read by theirs.
        pieces = os.path.join(directory, "pieces")
        run("split", theirs, pieces, "part")
        (read,) = tf.raw_ops.RestoreV2(prefix=pieces, tensor_names=["part"],
                                       shape_and_slices=["1000 70 300,100:3,9"], dtypes=[tf.float32])
        check(np.array_equal(read.numpy(), whole[300:400, 3:12]), "a slice out of our pieces differs")

        # The old kind, by both of its names: in one file and in shards that match a pattern.
        old = ["dense/kernel", "step", "flags", "part"]
        for path, pattern, parts in (
                ("old", "old", [("1000 70 0,334:-", whole[:334]), ("1000 70 334,666:0,70", whole[334:])]),
                ("old-00000-of-00002", None, [("1000 70 0,334:-", whole[:334])]),
                ("old-00001-of-00002", "old-?????-of-00002", [("1000 70 334,666:-", whole[334:])])):
            names = [n for n in old if n != "part"] if "00001" not in path else []
            tf.raw_ops.SaveSlices(
                filename=os.path.join(directory, path), tensor_names=names + ["part"] * len(parts),
                shapes_and_slices=[""] * len(names) + [spec for spec, _ in parts],
                data=[tf.constant(tensors[n]) for n in names] + [tf.constant(value) for _, value in parts])
            if pattern is None:
                continue
            renewed = os.path.join(directory, "renewed")
            run("read", os.path.join(directory, pattern), renewed, *old)
            for name in old:
                value = whole if name == "part" else tensors[name]
                (read,) = tf.raw_ops.RestoreV2(prefix=renewed, tensor_names=[name], shape_and_slices=[""],
                                               dtypes=[tf.constant(value).dtype])
                check(np.array_equal(read.numpy(), value), f"{name} of an old checkpoint differs")

        # Records.
        records = [b"", b"one", b"x" * 100_000]
        for compression in ("", "ZLIB", "GZIP"):
            path = os.path.join(directory, f"records{compression}")
            with tf.io.TFRecordWriter(path, compression) as writer:
                for record in records:
                    writer.write(record)
            run("records", path, path + ".copy", compression)
            copied = list(tf.compat.v1.io.tf_record_iterator(
                path + ".copy", tf.io.TFRecordOptions(compression)))
            check(copied == records, f"records differ ({compression or 'uncompressed'})")
    print("checkpoints and records agree with TensorFlow", tf.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
