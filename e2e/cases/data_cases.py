#!/usr/bin/env python3
"""tf.data on a server, by an unmodified client in graph mode: every pipeline of data_pipelines.py element by element against
TensorFlow's own process, and what iterators do from step to step.

  data_cases.py --server 'build/bin/tensorfleet server'
"""
import threading
import time
import types

import numpy as np

import data_pipelines
from case_tools import E, Cluster, graph, main_of, raises, session, tf, v1

D = tf.data.Dataset


def plain(value):
    if isinstance(value, v1.SparseTensorValue):
        value = tuple(value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    value = np.asarray(value)
    return (value.dtype.str, value.shape, value.tolist())


def all_of(s, next_element, limit=10000):
    """Every element, up to the end or the first error, which is then the last entry."""
    got = []
    while len(got) < limit:
        try:
            got.append(plain(s.run(next_element)))
        except E.OutOfRangeError:
            return got
        except E.OpError as error:
            return got + [type(error).__name__]
    raise AssertionError("no end")


def elements(target, pipeline, kind):
    with graph() as g:
        v1.set_random_seed(1)
        if kind == "one_shot":
            try:
                iterator = v1.data.make_one_shot_iterator(pipeline())
            except ValueError:   # the client does not let it capture what has state
                return None
        else:
            iterator = v1.data.make_initializable_iterator(pipeline())
        element = iterator.get_next()
        with session(target, g) as s:
            if kind == "one_shot":
                return all_of(s, element)
            s.run(iterator.initializer)
            first = all_of(s, element)
            s.run(iterator.initializer)
            return first, all_of(s, element)


def pipelines():
    return {n: f for n, f in vars(data_pipelines).items()
            if isinstance(f, types.FunctionType) and not n.startswith("_") and n != "files"}


def dequeued(handle):
    """A number out of a queue, from within a function."""
    return tf.raw_ops.QueueDequeueV2(handle=handle, component_types=[tf.int64])[0]


def check(kinds, names=None):
    wrong = []
    with Cluster({"local": 1}) as c:
        for name, pipeline in pipelines().items():
            if names is not None and name not in names:
                continue
            for kind in kinds:
                want = elements("", pipeline, kind)
                try:
                    got = elements(c.target("local"), pipeline, kind)
                except E.OpError as error:
                    wrong.append("%s (%s): %s" % (name, kind, str(error)[:600]))
                    continue
                if got != want:
                    wrong.append("%s (%s):\n  got  %s\n  want %s" % (name, kind, str(got)[:600], str(want)[:600]))
    assert not wrong, "%d differ:\n%s" % (len(wrong), "\n".join(wrong))


def case_pipelines_give_tensorflows_elements():
    check(["initializable"])


def case_one_shot_iterators_give_tensorflows_elements():
    check(["one_shot"])


def case_functions_capture_variables_tables_and_placeholders():
    with Cluster({"local": 1}) as c, graph() as g:
        with g.as_default():
            weight = v1.get_variable("w", [], tf.int64, v1.constant_initializer(3), use_resource=True)
            table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)
            offset = v1.placeholder(tf.int64, [])
            d = D.from_tensor_slices(["a", "b", "c"]).map(lambda k: table.lookup(k) * weight + offset)
            it = v1.data.make_initializable_iterator(d)
            element = it.get_next()
        with session(c.target("local"), g) as s:
            s.run([v1.global_variables_initializer(), v1.tables_initializer()])
            s.run(it.initializer, {offset: 100})
            assert s.run(element) == 103
            s.run(weight.assign(10))   # the variable is read when the function runs
            assert [s.run(element), s.run(element)] == [120, 90]
            raises(E.OutOfRangeError, "End of sequence", lambda: s.run(element))
            s.run(it.initializer, {offset: 0})
            assert s.run(element) == 10


def case_reinitializable_and_feedable_iterators():
    with Cluster({"local": 1}) as c, graph() as g:
        a, b = D.range(3), D.range(10, 12)
        it = v1.data.Iterator.from_structure(v1.data.get_output_types(a), v1.data.get_output_shapes(a))
        to_a, to_b, element = it.make_initializer(a), it.make_initializer(b), it.get_next()
        handle = v1.placeholder(tf.string, [])
        fed = v1.data.Iterator.from_string_handle(handle, tf.int64, [])
        fed_element = fed.get_next()
        one, two = v1.data.make_one_shot_iterator(a), v1.data.make_initializable_iterator(b)
        handles = [one.string_handle(), two.string_handle()]
        wrong = v1.data.make_one_shot_iterator(D.from_tensors("text")).string_handle()
        with session(c.target("local"), g) as s:
            raises(E.FailedPreconditionError, "has not been initialized", lambda: s.run(element))
            s.run(to_a)
            assert all_of(s, element) == [plain(np.int64(i)) for i in range(3)]
            s.run(to_b)
            assert s.run(element) == 10
            h = s.run(handles)
            s.run(two.initializer)
            got = [s.run(fed_element, {handle: h[i]}) for i in (0, 1, 0, 1, 0)]
            assert got == [0, 10, 1, 11, 2], got
            raises(E.OutOfRangeError, "End of sequence", lambda: s.run(fed_element, {handle: h[1]}))
            raises(E.InvalidArgumentError, "", lambda: s.run(fed_element, {handle: "nonsense"}))
            raises(E.InvalidArgumentError, "", lambda: s.run(fed_element, {handle: s.run(wrong)}))
            # Other fetches go on with the same iterators.
            assert s.run([element, tf.constant(1)]) == [11, 1]


def case_an_iterator_is_shared_by_steps_of_all_signatures():
    with Cluster({"local": 1}) as c, graph() as g:
        element = v1.data.make_one_shot_iterator(D.range(100)).get_next()
        sums = [element + i for i in range(5)]
        with session(c.target("local"), g) as s:
            got = [s.run(sums[i % 5]) - i % 5 for i in range(20)]
            assert got == list(range(20)), got
            assert s.run([element, sums[1]]) == [20, 21]   # one element a step


def case_optional_elements_say_when_there_are_no_more():
    with Cluster({"local": 1}) as c, graph() as g:
        it = v1.data.make_initializable_iterator(D.range(2))
        optional = tf.data.experimental.get_next_as_optional(it)
        has = optional.has_value()
        value = tf.cond(has, optional.get_value, lambda: tf.constant(-1, tf.int64))
        with session(c.target("local"), g) as s:
            s.run(it.initializer)
            assert [s.run([has, value]) for _ in range(3)] == [[True, 0], [True, 1], [False, -1]]


def case_errors_of_functions_are_the_steps_and_the_iterator_goes_on():
    with Cluster({"local": 1}) as c, graph() as g:
        d = D.from_tensor_slices([1.0, float("nan"), 3.0]).map(lambda x: tf.debugging.check_numerics(x, "bad number"))
        it = v1.data.make_initializable_iterator(d.prefetch(1))
        element = it.get_next()
        with session(c.target("local"), g) as s:
            s.run(it.initializer)
            assert s.run(element) == 1.0
            raises(E.InvalidArgumentError, "bad number", lambda: s.run(element))
            assert s.run(element) == 3.0


def case_batches_of_different_shapes_are_an_error():
    with Cluster({"local": 1}) as c, graph() as g:
        d = D.range(1, 5).map(lambda x: tf.fill([x], x)).batch(2)
        element = v1.data.make_one_shot_iterator(d).get_next()
        with session(c.target("local"), g) as s:
            raises(E.InvalidArgumentError, "Cannot batch tensors with different shapes in component 0",
                   lambda: s.run(element))


def case_a_step_that_waits_for_an_element_ends_at_its_deadline_and_loses_none():
    with Cluster({"local": 1}) as c, graph() as g:
        queue = v1.FIFOQueue(10, [tf.int64], [[]], shared_name="q")
        add = queue.enqueue(tf.constant(7, tf.int64))
        handle = queue.queue_ref

        def dequeue(x):
            return x + dequeued(handle)
        for d in (D.range(10).map(dequeue), D.range(10).map(dequeue).prefetch(2), D.range(10).map(dequeue).batch(2)):
            it = v1.data.make_initializable_iterator(d)
            element = it.get_next()
            with session(c.target("local"), g) as s:
                s.run(it.initializer)
                started = time.time()
                raises(E.DeadlineExceededError, "",
                       lambda: s.run(element, options=v1.RunOptions(timeout_in_ms=300)))
                assert time.time() - started < 5
                for _ in range(4):
                    s.run(add)
                got = np.concatenate([np.ravel(s.run(element)) for _ in range(2)])
                want = [7, 8] if len(got) == 2 else [7, 8, 9, 10]
                assert got.tolist() == want, got
            with session(c.target("local"), g) as s:
                size = queue.size()
                while s.run(size):
                    s.run(queue.dequeue())


def case_sessions_may_end_while_iterators_wait_and_work():
    with Cluster({"local": 1}) as c:
        for _ in range(5):
            with graph() as g:
                queue = v1.FIFOQueue(10, [tf.int64], [[]])
                handle = queue.queue_ref
                blocked = D.range(10).map(lambda x: x + dequeued(handle))
                its = [v1.data.make_initializable_iterator(d) for d in
                       (blocked, blocked.prefetch(2), D.range(1 << 60).prefetch(100).filter(lambda x: x < 0),
                        D.range(1 << 60).skip(1 << 59), D.range(1 << 60).map(lambda x: x + 1).prefetch(50))]
                elements = [it.get_next() for it in its]
                s = session(c.target("local"), g)
                s.run([it.initializer for it in its])

                def run_to_the_end(element):
                    try:
                        while True:
                            s.run(element)
                    except (E.OpError, RuntimeError):   # the client's own error for a session that is closed
                        pass
                threads = [threading.Thread(target=run_to_the_end, args=(e,)) for e in elements]
                for t in threads:
                    t.start()
                time.sleep(0.3)
                s.close()
                for t in threads:
                    t.join(20)
                    assert not t.is_alive(), "a step hangs"
        deadline = time.time() + 20
        while True:
            with open("/proc/%d/status" % c.procs["local", 0].pid) as f:
                n = int([line for line in f if line.startswith("Threads")][0].split()[1])
            if n < 40:
                break
            assert time.time() < deadline, "%d threads are left" % n
            time.sleep(0.5)


def case_hostile_data_sets_are_refused_and_the_server_serves_on():
    with Cluster({"local": 1}) as c:
        hostile = {
            "batch size": (lambda: D.range(5).batch(tf.constant(0, tf.int64)), E.InvalidArgumentError),
            "buffer": (lambda: D.range(5).shuffle(tf.constant(-7, tf.int64)), E.InvalidArgumentError),
            "prefetch": (lambda: D.range(5).prefetch(tf.constant(-7, tf.int64)), E.InvalidArgumentError),
            "step": (lambda: D.range(5, 9, tf.constant(0, tf.int64)), E.InvalidArgumentError),
            "cycle": (lambda: D.range(5).interleave(lambda x: D.range(x), tf.constant(-5, tf.int64)),
                      E.InvalidArgumentError),
        }
        for name, (build, code) in hostile.items():
            with graph() as g:
                it = v1.data.make_initializable_iterator(build())
                with session(c.target("local"), g) as s:
                    raises(code, "", lambda: s.run(it.initializer))
        for build in (lambda: D.range(3).shuffle(1 << 62), lambda: D.range(3).prefetch(1 << 62),
                      lambda: D.range(3).interleave(lambda x: D.range(1), 1 << 62, 1 << 62)):
            with graph() as g:
                element = v1.data.make_one_shot_iterator(build()).get_next()
                with session(c.target("local"), g) as s:
                    assert len(all_of(s, element)) == 3
        # A data set on a data set on a data set ...
        with graph() as g:
            d = D.range(3)._variant_tensor
            of = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}
            for _ in range(1500):
                d = tf.raw_ops.TakeDataset(input_dataset=d, count=tf.constant(2, tf.int64), **of)
            it = tf.raw_ops.IteratorV2(shared_name="", container="", **of)
            make = tf.raw_ops.MakeIterator(dataset=d, iterator=it)
            with session(c.target("local"), g) as s:
                raises(E.ResourceExhaustedError, "nested", lambda: s.run(make))


if __name__ == "__main__":
    main_of(globals(), __doc__)
