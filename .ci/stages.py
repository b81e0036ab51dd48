"""What CI runs: the stages, what they may take, and what takes turns.

Minutes are upper bounds on two cores in a fresh clone with an empty compiler cache, but with what the stages before have built.
A full cache makes most of them a third; what is saved so goes to more of the rotation.
"""

import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass
from typing import Callable


def _possible() -> str:
    return ""


@dataclass(frozen=True)
class Stage:
    verb: tuple[str, ...]  # what follows ./dev
    minutes: int
    folders: tuple[str, ...] = ()  # a change below one of them puts the stage in turn
    again: tuple[str, ...] = ()  # the verb that gives failed tests their second try
    cannot: Callable[[], str] = _possible  # why this machine cannot run it; "" when it can

    @property
    def name(self) -> str:
        return " ".join(self.verb)


def _needs(what: str, *programs: str) -> Callable[[], str]:
    return lambda: "" if any(shutil.which(p) for p in programs) else f"it needs {what}"


def _needs_image_builder() -> str:
    """docker/engine.sh's choice: buildah, or docker with its daemon."""
    if shutil.which("buildah"):
        return ""
    if not shutil.which("docker"):
        return "it needs buildah or docker"
    there = subprocess.run(["docker", "info"], capture_output=True).returncode == 0
    return "" if there else "docker's daemon does not answer, and buildah is not installed"


# Always begun, the cheap ones first. The build of the release preset is part of `test`: 20 of its minutes.
FIRST = (
    Stage(("lint",), 2),
    Stage(("chart",), 4, cannot=_needs("helm or go", "helm", "go")),
    Stage(("test",), 40, again=("retest",)),
    Stage(("image",), 8, cannot=_needs_image_builder),
)

# Groups of folders whose tests are built and watched together: each needs little more of the tree than itself. A change in a
# folder counts for the group that names the longest path to it.
CORE = ("proto", "runtime/base", "runtime/tensor", "runtime/graph", "runtime/ops", "runtime/device", "runtime/io", "runtime/net")
ENGINE = ("runtime/kernels", "runtime/place", "runtime/execute", "runtime/collective", "runtime/session", "runtime/rpc")
KERNELS = ("runtime/kernels/cpu", "runtime/kernels/portable", "runtime/data", "runtime/pjrt")
TRAINING = ("runtime/client", "runtime/capi", "runtime/train", "runtime/cli")
# ThreadSanitizer: where threads meet. The bodies of kernels have no locks of their own.
THREADED = ("runtime/base", "runtime/net", "runtime/kernels", "runtime/execute", "runtime/session", "runtime/rpc")


def tests(folders: tuple[str, ...]) -> tuple[str, ...]:
    """What ./dev asan and tsan are told: folders, but runtime/kernels alone, without the kernels below it."""
    return tuple("runtime_kernels_test" if f == "runtime/kernels" else f for f in folders)


# They take turns; what changed comes next, then the rest in this order, as long as there is time.
ROTATION = (
    Stage(("asan", *tests(ENGINE)), 10, ENGINE),
    Stage(("tsan", *tests(THREADED)), 12, THREADED),
    Stage(("asan", "operator"), 9, ("operator",)),
    Stage(("fuzz", "10"), 9, ("runtime/graph", "runtime/session", "runtime/tensor", "runtime/device", "operator/k8s",
                              "operator/http", "operator/plan")),
    Stage(("asan", *KERNELS), 18, KERNELS),
    # In the release preset, with fences around tensors and a limit of memory: some 400 newer ops have not been through the
    # sanitizers' run (./dev fuzz ops SECONDS asan) yet. When they have, "release" goes.
    Stage(("fuzz", "ops", "60", "release", "1"), 6, (*KERNELS, "runtime/ops", "runtime/opfuzz")),
    Stage(("tidy", "--turn"), 8, ("runtime", "operator")),
    Stage(("tsan", "operator"), 10, ("operator",)),
    Stage(("asan", *CORE), 8, CORE),
    Stage(("asan", *TRAINING), 18, TRAINING),
)

# The stories on a cluster: bringing it up with its images, and each story. The operator's own cluster tests are told as one.
CLUSTER_MINUTES = 5
CLUSTER_PROGRAMS_MINUTES = 10  # Kubernetes' programs, once a machine
STORY_MINUTES = 2.5
FEWEST_STORIES = 3  # what time is kept for; one room of the rotation


def stories() -> list[str]:
    names = (p.stem.removeprefix("test_") for p in pathlib.Path("e2e/suites").glob("test_*.py"))
    return sorted(names) + ["cluster_tests"]


def cluster_minutes() -> float:
    """Until the first story can be told."""
    cache = pathlib.Path(os.environ.get("CLUSTER_CACHE", pathlib.Path.home() / ".cache/cluster"))
    built = (cache / "bin/.stamp").is_file()
    return CLUSTER_MINUTES + (0 if built else CLUSTER_PROGRAMS_MINUTES)


def cannot_have_cluster() -> str:
    cgroup = pathlib.Path("/sys/fs/cgroup/pids")  # of version 1
    if not cgroup.is_dir():
        cgroup = cgroup.parent
    if os.getuid() != 0:
        return "it needs root"
    if not os.access(cgroup, os.W_OK):
        return f"it needs cgroups, and {cgroup} cannot be written"
    if cluster_minutes() > CLUSTER_MINUTES and not shutil.which("go"):
        return "it needs go, to build Kubernetes' programs"
    return ""


# When a run has told too little to be believed.
#
# Two stages have needs that a plain machine may lack, the images (a container engine) and the stories (a cluster); a third that
# is left out means that the run came to nothing.
MOST_SKIPPED = 2
# The last stage may meet the limit. Two that do, and the estimates above are wrong.
MOST_CUT = 1
# Each flaky test is a fault to be found. One or two may show in a run of thousands on a loaded machine; more hide real failures.
MOST_FLAKY = 2
