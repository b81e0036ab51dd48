"""Builds the wheel: the package with the programs of an existing build in it. Needs nothing but Python.

`pip install .` calls it (PEP 517). The programs come from the folder that TENSORFLEET_BIN names, else from build/bin.
"""
from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

PYTHON = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {"tensorfleet": True, "tensorfleet-run": False, "tensorfleet-view": False}  # whether the package is of no use without it
MOST_BYTES = 40_000_000
TAG = "py3-none-linux_x86_64"
# A wheel's times are of no interest, and equal contents are to be equal files.
TIME = (1980, 1, 1, 0, 0, 0)


def _version() -> str:
    text = (PYTHON.parent / "CMakeLists.txt").read_text()
    return re.search(r"project\([^)]*VERSION\s+([\d.]+)", text, re.S)[1]


def _metadata() -> str:
    return ("Metadata-Version: 2.1\nName: tensorfleet\nVersion: %s\n"
            "Summary: TensorFlow's servers and sessions on tensorfleet, and its programs as functions\n"
            "Requires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n%s" % (
                _version(), (PYTHON / "README.md").read_text()))


def _wheel() -> str:
    return "Wheel-Version: 1.0\nGenerator: tensorfleet\nRoot-Is-Purelib: false\nTag: %s\n" % TAG


def _program(name: str) -> "bytes | None":
    """Without its symbols, which are most of it."""
    folder = pathlib.Path(os.environ.get("TENSORFLEET_BIN") or PYTHON.parent / "build" / "bin")
    path = folder / name
    if not path.is_file():
        if PROGRAMS[name]:
            raise SystemExit("there is no %s: build it first (./dev build), or name another folder in TENSORFLEET_BIN" % path)
        return None
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / name
        shutil.copyfile(path, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", str(copy)], check=True)
        return copy.read_bytes()


def _files() -> "dict[str, tuple[bytes, int]]":
    found = {}
    for path in sorted((PYTHON / "tensorfleet").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            found[path.relative_to(PYTHON).as_posix()] = (path.read_bytes(), 0o644)
    for name in PROGRAMS:
        program = _program(name)
        if program is not None:
            found["tensorfleet/bin/" + name] = (program, 0o755)
    info = "tensorfleet-%s.dist-info/" % _version()
    found[info + "METADATA"] = (_metadata().encode(), 0o644)
    found[info + "WHEEL"] = (_wheel().encode(), 0o644)
    return found


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    name = "tensorfleet-%s-%s.whl" % (_version(), TAG)
    path = pathlib.Path(wheel_directory) / name
    record = "tensorfleet-%s.dist-info/RECORD" % _version()
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(where, content, mode):
            entry = zipfile.ZipInfo(where, TIME)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)

        for where, (content, mode) in _files().items():
            add(where, content, mode)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append("%s,sha256=%s,%d" % (where, digest, len(content)))
        add(record, "\n".join([*lines, record + ",,", ""]), 0o644)
    size = path.stat().st_size
    if size > MOST_BYTES:
        path.unlink()
        raise SystemExit("the wheel would have %d bytes, more than %d: is the build a release build?" % (size, MOST_BYTES))
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source distribution: the programs are built from the whole repository (./dev build), and "
                     "`pip install .` then puts them into a wheel")
