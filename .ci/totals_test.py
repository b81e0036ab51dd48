import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from totals import Totals, failed_in, totals_of  # noqa: E402

CTEST = """
1/4 Test #1: A.A ..........   Passed    0.01 sec
===== 3 passed in 1.20s =====
75% tests passed, 1 tests failed out of 4

Total Test time (real) =   3.01 sec

The following tests did not run:
\t  3 - A.C (Skipped)

The following tests FAILED:
\t  2 - A.B/1 (Failed)
Errors while running CTest
"""


class TotalsTest(unittest.TestCase):
    def test_ctest(self):
        self.assertEqual(totals_of(CTEST), Totals(2, 1, 1))  # pytest inside one of its tests does not count
        self.assertEqual(failed_in(CTEST), ["A.B/1"])

    def test_ctest_where_nothing_failed(self):
        self.assertEqual(totals_of("100% tests passed, 0 tests failed out of 12\n"), Totals(12, 0, 0))

    def test_pytest(self):
        self.assertEqual(totals_of("===== 1 failed, 12 passed, 2 skipped, 3 warnings in 40.12s (0:00:40) =====\n"), Totals(12, 1, 2))
        self.assertEqual(totals_of("25 passed in 3.10s\n"), Totals(25, 0, 0))
        self.assertEqual(totals_of("== 2 passed, 1 error in 3.10s ==\n"), Totals(2, 1, 0))

    def test_stories_after_cluster_tests(self):
        self.assertEqual(totals_of(CTEST + "== 5 passed in 3.10s ==\n"), Totals(7, 1, 1))

    def test_programs(self):
        self.assertEqual(totals_of("tsan: 231 tests passed, 0 failed, 4 skipped in 6 programs\n"), Totals(231, 0, 4))

    def test_what_failed_and_ran_again(self):
        totals = Totals(2, 3, 1)
        totals.retried(Totals(2, 1, 0))
        self.assertEqual(totals, Totals(4, 1, 1))

    def test_a_stage_without_tests(self):
        self.assertFalse(totals_of("nothing to say\n").any())


if __name__ == "__main__":
    unittest.main()
