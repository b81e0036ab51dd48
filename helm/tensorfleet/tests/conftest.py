"""Renders the chart as Helm would. HELM names the program, when it is not on PATH."""

import os
import pathlib
import shutil
import subprocess

import pytest
import yaml

CHART = pathlib.Path(__file__).resolve().parent.parent
ROOT = CHART.parent.parent


class Rendered:
    """The objects of one rendering."""

    def __init__(self, text):
        self.objects = [o for o in yaml.safe_load_all(text) if o]

    def all(self, kind):
        return [o for o in self.objects if o["kind"] == kind]

    def one(self, kind, name=None):
        found = [o for o in self.all(kind) if name in (None, o["metadata"]["name"])]
        assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
        return found[0]

    @property
    def pod(self):
        return self.one("Deployment")["spec"]["template"]["spec"]

    @property
    def args(self):
        return self.pod["containers"][0]["args"]


def run_helm(*args, stdin=None):
    helm = os.environ.get("HELM") or shutil.which("helm")
    assert helm, "there is no helm: put it on PATH or name it in HELM"
    return subprocess.run([helm, *args], input=stdin, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def template():
    """template({values}) -> Rendered; ValueError with Helm's words where it refuses them."""

    def render(values=None, release="tensorfleet", namespace="fleet"):
        done = run_helm("template", release, str(CHART), "-n", namespace, "-f", "-", stdin=yaml.safe_dump(values or {}))
        if done.returncode != 0:
            raise ValueError(done.stderr)
        return Rendered(done.stdout)

    return render


@pytest.fixture
def helm():
    return run_helm
