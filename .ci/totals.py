"""How many tests passed, failed and were skipped, by what the test runners print at their end."""

import re
from dataclasses import dataclass

_CTEST = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.M)
_CTEST_SKIPPED = re.compile(r"^\t *\d+ - .* \((?:Skipped|Disabled)\)", re.M)
_CTEST_FAILED = re.compile(r"^\t *\d+ - (.+) \((?:Failed|Timeout|SEGFAULT|Exception.*|Subprocess .*|Child .*|ILLEGAL|Not Run)\)", re.M)
_PYTEST = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", re.M)
_PROGRAMS = re.compile(r"^\w+: (\d+) tests passed, (\d+) failed, (\d+) skipped", re.M)  # of programs.py
_FLAKY = re.compile(r"^FLAKY: (.+)$", re.M)


@dataclass
class Totals:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, more):
        self.passed += more.passed
        self.failed += more.failed
        self.skipped += more.skipped
        return self

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def any(self):
        return self.passed + self.failed + self.skipped > 0

    def retried(self, again):
        """What failed ran once more, with that outcome."""
        self.passed += self.failed - again.failed
        self.failed = again.failed


def totals_of(output):
    """Of one stage. A test that ctest runs may print totals of its own: only what follows ctest's counts besides them."""
    out, end = Totals(), 0
    for match in _CTEST.finditer(output):
        end = match.end()
        failed, of = map(int, match.groups())
        out += Totals(of - failed, failed)
    skipped = len(_CTEST_SKIPPED.findall(output))
    out += Totals(-skipped, 0, skipped)
    for match in _PYTEST.finditer(output, end):
        counts = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", match[1])}
        out += Totals(counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0),
                      counts.get("skipped", 0))
    for match in _PROGRAMS.finditer(output, end):
        out += Totals(*map(int, match.groups()))
    return out


def failed_in(output):
    """Names of tests that failed."""
    return _CTEST_FAILED.findall(output) + re.findall(r"^FAILED:? (\S+)", output, re.M)


def flaky_in(output):
    """Names of tests that failed at first and passed the second time."""
    return _FLAKY.findall(output)
