"""Which engine ran how many steps of this process's sessions."""
from __future__ import annotations

import os
import threading
from typing import Dict, Set

_lock = threading.Lock()
_steps: Dict[str, int] = {}
_targets: Set[str] = set()


def add_target(target: str) -> None:
    """Sessions on `target` run on one of our servers."""
    _targets.add(target)


def engine_of(target: str) -> str:
    if not target:
        return "tensorflow"
    return "tensorfleet" if target in _targets else "remote"


def count(engine: str) -> None:
    with _lock:
        _steps[engine] = _steps.get(engine, 0) + 1


def steps() -> Dict[str, int]:
    """How many steps the sessions of this process have ended without an error, by engine.

    `tensorfleet`: in a child of this process. `tensorflow`: in TensorFlow itself. `remote`: on a server that another
    process started, whoever's it is.

    Example:
        >>> import tensorfleet
        >>> tensorfleet.steps()
        {'tensorfleet': 0, 'tensorflow': 0, 'remote': 0}
    """
    with _lock:
        return {engine: _steps.get(engine, 0) for engine in ("tensorfleet", "tensorflow", "remote")}


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
