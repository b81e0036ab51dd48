#!/usr/bin/env python3
"""How long users wait, on the cluster of KUBECONFIG with the chart installed and the images of e2e/run loaded.

    measure.py pods [COUNT]     from the submission of a 5-replica job, and from kubectl's start, to its last pod's creation
    measure.py step [COUNT]     from the submission of a training job to its first step, and where the time goes
    measure.py server PROGRAM   from exec of a server to its first accepted connection, and its memory
"""

import datetime
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

from harness import jobs
from harness.kube import kubectl
from kubernetes import client, config, watch

NAMESPACE = "measure"


def spread(name, values, unit="ms", digits=0):
    values = sorted(values)
    median, least, most = (f"{v:.{digits}f}" for v in (statistics.median(values), values[0], values[-1]))
    print(f"{name}: median {median} {unit}, least {least}, most {most} ({len(values)} times, load {os.getloadavg()[0]:.0f})")


def submit(job):
    client.CustomObjectsApi().create_namespaced_custom_object("kubeflow.org", "v1", NAMESPACE, "tfjobs", job)


def apply(job):
    kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=json.dumps(job))


class Pods:
    """When a watch first shows each pod of the namespace made, bound to a node, and with its containers running."""

    def __init__(self):
        self._seen, self._changed = {}, threading.Condition()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        for event in watch.Watch().stream(client.CoreV1Api().list_namespaced_pod, NAMESPACE):
            pod, now = event["object"], time.time()
            states = pod.status.container_statuses or []
            with self._changed:
                seen = self._seen.setdefault(pod.metadata.name, {"made": now})
                if pod.spec.node_name:
                    seen.setdefault("bound", now)
                if states and all(s.state.running or s.state.terminated for s in states):
                    seen.setdefault("running", now)
                self._changed.notify_all()

    def wait(self, names, what, timeout=60):
        """The times at which that came to pass, one for each name."""
        with self._changed:
            reached = self._changed.wait_for(lambda: all(what in self._seen.get(n, {}) for n in names), timeout)
            assert reached, f"not all of {names} are {what}"
            return [self._seen[n][what] for n in names]


def finish(name):
    """Deletes the job and lets the node come to rest: taking five containers down is work that the next job would wait for."""
    kubectl("delete", "tfjob", name, "-n", NAMESPACE, "--wait=true")
    kubectl("wait", "pods", "--for=delete", "-n", NAMESPACE, "-l", f"training.kubeflow.org/job-name={name}", "--timeout=60s")
    time.sleep(3)


def pods_of_job(count):
    """One job at a time: sent over a connection that is open, then as users do it, by a kubectl of its own."""
    pods = Pods()
    for how, send in (("sent to the API server", submit), ("kubectl apply", apply)):
        first, last, answered = [], [], []
        for i in range(count):
            name = f"{how[0]}{i}"
            wanted = [f"{name}-worker-{w}" for w in range(4)] + [f"{name}-ps-0"]
            begin = time.time()
            send(jobs.tfjob(name, {"PS": jobs.sleeper(), "Worker": jobs.sleeper(4)}))
            answered.append((time.time() - begin) * 1000)
            times = [(t - begin) * 1000 for t in pods.wait(wanted, "made")]
            first.append(min(times))
            last.append(max(times))
            pods.wait(wanted, "running")
            finish(name)
        spread(f"{how}, answered", answered)
        spread(f"{how}, first pod made", first)
        spread(f"{how}, all five pods made", last)


def line_at(log, text):
    """Seconds since 1970 at which the log's first line with `text` was written; the runtime notes fractions of them."""
    line = next(line for line in log.splitlines() if text in line)
    return datetime.datetime.fromisoformat(line.split()[0][:26].rstrip("Z") + "+00:00").timestamp()


def first_step(count):
    """From a watch and from logs; client and node share a clock. The images are on the node."""
    pods, stages = Pods(), {}
    for i in range(count):
        name = f"s{i}"
        replicas = [f"{name}-chief-0", f"{name}-ps-0", f"{name}-worker-0", f"{name}-worker-1"]
        begin = time.time()
        submit(jobs.linear(name, {"cleanPodPolicy": "None"}))
        jobs.wait_for(name, NAMESPACE, "Succeeded", 120)
        end = time.time()
        worker = jobs.logs(f"{name}-worker-0", NAMESPACE, "--timestamps")
        chief = jobs.logs(f"{name}-chief-0", NAMESPACE, "--timestamps")
        for what, at in (
            ("all pods made", max(pods.wait(replicas, "made"))),
            ("all pods bound to the node", max(pods.wait(replicas, "bound"))),
            ("worker 0 serves", line_at(worker, "Started server")),
            ("all containers run, as the API server shows it", max(pods.wait(replicas, "running"))),
            ("worker 0's session opened", line_at(worker, "Start master session")),
            ("first step made", line_at(chief, "step   1 ")),
            ("job Succeeded, 200 steps", end),
        ):
            stages.setdefault(what, []).append((at - begin) * 1000)
        finish(name)
    for what, times in stages.items():
        spread(what, times)


def server(program, count=20):
    ready, working, waiting, memory = [], [], [], []
    for _ in range(count):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        begin = time.monotonic()
        process = subprocess.Popen([program, "server", "--bind", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.0005)
        ready.append((time.monotonic() - begin) * 1000)
        # Of the thread that starts the server: nanoseconds on a processor, and ready to run without one.
        with open(f"/proc/{process.pid}/schedstat") as file:
            on, off, _ = map(int, file.read().split())
        working.append(on / 1e6)
        waiting.append(off / 1e6)
        time.sleep(0.2)
        with open(f"/proc/{process.pid}/status") as file:
            status = file.read()
        memory.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024 / 1e6)
        process.terminate()
        process.wait(timeout=30)
    spread("exec to listening", ready)
    spread("  of that on a processor", working)
    spread("  of that waiting for one", waiting)
    spread("resident memory, idle", memory, "MB", 1)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "server":
        return server(sys.argv[2])
    if what not in ("pods", "step"):
        sys.exit(__doc__)
    config.load_kube_config()
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait", timeout=120)
    kubectl("create", "namespace", NAMESPACE)
    try:
        count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
        (pods_of_job if what == "pods" else first_step)(count)
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")


if __name__ == "__main__":
    main()
