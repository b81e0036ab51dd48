# Document 002: parameters on one task, training on another, a session on the worker that is asked.
import numpy as np
import tensorfleet.tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": ["localhost:2222", "localhost:2223"],
                                "worker": ["localhost:2224", "localhost:2225"]})
servers = [tf.train.Server(cluster, job_name=job, task_index=i) for job in ("ps", "worker") for i in range(2)]

data = np.random.RandomState(0)
input = data.rand(64, 8).astype("f")
labels = (input @ data.rand(8, 1)).astype("f")

#Address the Parameter Server task
with tf.device("/job:ps/task:1"):
    weights_1 = tf.Variable(tf.truncated_normal([8, 16], stddev=0.3, seed=1), name="weights_1")
    biases_1 = tf.Variable(tf.zeros([16]), name="biases_1")
    weights_2 = tf.Variable(tf.truncated_normal([16, 1], stddev=0.3, seed=2), name="weights_2")
    biases_2 = tf.Variable(tf.zeros([1]), name="biases_2")

#Address the worker task
with tf.device("/job:worker/task:1"):
    layer_1 = tf.nn.relu(tf.matmul(input, weights_1) + biases_1)
    logits = tf.matmul(layer_1, weights_2) + biases_2
    loss = tf.reduce_mean(tf.square(logits - labels))
    train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

#Command the main task of the cluster
with tf.Session(servers[3].target) as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(loss)
    for i in range(100):
        sess.run(train_op)
    last = sess.run(loss)
    metadata = tf.RunMetadata()
    sess.run(train_op, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
print("the loss fell from %.4f to %.4f" % (first, last))
assert last < first / 5
ran = {node.node_name: device.device for device in metadata.step_stats.dev_stats for node in device.node_stats}
for name in ("weights_1", "biases_1", "weights_2"):
    assert ran[name] == "/job:ps/replica:0/task:1/device:CPU:0", (name, ran[name])
assert ran[logits.op.name.replace("add", "MatMul")].startswith("/job:worker/replica:0/task:1/"), ran
print("every op ran where it was put")
