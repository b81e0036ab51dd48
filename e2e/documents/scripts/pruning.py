# Document 003: the master prunes the graph to what a request needs, and the workers run it over the tasks.
import tensorfleet.tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": ["localhost:2222"], "worker": ["localhost:2223"]})
ps = tf.train.Server(cluster, job_name="ps", task_index=0)
worker = tf.train.Server(cluster, job_name="worker", task_index=0)

with tf.device("/job:ps/task:0"):
    weights = tf.Variable([[1.0], [2.0]], name="weights")
with tf.device("/job:worker/task:0"):
    input = tf.placeholder(tf.float32, [None, 2], name="input")
    product = tf.matmul(input, weights, name="product")
    unwanted = tf.Print(product, [product], name="unwanted")

with tf.Session(worker.target) as sess:
    sess.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    print(sess.run(product, {input: [[1.0, 1.0]]}, run_metadata=metadata,
                   options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)))
ran = {node.node_name: device.device for device in metadata.step_stats.dev_stats for node in device.node_stats}
assert ran["product"].startswith("/job:worker/"), ran
assert ran["weights"].startswith("/job:ps/"), ran
assert not {"unwanted", "weights/Assign"} & set(ran), ran
print("what the request does not need did not run")
