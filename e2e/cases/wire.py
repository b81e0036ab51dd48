"""MasterService and WorkerService call by call, with hand-made messages: what a well-behaved client never sends.

The messages are those of proto/, in a descriptor pool of their own beside TensorFlow's."""
import functools
import os
import subprocess
import tempfile
import time

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from tf_client_cases import Cluster

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
Code = grpc.StatusCode


@functools.lru_cache(maxsize=None)
def _pool():
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", ROOT, "--include_imports", "--descriptor_set_out", out.name,
                        "proto/master_service.proto", "proto/worker_service.proto"], check=True, cwd=ROOT)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


@functools.lru_cache(maxsize=None)
def message(name):
    """The class of tensorflow.NAME."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName("tensorflow." + name))


def parsed(name, text):
    return text_format.Parse(text, message(name)(), descriptor_pool=_pool())


def node(name, op, *inputs, device="", **attrs):
    """A NodeDef; attributes are AttrValues as text: T="type: DT_FLOAT"."""
    made = message("NodeDef")(name=name, op=op, input=inputs, device=device)
    for key, text in attrs.items():
        text_format.Parse(text, made.attr[key], descriptor_pool=_pool())
    return made


def placeholder(name, **options):
    return node(name, "Placeholder", dtype="type: DT_FLOAT", **options)


def constant(name, value, **options):
    return node(name, "Const", dtype="type: DT_FLOAT", value="tensor { dtype: DT_FLOAT tensor_shape {} float_val: %r }" % value,
                **options)


def neg(name, x, **options):
    return node(name, "Neg", x, T="type: DT_FLOAT", **options)


def graph_of(*nodes, producer=1645, **versions):
    graph = message("GraphDef")(node=nodes)
    graph.versions.producer = producer
    for key, value in versions.items():
        setattr(graph.versions, key, value)
    return graph


def scalar(value):
    return parsed("TensorProto", "dtype: DT_FLOAT tensor_shape {} float_val: %r" % value)


def float_of(tensor):
    """The value of a float scalar, in whichever form it came."""
    import struct
    return struct.unpack("<f", tensor.tensor_content)[0] if tensor.tensor_content else tensor.float_val[0]


class Peer:
    """One server, called directly. `master` and `worker` take a method and its request as fields or as a message."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1),
                                                               ("grpc.max_send_message_length", -1)])
        grpc.channel_ready_future(self.channel).result(60)

    def start(self, service, method, request, timeout=30):
        """The call as a future; a request of bytes is sent as it is."""
        serialize = bytes if isinstance(request, bytes) else lambda m: m.SerializeToString()
        stub = self.channel.unary_unary("/tensorflow.%s/%s" % (service, method), request_serializer=serialize,
                                        response_deserializer=message(method + "Response").FromString)
        return stub.future(request, timeout=timeout)

    def master(self, method, request=None, **fields):
        request = message(method + "Request")(**fields) if request is None else request
        return self.start("MasterService", method, request).result()

    def worker(self, method, request=None, **fields):
        request = message(method + "Request")(**fields) if request is None else request
        return self.start("WorkerService", method, request).result()

    def session(self, *nodes, **options):
        """Opens a session on the nodes; gives its handle."""
        return self.master("CreateSession", graph_def=graph_of(*nodes, **options)).session_handle

    def step(self, handle, feeds=(), fetches=(), targets=(), **fields):
        """Fetched floats; feeds are pairs of a name and a TensorProto."""
        request = message("RunStepRequest")(session_handle=handle, fetch=fetches, target=targets, **fields)
        for name, tensor in feeds:
            request.feed.add(name=name, tensor=tensor)
        response = self.master("RunStep", request)
        return [float_of(named.tensor) for named in response.tensor]

    def still_serves(self):
        handle = self.session(constant("c", 2.0), neg("n", "c"))
        assert self.step(handle, fetches=["n:0"]) == [-2.0]
        self.master("CloseSession", session_handle=handle)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.channel.close()


class Alone:
    """A cluster of one server and the way to call it."""

    def __enter__(self):
        self.cluster = Cluster({"local": 1}).__enter__()
        self.peer = Peer(self.cluster.spec["local"][0])
        return self.peer

    def __exit__(self, *exc):
        self.peer.channel.close()
        self.cluster.__exit__(*exc)


def refused(code, text, call):
    """`call` ends with this code, and its message has `text`."""
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, (error.code(), error.details())
        assert text in error.details(), error.details()[:800]
        return error
    raise AssertionError("not refused: expected %s '%s'" % (code, text))


def wait_for(condition, seconds=10):
    deadline = time.time() + seconds
    while not condition():
        assert time.time() < deadline, "waited in vain"
        time.sleep(0.02)
