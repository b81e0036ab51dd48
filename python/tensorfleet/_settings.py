"""What the environment says. Read when it is needed, so a program may set it before TensorFlow is imported."""
from __future__ import annotations

import os


def _choice(variable: str, *choices: str) -> str:
    """The first choice is what counts when the variable is not set."""
    given = os.environ.get(variable, "") or choices[0]
    if given not in choices:
        raise ValueError("%s must be one of %s, not %r" % (variable, ", ".join(choices), given))
    return given


def sessions() -> str:
    """TENSORFLEET_SESSIONS: where sessions without a target run, 'tensorfleet' or 'tensorflow'."""
    return _choice("TENSORFLEET_SESSIONS", "tensorfleet", "tensorflow")


def servers() -> str:
    """TENSORFLEET_SERVERS: whose servers start, 'auto' (ours where graphs run), 'tensorfleet' or 'tensorflow'."""
    return _choice("TENSORFLEET_SERVERS", "auto", "tensorfleet", "tensorflow")
