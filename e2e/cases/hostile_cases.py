#!/usr/bin/env python3
"""What a server is sent that nobody should send. Each is refused with an error that says what is wrong, and afterwards
the server serves others.

  hostile_cases.py --server 'build/bin/tensorfleet server'

Not for TensorFlow's servers: some of these end them. Needs protoc and the packages of requirements-test.txt.
"""
import os
import random
import socket
import time

from case_tools import main_of
from wire import Alone, Code, constant, graph_of, message, neg, node, parsed, placeholder, refused, scalar

METHODS = {"MasterService": ("CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "CloseSession", "ListDevices", "Reset",
                             "MakeCallable", "RunCallable", "ReleaseCallable"),
           "WorkerService": ("CreateWorkerSession", "DeleteWorkerSession", "RegisterGraph", "DeregisterGraph", "RunGraph",
                             "CleanupGraph", "CleanupAll", "RecvTensor", "Logging", "GetStepSequence", "RecvBuf", "CompleteGroup",
                             "CompleteInstance")}


def case_bytes_that_are_no_message():
    with Alone() as p:
        for service, methods in METHODS.items():
            for method in methods:
                refused(Code.INTERNAL, "Unable to parse request", p.start(service, method, b"\x0a\xff\xff\xff\xff\x0fnot so long").result)
        p.still_serves()


def case_messages_that_were_cut_or_changed():
    """Whatever the answer is, it is one, and the server lives."""
    with Alone() as p:
        handle = p.session(placeholder("p"), neg("n", "p"))
        request = message("RunStepRequest")(session_handle=handle, fetch=["n:0"], feed=[{"name": "p:0", "tensor": scalar(1.0)}])
        create = message("CreateSessionRequest")(graph_def=graph_of(placeholder("p"), neg("n", "p")))
        rng = random.Random(7)
        for method, whole in (("RunStep", request), ("CreateSession", create)):
            content = whole.SerializeToString()
            for _ in range(150):
                broken = bytearray(content[:rng.randrange(1, len(content) + 1)])
                for _ in range(rng.randrange(3)):
                    broken[rng.randrange(len(broken))] = rng.randrange(256)
                p.start("MasterService", method, bytes(broken), timeout=20).exception()
        p.still_serves()


def refuses_graph(p, text, *nodes, code=Code.INVALID_ARGUMENT, library=None):
    graph = graph_of(*nodes)
    if library is not None:
        graph.library.CopyFrom(library)
    refused(code, text, lambda: p.master("CreateSession", graph_def=graph))


def case_graphs_that_are_wired_wrongly():
    with Alone() as p:
        refuses_graph(p, "cycle", neg("a", "b"), neg("b", "a"))
        refuses_graph(p, "Unknown input node", neg("a", "gone"))
        refuses_graph(p, "2 inputs", node("a", "AddV2", "c", T="type: DT_FLOAT"), constant("c", 1.0))
        refuses_graph(p, "1 inputs", node("a", "Neg", "c", "c", T="type: DT_FLOAT"), constant("c", 1.0))
        refuses_graph(p, "a", neg("a", "c:7"), constant("c", 1.0))
        refuses_graph(p, "already exists", constant("c", 1.0), constant("c", 1.0))
        refuses_graph(p, "not a valid node name", constant("no name!", 1.0))
        refuses_graph(p, "not a valid node name", constant("", 1.0))
        refuses_graph(p, "is not the name of a tensor", neg("a", "c:-1"), constant("c", 1.0))
        refuses_graph(p, "is not the name of a tensor", neg("a", "c:99999999999999999999"), constant("c", 1.0))
        refuses_graph(p, "Control dependencies must come after", node("a", "Neg", "^c", "c", T="type: DT_FLOAT"), constant("c", 1.0))
        refuses_graph(p, "a", node("a", "Neg", "c", T="type: DT_INT32"), constant("c", 1.0))
        p.still_serves()


def case_attributes_of_the_wrong_kind():
    with Alone() as p:
        refuses_graph(p, "T", node("a", "Neg", "c", T='s: "float"'), constant("c", 1.0))
        refuses_graph(p, "T", node("a", "Neg", "c", T="type: DT_STRING"), constant("c", 1.0))
        refuses_graph(p, "dtype", node("a", "Placeholder", dtype="i: 3"))
        refuses_graph(p, "value", node("a", "Const", dtype="type: DT_FLOAT", value='s: "1.0"'))
        refuses_graph(p, "N", node("a", "AddN", "c", T="type: DT_FLOAT", N="i: -1"), constant("c", 1.0))
        refuses_graph(p, "N", node("a", "AddN", "c", T="type: DT_FLOAT", N="i: 4000000000"), constant("c", 1.0))
        refuses_graph(p, "internal", node("a", "_Send", "c", T="type: DT_FLOAT"), constant("c", 1.0))
        refuses_graph(p, "", node("a", "NoOp", device="/job:/task:x"))
        p.still_serves()


BAD_TENSORS = (
    ("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: 'xx'", "content that is too short"),
    ("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } tensor_content: '0123456789abcdef'", "content that is too long"),
    ("dtype: DT_FLOAT tensor_shape { dim { size: -5 } }", "a negative dimension"),
    ("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", "an unknown rank"),
    ("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 4 } }", "dimensions that overflow"),
    ("dtype: DT_FLOAT tensor_shape { dim { size: 9223372036854775807 } }", "more bytes than there are"),
    ("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 2 float_val: 3", "more values than elements"),
    ("dtype: DT_FLOAT_REF tensor_shape {}", "a reference"),
    ("dtype: DT_INVALID tensor_shape {}", "no type"),
    ("tensor_shape { dim { size: 1 } } float_val: 1", "no type but a value"),
    ("dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a' string_val: 'b' string_val: 'c'", "more strings than elements"),
)


def case_tensors_that_do_not_hold_together():
    with Alone() as p:
        handle = p.session(placeholder("p"), neg("n", "p"))
        for text, what in BAD_TENSORS:
            tensor = parsed("TensorProto", text)
            error = refused(Code.INVALID_ARGUMENT, "Invalid TensorProto for feed value 0", lambda: p.step(handle, [("p:0", tensor)], ["n:0"]))
            assert error, what
            bad = node("c", "Const", dtype="type: DT_FLOAT", value="tensor { %s }" % text)

            def build():    # a constant may be looked at with the graph or with the first step
                p.step(p.session(bad, neg("m", "c")), fetches=["m:0"])
            too_big = Code.RESOURCE_EXHAUSTED if "more bytes" in what else Code.INVALID_ARGUMENT
            refused(too_big, "'c'", build)
        p.still_serves()


def case_shapes_that_no_memory_could_hold():
    with Alone() as p:
        whole = "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: %d int_val: %d }"

        def fill(rows, columns):
            dims = node("dims", "Const", dtype="type: DT_INT32", value=whole % (rows, columns))
            filled = node("fill", "Fill", "dims", "one", T="type: DT_FLOAT", index_type="type: DT_INT32")
            return lambda: p.step(p.session(dims, constant("one", 1.0), filled), targets=["fill"])
        refused(Code.INVALID_ARGUMENT, "fill", fill(-1, 3))
        refused(Code.RESOURCE_EXHAUSTED, "fill", fill(2147483647, 2147483647))
        p.still_serves()


def function(name, body_op, **attrs):
    """x -> body_op(x), a FunctionDef; body_op may be another function."""
    made = parsed("FunctionDef", 'signature { name: "%s" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } } '
                  'ret { key: "y" value: "b:y:0" }' % name)
    made.node_def.add().CopyFrom(node("b", body_op, "x", **attrs))
    return made


def case_functions_without_end():
    with Alone() as p:
        def library(*functions):
            return message("FunctionDefLibrary")(function=functions)
        call = node("call", "f", "c")

        def refuses(text, lib):
            graph = graph_of(constant("c", 1.0), call)
            graph.library.CopyFrom(lib)

            def run():
                handle = p.master("CreateSession", graph_def=graph).session_handle
                p.step(handle, fetches=["call:0"])
            try:
                run()
            except Exception as error:
                assert text in error.details(), error.details()[:600]
                return
            raise AssertionError("not refused: " + text)
        refuses("call itself without end", library(function("f", "f")))
        refuses("call itself without end", library(function("f", "g"), function("g", "f")))    # by way of another
        refuses("gone", library(function("f", "gone")))
        broken = function("f", "Neg", T="type: DT_FLOAT")
        broken.ret["y"] = "nowhere:y:0"
        refuses("nowhere", library(broken))
        p.still_serves()


def case_names_and_numbers_out_of_range():
    with Alone() as p:
        handle = p.session(placeholder("p"), neg("n", "p"))
        one = [("p:0", scalar(1.0))]
        for fetch in ("n:-1", "n:2147483648", "", ":0", "^n", "n:0:0", "n\x00:0", "n" * 100000):
            refused(Code.INVALID_ARGUMENT if len(fetch) < 99 else Code.NOT_FOUND, "", lambda f=fetch: p.step(handle, one, [f]))
        refused(Code.INVALID_ARGUMENT, "handle", lambda: p.master("RunCallable", session_handle=handle, handle=-1))
        p.still_serves()


def case_a_client_that_vanishes_in_the_middle_of_a_step():
    with Alone() as p:
        queue = node("q", "FIFOQueueV2", component_types="list { type: DT_FLOAT }", shapes="list { shape {} }", shared_name='s: "q"')
        take = node("take", "QueueDequeueV2", "q", component_types="list { type: DT_FLOAT }")
        put = node("put", "QueueEnqueueV2", "q", "c", Tcomponents="list { type: DT_FLOAT }")
        handle = p.session(queue, take, put, constant("c", 6.0))
        for _ in range(20):
            call = p.start("MasterService", "RunStep", message("RunStepRequest")(session_handle=handle, fetch=["take:0"]))
            time.sleep(0.01)
            call.cancel()
        p.master("RunStep", session_handle=handle, target=["put"])
        # None of those that hung up takes it away from those who did not, once the server has heard of it.
        for _ in range(50):
            try:
                assert p.step(handle, fetches=["take:0"], options={"timeout_in_ms": 200}) == [6.0]
                break
            except Exception as error:
                assert getattr(error, "code", lambda: None)() == Code.DEADLINE_EXCEEDED, error
                p.master("RunStep", session_handle=handle, target=["put"])
        else:
            raise AssertionError("the steps of vanished clients take what others need")
        p.still_serves()


def case_what_is_no_http2_at_all():
    with Alone() as p:
        address = p.channel._channel.target().decode().split("/")[-1]
        host, port = address.rsplit(":", 1)
        rng = random.Random(3)
        held = []
        for content in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, os.urandom(0), bytes(rng.randrange(256) for _ in range(5000)),
                        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64):
            s = socket.create_connection((host, int(port)), 5)
            s.sendall(content)
            held.append(s)          # and says no more
        p.still_serves()
        for s in held:
            s.close()
        p.still_serves()


if __name__ == "__main__":
    main_of(globals(), __doc__)
