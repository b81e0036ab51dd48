#!/usr/bin/env python3
"""Holds an image to what is promised of it, and prints its size.

    check.py operator|runtime-cpu|examples|runtime-cuda REFERENCE ARCHIVE.tar
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib

# Compressed, in MB of 1,000,000 bytes; None: no limit.
LIMITS = {"operator": 30, "runtime-cpu": 80, "examples": None, "runtime-cuda": None}
PROGRAMS = {"operator": "usr/bin/tensorfleet-operator", "runtime-cpu": "usr/bin/tensorfleet", "examples": "usr/bin/train_digits",
            "runtime-cuda": "usr/bin/tensorfleet"}
DOCS = {"operator": "tensorfleet-operator", "runtime-cpu": "tensorfleet-runtime", "examples": "tensorfleet-examples",
        "runtime-cuda": "tensorfleet-runtime-cuda"}
LABELS = ["title", "description", "version", "revision", "created", "base.name"]
SHELLS = {"sh", "bash", "dash", "busybox"}


def compressed(stream):
    """Bytes that gzip makes of a layer."""
    packer, total = zlib.compressobj(6, zlib.DEFLATED, 31), 0
    while block := stream.read(1 << 20):
        total += len(packer.compress(block))
    return total + len(packer.flush())


def faults_of_config(config):
    user = config.get("User", "")
    if not user.split(":")[0].isdigit() or user.startswith("0"):
        yield f"runs as user '{user}', not as a number other than 0"
    labels = config.get("Labels") or {}
    for label in LABELS:
        if not labels.get(f"org.opencontainers.image.{label}"):
            yield f"has no label org.opencontainers.image.{label}"
    if not config.get("Entrypoint"):
        yield "has no entry point"


def faults_of_files(root, kind):
    paths = [p for p in root.rglob("*") if p.is_file()]
    for path in paths:
        if path.name in SHELLS:
            yield f"holds a shell: /{path.relative_to(root)}"
        if path.stat().st_mode & 0o6000:
            yield f"holds a program that changes its user: /{path.relative_to(root)}"
        if path.stat().st_mode & 0o002:
            yield f"holds a file that anybody may write: /{path.relative_to(root)}"
    documents = root / "usr/share/doc"
    sbom = documents / DOCS[kind] / "sbom.spdx.json"
    if not (documents / DOCS[kind] / "LICENSE").exists():
        yield "has no licence of its own"
    if not sbom.exists():
        yield "has no list of contents"
        return
    listed = {p["name"] for p in json.loads(sbom.read_text())["packages"]}
    for package in sorted(listed - {DOCS[kind]}):
        if not (documents / package / "copyright").exists():
            yield f"has no licence of {package}"


def faults_of_run(root, kind):
    if os.geteuid() != 0:
        print("  not root: the program was not started inside the image")
        return
    command = [shutil.which("chroot") or "/usr/sbin/chroot", "--userspec=65532:65532", str(root), "/" + PROGRAMS[kind], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={}, check=False)
    if done.returncode != 0 or "--help" not in done.stdout:
        yield f"--help ends with {done.returncode}: {done.stderr.strip()}"


def main():
    kind, reference, archive = sys.argv[1:]
    faults, size = [], 0
    with tarfile.open(archive) as tar, tempfile.TemporaryDirectory() as scratch:
        manifest = json.load(tar.extractfile("manifest.json"))[0]
        config = json.load(tar.extractfile(manifest["Config"]))["config"]
        root = pathlib.Path(scratch)
        for layer in manifest["Layers"]:
            size += compressed(tar.extractfile(layer))
            with tarfile.open(fileobj=tar.extractfile(layer)) as files:
                files.extractall(root, filter="tar")
        faults += faults_of_config(config)
        root.chmod(0o755)
        faults += faults_of_files(root, kind)
        faults += faults_of_run(root, kind)
    limit = LIMITS[kind]
    megabytes = size / 1e6
    if limit is not None and megabytes > limit:
        faults.append(f"has {megabytes:.1f} MB compressed, more than {limit}")
    if reference not in manifest["RepoTags"]:
        faults.append(f"is called {manifest['RepoTags']}")
    print(f"{reference}  {megabytes:.1f} MB compressed{f' of {limit} allowed' if limit else ''}")
    for fault in faults:
        print(f"docker/check.py: {reference} {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
