"""Programs for what turns bytes into tensors: Examples, CSV, base64, compressed and serialized tensors."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import numpy as np
import tensorflow as tf

from lines import Pool
from state_table import Program, constant

raw = tf.raw_ops
NO_NAMES = np.array([], object)


def feature(values: list[Any]) -> tf.train.Feature:
    if not values:
        return tf.train.Feature()
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def features(values: dict[str, list[Any]]) -> tf.train.Features:
    return tf.train.Features(feature={key: feature(v) for key, v in values.items()})


def example(**values: list[Any]) -> bytes:
    return tf.train.Example(features=features(values)).SerializeToString(deterministic=True)


def sequence(context: dict[str, list[Any]], lists: dict[str, list[list[Any]]]) -> bytes:
    of_lists = {key: tf.train.FeatureList(feature=[feature(step) for step in steps]) for key, steps in lists.items()}
    message = tf.train.SequenceExample(context=features(context), feature_lists=tf.train.FeatureLists(feature_list=of_lists))
    return message.SerializeToString(deterministic=True)


def strings(values: Any) -> np.ndarray:
    return np.array(values, object)


def parse(serialized: Any, sparse: dict[str, Any] | None = None, dense: dict[str, Any] | None = None,
          ragged: dict[str, Any] | None = None, names: Any = NO_NAMES) -> Any:
    """ParseExampleV2. Sparse: key to type; dense: key to (default, shape); ragged: key to (type, type of the splits)."""
    sparse, dense, ragged = sparse or {}, dense or {}, ragged or {}
    return raw.ParseExampleV2(
        serialized=constant(strings(serialized)), names=constant(names), sparse_keys=constant(strings(list(sparse))),
        dense_keys=constant(strings(list(dense))), ragged_keys=constant(strings(list(ragged))),
        dense_defaults=[constant(default) for default, _ in dense.values()], num_sparse=len(sparse), sparse_types=list(sparse.values()),
        ragged_value_types=[v for v, _ in ragged.values()], ragged_split_types=[s for _, s in ragged.values()],
        dense_shapes=[shape for _, shape in dense.values()])


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


ALL = {"sparse": {"i": tf.int64, "s": tf.string}, "dense": {"f": (f32(7, 8), [2]), "p": (i64(9), [None])}, "ragged": {"r": (tf.float32, tf.int32)}}


def random_examples(seed: int, count: int) -> list[bytes]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        values: dict[str, list[Any]] = {"f": [float(v) for v in rng.normal(size=2)], "x": [1, 2]}
        values["i"] = [int(v) for v in rng.integers(-2**63, 2**63 - 1, rng.integers(0, 4))]
        values["p"] = [int(v) for v in rng.integers(0, 300, rng.integers(0, 5))]
        values["r"] = [float(v) for v in rng.normal(size=rng.integers(0, 4))]
        values["s"] = [bytes(rng.integers(0, 256, rng.integers(0, 40), np.uint8)) for _ in range(rng.integers(0, 3))]
        found.append(example(**{key: v for key, v in values.items() if rng.random() < 0.8}))
    return found


def damaged(seed: int, message: bytes, count: int) -> list[bytes]:
    """The message cut off, with a byte changed, or with bytes put in."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        at = int(rng.integers(0, len(message)))
        byte = bytes([int(rng.integers(0, 128))])
        found.append([message[:at], message[:at] + byte + message[at + 1:], message[:at] + byte + message[at:]][i % 3])
    return found


def examples(pool: Pool) -> list[Any]:
    one, two = example(a=[1, 2], b=[1.5], c=[b"x"]), example(a=[3], b=[2.5, 3.5])
    last_wins = one + example(a=[5, 6, 7]) + example(c=[b"y", b"z"])
    unpacked = bytes.fromhex("0a0c0a0a0a01611205" "1a03080708" "08")
    a2 = {"a": (i64(), [2])}
    keys = {"sparse": ["a"], "dense": ["b"]}

    def first_version(serialized: Any, names: Any = NO_NAMES) -> Any:
        return raw.ParseExample(serialized=constant(strings(serialized)), names=constant(names), sparse_keys=[constant(k.encode()) for k in keys["sparse"]],
                                dense_keys=[constant(k.encode()) for k in keys["dense"]], dense_defaults=[constant(f32(0))],
                                sparse_types=[tf.int64], dense_shapes=[[None]])

    def single(serialized: Any, shape: Any = (None,)) -> Any:
        return raw.ParseSingleExample(serialized=constant(strings(serialized)), dense_defaults=[constant(i64(0))], num_sparse=1, sparse_keys=["b"],
                                      dense_keys=["a"], sparse_types=[tf.float32], dense_shapes=[list(shape)])
    many = random_examples(1, 400)
    steps = [parse(many, **ALL), parse(many[:1], **ALL), *(parse(m, **ALL) for m in many[:12]), parse([], **ALL),
             parse([last_wins, one], {"a": tf.int64, "c": tf.string}), parse([unpacked], {"a": tf.int64}),
             parse([one], dense=a2), parse([one, two], dense=a2), parse([two], dense={"c": (strings([]), [1])}, names=strings([b"n0"])),
             parse([one], dense={"a": (f32(), [2])}), parse([one], {"a": tf.float32}), parse([one], dense={"a": (i64(1, 2, 3), [2])}),
             parse([one, two], dense={"a": (i64(9), [None, 2])}), parse([one], dense={"a": (i64(9, 9), [None])}),
             parse([one, two], dense={"a": (i64(9), [None]), "b": (f32(5), [None, 1])}), parse([[one]], dense=a2),
             parse([one], dense=a2, names=strings([b"a", b"b"])), parse([b"garbage"], dense=a2),
             first_version([one, two]), first_version([]), first_version(one), first_version([one], strings([b"a", b"b"])),
             single(one), single([one]), single(two, (1,)), single(one, (1,)), single(b"")]
    # Bytes of ASCII only: the client cannot read messages that show others.
    typical = example(f=[2.0, 0.5], i=[1, 2], p=[100], r=[0.5], s=[b"text", b""])
    return steps + [parse([typical[:n]], **ALL) for n in range(0, len(typical), 3)] + [parse([m], **ALL) for m in damaged(2, typical, 90)]


def sequences(pool: Pool) -> list[Any]:
    a = sequence({"a": [1, 2], "b": [1.5]}, {"l": [[1], [2, 3], []], "d": [[1.0, 2.0], [3.0, 4.0]], "s": [[b"x"]]})
    b = sequence({"a": [3]}, {"l": [[7]], "d": []})

    def parse_v2(serialized: Any, context: dict[str, dict[str, Any]] | None = None, lists: dict[str, dict[str, Any]] | None = None,
                 missing: Any = None, names: Any = NO_NAMES) -> Any:
        parts = [{kind: (p or {}).get(kind, {}) for kind in ("sparse", "dense", "ragged")} for p in (context, lists)]
        c, f = parts
        given = {"%s_%s_keys" % (name, kind): constant(strings(list(part[kind]))) for name, part in (("context", c), ("feature_list", f))
                 for kind in part}
        return raw.ParseSequenceExampleV2(
            serialized=constant(strings(serialized)), debug_name=constant(names), **given,
            feature_list_dense_missing_assumed_empty=constant(np.array(missing if missing is not None else [False] * len(f["dense"]), bool)),
            context_dense_defaults=[constant(d) for d, _ in c["dense"].values()], Ncontext_sparse=len(c["sparse"]),
            context_sparse_types=list(c["sparse"].values()), context_ragged_value_types=[v for v, _ in c["ragged"].values()],
            context_ragged_split_types=[s for _, s in c["ragged"].values()], context_dense_shapes=[s for _, s in c["dense"].values()],
            Nfeature_list_sparse=len(f["sparse"]), Nfeature_list_dense=len(f["dense"]), feature_list_dense_types=[t for t, _ in f["dense"].values()],
            feature_list_sparse_types=list(f["sparse"].values()), feature_list_ragged_value_types=[v for v, _ in f["ragged"].values()],
            feature_list_ragged_split_types=[s for _, s in f["ragged"].values()], feature_list_dense_shapes=[s for _, s in f["dense"].values()])
    steps: list[Any] = []
    for serialized in ([a, b], [a], a):
        steps += [parse_v2(serialized, {"sparse": {"a": tf.int64, "q": tf.string}, "dense": {"b": (f32(5), [1])}}),
                  parse_v2(serialized, None, {"sparse": {"l": tf.int64}}), parse_v2(serialized, None, {"dense": {"d": (tf.float32, [2])}}),
                  parse_v2(serialized, None, {"dense": {"s": (tf.string, [1])}}), parse_v2(serialized, None, {"dense": {"s": (tf.string, [1])}}, [True]),
                  parse_v2(serialized, None, {"dense": {"l": (tf.int64, [1])}}), parse_v2(serialized, None, {"dense": {"l": (tf.float32, [1])}}),
                  parse_v2(serialized, {"dense": {"b": (f32(), [1])}}),
                  parse_v2(serialized, {"dense": {"b": (np.float32(5), [1])}}), parse_v2(serialized, {"sparse": {"a": tf.float32}}),
                  parse_v2(serialized, None, {"sparse": {"l": tf.float32}}, names=strings([b"n"] * len(serialized) if serialized is not a else b"n"))]
    # TensorFlow leaves the outer splits of one message alone to chance.
    steps += [parse_v2([a, b], {"ragged": {"a": (tf.int64, tf.int32), "q": (tf.string, tf.int64)}}, {"ragged": {"l": (tf.int64, tf.int64), "s": (tf.string, tf.int32)}}),
              parse_v2([], {"sparse": {"a": tf.int64}}, {"sparse": {"l": tf.int64}, "dense": {"d": (tf.float32, [2])}})]
    one = {"sparse_keys": ["a"], "dense_keys": ["b"]}
    steps += [raw.ParseSequenceExample(
        serialized=constant(strings(s)), debug_name=constant(NO_NAMES), context_dense_defaults=[constant(f32(2))],
        feature_list_dense_missing_assumed_empty=["s"], context_sparse_keys=one["sparse_keys"], context_dense_keys=one["dense_keys"],
        feature_list_sparse_keys=["l"], feature_list_dense_keys=["d", "s"], Ncontext_sparse=1, Ncontext_dense=1, Nfeature_list_sparse=1,
        Nfeature_list_dense=2, context_sparse_types=[tf.int64], feature_list_dense_types=[tf.float32, tf.string], context_dense_shapes=[[1]],
        feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2], [1]]) for s in ([a, b], [b], a)]
    for serialized in (a, b, [a], b"xx"):
        for missing in ([b"s"], [b"d"], []):
            steps.append(raw.ParseSingleSequenceExample(
                serialized=constant(strings(serialized)), feature_list_dense_missing_assumed_empty=constant(strings(missing)),
                context_sparse_keys=[constant(b"a"), constant(b"q")], context_dense_keys=[constant(b"b")], feature_list_sparse_keys=[constant(b"l")],
                feature_list_dense_keys=[constant(b"d"), constant(b"s")], context_dense_defaults=[constant(f32(2))], debug_name=constant(b""),
                context_sparse_types=[tf.int64, tf.int64], feature_list_dense_types=[tf.float32, tf.string], context_dense_shapes=[[1]],
                feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2], [1]]))
    ascii_only = sequence({"a": [1, 2], "b": [0.5]}, {"l": [[1], [2, 3], []], "d": [[0.5, 2.0], [3.0, 0.5]], "s": [[b"x"]]})
    lists = {"sparse": {"l": tf.int64, "s": tf.string}, "dense": {"d": (tf.float32, [2])}}
    return steps + [parse_v2([m], {"sparse": {"a": tf.int64}}, lists) for m in damaged(3, ascii_only, 180)[::3]]  # cut off


NUMBERS = ("1", " 1", "1 ", "+1", "", "a", "1,2", "1\n", "\n1", '"1"', '"1', '1"', '"1""2"', "2147483648", "1.5", '"1" ', '"1"\n', '""', "-7", "9223372036854775808")
FLOATS = ("1.5", "1e400", "inf", "-inf", "nan", "0x10", "1.5 ", " 1.5", "1e", ".5", "5.", "1_0", "infinity", "+1.5", "1e-50", "3.4e39", "1d", "INF", "1e+5",
          "- 1", "0.1", "16777217", "1.00000017881393432617187499", "-0", "123456789012345678901234567890", "-.5", "--1", "1.2.3")
PAIRS = ("a,b", "a,", '"a,b",c', '"a\n",c', "a\nb,c", 'a"b,c', ",", '"",""', "a,b,c", '"a""b",c', "\n\na,b", 'a,"b"', 'a,"b', '"a"b,c', "a,b\n", "a,b\r\n",
         'a,""', 'a,"', '"a""","""b"', '""""""', '"","x"', "\r")


def csv(pool: Pool) -> list[Any]:
    def decode(records: Any, *defaults: np.ndarray, **options: Any) -> Any:
        return raw.DecodeCSV(records=constant(strings(records)), record_defaults=[constant(d) for d in defaults], **options)
    d, two = strings([b"D"]), (strings([b"D"]), strings([]))
    rng = np.random.default_rng(4)
    rows = [b",".join([b"%d" % rng.integers(-9, 9), b"%.6g" % rng.normal(), b'"q,%d"' % i, b"" if i % 3 else b"8"]) for i in range(500)]
    types = (np.int32, np.int64)
    noise = ["".join(rng.choice(list('ab1,"\n '), rng.integers(1, 9))) for _ in range(80)]
    return [*(decode([n], np.array([7], t)) for n in NUMBERS for t in types), *(decode([n], np.array([7], t)) for n in FLOATS for t in (np.float32, np.float64)),
            *(decode([n], *two) for n in PAIRS), *(decode([n], d, d) for n in noise), decode(rows, np.array([1], np.int32), f32(1), d, i64(4)),
            decode(['"a",b'], d, d, use_quote_delim=False), decode(["NA,b"], d, d, na_value="NA"), decode(["a,b,c"], d, d, select_cols=[0, 2]),
            decode(["a,b"], d, d, select_cols=[0, 2]), decode(["a,b,"], d, d, select_cols=[0, 2]), decode(['a,b,c"d"'], d, d, select_cols=[0, 1]),
            decode(["a,b,c"], d, d, select_cols=[1, 0]), decode(["a,b,c"], d, d, select_cols=[1]), decode(["a,b,c"], d, select_cols=[-1]),
            decode(["a"], d, field_delim=",,"), decode(["a"], d, field_delim=""), decode(["a;b"], d, d, field_delim=";"), decode(["a\tb"], d, d, field_delim="\t"),
            decode(["a,b"], strings([b"D", b"E"]), d), decode(["a,b"], strings([[b"D"]]), d), decode([["1", "2"]], np.int32(3)), decode("5", np.int32(3)),
            decode([], d), decode(["1,", ","], np.array([5], np.int32), np.array(6, np.int64))]


def encodings(pool: Pool) -> list[Any]:
    texts = ("", "YQ", "YQ==", "YQ=", "Y", "YWI", "YWJj", "YWJjZA", "YQ===", "Y===", "====", "YW+j", "Y Jj", "YWJj\n", "YW-_", "YWJ=", "YWJjYQ==YWJj", "YR")
    plain = [bytes(range(n)) + b"\xff" for n in range(9)]
    z, g = zlib.compress(b"abc" * 4000), gzip.compress(b"abc" * 5)
    packed = (("ZLIB", [z, b"", zlib.compress(b"")]), ("ZLIB", [z[:-3]]), ("ZLIB", [z[:20]]), ("ZLIB", [z + b"more"]), ("ZLIB", [z * 2]), ("ZLIB", [b"junkjunk"]),
              ("GZIP", [g]), ("GZIP", [g * 2]), ("GZIP", [z]), ("SNAPPY", [b"a"]), ("", [[b"abc"]]))
    raws = [b"abcdef", b"x", b""]
    types = (tf.float32, tf.float64, tf.int32, tf.uint16, tf.uint8, tf.int16, tf.int8, tf.int64, tf.bfloat16)
    return [*(raw.DecodeBase64(input=constant(strings([t]))) for t in texts), *(raw.EncodeBase64(input=constant(strings([plain])), pad=p) for p in (False, True)),
            *(raw.DecodeCompressed(bytes=constant(strings(b)), compression_type=t) for t, b in packed),
            *(raw.DecodePaddedRaw(input_bytes=constant(strings(raws)), fixed_length=constant(8), out_type=t, little_endian=e) for t in types for e in (True, False)),
            *(raw.DecodePaddedRaw(input_bytes=constant(strings(raws)), fixed_length=constant(n), out_type=tf.int16) for n in (4, 3, 0, -4, [4]))]


def tensor_bytes(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    for dtype in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
                  "complex128", "string"):
        for shape in ((), (3,), (2, 0), (2, 3)):
            value = constant(pool(shape, dtype))
            serialized = raw.SerializeTensor(tensor=value)
            steps += [serialized, raw.ParseTensor(serialized=serialized, out_type=dtype)]
        if dtype not in ("complex64", "complex128"):
            steps += [raw.Fingerprint(data=constant(pool(shape, dtype)), method=constant(b"farmhash64")) for shape in ((4,), (2, 3), (2, 2, 2), (0, 2))]
    floats = raw.SerializeTensor(tensor=constant([1.0]))
    steps += [raw.ParseTensor(serialized=s, out_type=tf.string) for s in (floats, constant(b"\x08"), constant(b""), constant(strings([b""])))]
    steps += [raw.Fingerprint(data=constant(d), method=constant(m)) for d, m in ((1, b"farmhash64"), ([1], b"md5"), ([1], strings([b"farmhash64"])))]
    json = ('{"features":{"feature":{"a":{"int64_list":{"value":[1,2]}}}}}', '{"features":{"feature":{"b":{"floatList":{"value":[1.5]}}}}}', "{}", '{"x":1}', "")
    return steps + [raw.DecodeJSONExample(json_examples=constant(strings([j]))) for j in json]


PARSING: tuple[Program, ...] = (Program("examples", examples), Program("sequence examples", sequences), Program("csv", csv), Program("encodings", encodings),
                                Program("tensors as bytes", tensor_bytes))
