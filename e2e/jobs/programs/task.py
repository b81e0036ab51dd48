"""Which task of the job this process is, as every TensorFlow program on Kubeflow learns it: from TF_CONFIG."""
import json
import os
import time

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.INFO)

_config = json.loads(os.environ["TF_CONFIG"])
_spec = _config["cluster"]

job = _config["task"]["type"]
index = _config["task"]["index"]
cluster = tf.train.ClusterSpec(_spec)
master = "grpc://" + _spec[job][index]
is_chief = job == "chief" or ("chief" not in _spec and job == "worker" and index == 0)
worker_device = "/job:%s/task:%d" % (job, index)
num_workers = sum(len(_spec.get(j, [])) for j in ("chief", "worker"))
worker_number = index + (1 if "chief" in _spec and job == "worker" else 0)


def device_setter(**kwargs):
    return tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker_device, **kwargs))


def wait_for_chief(directory):
    """Until the chief has initialised the model, which its first checkpoint shows. A worker's own session would look
    again only every 30 seconds."""
    while not is_chief and tf.train.latest_checkpoint(directory) is None:
        time.sleep(0.02)


def report(**values):
    print("RESULT " + json.dumps(values), flush=True)
