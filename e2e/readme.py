#!/usr/bin/env python3
"""Runs README.md's commands. Each block of commands has a comment before it that says where it runs:

    <!-- run: here -->       on this machine: readme.py --bin build/bin
    <!-- run: cluster -->    by e2e/suites/test_readme.py
    <!-- run: by ... -->     by what is named
    <!-- not run: why -->
"""

import argparse
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(?:<!-- ((?:not )?run: [^\n]*?) -->\n)?```(sh|python|cmake)\n(.*?)```", re.S)


def blocks(where):
    """(language, text) of the blocks that run there, in order."""
    return [(m[2], m[3]) for m in BLOCK.finditer(README.read_text()) if m[1] == f"run: {where}"]


def unmarked():
    """The first lines of commands that nothing is said about."""
    return [m[3].splitlines()[0] for m in BLOCK.finditer(README.read_text()) if m[2] != "cmake" and not m[1]]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def run_here(binaries):
    """The blocks as one program: shell lines, then what Python says to the servers that they started."""
    ports = dict(zip(("2222", "2223"), map(str, free_ports(2))))
    script, programs = ["set -euo pipefail"], []
    for language, text in blocks("here"):
        for old, new in ports.items():
            text = text.replace(f"localhost:{old}", f"localhost:{new}")
        if language == "sh":
            script.append(text.replace("./dev build\n", "").replace("build/bin/", f"{binaries}/"))
        else:
            programs.append(text)
    script.append("wait")
    servers = subprocess.Popen(["bash", "-c", "\n".join(script)], start_new_session=True)
    try:
        for text in programs:
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
            print(done.stdout, end="")
            if done.returncode != 0 or "[1. 2.]" not in done.stdout:
                sys.exit(f"readme.py: the program ended with {done.returncode}: {done.stderr[-2000:]}")
    finally:
        os.killpg(servers.pid, signal.SIGTERM)
        servers.wait(timeout=30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    args = parser.parse_args()
    if lines := unmarked():
        sys.exit("readme.py: nothing says where these run: " + "; ".join(lines))
    run_here(pathlib.Path(args.bin).resolve())


if __name__ == "__main__":
    main()
