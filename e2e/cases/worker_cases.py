#!/usr/bin/env python3
"""WorkerService, method by method, called by a master that is not one: graphs, steps, tensors and their errors.

  worker_cases.py --server 'build/bin/tensorfleet server'    our servers
  worker_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair

Needs protoc and the packages of requirements-test.txt. Prints a line per case, then 'N passed, N failed'.
"""
from case_tools import main_of, only_ours, tf
from tensorflow.core.framework import tensor_pb2
from wire import Alone, Code, constant, float_of, graph_of, message, neg, node, parsed, refused, scalar, wait_for

CPU = "/job:local/replica:0/task:0/device:CPU:0"
NOBODY = "00000000deadbeef"


def incarnation_of(p):
    devices = p.worker("GetStatus").device_attributes
    assert [d.name for d in devices] == [CPU] and devices[0].incarnation, devices
    return devices[0].incarnation


def transfer(kind, name, incarnation, *inputs, client=False, device=CPU):
    """A _Send or _Recv of the tensor called `name`, from this device to itself."""
    signed = incarnation - (1 << 64) if incarnation >= 1 << 63 else incarnation
    return node(kind.lower() + "_" + name, "_" + kind, *inputs, device=device, tensor_name='s: "%s"' % name,
                send_device='s: "%s"' % CPU, recv_device='s: "%s"' % CPU, send_device_incarnation="i: %d" % signed,
                client_terminated="b: %s" % str(client).lower(), **{"T" if kind == "Send" else "tensor_type": "type: DT_FLOAT"})


def key(name, incarnation):
    return "%s;%016x;%s;%s;0:0" % (CPU, incarnation, CPU, name)


def register(p, *nodes, **fields):
    return p.worker("RegisterGraph", graph_def=graph_of(*nodes), **fields).graph_handle


def fetch(p, name, incarnation, step, **fields):
    return p.worker("RecvTensor", rendezvous_key=key(name, incarnation), step_id=step, **fields)


def ended_by_cleanup(p, call, step):
    """`call` once cleaning up has ended it; it may come to the server after the first try."""
    def over():
        p.worker("CleanupGraph", step_id=step)
        return call.done()
    wait_for(over)
    return call


def case_a_step_is_run_piece_by_piece():
    with Alone() as p:
        i = incarnation_of(p)
        graph = register(p, transfer("Recv", "in", i, client=True), neg("n", "recv_in", device=CPU),
                         transfer("Send", "out", i, "n", client=True), transfer("Send", "kept", i, "n"))
        for step in (71, 72):
            response = p.worker("RunGraph", graph_handle=graph, step_id=step, recv_key=[key("out", i)],
                                send=[{"name": key("in", i), "tensor": scalar(float(step))}])
            assert [(r.name, float_of(r.tensor)) for r in response.recv] == [(key("out", i), -float(step))], response
            assert float_of(fetch(p, "kept", i, step).tensor) == -float(step)
            p.worker("CleanupGraph", step_id=step)
        p.worker("CleanupGraph", step_id=9999)          # nothing to clean up is fine
        p.worker("DeregisterGraph", graph_handle=graph)
        refused(Code.ABORTED, "Graph handle is not found: %s" % graph, lambda: p.worker("RunGraph", graph_handle=graph, step_id=73))


def case_a_tensor_may_be_asked_for_before_its_step_begins():
    with Alone() as p:
        i = incarnation_of(p)
        graph = register(p, constant("c", 5.0, device=CPU), transfer("Send", "t", i, "c"))
        request = message("RecvTensorRequest")(rendezvous_key=key("t", i), step_id=81)
        early = p.start("WorkerService", "RecvTensor", request)
        p.worker("RunGraph", graph_handle=graph, step_id=81)
        assert float_of(early.result().tensor) == 5.0


LEFT_WAITING = "its clean-up leaves those waiting who came when no graph ran in the step"


@only_ours(LEFT_WAITING)
def case_a_value_is_given_once():
    with Alone() as p:
        i = incarnation_of(p)
        graph = register(p, constant("c", 5.0, device=CPU), transfer("Send", "t", i, "c"))
        p.worker("RunGraph", graph_handle=graph, step_id=82)
        assert float_of(fetch(p, "t", i, 82).tensor) == 5.0
        again = p.start("WorkerService", "RecvTensor", message("RecvTensorRequest")(rendezvous_key=key("t", i), step_id=82))
        refused(Code.ABORTED, "", ended_by_cleanup(p, again, 82).result)


def case_graphs_that_a_worker_cannot_run_are_refused():
    with Alone() as p:
        refused(Code.INVALID_ARGUMENT, "Node 'q' is missing a device specification", lambda: register(p, node("q", "NoOp")))
        elsewhere = CPU.replace("local", "other")
        refused(Code.INVALID_ARGUMENT, "%s unknown device." % elsewhere, lambda: register(p, node("q", "NoOp", device=elsewhere)))
        refused(Code.NOT_FOUND, "Op type not registered 'Nonsense' in binary running on",
                lambda: register(p, node("q", "Nonsense", device=CPU)))
        assert register(p, node("q", "NoOp", device="/device:CPU:0"))      # the short form will do


def case_sessions_of_masters():
    with Alone() as p:
        refused(Code.INVALID_ARGUMENT, "Session must be non-empty.", lambda: p.worker("CreateWorkerSession"))
        lost = 'Session handle is not found: %s. Possibly this worker ("/job:local/replica:0/task:0") just restarted.' % NOBODY
        refused(Code.ABORTED, lost, lambda: register(p, node("q", "NoOp", device=CPU), session_handle=NOBODY, create_worker_session_called=True))
        refused(Code.ABORTED, lost, lambda: p.worker("RunGraph", graph_handle="1", session_handle=NOBODY, create_worker_session_called=True, step_id=1))

        def opened(handle, incarnation, master="/job:m/replica:0/task:0"):
            server = {"job_name": "local", "task_index": 0, "protocol": "grpc"}
            p.worker("CreateWorkerSession", session_handle=handle, master_task=master, master_incarnation=incarnation, server_def=server)
            return register(p, node("q", "NoOp", device=CPU), session_handle=handle, create_worker_session_called=True)
        run = lambda handle, graph, step: p.worker(  # noqa: E731
            "RunGraph", graph_handle=graph, session_handle=handle, create_worker_session_called=True, step_id=step)
        first, other = opened("aa", 1), opened("bb", 7, "/job:n/replica:0/task:0")
        assert opened("aa", 1) != first                  # the same session: a second graph in it
        run("aa", first, 1)
        opened("cc", 2)                                  # the master has restarted: its old sessions go
        refused(Code.ABORTED, "Session handle is not found: aa", lambda: run("aa", first, 2))
        run("bb", other, 3)
        for _ in range(2):
            p.worker("DeleteWorkerSession", session_handle="bb")           # twice is fine
        refused(Code.ABORTED, "Session handle is not found: bb", lambda: run("bb", other, 4))


def case_run_graph_refuses_what_it_does_not_know():
    with Alone() as p:
        i = incarnation_of(p)
        graph = register(p, constant("c", 5.0, device=CPU), transfer("Send", "t", i, "c", client=True))
        refused(Code.ABORTED, "Graph handle is not found: nowhere", lambda: p.worker("RunGraph", graph_handle="nowhere", step_id=1))
        p.worker("RunGraph", graph_handle=graph, step_id=2, request_id=55)
        refused(Code.ABORTED, "The same RunGraph (Worker) request was received twice.",
                lambda: p.worker("RunGraph", graph_handle=graph, step_id=3, request_id=55))
        refused(Code.INTERNAL, "Failed to fetch outputs for step 4. (Original error message: Invalid  rendezvous key: nope)",
                lambda: p.worker("RunGraph", graph_handle=graph, step_id=4, recv_key=["nope"]))
        in_body = p.worker("RunGraph", graph_handle="nowhere", step_id=5, store_errors_in_response_body=True)
        assert in_body.status_code == 10 and "Graph handle is not found" in in_body.status_error_message, in_body
        refused(Code.ABORTED, "Graph handle is not found: nowhere. Possibly, this worker just restarted.",
                lambda: p.worker("DeregisterGraph", graph_handle="nowhere"))


def case_recv_tensor_refuses_keys_of_others():
    with Alone() as p:
        i = incarnation_of(p)
        recv = lambda text, **fields: p.worker("RecvTensor", rendezvous_key=text, step_id=1, **fields)  # noqa: E731
        refused(Code.INVALID_ARGUMENT, "Invalid  rendezvous key: abc", lambda: recv("abc"))
        there = "/job:local/replica:0/task:0/device:CPU:9"
        refused(Code.INVALID_ARGUMENT, "unknown device.", lambda: recv("%s;%016x;%s;t;0:0" % (there, 1, CPU)))
        refused(Code.ABORTED, "RecvTensor expects a different device incarnation: %d vs. %d. Your worker job "
                '("/job:local/replica:0/task:0") was probably restarted.' % (12345, i), lambda: recv("%s;%016x;%s;t;0:0" % (CPU, 12345, CPU)))
        graph = register(p, constant("c", 5.0, device=CPU), transfer("Send", "t", i, "c"))
        p.worker("RunGraph", graph_handle=graph, step_id=1)
        fetch(p, "t", i, 1, request_id=66)
        refused(Code.ABORTED, "The same RecvTensor (GrpcWorker) request was received twice.", lambda: fetch(p, "t", i, 1, request_id=66))


def queue_nodes():
    return (node("q", "FIFOQueueV2", device=CPU, component_types="list { type: DT_FLOAT }", shapes="list { shape {} }",
                 capacity="i: 4", shared_name='s: "q"'),)


def case_hanging_up_on_run_graph_ends_its_step():
    with Alone() as p:
        take = register(p, *queue_nodes(), node("take", "QueueDequeueV2", "q", device=CPU, component_types="list { type: DT_FLOAT }"))
        i = incarnation_of(p)
        size = register(p, *queue_nodes(), constant("c", 1.0, device=CPU),
                        node("put", "QueueEnqueueV2", "q", "c", device=CPU, Tcomponents="list { type: DT_FLOAT }"),
                        node("size", "QueueSizeV2", "q", "^put", device=CPU), node("as_float", "Cast", "size", device=CPU, SrcT="type: DT_INT32", DstT="type: DT_FLOAT"),
                        transfer("Send", "size", i, "as_float", client=True))
        blocked = p.start("WorkerService", "RunGraph", message("RunGraphRequest")(graph_handle=take, step_id=1))
        assert not blocked.done()
        blocked.cancel()
        step = iter(range(2, 500))

        def nobody_takes():      # what is put in stays, once the step is over
            at = next(step)
            response = p.worker("RunGraph", graph_handle=size, step_id=at, recv_key=[key("size", i)])
            p.worker("CleanupGraph", step_id=at)
            return float_of(response.recv[0].tensor) >= 1.0
        wait_for(nobody_takes)


def case_a_failed_step_ends_those_who_wait_for_its_tensors():
    with Alone() as p:
        i = incarnation_of(p)
        text = 'tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 3 }'
        graph = register(p, constant("c", 5.0, device=CPU), node("shape", "Const", device=CPU, dtype="type: DT_INT32", value=text),
                         node("bad", "Reshape", "c", "shape", device=CPU, T="type: DT_FLOAT", Tshape="type: DT_INT32"),
                         transfer("Send", "t", i, "bad"))
        waiting = p.start("WorkerService", "RecvTensor", message("RecvTensorRequest")(rendezvous_key=key("t", i), step_id=91))
        refused(Code.INVALID_ARGUMENT, "Input to reshape is a tensor with 1 values, but the requested shape has 3",
                lambda: p.worker("RunGraph", graph_handle=graph, step_id=91))
        refused(Code.INVALID_ARGUMENT, "Input to reshape", waiting.result)


@only_ours(LEFT_WAITING)
def case_cleaning_up_ends_those_who_still_wait():
    with Alone() as p:
        i = incarnation_of(p)
        register(p, constant("c", 5.0, device=CPU), transfer("Send", "t", i, "c"))
        waiting = p.start("WorkerService", "RecvTensor", message("RecvTensorRequest")(rendezvous_key=key("t", i), step_id=95))
        refused(Code.ABORTED, "", ended_by_cleanup(p, waiting, 95).result)


def case_cleanup_all_drops_the_variables_of_a_container():
    with Alone() as p:
        i = incarnation_of(p)

        def graph(container, *more):    # (a session keeps the kernel of a node by its name)
            variable = node(container, "VariableV2", device=CPU, dtype="type: DT_FLOAT", shape="shape {}", container='s: "%s"' % container,
                            shared_name='s: "v"')
            return register(p, variable, *more)
        c = constant("c", 2.0, device=CPU)
        step = iter(range(1, 100))
        run = lambda g, **fields: p.worker("RunGraph", graph_handle=g, step_id=next(step), **fields)  # noqa: E731
        reads = {}
        for container in ("mine", "yours"):
            run(graph(container, c, node("set_" + container, "Assign", container, "c", device=CPU, T="type: DT_FLOAT")))
            reads[container] = graph(container, node("read_" + container, "Identity", container, device=CPU, T="type: DT_FLOAT"),
                                     transfer("Send", "r", i, "read_" + container, client=True))
        p.worker("CleanupAll", container=["mine"])
        refused(Code.FAILED_PRECONDITION, "uninitialized value mine", lambda: run(reads["mine"], recv_key=[key("r", i)]))
        assert float_of(run(reads["yours"], recv_key=[key("r", i)]).recv[0].tensor) == 2.0


def case_the_smaller_methods():
    with Alone() as p:
        assert not p.worker("Logging").step
        refused(Code.UNIMPLEMENTED, "Tracing", lambda: p.worker("Tracing"))
        p.worker("MarkRecvFinished", request_id=5)
        first = p.worker("GetStepSequence", graph_key=[3, 4]).step_sequence
        again = p.worker("GetStepSequence", graph_key=[3]).step_sequence
        assert [s.graph_key for s in first] == [3, 4] and first[0].next_step_id and again[0].next_step_id == first[0].next_step_id, (first, again)


def bytes_of(tensor):
    """The content of a tensor, in whichever form it came."""
    return tf.make_ndarray(tensor_pb2.TensorProto.FromString(tensor.SerializeToString())).tobytes()


def case_every_dtype_is_stored_and_moved():
    """What few kernels compute on passes through as it came."""
    sizes = {"DT_FLOAT": 4, "DT_DOUBLE": 8, "DT_INT32": 4, "DT_UINT8": 1, "DT_INT16": 2, "DT_INT8": 1, "DT_COMPLEX64": 8,
             "DT_INT64": 8, "DT_QINT8": 1, "DT_QUINT8": 1, "DT_QINT32": 4, "DT_BFLOAT16": 2, "DT_QINT16": 2, "DT_QUINT16": 2,
             "DT_UINT16": 2, "DT_COMPLEX128": 16, "DT_HALF": 2, "DT_UINT32": 4, "DT_UINT64": 8, "DT_FLOAT8_E5M2": 1, "DT_FLOAT8_E4M3FN": 1}
    with Alone() as p:
        i = incarnation_of(p)
        nodes = []
        for dtype, size in sizes.items():
            content = "".join("\\%03o" % (33 + 7 * k % 90) for k in range(3 * size))
            nodes.append(node(dtype, "Const", device=CPU, dtype="type: " + dtype, value='tensor { dtype: %s tensor_shape { dim { size: 3 } } '
                              'tensor_content: "%s" }' % (dtype, content)))
            send = transfer("Send", dtype, i, dtype, client=True)
            send.attr["T"].type = nodes[-1].attr["dtype"].type
            nodes.append(send)
        keys = [key(dtype, i) for dtype in sizes]
        response = p.worker("RunGraph", graph_handle=register(p, *nodes), step_id=1, recv_key=keys)
        sent = {n.name: n.attr["value"].tensor for n in nodes if n.op == "Const"}
        assert len(response.recv) == len(sizes)
        received = {r.name: r.tensor for r in response.recv}    # in any order
        for dtype in sizes:
            got = received[key(dtype, i)]
            assert got.dtype == sent[dtype].dtype and bytes_of(got) == sent[dtype].tensor_content, dtype


if __name__ == "__main__":
    main_of(globals(), __doc__)
