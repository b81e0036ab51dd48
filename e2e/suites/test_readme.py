"""The README's commands for a cluster, as they stand there."""

import pathlib
import subprocess
import sys

from harness import chart

OPERATOR = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e"))
import readme  # noqa: E402


def test_every_block_says_where_it_runs():
    assert not readme.unmarked()


def test_the_commands_for_a_cluster_work():
    chart.uninstall()
    said = []
    for language, text in readme.blocks("cluster"):
        assert language == "sh"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=300,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout)
    assert "Phase:          Succeeded" in said[0]  # of helm test
    assert "Succeeded" in said[1] and "accuracy=0.9" in said[1]
