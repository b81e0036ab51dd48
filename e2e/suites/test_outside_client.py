"""An unmodified TensorFlow client outside the cluster opens a session on a pod's server."""

import subprocess
import sys
import urllib.request

import pytest
from harness import jobs
from harness.forward import forwarded
from harness.kube import create, until

CLIENT = """
import sys
import tensorflow as tf
v1 = tf.compat.v1
v1.disable_eager_execution()
with tf.device("/job:ps/task:0"):
    w = v1.get_variable("w", [2], initializer=v1.zeros_initializer(), use_resource=False)
with tf.device("/job:worker/task:1"):
    step = tf.constant([[1.0, 2.0], [3.0, 4.0]]) @ tf.constant([[1.0], [1.0]])
train = w.assign_add(tf.reshape(step, [2]))
with v1.Session(sys.argv[1]) as s:
    print("devices", sorted(d.name for d in s.list_devices()))
    s.run(v1.global_variables_initializer())
    s.run(train)
    print("value", s.run(train).tolist())
"""


def test_a_session_from_outside(ns):
    pytest.importorskip("tensorflow", reason="there is no TensorFlow in this Python: ./dev venv")
    create(jobs.tfjob("servers", {"PS": jobs.replica(jobs.RUNTIME), "Worker": jobs.replica(jobs.RUNTIME, 2)}), ns)
    jobs.running("servers", ns, 3)
    with forwarded("servers-worker-0", ns, 2222) as port:
        done = subprocess.run([sys.executable, "-c", CLIENT, f"grpc://127.0.0.1:{port}"], capture_output=True, text=True,
                              timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "/job:ps/replica:0/task:0/device:CPU:0" in done.stdout
    assert "/job:worker/replica:0/task:1/device:CPU:0" in done.stdout
    assert "value [6.0, 14.0]" in done.stdout


def test_a_server_says_over_http_and_grpc_that_it_is_well(ns):
    server = jobs.replica(jobs.RUNTIME, readinessProbe={"grpc": {"port": 2222}, "periodSeconds": 1},
                          livenessProbe={"httpGet": {"path": "/healthz", "port": 9464}, "periodSeconds": 1})
    create(jobs.tfjob("well", {"Worker": server}), ns)
    pod = jobs.running("well", ns, 1)["well-worker-0"]
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0
    with forwarded("well-worker-0", ns, 9464) as port:
        def metrics():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return answer.read().decode()

        assert "tensorfleet_step_seconds_count" in until("metrics are served", metrics, 10)
