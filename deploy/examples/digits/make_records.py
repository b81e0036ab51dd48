#!/usr/bin/env python3
"""Makes train.tfrecord.gz and test.tfrecord.gz from scikit-learn's digits.csv.gz.

usage: make_records.py digits.csv.gz   (needs tensorflow; writes beside this script)

Each record is a tf.train.Example with "image" (64 bytes, row by row, 0 to 16) and "label" (0 to 9). Every
fifth digit of a seeded shuffle goes to the test set.
"""
import gzip
import pathlib
import random
import sys

import tensorflow as tf


def example(row):
    return tf.train.Example(features=tf.train.Features(feature={
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes(row[:64])])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[row[64]])),
    })).SerializeToString(deterministic=True)


def main():
    with gzip.open(sys.argv[1], "rt") as lines:
        rows = [[int(float(x)) for x in line.split(",")] for line in lines]
    assert len(rows) == 1797 and all(len(row) == 65 for row in rows)
    random.Random(1797).shuffle(rows)
    here = pathlib.Path(__file__).resolve().parent
    for name, part in (("test", rows[::5]), ("train", [r for i, r in enumerate(rows) if i % 5])):
        options = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=9)
        with tf.io.TFRecordWriter(str(here / f"{name}.tfrecord.gz"), options) as out:
            for row in part:
                out.write(example(row))
        print(name, len(part))


if __name__ == "__main__":
    main()
