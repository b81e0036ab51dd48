"""kubectl as users have it, and waiting with a deadline."""

import json
import os
import subprocess
import time


class KubectlError(Exception):
    """kubectl ended with another status than 0; the text is what it said."""


def kubectl(*args, stdin=None, timeout=60):
    """What `kubectl ARGS...` prints."""
    done = subprocess.run(["kubectl", *args], input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise KubectlError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def get(kind, name=None, ns=None, selector=None):
    """One object, or the list of all that the selector chooses; None for one that is not there."""
    args = ["get", kind, *([name] if name else []), "-o", "json", "--ignore-not-found"]
    args += ["-n", ns] if ns else []
    args += ["-l", selector] if selector else []
    text = kubectl(*args)
    if name:
        return json.loads(text) if text.strip() else None
    return json.loads(text)["items"] if text.strip() else []


def create(item, ns=None):
    """Creates one object or several; raises KubectlError where the API server refuses."""
    items = item if isinstance(item, list) else [item]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}) if len(items) > 1 else json.dumps(items[0])
    return kubectl("create", "-f", "-", *(["-n", ns] if ns else []), stdin=text)


def patch(kind, name, ns, body, subresource=None):
    args = ["patch", kind, name, "-n", ns, "--type=merge", "-p", json.dumps(body)]
    return kubectl(*args, *([f"--subresource={subresource}"] if subresource else []))


def until(what, condition, timeout=60, every=0.25):
    """The first true value of condition(); AssertionError naming `what` and its last value when there is none in time."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what} (last: {value!r})")
        time.sleep(every)


def always(what, condition, seconds):
    """condition() stays true for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        assert value, f"did not stay so: {what}"
        time.sleep(0.25)


def own_cluster():
    """The command of the cluster that this run brought up; None for one that was there before."""
    return os.environ.get("E2E_CLUSTER")
