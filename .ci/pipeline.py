"""Runs CI's stages (stages.py) within the limit, says what was left out and why, and ends with the totals of all tests."""

import argparse
import datetime
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import stages
from stages import Stage
from totals import Totals, failed_in, flaky_in, totals_of

LIMIT = 85 * 60  # seconds; leaves five minutes to tell
NO_CLUSTER = 77  # e2e/run's exit status where a cluster cannot be had


def run_dev(verb, seconds):
    """./dev VERB, ended after so many seconds with all that it started: (exit status, output, whether it was ended)."""
    process = subprocess.Popen(["./dev", *verb], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True)
    lines = []

    def tee():
        for line in process.stdout:
            sys.stdout.write(line)
            lines.append(line)

    reader = threading.Thread(target=tee, daemon=True)
    reader.start()
    cut = False
    try:
        process.wait(max(seconds, 1))
    except subprocess.TimeoutExpired:
        cut = True
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(120)  # a cluster is taken down
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    reader.join(10)  # a daemon that outlives its stage may hold the other end
    return process.returncode, "".join(lines), cut


def changed_files(base=None):
    """What changed since `base`, since origin/main was left, or within a day of the last commit; none when git cannot tell."""
    def git(*words):
        done = subprocess.run(["git", *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    head = git("rev-parse", "HEAD")
    base = base or git("merge-base", "HEAD", "origin/main")
    if base in ("", head):
        last = int(git("log", "-1", "--format=%ct") or 0)
        base = git("rev-list", "-1", f"--before={last - 24 * 3600}", "HEAD")
    return git("diff", "--name-only", base, "HEAD").splitlines() if base else []


class Pipeline:
    def __init__(self, run=run_dev, clock=time.monotonic, spent=0, changed=(), turn=0):
        self._run, self._clock, self._began = run, clock, clock() - spent
        self._changed, self._turn = changed, turn
        self.tests = Totals()
        self.passed, self.failed, self.skipped, self.cut, self.flaky, self.later = [], [], [], [], [], []

    def left(self):
        """Seconds until the limit."""
        return LIMIT - (self._clock() - self._began)

    def skip(self, name, reason):
        print(f"skipped: ./dev {name}: {reason}")
        self.skipped.append(name)

    def has_time(self, minutes, kept=0):
        return minutes + kept <= self.left() / 60

    def stage(self, stage):
        """Runs a stage to its end or to the limit, and counts it."""
        began = self._clock()
        print(f"=== ./dev {stage.name}")
        status, output, ended = self._run(stage.verb, self.left())
        tests = totals_of(output)
        if status == NO_CLUSTER and stage.verb[0] == "e2e":
            return self.skip(stage.name, "a cluster cannot be had here, for the reason above")
        first_failures = failed_in(output)
        if status != 0 and not ended and stage.again and first_failures:
            print(f"=== ./dev {stage.name}: once more, what failed: {' '.join(first_failures)}")
            status, again, ended = self._run(stage.again, self.left())
            tests.retried(totals_of(again))
            if status == 0:
                output += "".join(f"FLAKY: {name}\n" for name in first_failures)
        self.flaky += flaky_in(output)
        self.tests += tests if tests.any() else Totals(passed=status == 0, failed=status != 0 and not ended)
        if status == 0:
            self.passed.append(stage.name)
        elif ended and not tests.failed and not first_failures:
            self.cut.append(stage.name)
            print(f"cut: the rest of ./dev {stage.name}: the limit of {LIMIT // 60} minutes came first")
        else:
            self.failed.append(stage.name)
        print(f"=== ./dev {stage.name} took {self._clock() - began:.0f} s")

    def first(self):
        for stage in stages.FIRST:
            reason = stage.cannot()
            if reason:
                self.skip(stage.name, reason)
            elif not self.has_time(stage.minutes):
                self.skip(stage.name, f"may take {stage.minutes} minutes, and {self.left() / 60:.0f} are left")
            else:
                self.stage(stage)

    def in_turn(self):
        """The rotation as this run takes it: whose turn it is, what changed (most first), then the rest."""
        rows = stages.ROTATION
        turn = self._turn % len(rows)
        rows = rows[turn:] + rows[:turn]

        known = {folder for stage in rows for folder in stage.folders}

        def folder_of(file):  # the longest that some stage names
            return max((f for f in known if file.startswith(f + "/")), key=len, default="")

        changed = [folder_of(file) for file in self._changed]

        def changes(stage):
            return sum(folder in stage.folders for folder in changed)

        return rows[:1] + tuple(sorted(rows[1:], key=lambda stage: -changes(stage)))  # sorted() keeps the order of equals

    def rotation(self, kept):
        """As much of it as fits, with so many minutes kept for what follows."""
        for place, stage in enumerate(self.in_turn()):
            if self.has_time(stage.minutes, kept):
                self.stage(stage)
            elif place == 0:
                self.skip(stage.name, f"may take {stage.minutes} minutes, and {self.left() / 60 - kept:.0f} are left for it")
            else:
                self.later.append(stage.name)

    def stories(self):
        reason = stages.cannot_have_cluster()
        if reason:
            return self.skip("e2e", reason)
        names = stages.stories()
        room = int((self.left() / 60 - stages.cluster_minutes()) / stages.STORY_MINUTES)
        if os.environ.get("E2E_ALL"):
            room = len(names)
        if room < 1:
            return self.skip("e2e", f"{self.left() / 60:.0f} minutes are left")
        begin = self._turn * stages.FEWEST_STORIES % len(names)
        told = (names[begin:] + names[:begin])[:room]
        self.later += [f"e2e {name}" for name in names if name not in told]
        self.stage(Stage(("e2e", *told), 0))

    def everything(self):
        kept = 0
        self.first()
        if not stages.cannot_have_cluster():
            kept = stages.cluster_minutes() + stages.FEWEST_STORIES * stages.STORY_MINUTES
        self.rotation(kept)
        self.stories()
        return self.verdict()

    def verdict(self):
        """Prints the last lines; the exit status."""
        too_many = [f"{len(found)} {what}, {most} are allowed" for what, found, most in (
            ("skipped stages", self.skipped, stages.MOST_SKIPPED), ("cut stages", self.cut, stages.MOST_CUT),
            ("flaky tests", self.flaky, stages.MOST_FLAKY)) if len(found) > most]
        print("=== the benchmarks are not part of this: they need a quiet machine")
        for what, names in (("left to another turn", self.later), ("skipped", self.skipped), ("cut", self.cut),
                            ("flaky", self.flaky), ("FAILED", self.failed), ("TOO MANY", too_many)):
            if names:
                print(f"{what}: {'; '.join(names)}")
        print(f"stages: {len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped, {len(self.cut)} cut; "
              f"flaky tests: {len(self.flaky)}")
        print(self.tests)
        return 1 if self.failed or too_many else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spent", type=float, default=0, help="seconds since the run began")
    spent = parser.parse_args().spent
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    sys.stdout.reconfigure(line_buffering=True)
    turn = int(os.environ.get("CI_TURN", datetime.date.today().toordinal()))
    os.environ["CI_TURN"] = str(turn)
    return Pipeline(spent=spent, changed=changed_files(os.environ.get("CI_BASE")), turn=turn).everything()


if __name__ == "__main__":
    sys.exit(main())
