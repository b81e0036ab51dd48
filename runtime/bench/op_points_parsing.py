"""Points of ops_vs_tensorflow.py: bytes that become tensors. The number of a point counts values: 20 a record."""
from collections.abc import Callable

import numpy as np
from op_points import MIDDLE, SMALL, add, held, node
from vs_tensorflow import tf

COLUMNS = 20


def records(count: int) -> list[bytes]:
    """Examples as a click log has them: a few floats and ids, some of several values, and categories by name."""
    rng = np.random.default_rng(1)

    def feature(i: int) -> tf.train.Feature:
        if i % 4 == 0:
            return tf.train.Feature(float_list=tf.train.FloatList(value=[rng.normal()]))
        if i % 4 == 3:
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"category %d" % rng.integers(0, 1000)]))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=rng.integers(0, 1 << 20, 1 if i % 4 == 1 else rng.integers(0, 4))))
    return [tf.train.Example(features=tf.train.Features(feature={"feature%d" % i: feature(i) for i in range(COLUMNS)})).SerializeToString()
            for _ in range(count)]


def parse_example(n: int) -> Callable[[], tf.Operation]:
    serialized = held(tf.constant(records(n // COLUMNS)))
    keys = [b"feature%d" % i for i in range(COLUMNS)]
    sparse = [i for i in range(COLUMNS) if i % 4 == 2]
    dense = [i for i in range(COLUMNS) if i % 4 != 2]
    types = {0: tf.float32, 1: tf.int64, 3: tf.string}
    return lambda: node(
        "ParseExampleV2", serialized=serialized, names=tf.constant([], tf.string), sparse_keys=tf.constant([keys[i] for i in sparse]),
        dense_keys=tf.constant([keys[i] for i in dense]), ragged_keys=tf.constant([], tf.string),
        dense_defaults=[tf.constant([], types[i % 4]) for i in dense], num_sparse=len(sparse), sparse_types=[tf.int64] * len(sparse),
        ragged_value_types=[], ragged_split_types=[], dense_shapes=[[1]] * len(dense))


def decode_csv(n: int) -> Callable[[], tf.Operation]:
    rng = np.random.default_rng(2)

    def field(i: int) -> bytes:
        return b"%.6g" % rng.normal() if i % 4 == 0 else b"%d" % rng.integers(0, 1 << 20) if i % 4 < 3 else b"category %d" % rng.integers(0, 1000)
    lines = held(tf.constant([b",".join(field(i) for i in range(COLUMNS)) for _ in range(n // COLUMNS)]))
    kinds = [tf.float32, tf.int64, tf.int32, tf.string]
    return lambda: node("DecodeCSV", records=lines, record_defaults=[tf.constant([], kinds[i % 4]) for i in range(COLUMNS)])


def base64(op: str) -> Callable[[int], Callable[[], tf.Operation]]:
    def make(n: int) -> Callable[[], tf.Operation]:
        texts = held(tf.constant([b"abcd" * 25] * (n // 100)))
        return lambda: node(op, input=texts)
    return make


def unicode_decode(n: int) -> Callable[[], tf.Operation]:
    texts = held(tf.constant(["a text with some \u00e9\u4e2d characters".encode()] * (n // 30)))
    return lambda: node("UnicodeDecodeWithOffsets", input=texts, input_encoding="UTF-8")


for name, maker in (("ParseExampleV2", parse_example), ("DecodeCSV", decode_csv), ("DecodeBase64", base64("DecodeBase64")), ("EncodeBase64", base64("EncodeBase64")),
                    ("UnicodeDecodeWithOffsets", unicode_decode)):
    add(name, maker, (SMALL, MIDDLE))
