#!/usr/bin/env python3
"""Iterators in checkpoints, by an unmodified client in graph mode: every pipeline of data_pipelines.py goes on in another
process as TensorFlow's goes on without a stop.

  iterator_cases.py --server 'build/bin/tensorfleet server'
"""
import glob
import shutil
import tempfile

import data_pipelines
from case_tools import E, Cluster, graph, main_of, raises, session, tf, v1
from data_cases import all_of, elements, pipelines, plain

D = tf.data.Dataset

# What a checkpoint does not hold: the state of random ops within functions.
UNSAVED_STATE = {"map_with_seeded_random", "cached", "rejection_resampled"}
# An order that is left to chance.
ANY_ORDER = {"interleaved_sloppily"}


def place(pipeline, policy="ignore"):
    """An iterator of the pipeline, its next element, and what saves it."""
    v1.set_random_seed(1)
    iterator = v1.data.make_initializable_iterator(pipeline())
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator, external_state_policy=policy)
    return iterator, iterator.get_next(), v1.train.Saver([saveable])


def taken(s, element, n):
    got = []
    for _ in range(n):
        try:
            got.append(plain(s.run(element)))
        except E.OutOfRangeError:
            break
        except E.OpError as error:
            got.append(type(error).__name__)
    return got


def case_a_restored_iterator_goes_on_as_if_nothing_had_been():
    folder = tempfile.mkdtemp()
    want, cuts = {}, {}
    for name, pipeline in pipelines().items():
        if name not in UNSAVED_STATE | ANY_ORDER:
            want[name] = elements("", pipeline, "initializable")[0]
            # An error that is the last entry would come again.
            last = len(want[name]) - (bool(want[name]) and isinstance(want[name][-1], str))
            cuts[name] = sorted({0, min(1, last), last // 2, last})
    wrong = []
    with Cluster({"local": 1}) as c:
        for name, cut_at in cuts.items():
            for cut in cut_at:
                with graph() as g:
                    iterator, element, saver = place(pipelines()[name])
                    with session(c.target("local"), g) as s:
                        try:
                            s.run(iterator.initializer)
                            taken(s, element, cut)
                            saver.save(s, "%s/%s-%d" % (folder, name, cut))
                        except E.OpError as error:
                            wrong.append("%s saved at %d: %s" % (name, cut, str(error)[:500]))
    with Cluster({"local": 1}) as c:
        for name, cut_at in cuts.items():
            for cut in cut_at:
                path = "%s/%s-%d" % (folder, name, cut)
                if not glob.glob(path + "*"):
                    continue
                with graph() as g:
                    iterator, element, saver = place(pipelines()[name])
                    with session(c.target("local"), g) as s:
                        try:
                            saver.restore(s, path)
                            got = all_of(s, element)
                        except Exception as error:
                            wrong.append("%s restored at %d: %s" % (name, cut, str(error)[:500]))
                            continue
                        if got != want[name][cut:]:
                            wrong.append("%s at %d:\n  got  %s\n  want %s" % (name, cut, str(got)[:300], str(want[name][cut:])[:300]))
    shutil.rmtree(folder)
    assert not wrong, "%d differ:\n%s" % (len(wrong), "\n".join(wrong))


def case_a_restored_iterator_can_be_initialized_anew():
    with Cluster({"local": 1}) as c, graph() as g:
        iterator, element, saver = place(lambda: D.range(5).shuffle(3, seed=2))
        with session(c.target("local"), g) as s:
            raises(E.FailedPreconditionError, "not been initialized", lambda: saver.save(s, tempfile.mktemp()))
            s.run(iterator.initializer)
            first = taken(s, element, 2)
            path = saver.save(s, tempfile.mkdtemp() + "/place")
            rest = all_of(s, element)
            for _ in range(2):
                saver.restore(s, path)
                assert all_of(s, element) == rest
            s.run(iterator.initializer)
            assert len(all_of(s, element)) == len(first + rest)


def case_state_that_a_checkpoint_does_not_hold_is_refused_by_name():
    with Cluster({"local": 1}) as c, graph() as g:
        iterator, element, saver = place(lambda: D.range(5).map(lambda x: tf.random.uniform([])), "fail")
        with session(c.target("local"), g) as s:
            s.run(iterator.initializer)
            raises(E.FailedPreconditionError, "RandomUniform", lambda: saver.save(s, tempfile.mkdtemp() + "/x"))
        handle = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
        with session(c.target("local"), g) as s:   # the op's own way is to warn
            s.run(iterator.initializer)
            s.run(handle.op)
            wrong = tf.raw_ops.DeserializeIterator(
                resource_handle=iterator._iterator_resource,
                serialized=tf.raw_ops.TensorListFromTensor(tensor=tf.zeros([2]), element_shape=tf.constant([], tf.int32)))
            raises(E.InvalidArgumentError, "SerializeIterator", lambda: s.run(wrong))


def case_functions_go_on_with_the_variables_of_their_names():
    folder = tempfile.mkdtemp()

    def pipeline():
        weight = v1.get_variable("w", [], tf.int64, v1.constant_initializer(3), use_resource=True)
        return D.range(1, 5).map(lambda x: x * weight)
    want = [[3, 6], [9, 12]]
    for step in range(2):
        with Cluster({"local": 1}) as c, graph() as g:
            iterator, element, saver = place(pipeline)
            with session(c.target("local"), g) as s:
                s.run(v1.global_variables_initializer())
                if step == 0:
                    s.run(iterator.initializer)
                else:
                    saver.restore(s, folder + "/place")
                assert [s.run(element) for _ in range(2)] == want[step]
                saver.save(s, folder + "/place")


def case_a_server_killed_in_mid_epoch_goes_on_with_the_checkpoints_iterator():
    path = tempfile.mkdtemp() + "/place"

    def pipeline():
        d = tf.data.TFRecordDataset(data_pipelines.files("records")).map(tf.strings.length, num_parallel_calls=2)
        return d.shuffle(6, seed=4).repeat(2).prefetch(3)
    want = elements("", pipeline, "initializable")[0]
    with Cluster({"local": 1}) as c:
        with graph() as g:
            iterator, element, saver = place(pipeline)
            s = session(c.target("local"), g)
            s.run(iterator.initializer)
            assert taken(s, element, 5) == want[:5]
            saver.save(s, path)
            assert taken(s, element, 3) == want[5:8]   # these come again
            c.kill("local", 0)
        c.start("local", 0)
        with graph() as g:
            iterator, element, saver = place(pipeline)
            with session(c.target("local"), g) as s:
                saver.restore(s, path)
                assert all_of(s, element) == want[5:]


if __name__ == "__main__":
    main_of(globals(), __doc__)
