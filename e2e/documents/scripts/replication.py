# Document 004: the same training with replication in one graph and between graphs.
import threading
import numpy as np
import tensorfleet.tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": ["localhost:2222"], "worker": ["localhost:2223", "localhost:2224"]})
servers = [tf.train.Server(cluster, job_name=job, task_index=i) for job, i in (("ps", 0), ("worker", 0), ("worker", 1))]

data = np.random.RandomState(3)
xs = data.rand(2, 32, 4).astype("f")
ys = (xs @ data.rand(4, 1)).astype("f")

def loss_of(i, w):
    return tf.reduce_mean(tf.square(tf.matmul(xs[i], w) - ys[i]))

# In-graph: one client, a tower per worker.
with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        w = tf.Variable(tf.zeros([4, 1]), name="in_graph")
    gradients = []
    for i in range(2):
        with tf.device("/job:worker/task:%d" % i):
            gradients.append(tf.gradients(loss_of(i, w), w)[0])
    with tf.device("/job:ps/task:0"):
        train = w.assign_sub(0.1 * (gradients[0] + gradients[1]) / 2)
    both = loss_of(0, w) + loss_of(1, w)
    with tf.Session(servers[1].target) as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(300):
            sess.run(train)
        in_graph = sess.run(both)

# Between graphs: a client for each worker, each with a graph of its own, at the same time.
losses, ready = {}, threading.Event()

def client(i):
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.Variable(tf.zeros([4, 1]), name="between")
        with tf.device("/job:worker/task:%d" % i):
            train = tf.train.GradientDescentOptimizer(0.05).minimize(loss_of(i, w))
        both = loss_of(0, w) + loss_of(1, w)
        with tf.Session(servers[1 + i].target) as sess:
            if i == 0:
                sess.run(tf.global_variables_initializer())
                ready.set()
            ready.wait(60)
            for _ in range(300):
                sess.run(train)
            done.wait(60)
            losses[i] = sess.run(both)

done = threading.Barrier(2)
threads = [threading.Thread(target=client, args=(i, )) for i in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("in-graph %.5f, between graphs %.5f" % (in_graph, losses[0]))
assert abs(in_graph - losses[0]) < 0.02 and losses[0] == losses[1]
