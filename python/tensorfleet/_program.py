"""Finds the programs that this package drives."""
from __future__ import annotations

import os
import shutil
from typing import Dict

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
# The program's variable, if it has one of its own.
_VARIABLES: Dict[str, str] = {"tensorfleet": "TENSORFLEET_PROGRAM"}


class ProgramNotFound(RuntimeError):
    """One of tensorfleet's programs is not where this package looks for it."""


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def find(name: str = "tensorfleet") -> str:
    """The path of a program: what TENSORFLEET_PROGRAM names, beside the package, on PATH.

    Beside the package are its folder `bin`, which wheels have, and in a checkout of the sources `build/bin`.

    Raises:
        ProgramNotFound: It is in none of these places.
    """
    variable = _VARIABLES.get(name)
    if variable and os.environ.get(variable):
        path = os.environ[variable]
        if _is_program(path):
            return os.path.abspath(path)
        raise ProgramNotFound("%s is set to %r, which is not a program that can be run" % (variable, path))
    beside = [os.path.join(_PACKAGE, "bin", name)]
    checkout = os.path.dirname(os.path.dirname(_PACKAGE))
    if os.path.isfile(os.path.join(checkout, "runtime", "cli", "main.cc")):
        beside.append(os.path.join(checkout, "build", "bin", name))
    for path in beside:
        if _is_program(path):
            return path
    on_path = shutil.which(name)
    if on_path:
        return on_path
    raise ProgramNotFound(
        "the program '%s' was not found: neither %s nor on PATH%s" % (
            name, " nor ".join(beside), "; set %s to its path" % variable if variable else ""))
