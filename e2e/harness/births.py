"""How often each pod of a namespace was made, seen by a watch rather than by looking now and then."""

import collections
import json
import subprocess
import threading


class Births:
    """Counts, from `with` on, the different pods (by UID) that each name had."""

    def __init__(self, ns):
        self.uids = collections.defaultdict(set)
        self._command = ["kubectl", "get", "pods", "-n", ns, "--watch", "-o", "json", "--output-watch-events"]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def _read(self):
        for line in self._process.stdout:  # an event a line
            meta = json.loads(line)["object"]["metadata"]
            self.uids[meta["name"]].add(meta["uid"])

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=10)
        self._thread.join(timeout=10)
        self._process.stdout.close()

    def made_twice(self):
        return {name: len(uids) for name, uids in self.uids.items() if len(uids) > 1}
