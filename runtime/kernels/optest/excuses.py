"""What coverage.py lets pass, with the reasons."""

from __future__ import annotations

# Op -> why it has no kernels for some types that TensorFlow has on CPU.
WITHOUT_TYPES: dict[str, str] = {}

# Op -> what tests it instead of the op test.
UNTESTED: dict[str, str] = {}
