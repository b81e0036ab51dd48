"""Programs for characters, runs of strings and hashes of strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool
from state_table import Program, constant

raw = tf.raw_ops
INPUTS = ([b"abc", "h\u00e9\U0001F600".encode()], [b"a\xffb\xc3"], [b"\xe4\xb8"], [b"\xf0\x9f\x98"], [b"\xc0\x80\xed\xa0\x80"], [b"a\x00\x01\nb"],
          [b"\xf8\x88\x80\x80\x80"], [b"\xf4\x90\x80\x80"], [b"\xe4a"], [b"\xf0\x9fab"], [b"\xef\xbb\xbfx"], [b""], [])
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"errors": "ignore"}, {"errors": "strict"}, {"replace_control_characters": True}, {"replacement_char": 32})
ENCODINGS = ("UTF-16-BE", "UTF-16-LE", "UTF-16", "UTF-32-BE", "US-ASCII", "ISO-8859-1", "shift-jis", "windows-1252", "UTF-8", "utf8", "KOI8-R", "EUC-JP", "GB2312")
FORMATS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
ERRORS = ("strict", "replace", "ignore")


def strings(values: Any) -> tf.Tensor:
    return constant(np.array(values, object))


def noise(count: int) -> list[bytes]:
    rng = np.random.default_rng(5)
    pieces = [b"\xe4\xb8\xad", b"\xf0\x9f\x98\x80", b"\xc3\xa9", b"a", b"\x80", b"\xe4", b"\xf0\x9f", b"\x05", b"\xed\xa0\x80", b"\xff"]
    return [b"".join(pieces[i] for i in rng.integers(0, len(pieces), rng.integers(0, 9))) for _ in range(count)]


def decoding(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    for options in OPTIONS:
        for given in INPUTS + tuple([n] for n in noise(25)):
            steps.append(raw.UnicodeDecodeWithOffsets(input=strings(given), input_encoding="UTF-8", **options))
        for encoding in ENCODINGS:
            given = strings([[b"\x00a\xd8\x3d\xde\x00", b"ab\xe9\x80"], [b"\x82\xa0a", b"\x00"]])
            steps.append(raw.UnicodeDecodeWithOffsets(input=given, input_encoding=encoding, **options))
        for to in FORMATS:
            steps += [raw.UnicodeTranscode(input=strings(given), input_encoding="UTF-8", output_encoding=to, **options) for given in INPUTS]
            steps.append(raw.UnicodeTranscode(input=strings([[b"\xfe\xff\x00a"], [b"\x00a\xd8\x00\x00b"]]), input_encoding="UTF-16", output_encoding=to, **options))
    return steps + [raw.UnicodeDecode(input=strings(["h\u00e9".encode()]), input_encoding="UTF-8", Tsplits=t) for t in (tf.int32, tf.int64)] + [
        raw.UnicodeDecode(input=strings([b"a"]), input_encoding="no such encoding"), raw.UnicodeDecode(input=strings([b"a"]), input_encoding="UTF-8", replacement_char=0x110000),
        raw.UnicodeDecode(input=strings([b"\xff"]), input_encoding="UTF-8", replacement_char=0xD800),
        raw.UnicodeScript(input=constant([97, 0x3B1, 0x430, 0x4E00, 32, -1, 0x110000, 0x1F600, 0xD800, 2**31 - 1]))]


def encoding(pool: Pool) -> list[Any]:
    cases = (([97, 233, 0x1F600, 0x20AC], [0, 2, 4]), ([97, -1, 0xD800, 0x110000, 0xFFFE, 0xFFFF, 0x10FFFF, 0xFDD0], [0, 8]), ([0xD83D, 0xDE00, 0xDE00], [0, 3]),
             ([1, 0, 2], [0, 3]), ([], [0]), ([], []), ([97], [0, 2]), ([97, 98], [0, 1]), ([97, 98], [1, 2]), ([97, 98], [0, 2, 1, 2]))
    return [raw.UnicodeEncode(input_values=constant(np.array(values, np.int32)), input_splits=constant(np.array(splits, dtype)), output_encoding=to, errors=errors)
            for values, splits in cases for to in FORMATS for errors in ERRORS for dtype in (np.int32, np.int64)] + [
        raw.UnicodeEncode(input_values=constant([-1], np.int32), input_splits=constant([0, 1]), output_encoding=to, replacement_char=c) for to in FORMATS for c in (0xD800, 63)]


def ngrams(pool: Pool) -> list[Any]:
    cases: tuple[tuple[list[bytes], list[int], list[int]], ...] = (
        ([b"a", b"b", b"c", b"d"], [0, 3, 4], [2]), ([b"a", b"b", b"c", b"d"], [0, 3, 4], [2, 3]), ([b"a", b"b", b"c", b"d"], [0, 3, 3, 4], [3]), ([], [0], [3]),
        ([], [0, 0], [3]), ([b"a", b"b"], [0, 3], [3]), ([b"a", b"b"], [1, 2], [1]), ([b"a", b"b"], [0, 1], [1]), ([b"a", b"b"], [0, 2, 1, 2], [1]),
        ([b"a", b"b"], [0, 2], [0]), ([b"a", b"b"], [0, 2], [-1]), ([b"a", b"b"], [], [2]), ([b"a"], [0, 1], [5, 1]))
    return [raw.StringNGrams(data=strings(data), data_splits=constant(np.array(splits, dtype)), separator=" ", ngram_widths=widths, left_pad="<", right_pad=">",
                             pad_width=pad, preserve_short_sequences=short)
            for data, splits, widths in cases for pad in (-1, 0, 1, 5) for short in (False, True) for dtype in (np.int32, np.int64)]


def changes(pool: Pool) -> list[Any]:
    texts = strings([["\u00c0\u00c9\u0130SS \u0391\u03a3".encode(), b"A\xffB"], ["\u00e0\u00e9\u00df\ufb01\u0131".encode(), b""]])
    keys = strings([[b"a", b"hello world"], [b"", bytes(range(23))]])
    return [*(op(input=texts, encoding=e) for op in (raw.StringLower, raw.StringUpper) for e in ("", "utf-8", "latin1")),
            raw.StringToHashBucket(string_tensor=keys, num_buckets=2**62), raw.StringToHashBucket(string_tensor=keys, num_buckets=7),
            *(raw.StringToHashBucketStrong(input=keys, num_buckets=n, key=[1, -2]) for n in (2**62, 3)), raw.StringToHashBucketStrong(input=keys, num_buckets=3, key=[1])]


UNICODE: tuple[Program, ...] = (Program("Decoding", decoding), Program("Encoding", encoding), Program("N-grams", ngrams), Program("Case and hashes", changes))
