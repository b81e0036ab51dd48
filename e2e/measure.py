#!/usr/bin/env python3
"""How long users wait, on the cluster of KUBECONFIG with the chart installed and the images of e2e/run loaded.

    measure.py pods [COUNT]     from the submission of a 5-replica job to its last pod's creation
    measure.py step [COUNT]     from the submission of a training job to its first step, and where the time goes
    measure.py server PROGRAM   from exec of a server to its first accepted connection, and its memory
"""

import datetime
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


def spread(name, values, unit="ms"):
    values = sorted(values)
    print(f"{name}: median {statistics.median(values):.0f} {unit}, least {values[0]:.0f}, most {values[-1]:.0f} ({len(values)})")


def submit(job):
    client.CustomObjectsApi().create_namespaced_custom_object("kubeflow.org", "v1", NAMESPACE, "tfjobs", job)


def pods_of_job(count):
    """Times at which a watch shows the five pods of each job, one job at a time."""
    seen, changed = {}, threading.Condition()

    def follow():
        for event in watch.Watch().stream(client.CoreV1Api().list_namespaced_pod, NAMESPACE):
            with changed:
                seen.setdefault(event["object"].metadata.name, time.monotonic())
                changed.notify_all()

    threading.Thread(target=follow, daemon=True).start()
    first, last, answered = [], [], []
    for i in range(count):
        name = f"m{i}"
        wanted = {f"{name}-worker-{w}" for w in range(4)} | {f"{name}-ps-0"}
        begin = time.monotonic()
        submit(jobs.tfjob(name, {"PS": jobs.sleeper(), "Worker": jobs.sleeper(4)}))
        answered.append((time.monotonic() - begin) * 1000)
        with changed:
            assert changed.wait_for(lambda names=wanted: names <= set(seen), timeout=60), "pods are missing"
        times = [(seen[n] - begin) * 1000 for n in wanted]
        first.append(min(times))
        last.append(max(times))
        kubectl("delete", "tfjob", name, "-n", NAMESPACE, "--wait=true")
        time.sleep(1)
    spread("submission answered", answered)
    spread("first pod created", first)
    spread("all five pods created", last)


def stamp(text):
    return datetime.datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00")


def first_step(count):
    """From logs, which have fractions of a second; client and node share a clock. The trainer's first step follows the
    session at once; its own lines come when it ends, so they say nothing here."""
    serving, session, done = [], [], []
    for i in range(count):
        name = f"s{i}"
        begin = datetime.datetime.now(datetime.timezone.utc)
        submit(jobs.linear(name, {"cleanPodPolicy": "None"}))
        jobs.wait_for(name, NAMESPACE, "Succeeded", 120)
        done.append((datetime.datetime.now(datetime.timezone.utc) - begin).total_seconds() * 1000)
        log = jobs.logs(f"{name}-worker-0", NAMESPACE, "--timestamps").splitlines()
        for text, times in (("Started server", serving), ("Start master session", session)):
            line = next(line for line in log if text in line)
            times.append((stamp(line.split()[0]) - begin).total_seconds() * 1000)
        kubectl("delete", "tfjob", name, "-n", NAMESPACE, "--wait=true")
    spread("worker 0 serves", serving)
    spread("its session is open, the first step begins", session)
    spread("the job has succeeded", done)


def server(program, count=20):
    ready, memory = [], []
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
        time.sleep(0.2)
        with open(f"/proc/{process.pid}/status") as file:
            status = file.read()
        memory.append(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024)
        process.terminate()
        process.wait(timeout=30)
    spread("exec to listening", ready)
    spread("resident memory, idle", memory, "MiB")


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
