# Document 002: the forms of a cluster's description, each turned into the others.
import json
import tensorfleet.tensorflow as tf
from google.protobuf import text_format

jobs = {
    "worker": [
        "wk0.example.com:2222",
        "wk1.example.com:2222",
        "wk2.example.com:2222"
    ],
    "ps": [
        "ps0.example.com:2222",
    ]}
spec = tf.train.ClusterSpec(jobs)
assert tf.train.ClusterSpec(json.loads(json.dumps(spec.as_dict()))) == spec
definition = spec.as_cluster_def()
assert tf.train.ClusterSpec(definition) == spec
assert tf.train.ClusterSpec(tf.train.ClusterDef.FromString(definition.SerializeToString())) == spec
assert tf.train.ClusterSpec(text_format.Parse(text_format.MessageToString(definition), tf.train.ClusterDef())) == spec

# Of sparse tasks, one is served, whose neighbours nobody needs.
sparse = tf.train.ClusterSpec({"worker": {3: "localhost:2222"}})
server = tf.train.Server(sparse, job_name="worker", task_index=3)
with tf.Session(server.target) as sess:
    print([device.name for device in sess.list_devices()])

for wrong, task, words in (
        ({"worker": ["localhost:0"]}, ("ps", 0), 'Job "ps" was not defined in cluster'),
        ({"worker": ["localhost:0"]}, ("worker", 1), 'Task 1 was not defined in job "worker"'),
        ({"worker": ["localhost"]}, ("worker", 0), '"localhost"'),
        ({"worker": ["localhost:0", "no where:2223"]}, ("worker", 0), "'no where:2223'")):
    try:
        tf.train.Server(wrong, job_name=task[0], task_index=task[1])
        raise AssertionError("no error for %s" % wrong)
    except tf.errors.OpError as e:
        assert words in e.message, e.message
print("every form says the same")
