"""The programs inside the examples of TensorFlow's own image, run as processes of this machine by the real TensorFlow."""

import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest
import yaml

OPERATOR = None
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "deploy/examples"
pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None,
                                reason="there is no TensorFlow in this Python: ./dev venv")


def documents(name):
    return {d["kind"]: d for d in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text())}


def start(script, cluster, kind):
    config = {"cluster": cluster, "task": {"type": kind, "index": 0}, "environment": "cloud"}
    env = {**os.environ, "TF_CONFIG": json.dumps(config), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_address():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return f"localhost:{probe.getsockname()[1]}"


def test_parameter_server_training_converges():
    found = documents("tensorflow_image")
    script = found["ConfigMap"]["data"]["train.py"]
    kinds = [kind.lower() for kind in found["TFJob"]["spec"]["tfReplicaSpecs"]]
    cluster = {kind: [free_address()] for kind in kinds}
    servers = [start(script, cluster, kind) for kind in kinds if kind != "chief"]
    try:
        out, err = start(script, cluster, "chief").communicate(timeout=180)
        assert out.startswith("loss "), err[-2000:]
    finally:
        for server in servers:
            server.kill()
            server.communicate()


def test_the_evaluator_reads_what_the_chief_writes(tmp_path):
    specs = documents("evaluator_tensorboard")["TFJob"]["spec"]["tfReplicaSpecs"]
    script = specs["Chief"]["template"]["spec"]["containers"][0]["command"][2].replace("/logs", str(tmp_path))
    chief, evaluator = start(script, {}, "chief"), start(script.replace("timeout=600", "timeout=20"), {}, "evaluator")
    try:
        out, err = chief.communicate(timeout=180)
        assert "trained" in out, err[-2000:]
        out, err = evaluator.communicate(timeout=120)
        assert "evaluated 20 " in out, err[-2000:]
    finally:
        for process in (chief, evaluator):
            process.kill()
            process.communicate()
    assert list((tmp_path / "train").glob("events*")) and list((tmp_path / "eval").glob("events*"))
