"""The API server goes away and comes back while jobs start: all of them run, each pod once."""

import os
import subprocess
import threading

from harness import jobs, processes
from harness.kube import KubectlError, create, get, until

COUNT = 20


def test_restarted_under_load(ns):
    processes.needs_own_cluster()
    batch = [jobs.tfjob(f"j{i}", {"Worker": jobs.script("sleep 1", 2)}, {"cleanPodPolicy": "None"}, successPolicy="AllWorkers")
             for i in range(COUNT)]
    create(batch[: COUNT // 2], ns)
    restart = threading.Thread(
        target=subprocess.run, args=([os.environ["E2E_CLUSTER"], "restart", "kube-apiserver"],), kwargs={"timeout": 120})
    restart.start()
    for job in batch[COUNT // 2 :]:

        def submitted(job=job):
            try:
                create(job, ns)
            except KubectlError as error:
                return "AlreadyExists" in str(error)
            return True

        until("the job is submitted", submitted, 60)
    restart.join()
    for job in batch:
        jobs.wait_for(job["metadata"]["name"], ns, "Succeeded", 180)
    pods = get("pods", ns=ns)
    assert len(pods) == 2 * COUNT
    assert not [p for p in pods if "tensorfleet.dev/attempt" in p["metadata"].get("annotations", {})]
    assert not [j for j in get("tfjobs", ns=ns) if j["status"].get("restarts")]
