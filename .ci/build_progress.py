#!/usr/bin/env python3
"""Builds targets and shows how far it is: build_progress.py BUILD-FOLDER JOBS TARGET...

On a terminal one line is drawn again and again: what is built, a bar, how many of how many, for how long, and about how
long still. Elsewhere a line every 20 seconds. What a compiler has to say is shown as it comes; the exit status is the build's.
"""

import os
import re
import shutil
import subprocess
import sys
import time

STATUS = re.compile(r"^\[(\d+)/(\d+)\] ?(.*)")
EVERY = 20  # seconds between lines where there is no terminal


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def left(done, total, seconds):
    """About how long it still takes; nothing before that can be said."""
    if done < 5 or seconds < 2 or done >= total:
        return ""
    return f", about {clock(seconds / done * (total - done))} left"


def line(done, total, seconds, what, width):
    filled = 24 * done // max(total, 1)
    text = f"building [{'#' * filled}{'.' * (24 - filled)}] {done} of {total}, {clock(seconds)}{left(done, total, seconds)}"
    room = width - len(text) - 3
    if what and room > 8:
        text += "  " + what[-room:]
    return text[: width - 1]


def subject(words):
    """Of "Building CXX object a/CMakeFiles/b.dir/c.cc.o": a/c.cc."""
    last = words.split(" ")[-1]
    return re.sub(r"CMakeFiles/[^/]+\.dir/", "", last).removesuffix(".o")


def main():
    folder, jobs, *targets = sys.argv[1:]
    terminal = sys.stdout.isatty()
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    command = ["cmake", "--build", folder, "-j", jobs, "--target", *targets]
    build = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)
    begin = time.monotonic()
    said = begin - EVERY + 5
    drawn = False
    done = total = 0
    for text in build.stdout:
        found = STATUS.match(text)
        now = time.monotonic()
        if found is None:
            if text.startswith("ninja: no work to do"):
                continue
            print(("\r\x1b[K" if drawn else "") + text, end="", flush=True)
            drawn = False
            continue
        done, total = int(found[1]), int(found[2])
        if terminal:
            print("\r\x1b[K" + line(done, total, now - begin, subject(found[3]), shutil.get_terminal_size().columns), end="", flush=True)
            drawn = True
        elif now - said >= EVERY:
            said = now
            print(line(done, total, now - begin, "", 120), flush=True)
    status = build.wait()
    if drawn:
        print("\r\x1b[K", end="")
    if status == 0 and total:
        print(f"built in {clock(time.monotonic() - begin)}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
