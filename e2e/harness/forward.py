"""A pod's port on this machine."""

import contextlib
import re
import subprocess


@contextlib.contextmanager
def forwarded(name, ns, port, kind="pod"):
    """`kubectl port-forward`, for as long as the block runs; gives the port of this machine."""
    command = ["kubectl", "port-forward", "-n", ns, "--address=127.0.0.1", f"{kind}/{name}", f":{port}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield int(re.search(r":(\d+) ->", process.stdout.readline())[1])
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()
