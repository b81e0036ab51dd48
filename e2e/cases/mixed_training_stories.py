"""Stories of mixed_cases.py that train: seeded models, what a TensorFlow master fuses on a parameter server, checkpoints, and servers
that are killed."""
import tempfile

import numpy as np
from mixed_stories import PS, WORKER, both_kinds, breaks_servers, config, numbers, session, story

from case_tools import Cluster, E, graph, tf, v1

OPTIMIZERS = {
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9), "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adam": lambda: v1.train.AdamOptimizer(0.01), "ftrl": lambda: v1.train.FtrlOptimizer(0.1),
}


def setter():
    return v1.device(v1.train.replica_device_setter(ps_tasks=2, worker_device=WORKER))


def trained(c, build, steps):
    """The losses of a model's steps, and its variables after them, for each optimizer. build() gives the loss."""
    results = {}
    for name, optimizer in OPTIMIZERS.items():
        with graph() as g:
            v1.set_random_seed(3)
            with setter():
                loss = build()
                train = optimizer().minimize(loss, v1.train.get_or_create_global_step())
            with session(c, g) as s:
                s.run(v1.global_variables_initializer())
                results[name] = [[s.run([loss, train])[0] for _ in range(steps)], s.run(v1.trainable_variables())]
    return results


@both_kinds
def training_an_mlp(c, resource):
    x, y = numbers(64, 20), np.arange(64) % 5

    def build():
        layer = tf.constant(x)
        for i, width in enumerate((32, 16, 5)):
            w = v1.get_variable("w%d" % i, [layer.shape[1], width], use_resource=resource,
                                initializer=v1.glorot_uniform_initializer(seed=i))
            b = v1.get_variable("b%d" % i, [width], use_resource=resource, initializer=v1.zeros_initializer())
            layer = tf.nn.bias_add(tf.matmul(layer, w), b)
            if i < 2:
                layer = tf.nn.relu(layer)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=layer))
    return trained(c, build, 8)


@both_kinds
def training_embeddings(c, resource):
    rng = np.random.RandomState(1)
    ids, y = rng.randint(40, size=[3, 32, 4]), rng.rand(32, 1).astype("f")

    def build():
        bags = []
        for i in range(3):
            table = v1.get_variable("t%d" % i, [40, 6], use_resource=resource, initializer=v1.random_normal_initializer(seed=i),
                                    partitioner=v1.fixed_size_partitioner(2) if i == 2 else None)
            parts = list(table) if i == 2 else table
            bags.append(tf.reduce_mean(v1.nn.embedding_lookup(parts, ids[i], partition_strategy="div"), 1))
        w = v1.get_variable("w", [18, 1], use_resource=resource, initializer=v1.ones_initializer())
        return tf.reduce_mean((tf.matmul(tf.concat(bags, 1), w) - y) ** 2)
    return trained(c, build, 8)


@story
def a_convolutional_net(c):
    images = numbers(8, 12, 12, 3)
    with graph() as g, setter():
        filters = v1.get_variable("f", [3, 3, 3, 4], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=True)
        scale, offset = (v1.get_variable(n, initializer=tf.constant(numbers(4, seed=k)), use_resource=True)
                         for k, n in enumerate(("scale", "offset")))
        x = tf.nn.conv2d(images, filters, 1, "SAME")
        x, _, _ = v1.nn.fused_batch_norm(x, scale, offset)
        x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")
        loss = tf.reduce_mean(x ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return [s.run([loss, train])[0] for _ in range(6)], s.run(filters)


def fused_on_a_parameter_server(c, are_variables):
    """Models whose computation, too, is on a parameter server: a TensorFlow master sends them fused. Their operands are fed or are
    variables, since a master computes with constants beforehand; of variables it knows the shapes."""
    feeds = {}

    def fed(*shape, seed=0):
        if are_variables:
            return v1.Variable(numbers(*shape, seed=seed), use_resource=True).read_value()
        x = v1.placeholder(tf.float32, shape)
        feeds[x] = numbers(*shape, seed=seed)
        return x
    with graph() as g, tf.device(PS[0]):
        x, w, b = fed(6, 8), fed(8, 5), fed(5)
        images, filters = fed(2, 9, 9, 3), fed(3, 3, 3, 5)
        scale = fed(5, seed=3) + 2.0
        activations = (tf.nn.relu, tf.nn.elu, tf.nn.relu6, tf.tanh, tf.sigmoid, tf.nn.leaky_relu, tf.identity)
        gelus = tuple(lambda y, k=k: tf.nn.gelu(y, approximate=k) for k in (False, True))
        products = [f(tf.nn.bias_add(tf.matmul(x, fed(8, 5, seed=k)), b)) for k, f in enumerate(activations + gelus)]
        products += [tf.nn.relu(tf.nn.bias_add(tf.matmul(w, x, transpose_a=True, transpose_b=True), fed(6)))]
        products += [f(tf.matmul(x, fed(8, 5, seed=k)) + b) for k, f in enumerate((tf.nn.relu, tf.nn.swish, tf.nn.softplus))]
        products += [tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b) + fed(6, 5))]
        convolutions = [f(tf.nn.bias_add(tf.nn.conv2d(images, fed(3, 3, 3, 5, seed=k), k % 2 + 1, ("SAME", "VALID")[k // 2 % 2]),
                                         b)) for k, f in enumerate(activations)]
        convolutions += [tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(images, fed(1, 1, 3, 5), 1, "SAME"), b) + fed(2, 9, 9, 5)),
                         tf.nn.relu(tf.nn.conv2d(images, fed(2, 2, 3, 5), 1, [[0, 0], [2, 1], [0, 1], [0, 0]]) + b)]
        normed = [v1.nn.fused_batch_norm(tf.nn.conv2d(images, fed(3, 3, 3, 5, seed=k), 2, "VALID"), scale, b, mean=b, variance=scale ** 2,
                                         is_training=False, epsilon=0.01)[0] for k in range(3)]
        convolved = tf.nn.conv2d(images, filters, 1, "SAME")
        trained_norms = [v1.nn.fused_batch_norm(convolved + k, scale, b, is_training=True)[0] for k in (1.0, 2.0)]
        norms = [tf.nn.relu(normed[0]), normed[1], tf.nn.elu(normed[2]), tf.nn.relu(trained_norms[0]),
                 tf.nn.relu(trained_norms[1] + convolved)]
        depthwise = tf.nn.relu(tf.nn.bias_add(tf.nn.depthwise_conv2d(images, fed(3, 3, 3, 2), [1, 1, 1, 1], "SAME"), fed(6)))
        volumes = tf.nn.relu(tf.nn.bias_add(tf.nn.conv3d(images[None], fed(3, 3, 3, 3, 5), [1] * 5, "SAME"), b))
        unary = [tf.exp(tf.sqrt(tf.abs(x))), tf.tanh(tf.sqrt(tf.square(x))), tf.math.log(tf.exp(tf.sigmoid(x)))]
        batch = tf.matmul(fed(2, 6, 8), fed(2, 8, 5)) * 0.5 + fed(2, 6, 5)
        padded = tf.nn.conv2d(tf.pad(images, [[0, 0], [1, 1], [1, 1], [0, 0]]), filters, 1, "VALID")
        others = [tf.concat([x, x * 1.0], 0), tf.parallel_stack([x[0], x[1]]), padded,
                  tf.add_n([x, x, x * 2.0]), tf.reduce_sum(tf.square(x - 1.0), 1), batch, tf.nn.swish(x + 1.0), x * tf.sigmoid(x),
                  tf.nn.softmax(tf.matmul(x, w) + b), tf.math.squared_difference(x, x * 0.5), tf.nn.l2_normalize(x, 1)]
        fetches = {"products": products, "convolutions": convolutions, "norms": norms, "depthwise": depthwise, "volumes": volumes,
                   "unary": unary, "others": others}
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return s.run(fetches, feeds)


@story
def what_is_fused_of_fed_operands(c):
    return fused_on_a_parameter_server(c, are_variables=False)


@story
def what_is_fused_of_variables(c):
    return fused_on_a_parameter_server(c, are_variables=True)


def saved_and_restored(c, prefix, sharded):
    with graph() as g, setter():
        for i, resource in enumerate((False, True)):
            v1.get_variable("v%d" % i, [30, 4], initializer=v1.random_normal_initializer(seed=i), use_resource=resource,
                            partitioner=v1.fixed_size_partitioner(3) if i else None)
        saver = v1.train.Saver(sharded=sharded)
        variables = v1.trainable_variables()
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            path = saver.save(s, prefix)
        with session(c, g) as s:
            saver.restore(s, path)
            return [s.run(variables), sorted(v1.train.load_checkpoint(path).get_variable_to_shape_map().items())]


@story
def checkpoints(c):
    with tempfile.TemporaryDirectory() as directory:
        return [saved_and_restored(c, "%s/sharded_%s" % (directory, sharded), sharded) for sharded in (False, True)]


def restarted(c: Cluster, job, index):
    """Kills a server and starts it again."""
    c.kill(job, index)
    c.start(job, index)


@story
@breaks_servers
def training_goes_on_after_kills(c):
    """A ps and the worker are killed and started again between steps; training goes on from the checkpoint of the last step."""
    x, y = numbers(32, 10), numbers(32, 1, seed=4)
    kills = {4: ("ps", 1), 8: ("worker", 0)}
    losses = {}
    with tempfile.TemporaryDirectory() as directory, graph():
        with setter():
            w = v1.get_variable("w", initializer=numbers(10, 4, seed=2), use_resource=True)
            u = v1.get_variable("u", initializer=numbers(4, 1, seed=3), use_resource=False)
            loss = tf.reduce_mean((tf.matmul(tf.nn.relu(tf.matmul(x, w)), u) - y) ** 2)
            step = v1.train.get_or_create_global_step()
            train = v1.train.AdamOptimizer(0.01).minimize(loss, step)
        with v1.train.MonitoredTrainingSession(c.target("chief"), checkpoint_dir=directory, save_checkpoint_steps=1,
                                               save_summaries_steps=None, log_step_count_steps=None, config=config()) as s:
            while True:
                found, at, _ = s.run([loss, step, train])
                losses[int(at)] = found
                if at >= 12:
                    break
                if at in kills:
                    restarted(c, *kills.pop(at))
    assert not kills
    return [losses[at] for at in sorted(losses)]


@story
@breaks_servers
def a_step_on_a_dead_server_fails(c):
    """With an error after which clients try again; a new session at the same chief works once the server is back."""
    seen = []
    with graph() as g:
        v = {}
        for job, device in (("ps", PS[1]), ("worker", WORKER)):
            with tf.device(device):
                v[job] = v1.get_variable(job, initializer=3.0, use_resource=True) + v1.placeholder_with_default(1.0, [])
        initialize = v1.global_variables_initializer()
        for job, index in (("ps", 1), ("worker", 0)):
            with v1.Session(c.target("chief"), graph=g, config=config()) as s:
                s.run(initialize)
                s.run(v[job])
                c.kill(job, index)
                try:
                    seen.append(s.run(v[job]))
                except (E.UnavailableError, E.AbortedError):
                    seen.append("lost")
                c.start(job, index)
            with v1.Session(c.target("chief"), graph=g, config=config()) as s:
                try:
                    seen.append(s.run(v[job]))
                except E.FailedPreconditionError:
                    seen.append("uninitialized")
                s.run(initialize)
                seen.append(s.run(v[job]))
    return seen
