"""Programs that stand for GoogleTest's: each writes the report that the table says."""

import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import programs  # noqa: E402

PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
first = not any(a.startswith("--gtest_filter") for a in sys.argv)
row = json.loads({rows!r})[0 if first else 1]
for a in sys.argv:
    if a.startswith("--gtest_output=json:") and row["tests"] is not None:
        tests = [dict(name=n, status="RUN", result="SKIPPED" if how == "skipped" else "COMPLETED",
                      **(dict(failures=[1]) if how == "failed" else dict())) for n, how in row["tests"].items()]
        pathlib.Path(a.split(":", 1)[1]).write_text(json.dumps(dict(testsuites=[dict(name="S", testsuite=tests)])))
print(row.get("says", ""))
sys.exit(row["status"])
"""


class ProgramsTest(unittest.TestCase):
    def run_one(self, *rows):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "a_test"
            path.write_text(PROGRAM.format(rows=json.dumps(rows)))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                totals = programs.run_program(str(path), 20)
            return (totals.passed, totals.failed, totals.skipped), out.getvalue()

    def test_counts(self):
        totals, _ = self.run_one(dict(status=0, tests=dict(A="passed", B="skipped", C="passed")))
        self.assertEqual(totals, (2, 0, 1))

    def test_the_second_try_makes_a_test_flaky(self):
        totals, said = self.run_one(dict(status=1, tests=dict(A="passed", B="failed")), dict(status=0, tests=dict(B="passed")))
        self.assertEqual(totals, (2, 0, 0))
        self.assertIn("FLAKY: S.B\n", said)

    def test_a_second_failure_is_one(self):
        totals, said = self.run_one(dict(status=1, tests=dict(A="passed", B="failed")), dict(status=1, tests=dict(B="failed")))
        self.assertEqual(totals, (1, 1, 0))
        self.assertIn("FAILED: S.B\n", said)

    def test_a_sanitizers_report_is_never_forgiven(self):
        report = "WARNING: ThreadSanitizer: data race"
        totals, _ = self.run_one(dict(status=66, tests=dict(A="passed"), says=report))
        self.assertEqual(totals, (1, 1, 0))
        totals, _ = self.run_one(dict(status=66, tests=dict(A="failed"), says=report), dict(status=0, tests=dict(A="passed")))
        self.assertEqual(totals, (0, 1, 0))

    def test_a_crash_is_a_failure(self):
        totals, said = self.run_one(dict(status=3, tests=None))
        self.assertEqual(totals, (0, 1, 0))
        self.assertIn("FAILED: a_test (exit status 3)", said)

    def test_a_program_without_tests_is_a_failure(self):
        self.assertEqual(self.run_one(dict(status=0, tests={}))[0], (0, 1, 0))

    def test_programs_of_folders(self):
        targets = "".join(f"test/{name}: phony\n" for name in (
            "runtime_kernels_test", "runtime_kernels_cpu_test", "runtime_io_test", "checkpoint_tool", "operator_k8s_test"))
        self.assertEqual(programs.programs_of(targets, ["runtime/kernels"]),
                         ["test/runtime_kernels_test", "test/runtime_kernels_cpu_test"])
        self.assertEqual(programs.programs_of(targets, ["runtime_kernels_test", "operator"]),
                         ["test/runtime_kernels_test", "test/operator_k8s_test"])
        self.assertEqual(len(programs.programs_of(targets, [])), 4)
        with self.assertRaises(SystemExit):
            programs.programs_of(targets, ["runtime/nothing"])


if __name__ == "__main__":
    unittest.main()
