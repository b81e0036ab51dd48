"""The servers that run this process's sessions without a target: one child, shared by all of them.

Sessions of another number of CPU devices (`ConfigProto.device_count`) have a child of their own.
"""
from __future__ import annotations

import json
import os
import threading
from typing import Dict, Tuple

from . import _child, _counters

_HOST = "127.0.0.1"
_lock = threading.Lock()
_engines: Dict[Tuple[int, int], _child.Child] = {}


def _mind_proxies() -> None:
    """gRPC sends its calls to a proxy that the environment names, to this machine too unless it is told not to."""
    if not any(os.environ.get(v) for v in ("grpc_proxy", "https_proxy", "http_proxy")):
        return
    without = os.environ.get("no_grpc_proxy") or os.environ.get("no_proxy", "")
    if _HOST not in without.split(","):
        os.environ["no_grpc_proxy"] = without + ("," if without else "") + _HOST


def target(cpu_devices: int, threads: int) -> str:
    """Where to open a session; starts the child unless it is there.

    Args:
        cpu_devices: How many CPU devices its sessions see.
        threads: How many threads run kernels, 0: one per core. The first session decides, as in TensorFlow.
    """
    with _lock:
        engine = _engines.get((os.getpid(), cpu_devices))
        if engine is None or not engine.is_alive:
            _mind_proxies()

            def arguments(port: int):
                address = "%s:%d" % (_HOST, port)
                return ["--cluster_spec", json.dumps({"localhost": [address]}), "--job_name", "localhost",
                        "--task_index", "0", "--bind", address, "--tensor_port", "-1",
                        "--cpu_devices", str(cpu_devices), "--threads", str(threads)]

            engine = _child.Child(arguments, level="warning", host=_HOST)
            _engines[os.getpid(), cpu_devices] = engine
        address = "grpc://%s:%d" % (_HOST, engine.port)
        _counters.add_target(address)
        return address


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _engines.clear()


os.register_at_fork(after_in_child=_after_fork)
