"""Makes the same calls of TensorFlow's C interface on two libraries, each in a process of its own, and compares the answers.

Usage: compare_test.py OURS [THEIRS]   (theirs: libtensorflow_cc.so.2 of the TensorFlow that this Python has)
"""

import ctypes
import importlib.util
import json
import os
import pathlib
import random
import subprocess
import sys

FLOAT, INT32, STRING, INT64 = 1, 3, 7, 9


class Output(ctypes.Structure):
    _fields_ = [("oper", ctypes.c_void_p), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("deallocator", ctypes.c_void_p)]


class Metadata(ctypes.Structure):
    _fields_ = [("is_list", ctypes.c_ubyte), ("list_size", ctypes.c_int64), ("type", ctypes.c_int), ("total_size", ctypes.c_int64)]


class WhileParams(ctypes.Structure):
    _fields_ = [("ninputs", ctypes.c_int), ("cond_graph", ctypes.c_void_p), ("cond_inputs", ctypes.POINTER(Output)),
                ("cond_output", Output), ("body_graph", ctypes.c_void_p), ("body_inputs", ctypes.POINTER(Output)),
                ("body_outputs", ctypes.POINTER(Output)), ("name", ctypes.c_char_p)]


RESULTS = {
    "TF_Message": ctypes.c_char_p, "TF_OperationName": ctypes.c_char_p, "TF_FunctionName": ctypes.c_char_p,
    "TF_DeviceListType": ctypes.c_char_p, "TF_OperationGetAttrMetadata": Metadata, "TF_DataTypeSize": ctypes.c_size_t,
    "TF_NewWhile": WhileParams, "TF_TensorByteSize": ctypes.c_size_t, "TF_OperationInput": Output,
    "TF_StringGetSize": ctypes.c_size_t, "TF_StringGetCapacity": ctypes.c_size_t,
}
NUMBERS = ("TF_GetCode", "TF_NumDims", "TF_StringGetType", "TF_Operation", "TF_GraphGetTensorNumDims", "TF_DeviceListCount",
           "TF_GraphNum", "TF_ImportGraphDefOptionsNum", "TF_TryEvaluate", "TF_TensorType")


class Library:
    """The functions of one library; results are pointers unless the tables above say otherwise."""

    def __init__(self, path: str):
        self.lib = ctypes.CDLL(path)
        self.status = self.TF_NewStatus()

    def __getattr__(self, name: str):
        function = getattr(self.lib, name)
        function.restype = RESULTS.get(name, ctypes.c_int if name.startswith(NUMBERS) else ctypes.c_void_p)

        def call(*args):
            return function(*(ctypes.c_void_p(a) if isinstance(a, int) and abs(a) > 2**31 else a for a in args))

        return call

    def code(self) -> int:
        return self.TF_GetCode(self.status)

    # Tensors.
    def tensor(self, dtype: int, dims: list[int], values: list) -> int:
        kind = {FLOAT: ctypes.c_float, INT32: ctypes.c_int32, INT64: ctypes.c_int64}[dtype]
        data = (kind * len(values))(*values)
        made = self.TF_AllocateTensor(dtype, (ctypes.c_int64 * len(dims))(*dims), len(dims), ctypes.c_size_t(ctypes.sizeof(data)))
        ctypes.memmove(self.TF_TensorData(made), data, ctypes.sizeof(data))
        return made

    def values(self, tensor: int | None):
        if not tensor:
            return None
        kind = {FLOAT: ctypes.c_float, INT32: ctypes.c_int32, INT64: ctypes.c_int64}.get(self.TF_TensorType(tensor))
        size = self.TF_TensorByteSize(tensor)
        if kind is None or size == 0:
            return []
        return [round(v, 4) for v in (kind * (size // ctypes.sizeof(kind))).from_address(self.TF_TensorData(tensor))]

    def bytes_of(self, fill) -> bytes:
        buffer = self.TF_NewBuffer()
        fill(buffer)
        held = Buffer.from_address(buffer)
        return ctypes.string_at(held.data, held.length) if held.data else b""

    # Operations.
    def op(self, graph: int, kind: str, name: str, inputs=(), **attrs) -> int | None:
        """`inputs`: operations, pairs of one and an index, or lists of such. Attributes by their Python types; dtypes are ("type", 1)."""
        desc = self.TF_NewOperation(graph, kind.encode(), name.encode())
        for entry in inputs:
            if isinstance(entry, list):
                array = (Output * len(entry))(*(self.out(e) for e in entry))
                self.TF_AddInputList(desc, array, len(entry))
            else:
                self.TF_AddInput(desc, self.out(entry))
        for attr, value in attrs.items():
            key = attr.encode()
            if isinstance(value, tuple) and value[0] == "type":
                self.TF_SetAttrType(desc, key, value[1])
            elif isinstance(value, tuple) and value[0] == "tensor":
                self.TF_SetAttrTensor(desc, key, value[1], self.status)
            elif isinstance(value, tuple) and value[0] == "shape":
                self.TF_SetAttrShape(desc, key, (ctypes.c_int64 * max(1, len(value[1])))(*value[1]), len(value[1]))
            elif isinstance(value, list):
                self.TF_SetAttrIntList(desc, key, (ctypes.c_int64 * len(value))(*value), len(value))
            elif isinstance(value, str):
                self.TF_SetAttrString(desc, key, value.encode(), ctypes.c_size_t(len(value)))
            elif isinstance(value, bool):
                self.TF_SetAttrBool(desc, key, ctypes.c_ubyte(value))
            elif isinstance(value, float):
                self.TF_SetAttrFloat(desc, key, ctypes.c_float(value))
            else:
                self.TF_SetAttrInt(desc, key, ctypes.c_int64(value))
        return self.TF_FinishOperation(desc, self.status)

    def out(self, entry) -> Output:
        return Output(*entry) if isinstance(entry, tuple) else Output(entry, 0)

    def placeholder(self, graph: int, name: str, dtype: int = FLOAT, shape=None) -> int:
        attrs = {"shape": ("shape", shape)} if shape is not None else {}
        return self.op(graph, "Placeholder", name, dtype=("type", dtype), **attrs)

    def const(self, graph: int, name: str, dtype: int, dims: list[int], values: list) -> int:
        return self.op(graph, "Const", name, value=("tensor", self.tensor(dtype, dims, values)), dtype=("type", dtype))

    def run(self, session: int, feeds: dict, fetch, target=None):
        inputs = (Output * max(1, len(feeds)))(*(self.out(e) for e in feeds))
        given = (ctypes.c_void_p * max(1, len(feeds)))(*feeds.values())
        outputs = (Output * 1)(self.out(fetch))
        got = (ctypes.c_void_p * 1)()
        self.TF_SessionRun(session, None, inputs, given, len(feeds), outputs, got, 1, None, 0, None, self.status)
        return self.code(), self.values(got[0])

    def session(self, graph: int) -> int:
        return self.TF_NewSession(graph, self.TF_NewSessionOptions(), self.status)


def sizes(tf: Library):
    return [tf.TF_DataTypeSize(i) for i in [*range(32), 101, 107]]


def strings(tf: Library):
    seen = []
    string = (ctypes.c_uint8 * 24)()
    tf.TF_StringInit(string)
    for size in [0, 1, 21, 22, 23, 30, 31, 32, 100, 22, 5]:
        text = bytes(range(65, 91)) * 4
        tf.TF_StringCopy(string, text, ctypes.c_size_t(size))
        kind = tf.TF_StringGetType(string)
        seen.append([size, kind, tf.TF_StringGetSize(string), bytes(string)[: size + 2 if kind == 0 else 8].hex()])
        if kind == 0:
            seen.append(tf.TF_StringGetCapacity(string))
    tf.TF_StringDealloc(string)
    seen.append(bytes(string).hex() if tf.TF_StringGetType(string) else tf.TF_StringGetSize(string))
    text = b"somebody else's"
    tf.TF_StringAssignView(string, text, ctypes.c_size_t(8))
    return [*seen, tf.TF_StringGetType(string), bytes(string)[:8].hex()]


def errors(tf: Library):
    """The codes of operations that do not fit."""
    graph = tf.TF_NewGraph()
    x, i = tf.placeholder(graph, "x", FLOAT, [2, 3]), tf.placeholder(graph, "i", INT32)
    y = tf.placeholder(graph, "y", FLOAT, [4, 5])
    trials = [("NoSuchOp", []), ("AddV2", [x]), ("AddV2", [x, i]), ("AddV2", [x, x, x]), ("MatMul", [x, y]), ("AddN", [x]),
              ("AddN", [[x, i]]), ("AddN", [[]]), ("Neg", [[x]]), ("Neg", [(x, 1)]), ("Identity", [x]), ("Cast", [x]),
              ("Concat", [i, [x, y]]), ("Reshape", [x, i]), ("Placeholder", [])]
    codes = []
    for number, (kind, inputs) in enumerate(trials):
        made = tf.op(graph, kind, f"n{number}", inputs)
        codes.append([kind, tf.code(), bool(made)])
    for name in ["x", "ok/b.c-d_e"]:
        made = tf.op(graph, "NoOp", name)
        codes.append([name, tf.code(), bool(made)])
    for kind, attrs in [("Const", {}), ("Cast", {"DstT": ("type", 77)}), ("Conv2D", {"strides": 3}), ("Conv2D", {"padding": "X"})]:
        tf.op(graph, kind, f"attr{len(codes)}", [x] * {"Const": 0, "Cast": 1}.get(kind, 2), **attrs)
        codes.append([kind, tf.code()])
    return codes


def attributes(tf: Library):
    graph = tf.TF_NewGraph()
    x, f = tf.placeholder(graph, "x", FLOAT, [1, 8, 8, 3]), tf.placeholder(graph, "f", FLOAT, [3, 3, 3, 4])
    operations = [x, tf.const(graph, "c", INT32, [2], [5, 6]), tf.op(graph, "AddN", "sum", [[x, x, x]]),
                  tf.op(graph, "Conv2D", "conv", [x, f], strides=[1, 1, 1, 1], padding="SAME"),
                  tf.op(graph, "VariableV2", "v", shape=("shape", [2, -1]), dtype=("type", FLOAT)),
                  tf.op(graph, "MaxPool", "pool", [x], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")]
    from tensorflow.core.framework import node_def_pb2

    seen = []
    for operation in operations:
        node = node_def_pb2.NodeDef.FromString(tf.bytes_of(lambda b: tf.TF_OperationToNodeDef(operation, b, tf.status)))
        node.attr.pop("_output_shapes", None)
        seen.append([node.name, node.op, list(node.input), node.device,
                     sorted((k, v.SerializeToString(deterministic=True).hex()) for k, v in node.attr.items() if k != "value")])
        for name in sorted(node.attr):
            data = tf.TF_OperationGetAttrMetadata(operation, name.encode(), tf.status)
            seen.append([name, data.is_list, data.type, data.list_size if data.is_list else 0,
                         data.total_size if data.type in (0, 5) else 0])
        tf.TF_OperationGetAttrMetadata(operation, b"no_such_attribute", tf.status)
        seen.append(tf.code())
    seen.append([tf.TF_OperationInputListLength(operations[2], b"inputs", tf.status), tf.code()])
    tf.TF_OperationInputListLength(operations[2], b"none", tf.status)
    seen.append(tf.code())
    return seen


def shapes(tf: Library):
    graph = tf.TF_NewGraph()
    a, b = tf.placeholder(graph, "a", FLOAT, [2, 3]), tf.placeholder(graph, "b", FLOAT, [3, -1])
    operations = [tf.op(graph, "MatMul", "m", [a, b]), tf.op(graph, "Transpose", "t", [a, tf.const(graph, "p", INT32, [2], [1, 0])]),
                  tf.op(graph, "Shape", "s", [b]), tf.op(graph, "Softmax", "x", [a]),
                  tf.op(graph, "Reshape", "r", [a, tf.const(graph, "q", INT32, [2], [-1, 1])]), tf.placeholder(graph, "u")]
    seen = []
    for operation in operations:
        rank = tf.TF_GraphGetTensorNumDims(graph, Output(operation, 0), tf.status)
        dims = (ctypes.c_int64 * max(rank, 1))()
        tf.TF_GraphGetTensorShape(graph, Output(operation, 0), dims, rank, tf.status)
        seen.append([rank, list(dims[: max(rank, 0)]), tf.code()])
    for dims in [[4, -1], [-1, 5], [4], [7, 5]]:
        tf.TF_GraphSetTensorShape(graph, Output(operations[-1], 0), (ctypes.c_int64 * len(dims))(*dims), len(dims), tf.status)
        seen.append(tf.code())
    return seen


def imports(tf: Library):
    source = tf.TF_NewGraph()
    x = tf.placeholder(source, "x")
    neg = tf.op(source, "Neg", "neg", [x])
    tf.op(source, "AddV2", "sum", [neg, x])
    data = tf.bytes_of(lambda b: tf.TF_GraphToGraphDef(source, b, tf.status))
    message = tf.TF_NewBufferFromString(data, ctypes.c_size_t(len(data)))
    graph = tf.TF_NewGraph()
    seen = []
    for prefix, unique_names, unique_prefix, mapped, control in [
            ("", 0, 0, False, False), ("", 0, 0, False, False), ("", 1, 0, False, False), ("p", 0, 0, True, False),
            ("q", 0, 0, False, False), ("p", 0, 1, False, True), ("p/", 1, 0, True, True)]:
        options = tf.TF_NewImportGraphDefOptions()
        tf.TF_ImportGraphDefOptionsSetPrefix(options, prefix.encode())
        tf.TF_ImportGraphDefOptionsSetUniquifyNames(options, ctypes.c_ubyte(unique_names))
        tf.TF_ImportGraphDefOptionsSetUniquifyPrefix(options, ctypes.c_ubyte(unique_prefix))
        first = tf.TF_GraphOperationByName(graph, b"x")
        if mapped:
            tf.TF_ImportGraphDefOptionsAddInputMapping(options, b"x", 0, Output(first, 0))
            tf.TF_ImportGraphDefOptionsAddInputMapping(options, b"nowhere", 1, Output(first, 0))
        if control:
            tf.TF_ImportGraphDefOptionsAddControlDependency(options, first)
        tf.TF_ImportGraphDefOptionsAddReturnOperation(options, b"sum")
        results = tf.TF_GraphImportGraphDefWithResults(graph, message, options, tf.status)
        seen.append(tf.code())
        if results:
            count, operations = ctypes.c_int(), ctypes.POINTER(ctypes.c_void_p)()
            tf.TF_ImportGraphDefResultsReturnOperations(results, ctypes.byref(count), ctypes.byref(operations))
            made = operations[0]
            inputs = [tf.TF_OperationInput(Output(made, i)) for i in range(2)]
            seen.append([tf.TF_OperationName(made).decode(), *(tf.TF_OperationName(i.oper).decode() for i in inputs),
                         tf.TF_OperationNumControlInputs(made), tf.TF_OperationNumControlInputs(inputs[0].oper)])
            names, indices = ctypes.POINTER(ctypes.c_char_p)(), ctypes.POINTER(ctypes.c_int)()
            tf.TF_ImportGraphDefResultsMissingUnusedInputMappings(results, ctypes.byref(count), ctypes.byref(names), ctypes.byref(indices))
            seen.append([[names[i].decode(), indices[i]] for i in range(count.value)])
    return seen


def steps(tf: Library):
    """Random chains of ops with random values."""
    seen = []
    for seed in range(20):
        rng = random.Random(seed)
        graph = tf.TF_NewGraph()
        x = tf.placeholder(graph, "x", FLOAT, [4])
        pool = [x, tf.const(graph, "c", FLOAT, [4], [rng.uniform(-2, 2) for _ in range(4)])]
        for i in range(12):
            kind = rng.choice(["AddV2", "Mul", "Sub", "Maximum", "Neg", "Tanh", "Sigmoid", "Square", "Relu", "Abs"])
            count = 2 if kind in ("AddV2", "Mul", "Sub", "Maximum") else 1
            pool.append(tf.op(graph, kind, f"n{i}", [rng.choice(pool) for _ in range(count)]))
        last = tf.op(graph, "Tanh", "last", [pool[-1]])
        session = tf.session(graph)
        value = tf.tensor(FLOAT, [4], [rng.uniform(-1, 1) for _ in range(4)])
        seen.append(tf.run(session, {x: value}, last))
        dy = (Output * 1)()
        tf.TF_AddGradients(graph, (Output * 1)(Output(last, 0)), 1, (Output * 1)(Output(x, 0)), 1, None, tf.status, dy)
        # None: this library has no such gradient.
        seen.append(tf.run(session, {x: value}, (dy[0].oper, dy[0].index)) if tf.code() == 0 else None)
        wrong = tf.tensor(INT32, [4], [1, 2, 3, 4])
        seen.append(tf.run(session, {x: wrong}, last)[0])
        seen.append(tf.run(session, {}, last if seed % 2 else pool[1])[0])
        tf.TF_CloseSession(session, tf.status)
        tf.TF_DeleteSession(session, tf.status)
        seen.append(tf.code())
    return seen


def functions(tf: Library):
    from tensorflow.core.framework import function_pb2

    body = tf.TF_NewGraph()
    a, b = tf.placeholder(body, "A/In"), tf.placeholder(body, "B-2")
    total = tf.op(body, "AddV2", "Sum", [a, b])
    parts = tf.op(body, "Split", "parts", [tf.const(body, "axis", INT32, [], [0]), total], num_split=2)
    seen = []
    for operations, inputs, outputs in [(-1, [a, b], [(parts, 1), (total, 0)]), (-1, [a], [total]), (-1, [a, a], [total]),
                                        ([total], [a, b], [total, total]), ([parts], [total], [parts])]:
        chosen = [] if operations == -1 else operations
        array = (ctypes.c_void_p * max(1, len(chosen)))(*chosen)
        made = tf.TF_GraphToFunction(
            body, b"F", ctypes.c_ubyte(0), -1 if operations == -1 else len(chosen), None if operations == -1 else array, len(inputs),
            (Output * len(inputs))(*(tf.out(i) for i in inputs)), len(outputs), (Output * len(outputs))(*(tf.out(o) for o in outputs)),
            None, None, b"text", tf.status)
        seen.append(tf.code())
        if not made:
            continue
        def_ = function_pb2.FunctionDef.FromString(tf.bytes_of(lambda buffer: tf.TF_FunctionToFunctionDef(made, buffer, tf.status)))
        seen.append([tf.TF_FunctionName(made).decode(), [(arg.name, arg.type) for arg in def_.signature.input_arg],
                     [(arg.name, arg.type) for arg in def_.signature.output_arg], sorted(def_.ret.items()),
                     sorted((n.name, n.op, list(n.input)) for n in def_.node_def)])
        graph = tf.TF_NewGraph()
        tf.TF_GraphCopyFunction(graph, made, None, tf.status)
        seen.append([tf.code(), tf.TF_GraphNumFunctions(graph)])
        if len(inputs) == 2:
            c = tf.const(graph, "c", FLOAT, [4], [1, 2, 3, 4])
            call = tf.op(graph, "F", "call", [c, c])
            seen.append([tf.code(), tf.run(tf.session(graph), {}, call)])
    return seen


def loops(tf: Library):
    seen = []
    for start, limit in [(1.0, 10.0), (3.0, 100.0), (5.0, 2.0)]:
        graph = tf.TF_NewGraph()
        x = tf.placeholder(graph, "x")
        inputs = (Output * 1)(Output(x, 0))
        params = tf.TF_NewWhile(graph, inputs, 1, tf.status)
        seen.append(tf.code())
        bound = tf.const(params.cond_graph, "bound", FLOAT, [], [limit])
        first = params.cond_inputs[0]
        params.cond_output = Output(tf.op(params.cond_graph, "Less", "less", [(first.oper, 0), bound]), 0)
        first = params.body_inputs[0]
        one = tf.const(params.body_graph, "one", FLOAT, [], [1.5])
        twice = tf.op(params.body_graph, "AddV2", "twice", [(first.oper, 0), (first.oper, 0)])
        params.body_outputs[0] = Output(tf.op(params.body_graph, "AddV2", "more", [twice, one]), 0)
        params.name = b"loop"
        outputs = (Output * 1)()
        tf.TF_FinishWhile(ctypes.byref(params), tf.status, outputs)
        seen.append(tf.code())
        seen.append(tf.run(tf.session(graph), {x: tf.tensor(FLOAT, [], [start])}, (outputs[0].oper, outputs[0].index)))
    return seen


def others(tf: Library):
    graph = tf.TF_NewGraph()
    session = tf.session(graph)
    devices = tf.TF_SessionListDevices(session, tf.status)
    seen = [tf.TF_DeviceListCount(devices), tf.TF_DeviceListType(devices, 0, tf.status).decode()]
    tf.TF_DeviceListType(devices, 9, tf.status)
    seen.append(tf.code())
    two = tf.const(graph, "two", FLOAT, [2], [2, 3])
    square = tf.op(graph, "Square", "square", [two])
    fed = tf.op(graph, "AddV2", "fed", [square, tf.placeholder(graph, "x")])
    for operation in (square, fed):
        got = ctypes.c_void_p()
        known = tf.TF_TryEvaluateConstant(graph, Output(operation, 0), ctypes.byref(got), tf.status) & 0xFF
        seen.append([known, tf.code(), tf.values(got.value)])
    tf.TF_GraphGetOpDef(graph, b"NoSuchOp", tf.TF_NewBuffer(), tf.status)
    seen.append(tf.code())
    tf.TF_LoadSessionFromSavedModel(tf.TF_NewSessionOptions(), None, b"/no/such/folder", (ctypes.c_char_p * 1)(b"serve"), 1,
                                    tf.TF_NewGraph(), None, tf.status)
    seen.append(tf.code())
    return seen


CASES = [sizes, strings, errors, attributes, shapes, imports, steps, functions, loops, others]


def answers(path: str) -> dict:
    """Of one library, by a process of its own: the two would share global state."""
    env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    found = {}
    for case in CASES:
        done = subprocess.run([sys.executable, __file__, "--answer", path, case.__name__], capture_output=True, text=True, env=env,
                              timeout=300)
        found[case.__name__] = json.loads(done.stdout) if done.returncode == 0 else [done.stderr[-2000:]]
    return found


def theirs() -> str:
    return str(pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent / "libtensorflow_cc.so.2")


def main() -> int:
    if sys.argv[1] == "--answer":
        answer = next(case for case in CASES if case.__name__ == sys.argv[3])(Library(sys.argv[2]))
        print(json.dumps(answer))
        sys.stdout.flush()
        os._exit(0)  # TensorFlow's Python and its library are both here: leave without their goodbyes
    ours, other = answers(sys.argv[1]), answers(sys.argv[2] if len(sys.argv) > 2 else theirs())
    bad = 0
    for name, mine in ours.items():
        for i, (a, b) in enumerate(zip(mine, other[name])):
            if a != b and b is not None:  # ours may do more
                bad += 1
                print(f"{name}[{i}]:\n  ours   {a}\n  theirs {b}")
        if len(mine) != len(other[name]):
            bad += 1
            print(f"{name}: {len(mine)} answers, theirs {len(other[name])}")
    print(f"{sum(len(a) for a in ours.values())} answers compared, {bad} differ")
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main())
