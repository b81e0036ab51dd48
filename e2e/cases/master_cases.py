#!/usr/bin/env python3
"""MasterService, method by method: what it answers to requests that a TensorFlow client would not send.

  master_cases.py --server 'build/bin/tensorfleet server'    our servers
  master_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair

Needs protoc and the packages of requirements-test.txt. Prints a line per case, then 'N passed, N failed'.
"""
from case_tools import main_of, only_ours
from wire import Alone, Cluster, Code, Peer, constant, float_of, message, neg, node, parsed, placeholder, refused, scalar

NOBODY = "00000000deadbeef"


def case_unknown_sessions_are_aborted():
    with Alone() as p:
        text = "Session %s is not found." % NOBODY
        refused(Code.ABORTED, text, lambda: p.step(NOBODY, fetches=["a:0"]))
        for method in ("ExtendSession", "PartialRunSetup", "MakeCallable", "RunCallable", "ReleaseCallable"):
            refused(Code.ABORTED, text, lambda m=method: p.master(m, session_handle=NOBODY))
        restarted = text + " Possibly, this master has restarted."
        refused(Code.ABORTED, restarted, lambda: p.master("CloseSession", session_handle=NOBODY))
        refused(Code.INVALID_ARGUMENT, restarted, lambda: p.master("ListDevices", session_handle=NOBODY))


def case_errors_come_in_the_body_when_the_client_asks_for_that():
    with Alone() as p:
        response = p.master("RunStep", session_handle=NOBODY, store_errors_in_response_body=True)
        assert response.status_code == 10, response            # ABORTED
        assert response.status_error_message == "Session %s is not found." % NOBODY, response


def case_a_stale_version_of_the_graph_is_aborted():
    with Alone() as p:
        handle = p.session(constant("a", 1.0))
        extend = lambda version, *nodes: p.master(  # noqa: E731
            "ExtendSession", session_handle=handle, current_graph_version=version,
            graph_def=message("GraphDef")(node=nodes, versions={"producer": 1645}))
        refused(Code.ABORTED, "Current version is 0 but caller expected 7.", lambda: extend(7, neg("b", "a")))
        version = extend(0, neg("b", "a")).new_graph_version
        refused(Code.ABORTED, "but caller expected 0.", lambda: extend(0, neg("c", "a")))
        refused(Code.INVALID_ARGUMENT, "includes node 'b', which was created by a previous call to Create or Extend",
                lambda: extend(version, neg("b", "a")))
        assert p.step(handle, fetches=["b:0"]) == [-1.0]       # what was refused left nothing behind


def case_graphs_that_cannot_be_are_refused_at_creation():
    with Alone() as p:
        refused(Code.NOT_FOUND, "Op type not registered 'Nonsense' in binary running on", lambda: p.session(node("n", "Nonsense")))
        refused(Code.INVALID_ARGUMENT, "Node 'n': Unknown input node '^gone'", lambda: p.session(node("n", "NoOp", "^gone")))
        refused(Code.INVALID_ARGUMENT, "NodeDef missing attr 'value' from Op<name=Const;",
                lambda: p.step(p.session(node("n", "Const", dtype="type: DT_FLOAT")), targets=["n"]))
        refused(Code.INVALID_ARGUMENT, "GraphDef min consumer version 9999 above current version 1645",
                lambda: p.session(node("n", "NoOp"), min_consumer=9999))
        lost = refused(Code.INVALID_ARGUMENT, "Cannot assign a device for operation n: {{node n}} was explicitly assigned to "
                       "/job:gone/task:0 but available devices are [", lambda: p.session(neg("n", "c", device="/job:gone/task:0"), constant("c", 1.0)))
        assert "Make sure the device specification refers to a valid device." in lost.details(), lost.details()


@only_ours("it names the op alone")
def case_an_unknown_op_is_named_with_its_node_and_the_list_of_ops():
    with Alone() as p:
        error = refused(Code.NOT_FOUND, "'Nonsense'", lambda: p.session(node("layer/odd", "Nonsense")))
        assert "layer/odd" in error.details() and "tensorfleet ops" in error.details(), error.details()


def case_surplus_attributes_are_accepted():
    with Alone() as p:
        handle = p.session(constant("c", 3.0), node("n", "Neg", "c", T="type: DT_FLOAT", _mine='s: "x"', yours="i: 3"))
        assert p.step(handle, fetches=["n:0"]) == [-3.0]


def case_names_that_the_graph_does_not_have():
    with Alone() as p:
        handle = p.session(placeholder("p"), neg("n", "p"))
        refused(Code.NOT_FOUND, "FetchOutputs node gone:0: not found", lambda: p.step(handle, fetches=["gone:0"]))
        refused(Code.INVALID_ARGUMENT, "FetchOutputs n:3: output index too large, must be < 1", lambda: p.step(handle, fetches=["n:3"]))
        refused(Code.NOT_FOUND, "FeedInputs: unable to find feed output gone:0",
                lambda: p.step(handle, [("gone:0", scalar(1.0))], ["n:0"]))
        refused(Code.NOT_FOUND, "PruneForTargets: Some target nodes not found: gone ", lambda: p.step(handle, targets=["gone"]))


def case_requests_that_contradict_themselves():
    with Alone() as p:
        handle = p.session(placeholder("p"), neg("n", "p"))
        one = ("p:0", scalar(1.0))
        refused(Code.INVALID_ARGUMENT, "Must specify at least one target to fetch or execute.", lambda: p.step(handle))
        refused(Code.INVALID_ARGUMENT, 'Endpoint "p:0" fed more than once.', lambda: p.step(handle, [one, one], ["n:0"]))
        refused(Code.INVALID_ARGUMENT, "p:0 is both fed and fetched.", lambda: p.step(handle, [one], ["p:0"]))
        refused(Code.INVALID_ARGUMENT, "You must feed a value for placeholder tensor 'p' with dtype float",
                lambda: p.step(handle, fetches=["n:0"]))
        whole = parsed("TensorProto", "dtype: DT_INT32 tensor_shape {} int_val: 1")
        refused(Code.INTERNAL, "does not match declared output type float", lambda: p.step(handle, [("p:0", whole)], ["n:0"]))
        bad = parsed("TensorProto", "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: 'xx'")
        refused(Code.INVALID_ARGUMENT, "Invalid TensorProto for feed value 0", lambda: p.step(handle, [("p:0", bad)], ["n:0"]))


def case_a_request_that_comes_twice_is_aborted():
    with Alone() as p:
        handle = p.session(constant("c", 1.0), neg("n", "c"))
        assert p.step(handle, fetches=["n:0"], request_id=77) == [-1.0]
        refused(Code.ABORTED, "The same RunStep (Master) request was received twice.",
                lambda: p.step(handle, fetches=["n:0"], request_id=77))
        assert p.step(handle, fetches=["n:0"], request_id=-78) == [-1.0]
        for _ in range(2):
            assert p.step(handle, fetches=["n:0"], request_id=0) == [-1.0]    # 0 is no number


def case_partial_runs_keep_their_books():
    with Alone() as p:
        handle = p.session(placeholder("a"), placeholder("b"), neg("x", "a"), neg("y", "b"))
        refused(Code.INVALID_ARGUMENT, "Must run PartialRunSetup before performing partial runs",
                lambda: p.step(handle, fetches=["x:0"], partial_run_handle="99"))
        run = p.master("PartialRunSetup", session_handle=handle, feed=["a:0", "b:0"], fetch=["x:0", "y:0"]).partial_run_handle
        part = lambda feeds, fetches: p.step(handle, [(n, scalar(v)) for n, v in feeds], fetches,  # noqa: E731
                                             partial_run_handle=run)
        refused(Code.INVALID_ARGUMENT, "can't be computed from the feeds that have been fed so far.", lambda: part([("a:0", 1.0)], ["y:0"]))
        assert part([("a:0", 1.0)], ["x:0"]) == [-1.0]
        refused(Code.INVALID_ARGUMENT, "The fetch x:0 has already been fetched.", lambda: part([], ["x:0"]))
        refused(Code.INVALID_ARGUMENT, "The feed a:0 has already been fed.", lambda: part([("a:0", 1.0)], []))
        assert part([("b:0", 2.0)], ["y:0"]) == [-2.0]
        refused(Code.INVALID_ARGUMENT, "Must run PartialRunSetup before performing partial runs", lambda: part([], ["y:0"]))


def case_callables_are_made_run_and_released():
    with Alone() as p:
        handle = p.session(placeholder("a"), neg("x", "a"))
        make = lambda: p.master("MakeCallable", session_handle=handle,  # noqa: E731
                                options={"feed": ["a:0"], "fetch": ["x:0"]}).handle
        run = lambda which: p.master("RunCallable", session_handle=handle, handle=which, feed=[scalar(4.0)])  # noqa: E731
        first, second = make(), make()
        assert second == first + 1
        assert float_of(run(first).fetch[0]) == -4.0
        refused(Code.INVALID_ARGUMENT, "No such callable handle: 55", lambda: run(55))
        for _ in range(2):
            p.master("ReleaseCallable", session_handle=handle, handle=first)   # twice is fine
        refused(Code.INVALID_ARGUMENT, "Attempted to run callable after handle was released: %d" % first, lambda: run(first))
        assert float_of(run(second).fetch[0]) == -4.0


@only_ours("it ends itself here")
def case_a_callable_with_too_few_feeds_is_refused():
    with Alone() as p:
        handle = p.session(placeholder("a"), neg("x", "a"))
        which = p.master("MakeCallable", session_handle=handle, options={"feed": ["a:0"], "fetch": ["x:0"]}).handle
        refused(Code.INVALID_ARGUMENT, "takes 1 fed tensors, but 0 were given",
                lambda: p.master("RunCallable", session_handle=handle, handle=which))
        p.still_serves()


def case_devices_are_listed_with_and_without_a_session():
    with Cluster({"ps": 1, "worker": 1}) as c, Peer(c.spec["worker"][0]) as p:
        def names(handle):
            devices = p.master("ListDevices", session_handle=handle)
            return sorted(d.name for d in [*devices.local_device, *devices.remote_device])
        both = ["/job:%s/replica:0/task:0/device:CPU:0" % job for job in ("ps", "worker")]
        assert names(p.session(node("n", "NoOp"))) == both
        assert names("") == both
        own = p.master("ListDevices").local_device
        assert [d.name for d in own] == both[1:] and own[0].incarnation and own[0].device_type == "CPU", own


def case_reset_clears_a_container_and_ends_the_sessions():
    def variable(container):
        return node("v", "VariableV2", dtype="type: DT_FLOAT", shape="shape {}", container='s: "%s"' % container, shared_name='s: "v"')

    def set_to(value):
        return [constant("c", value), node("set", "Assign", "v", "c", T="type: DT_FLOAT")]
    with Alone() as p:
        kept, dropped = (p.session(variable(name), *set_to(1.0)) for name in ("kept", "dropped"))
        p.step(kept, targets=["set"])
        p.step(dropped, targets=["set"])
        p.master("Reset", container=["dropped"])
        refused(Code.ABORTED, "is not found", lambda: p.step(kept, fetches=["v:0"]))
        assert p.step(p.session(variable("kept")), fetches=["v:0"]) == [1.0]
        refused(Code.FAILED_PRECONDITION, "uninitialized value v", lambda: p.step(p.session(variable("dropped")), fetches=["v:0"]))


if __name__ == "__main__":
    main_of(globals(), __doc__)
