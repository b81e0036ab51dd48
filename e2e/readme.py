#!/usr/bin/env python3
"""Runs the commands of README.md and of the pages in docs/. Each block of code has a comment before it that says where it runs:

    <!-- run: here -->       on this machine: readme.py --bin build/bin
    <!-- run: dry -->        a TFJob: what tensorfleet-operator would make of it, here too
    <!-- run: cluster -->    by e2e/suites/test_readme.py
    <!-- run: by PATH... --> by the files that are named, which must have the block's flags; by a page of docs/, which must
                             have its lines
    <!-- not run: why -->

Commands inside the text run too, here or in that story; one that nobody runs is an error.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# What is linked into docs/ from elsewhere has no marks.
PAGES = [README, *sorted(p for p in (ROOT / "docs").glob("*.md") if not p.is_symlink())]
MAX_WORDS = 700  # of README.md: what does not fit belongs into docs/
BLOCK = re.compile(r"(?:<!-- ((?:not )?run: [^\n]*?) -->\n)?```(\w+)\n(.*?)```", re.S)
INLINE = re.compile(r"`((?:\./dev|tensorfleet|tensorfleet-operator|kubectl|helm) [^`]+)`")
# Commands of the text that need more than their words; the file that runs them.
ELSEWHERE = {"tensorfleet server": "e2e/readme.py", "tensorfleet run": "e2e/demo", "tensorfleet run job.yaml": "e2e/demo",
             "tensorfleet top JOB": "operator/view/view_component_test.cc", "tensorfleet ui": "operator/view/view_component_test.cc"}


def text_of_pages():
    return "\n".join(page.read_text() for page in PAGES)


def blocks(where):
    """(language, text) of the blocks that run there, in order."""
    return [(m[2], m[3]) for m in BLOCK.finditer(text_of_pages()) if m[1] == f"run: {where}"]


def inline(*programs):
    """The commands of these programs that stand in the text, each once, in order."""
    text = re.sub(r"```.*?```", "", text_of_pages(), flags=re.S)
    return [c for c in dict.fromkeys(INLINE.findall(text)) if c.split()[0] in programs]


def faults_of_marks():
    """What is wrong with the comments above blocks, and with the length of README.md."""
    if (words := len(README.read_text().split())) > MAX_WORDS:
        yield f"README.md has {words} words, and may have {MAX_WORDS}"
    for mark, _, text in BLOCK.findall(text_of_pages()):
        first = text.splitlines()[0]
        if not mark:
            yield f"nothing says where this runs: {first}"
        if not mark.startswith("run: by "):
            continue
        held = ""
        for path in re.findall(r"[\w./-]*[\w]", mark.removeprefix("run: by ").replace(",", " ")):
            if (ROOT / path).is_file():
                held += (ROOT / path).read_text()
            elif (ROOT / path).is_dir():
                held += "".join(p.read_text() for p in sorted((ROOT / path).iterdir()) if p.is_file())
            else:
                yield f"there is no {path}, which is said to run: {first}"
        if "docs/" in mark:
            for line in text.splitlines():
                if line not in held.splitlines():
                    yield f"{mark.removeprefix('run: by ')} does not have the line: {line}"
        for word in re.findall(r"--\w+", text) + re.findall(r"\./dev (\w+)", text):
            if word not in held:
                yield f"{mark.removeprefix('run: by ')} does not have {word} of: {first}"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def run_program(text):
    """A Python program of the README, whose last line shows the trained value."""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0 or "[1. 2.]" not in done.stdout:
        raise AssertionError(f"the program ended with {done.returncode}: {done.stdout}{done.stderr[-2000:]}")
    return done.stdout


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
            print(run_program(text), end="")
    finally:
        os.killpg(servers.pid, signal.SIGTERM)
        servers.wait(timeout=30)


def run_text(binaries):
    """The commands of the text that need no cluster."""
    verbs = subprocess.run(["./dev", "help"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        (_, job), = blocks("dry")
        pathlib.Path(folder, "job.yaml").write_text(job)
        for command in inline("./dev", "tensorfleet", "tensorfleet-operator"):
            program, *words = shlex.split(command)
            if command in ELSEWHERE:
                continue
            if program == "./dev":
                assert words == ["help"] or f"./dev {words[0]} " in verbs, f"./dev has no {words[0]}"
                continue
            done = subprocess.run([f"{binaries}/{program}", *words], cwd=folder, capture_output=True, text=True, timeout=60,
                                  check=False)
            assert done.returncode == 0 and done.stdout, f"{command} ended with {done.returncode}: {done.stderr}"
            if "--dry-run" in words:
                assert "mine-worker-3" in done.stdout, done.stdout
            print(f"ran {command}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    args = parser.parse_args()
    if faults := list(faults_of_marks()):
        sys.exit("\n".join(f"readme.py: {fault}" for fault in faults))
    binaries = pathlib.Path(args.bin).resolve()
    run_text(binaries)
    run_here(binaries)


if __name__ == "__main__":
    main()
