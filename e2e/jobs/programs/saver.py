"""Saving, restoring and exporting: what a session on servers writes, this process's own TensorFlow reads, and back.

One client; the variables, one per type, are spread over the parameter servers.
"""
import argparse
import os

import numpy as np
import task
import tensorflow.compat.v1 as tf

VALUES = {
    "float16": np.arange(5), "float32": np.linspace(0, 1, 12).reshape(3, 4), "float64": np.array(np.pi),
    "bfloat16": np.arange(6).reshape(2, 3), "int8": [-128, 127], "int16": [-5, 5], "int32": [[7]], "int64": [1 << 40],
    "uint8": [0, 255], "bool": [True, False, True], "complex64": [1 + 2j], "complex128": [3 - 4j],
    "string": [b"", b"caf\xc3\xa9", b"x" * 300],
}


def typed_variables(values):
    variables = {}
    for name, value in sorted(values.items()):
        dtype = tf.as_dtype(name)
        value = np.array(value, object if name == "string" else dtype.as_numpy_dtype)
        initial = tf.constant(value, dtype=dtype)
        variables[name] = tf.Variable(initial, name="typed_" + name, dtype=dtype)
    return variables


def spread(ps_tasks):
    return tf.device(tf.train.replica_device_setter(ps_tasks=ps_tasks, worker_device=task.worker_device,
                                                    ps_ops=["Variable", "VariableV2", "VarHandleOp"]))


def equal(got, wanted):
    return all(np.array_equal(np.asarray(got[k]), np.asarray(wanted[k])) for k in wanted) and set(got) == set(wanted)


def round_trips(directory, ps_tasks, sharded):
    """Save on the servers, overwrite, restore; onto fewer servers; into this process; and from it."""
    found = {}
    prefix = os.path.join(directory, "sharded" if sharded else "whole")
    with tf.Graph().as_default():
        with spread(ps_tasks):
            variables = typed_variables(VALUES)
        saver = tf.train.Saver(variables, sharded=sharded)
        with tf.Session(task.master) as session:
            session.run(tf.global_variables_initializer())
            before = session.run(variables)
            path = saver.save(session, prefix, global_step=5, latest_filename="state-%d" % sharded)
            session.run([tf.assign(v, tf.zeros_like(v)) for k, v in variables.items() if k != "string"])
            found["changed"] = not equal(session.run(variables), before)
            saver.restore(session, path)
            found["restored"] = equal(session.run(variables), before)
    found["name"] = os.path.basename(path)
    found["state"] = os.path.basename(tf.train.latest_checkpoint(directory, latest_filename="state-%d" % sharded))
    found["shards"] = len([f for f in os.listdir(directory) if f.startswith(os.path.basename(path) + ".data-")])
    reader = tf.train.load_checkpoint(path)
    found["read_here"] = equal({k: reader.get_tensor(k) for k in VALUES}, before)
    with tf.Graph().as_default():
        with spread(1):
            variables = typed_variables(VALUES)
        with tf.Session(task.master) as session:
            tf.train.Saver(variables).restore(session, path)
            found["on_one_ps"] = equal(session.run(variables), before)
    with tf.Graph().as_default():
        variables = typed_variables(VALUES)
        local = os.path.join(directory, "local-%d" % sharded)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.train.Saver(variables, sharded=sharded).save(session, local)
    with tf.Graph().as_default():
        with spread(ps_tasks):
            variables = typed_variables(VALUES)
        with tf.Session(task.master) as session:
            tf.train.Saver(variables).restore(session, local)
            found["read_there"] = equal(session.run(variables), before)
    return found


def old_format(directory):
    """A checkpoint of the kind that TensorFlow wrote before 2017, restored on the servers."""
    values = {k: v for k, v in VALUES.items() if k not in ("bfloat16", "float16", "string")}
    path = os.path.join(directory, "old")
    with tf.Graph().as_default(), tf.Session() as session:
        variables = typed_variables(values)
        parts = tf.get_variable("parts", [10, 3], partitioner=tf.fixed_size_partitioner(3),
                                initializer=tf.random_uniform_initializer(seed=1))
        session.run(tf.global_variables_initializer())
        tf.train.Saver(dict(variables, parts=parts), write_version=tf.train.SaverDef.V1).save(
            session, path, write_meta_graph=False)
        before, whole = session.run(variables), session.run(tf.convert_to_tensor(parts))
    with tf.Graph().as_default():
        with spread(1):
            variables = typed_variables(values)
            other = tf.get_variable("parts", [10, 3], partitioner=tf.fixed_size_partitioner(2))
        with tf.Session(task.master) as session:
            tf.train.Saver(dict(variables, parts=other)).restore(session, path)
            return {"typed": equal(session.run(variables), before),
                    "parts": bool(np.array_equal(session.run(tf.convert_to_tensor(other)), whole))}


def exported(directory, ps_tasks):
    """Train, export, import in a new graph, restore and go on: the losses are those of training without a break."""
    rng = np.random.RandomState(0)
    inputs, outputs = rng.rand(40, 64, 5).astype("f"), rng.rand(40, 64, 1).astype("f")
    prefix = os.path.join(directory, "exported")

    def step(session, graph, i):
        return float(session.run(["loss:0", "train"], {"x:0": inputs[i], "y:0": outputs[i]})[0])

    with tf.Graph().as_default() as graph:
        with spread(ps_tasks):
            x = tf.placeholder(tf.float32, [None, 5], name="x")
            y = tf.placeholder(tf.float32, [None, 1], name="y")
            w = tf.get_variable("w", [5, 1], initializer=tf.truncated_normal_initializer(seed=2))
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y), name="loss")
            tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_or_create_global_step(), name="train")
        saver = tf.train.Saver(sharded=True)
        with tf.Session(task.master) as session:
            session.run(tf.global_variables_initializer())
            unbroken = [step(session, graph, i) for i in range(40)]
            session.run(tf.global_variables_initializer())
            broken = [step(session, graph, i) for i in range(20)]
            saver.save(session, prefix)
            tf.train.export_meta_graph(prefix + "-again.meta", saver_def=saver.as_saver_def())
    with tf.Graph().as_default() as graph:
        saver = tf.train.import_meta_graph(prefix + "-again.meta")
        with tf.Session(task.master) as session:
            saver.restore(session, prefix)
            broken += [step(session, graph, i) for i in range(20, 40)]
    return {"continued": bool(np.allclose(broken, unbroken, rtol=1e-5)), "losses": broken}


def kept(directory):
    """max_to_keep removes the oldest."""
    with tf.Graph().as_default(), tf.Session(task.master) as session:
        with spread(1):
            v = tf.Variable(1.0)
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver([v], max_to_keep=2)
        for i in range(5):
            saver.save(session, os.path.join(directory, "kept"), global_step=i)
    return sorted(f for f in os.listdir(directory) if f.startswith("kept") and f.endswith(".index"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--resource", action="store_true")
    args = parser.parse_args()
    if args.resource:
        tf.enable_resource_variables()
    ps_tasks = task.cluster.num_tasks("ps")
    task.report(whole=round_trips(args.dir, ps_tasks, False))
    task.report(sharded=round_trips(args.dir, ps_tasks, True))
    task.report(old=old_format(args.dir))
    task.report(exported=exported(args.dir, ps_tasks))
    task.report(kept=kept(args.dir))


if __name__ == "__main__":
    main()
