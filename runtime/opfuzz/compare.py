#!/usr/bin/env python3
"""Runs the op fuzzer's cases on a server of ours and on TensorFlow's, and compares results and errors' codes.

  compare.py --bin build/bin --count 5000 --seed 7     writes the cases with opfuzz, runs them, prints what differs by op
  compare.py --bin build/bin --cases FILE              runs cases that opfuzz --write has written

Both servers get the same bytes: one CreateSession and its RunSteps for each case. A server that dies is started again; that
TensorFlow's dies is counted, that ours dies is a fault. Needs protoc, and the packages of requirements-test.txt.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import grpc
import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TF_SERVER = ("import json, os, tensorflow as tf; c = json.loads(os.environ['TF_CONFIG']); "
             "tf.compat.v1.train.Server(c['cluster'], c['task']['type'], c['task']['index']).join()")
GIB = 1 << 30

# Ops whose results are left to chance, or that only one of the servers has.
NOT_COMPARED = re.compile(r"^_|^Fleet|Random|Multinomial|TruncatedNormal|^Timestamp$|^Empty$|^Print|Summary$|SummaryV2$|^PlaceholderV2$"
                          r"|^TensorArrayGrad|GetKeyCounter|GetAlg|^Save|^Restore|^MergeV2|^ReadFile|^WriteFile|^FakeParam$|^Merge$|^RefMerge$"
                          r"|^LookupTableExport")
MORE_TYPES = "No OpKernel was registered"  # where TensorFlow has no kernel, ours may have one

TYPES: dict[int, Any] = {1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 5: np.int16, 6: np.int8, 8: np.complex64,
                         9: np.int64, 10: np.bool_, 14: ml_dtypes.bfloat16, 17: np.uint16, 18: np.complex128, 19: np.float16,
                         22: np.uint32, 23: np.uint64}
PRECISION = {np.float16: 2.0**-10, ml_dtypes.bfloat16: 2.0**-7, np.float32: 2.0**-23, np.complex64: 2.0**-23,
             np.float64: 2.0**-52, np.complex128: 2.0**-52}
ULPS = 256.0


def load_messages(scratch: str) -> Any:
    protos = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "proto").glob("*.proto"))]
    subprocess.run(["protoc", "-I.", "--python_out=" + scratch, *protos], cwd=ROOT, check=True)
    sys.path.insert(0, scratch)
    from proto import master_pb2  # noqa: PLC0415
    return master_pb2


def records(path: str) -> Iterator[tuple[str, bytes]]:
    with open(path, "rb") as file:
        while kind := file.read(1):
            (size,) = struct.unpack("<Q", file.read(8))
            yield kind.decode(), file.read(size)


class Server:
    """A server as a process, started when it is first asked."""

    def __init__(self, name: str, command: list[str], memory: int, messages: Any) -> None:
        self.name, self.command, self.memory, self.messages = name, command, memory, messages
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0

    def start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            port = probe.getsockname()[1]
        config = {"cluster": {"worker": ["localhost:%d" % port]}, "task": {"type": "worker", "index": 0}}
        environment = dict(os.environ, TF_CONFIG=json.dumps(config), TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3")
        self.process = subprocess.Popen(
            self.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory)))
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.insecure_channel("localhost:%d" % port, options)
        grpc.channel_ready_future(self.channel).result(600)

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def call(self, method: str, request: Any, response: Any) -> tuple[str, Any]:
        """The code's name and the response, or the error's message."""
        try:
            stub = self.channel.unary_unary("/tensorflow.MasterService/" + method, lambda m: m.SerializeToString(), response.FromString)
            return "OK", stub(request, timeout=30)
        except grpc.RpcError as error:
            return error.code().name, (error.details() or "")


class Run:
    """One case on one server: the answers to its steps."""

    def __init__(self, server: Server, case: list[tuple[str, bytes]]) -> None:
        if not server.is_alive():
            server.start()
        messages, self.answers, self.died = server.messages, [], False
        create = messages.CreateSessionRequest.FromString(case[0][1])
        code, created = server.call("CreateSession", create, messages.CreateSessionResponse)
        for kind, encoded in case[1:]:
            if code != "OK":
                if kind == "R":
                    self.answers.append((code, created))
                continue
            request = messages.RunStepRequest.FromString(encoded)
            request.session_handle = created.session_handle
            request.options.timeout_in_ms = 3000
            answer = server.call("RunStep", request, messages.RunStepResponse)
            if kind == "R":
                self.answers.append(answer)
            if answer[0] == "UNAVAILABLE" and not self.wait_alive(server):
                self.died = True
                server.deaths += 1
                return
        if code == "OK":
            server.call("CloseSession", messages.CloseSessionRequest(session_handle=created.session_handle), messages.CloseSessionResponse)

    @staticmethod
    def wait_alive(server: Server) -> bool:
        time.sleep(0.3)
        return server.is_alive()


def decoded(proto: Any) -> np.ndarray | None:
    """The elements, or None for types that are not compared."""
    shape = [d.size for d in proto.tensor_shape.dim]
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if proto.dtype == 7:
        return np.array(list(proto.string_val), object) if len(proto.string_val) == count else None
    dtype = TYPES.get(proto.dtype)
    if dtype is None:
        return None
    if proto.tensor_content or count == 0:
        return np.frombuffer(proto.tensor_content, dtype) if proto.tensor_content else np.zeros(0, dtype)
    if proto.dtype in (14, 19):
        given = np.array(proto.half_val, np.uint16).view(dtype)
    elif proto.dtype == 8:
        given = np.array(proto.scomplex_val, np.float32).view(dtype)
    elif proto.dtype == 18:
        given = np.array(proto.dcomplex_val, np.float64).view(dtype)
    else:
        field = {1: "float_val", 2: "double_val", 9: "int64_val", 10: "bool_val", 22: "uint32_val", 23: "uint64_val"}
        given = np.array(getattr(proto, field.get(proto.dtype, "int_val"))).astype(dtype)
    return np.concatenate([given, np.repeat(given[-1:], count - len(given))]) if len(given) else np.zeros(count, dtype)


def brief(values: np.ndarray) -> str:
    return np.array2string(values[:6], threshold=6)


def differing_tensors(ours: Any, theirs: Any) -> str | None:
    if ours.dtype != theirs.dtype or ours.tensor_shape != theirs.tensor_shape:
        shape = lambda t: "%d%s" % (t.dtype, [d.size for d in t.tensor_shape.dim])  # noqa: E731
        return "is %s instead of %s" % (shape(ours), shape(theirs))
    a, b = decoded(ours), decoded(theirs)
    if a is None or b is None:
        return None
    if a.dtype == object or a.dtype.type not in PRECISION:
        return None if np.array_equal(a, b) else "is %s instead of %s" % (brief(a), brief(b))
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    kind = a.dtype.type
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.where(same, 0.0, np.abs(a - b) / np.maximum(np.abs(b), 1.0))
    bad = ~(off <= ULPS * PRECISION[kind])
    return "at %d is %s instead of %s" % (np.argmax(bad), a[np.argmax(bad)], b[np.argmax(bad)]) if bad.any() else None


def difference(ours: tuple[str, Any], theirs: tuple[str, Any]) -> tuple[str, str] | None:
    """What kind of difference, and what."""
    if ours[0] != theirs[0] and MORE_TYPES in str(theirs[1]):
        return None
    if ours[0] != theirs[0]:
        told = lambda answer: answer[0] + ("" if answer[0] == "OK" else " (%s)" % " ".join(str(answer[1]).split())[:160])  # noqa: E731
        kind = "refused" if theirs[0] == "OK" else "accepted" if ours[0] == "OK" else "code"
        return kind, "%s instead of %s" % (told(ours), told(theirs))
    if ours[0] != "OK":
        return None
    given = {t.name: t.tensor for t in theirs[1].tensor}
    for tensor in ours[1].tensor:
        wrong = differing_tensors(tensor.tensor, given[tensor.name])
        if wrong is not None:
            return "value", "%s %s" % (tensor.name, wrong)
    return None


def cases_of(path: str) -> Iterator[tuple[str, str, list[tuple[str, bytes]]]]:
    """Number, op, and what to send."""
    case: list[tuple[str, bytes]] = []
    number = op = ""
    for kind, encoded in records(path):
        if kind == "C":
            if case:
                yield number, op, case
            number, _, op = encoded.decode().partition(" ")
            case = []
        else:
            case.append((kind, encoded))
    if case:
        yield number, op, case


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/bin"), help="where opfuzz and tensorfleet are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000, help="cases, whole rounds over all ops")
    parser.add_argument("--ops", default="", help="only these, separated by commas")
    parser.add_argument("--cases", help="a file that opfuzz --write has written")
    parser.add_argument("--shown", type=int, default=2, help="differences shown per op and kind")
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        messages = load_messages(scratch)
        cases = options.cases or os.path.join(scratch, "cases")
        if not options.cases:
            subprocess.run([options.bin + "/opfuzz", "--seed", str(options.seed), "--first", str(options.first), "--count",
                            str(options.count), "--ops", options.ops, "--write", cases], check=True)
        ours = Server("ours", shlex.split(options.bin + "/tensorfleet server"), 8 * GIB, messages)
        theirs = Server("TensorFlow", [sys.executable, "-c", TF_SERVER], 16 * GIB, messages)
        try:
            return compare(cases, ours, theirs, options)
        finally:
            ours.stop()
            theirs.stop()


def compare(path: str, ours: Server, theirs: Server, options: argparse.Namespace) -> int:
    agreed = compared = 0
    shown: collections.Counter[tuple[str, str]] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    ops: set[str] = set()
    end = time.monotonic() + options.seconds
    for number, op, case in cases_of(path):
        if NOT_COMPARED.search(op) or b"RandomShuffleQueue" in case[0][1]:
            continue
        if time.monotonic() > end:
            break
        their_run = Run(theirs, case)
        if their_run.died:
            continue  # what TensorFlow does not survive says nothing of ours
        our_run = Run(ours, case)
        if our_run.died:
            print("DIED %s, case %s" % (op, number), flush=True)
        ops.add(op)
        for step, (a, b) in enumerate(zip(our_run.answers, their_run.answers)):
            compared += 1
            wrong = difference(a, b)
            if wrong is None:
                agreed += 1
                continue
            kinds[wrong[0]] += 1
            shown[op, wrong[0]] += 1
            if shown[op, wrong[0]] <= options.shown:
                print("%s %s, case %s, step %d: %s" % (wrong[0], op, number, step, wrong[1]), flush=True)
    told = ", ".join("%d %s" % (count, kind) for kind, count in kinds.most_common())
    print("compared: %d of %d steps over %d ops agree%s; TensorFlow's server died %d times, ours %d" % (
        agreed, compared, len(ops), told and " (differ: %s)" % told, theirs.deaths, ours.deaths))
    return 0 if ours.deaths == 0 and not kinds["value"] else 1


if __name__ == "__main__":
    sys.exit(main())
