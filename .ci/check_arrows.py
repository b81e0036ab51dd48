#!/usr/bin/env python3
"""Checks the tree against ARCHITECTURE.md: every include follows an arrow, every test is in a target.

Prints one line per fault and exits 1 when there is any.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_arrows():
    """folder -> folders that it names, from the table in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split("<!-- arrows: begin -->")[1].split("<!-- arrows: end -->")[0]
    arrows = {}
    for row in table.splitlines():
        cells = [c.strip() for c in row.strip().strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            arrows[cells[0].strip("`")] = re.findall(r"`([^`]+)`", cells[2])
    return arrows


def closure(arrows, folder):
    seen, todo = set(), [folder]
    while todo:
        f = todo.pop()
        if f not in seen:
            seen.add(f)
            todo += arrows.get(f, [])
    return seen


def folder_of(path, arrows):
    """The longest folder of the table that holds the path."""
    return max((f for f in arrows if path.startswith(f + "/")), key=len, default=None)


def main():
    arrows = read_arrows()
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    allowed = {f: closure(arrows, f) for f in arrows}
    faults = []
    for name in files:
        if not (ROOT / name).exists():
            continue
        folder = folder_of(name, arrows)
        if folder is None:
            if name.startswith(("runtime/", "operator/")) and "/testing/" not in name:
                faults.append(f"{name}: its folder is not in ARCHITECTURE.md's table")
            continue
        is_test = name.endswith("_test.cc") or "/testing/" in name or "/fuzz_" in name
        for included in re.findall(r'^#include "([^"]+)"', (ROOT / name).read_text(), re.M):
            target = folder_of(included, arrows)
            if target is None or target in allowed[folder] or (is_test and "/testing/" in included):
                continue
            # Tests stand on real collaborators, of their own tree.
            if is_test and target.split("/")[0] == folder.split("/")[0]:
                continue
            faults.append(f"{name}: may not include {included} ({folder} -> {target})")
    for name in files:
        if not name.endswith("_test.cc"):
            continue
        path = pathlib.PurePosixPath(name)
        lists = [ROOT / p / "CMakeLists.txt" for p in path.parents if (ROOT / p / "CMakeLists.txt").exists()]
        if not any(path.name in l.read_text() for l in lists):
            faults.append(f"{name}: is in no target of a CMakeLists.txt")
    print("\n".join(faults) or "arrows: all includes follow ARCHITECTURE.md; every test is in a target")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
