#!/usr/bin/env python3
"""Checks what libtensorfleet.so shows: the functions that its headers declare, under VERS_1.0, and nothing else.

Usage: exports_test.py LIBRARY
"""

import pathlib
import re
import subprocess
import sys

HEADERS = pathlib.Path(__file__).resolve().parent / "include" / "tensorflow" / "c"


def declared() -> set[str]:
    names: set[str] = set()
    for header in HEADERS.glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names.update(re.findall(r"TF_CAPI_EXPORT\s+extern\s[^;]*?\b(TF_\w+)\s*\(", text))
    return names


def exported(library: str) -> set[str]:
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # The version itself is an absolute symbol.
    return {line.split()[2] for line in lines.splitlines() if line.split()[1] != "A"}


def main() -> int:
    shown, wanted = exported(sys.argv[1]), {f"{name}@@VERS_1.0" for name in declared()}
    for name in sorted(wanted - shown):
        print(f"declared and not exported: {name}")
    for name in sorted(shown - wanted):
        print(f"exported and not declared: {name}")
    print(f"{len(shown & wanted)} functions")
    return int(shown != wanted or len(wanted) < 150)


if __name__ == "__main__":
    sys.exit(main())
