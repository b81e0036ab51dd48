"""Runs GoogleTest programs whole, several at a time: one start a program, not one a test as ctest has it, which under a
sanitizer is most of the time.

A test that fails is run once more by itself, unless the sanitizer has spoken: what it reports is never forgiven. A program's
report makes it fail when it ends, whatever its tests said.
    programs.py --name asan [--jobs N] [--seconds N] PROGRAM...
    ninja -t targets all | programs.py --of [FOLDER|PROGRAM...]    the test programs of these folders (all unless named)
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from totals import Totals

REPORT = re.compile(r"(WARNING|ERROR): (Thread|Address|Leak|UndefinedBehavior)Sanitizer|: runtime error: ")


def _run(program, seconds, result, *flags):
    """(exit status, output); the status is None when the program was ended after so many seconds."""
    try:
        done = subprocess.run([program, "--gtest_brief=1", f"--gtest_output=json:{result}", *flags], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return None, (late.stdout or b"").decode(errors="replace") + f"\nended after {seconds} seconds\n"


def _outcome(result):
    """(passed, failed, skipped) names, by the program's own report; it has none when it crashed."""
    passed, failed, skipped = [], [], []
    try:
        suites = json.loads(pathlib.Path(result).read_text())["testsuites"]
    except (OSError, ValueError):
        return passed, failed, skipped
    for suite in suites:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("status") != "RUN":
                continue  # disabled
            kind = skipped if test.get("result") == "SKIPPED" else failed if test.get("failures") else passed
            kind.append(name)
    return passed, failed, skipped


def run_program(program, seconds):
    """Prints what a program said when it failed; its totals."""
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory() as scratch:
        result = f"{scratch}/result.json"
        status, output = _run(program, seconds, result)
        passed, failed, skipped = _outcome(result)
        lines = []
        if status != 0:
            lines.append(output.rstrip())
        if status not in (0, None) and failed and not REPORT.search(output):
            again, output = _run(program, seconds, result, "--gtest_filter=" + ":".join(failed))
            if again == 0:
                lines += [f"FLAKY: {test}" for test in failed]
                passed, failed, status = passed + failed, [], 0
            else:
                lines += ["once more:", output.rstrip()]
        lines += [f"FAILED: {test}" for test in failed]
        if status != 0 and not failed:
            failed = [name]  # it crashed, was ended, or has a report of its sanitizer
            lines.append(f"FAILED: {name} ({'ended' if status is None else f'exit status {status}'})")
        if not (passed or failed or skipped):
            failed = [name]
            lines.append(f"FAILED: {name}: it has no tests")
        lines.append(f"{name}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
        print("\n".join(lines))
        return Totals(len(passed), len(failed), len(skipped))


def programs_of(targets, words):
    """Of ninja's list of targets, the test programs that the words name: a folder's with what is below it, or one program."""
    programs = re.findall(r"^(test/\w+_test): ", targets, re.M)
    chosen = []
    for word in words or [""]:
        exact, prefix = f"test/{word}", f"test/{word.strip('/').replace('/', '_')}_" if word else ""
        found = [p for p in programs if p == exact or (not word.endswith("_test") and p.startswith(prefix))]
        if not found:
            raise SystemExit(f"programs: no test program is of '{word}'")
        chosen += [p for p in found if p not in chosen]
    return chosen


def main(words=None):
    if words is None and sys.argv[1:2] == ["--of"]:
        print("\n".join(programs_of(sys.stdin.read(), sys.argv[2:])))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=600, help="how long one program may take")
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    flags = parser.parse_args(words)
    sys.stdout.reconfigure(line_buffering=True)
    totals = Totals()
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        for more in pool.map(lambda program: run_program(program, flags.seconds), flags.programs):
            totals += more
    print(f"{flags.name}: {totals.passed} tests passed, {totals.failed} failed, {totals.skipped} skipped "
          f"in {len(flags.programs)} programs")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
