"""CI's logic with stages that only say how long they took."""

import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import pipeline  # noqa: E402
import stages  # noqa: E402
import tidy_files  # noqa: E402
from stages import Stage  # noqa: E402

CTEST = "100% tests passed, 0 tests failed out of 9\n"


class Fake:
    """./dev as a table: VERB to (minutes, exit status, output). What is not in it takes no time and passes."""

    def __init__(self, **rows):
        self.rows, self.now, self.ran = rows, 0.0, []

    def clock(self):
        return self.now

    def run(self, verb, seconds):
        self.ran.append(" ".join(verb))
        minutes, status, output = self.rows.get(verb[0], (0, 0, ""))
        ended = minutes * 60 > seconds
        self.now += min(minutes * 60, seconds)
        return (-15 if ended else status), output, ended


ALL = (Stage(("lint",), 2), Stage(("test",), 40, again=("retest",)))
ROTATION = (Stage(("asan", "engine"), 10, ("runtime/kernels",)), Stage(("asan", "kernels"), 10, ("runtime/kernels/cpu",)),
            Stage(("asan", "operator"), 10, ("operator",)), Stage(("tsan", "operator"), 10, ("operator",)))


class PipelineTest(unittest.TestCase):
    def setUp(self):
        for name, value in (("FIRST", ALL), ("ROTATION", ROTATION), ("cannot_have_cluster", lambda: "there is none"),
                            ("stories", lambda: list("abcdefgh")), ("cluster_minutes", lambda: 5)):
            patch = mock.patch.object(stages, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def everything(self, fake, **flags):
        self.ci = pipeline.Pipeline(run=fake.run, clock=fake.clock, **flags)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = self.ci.everything()
        self.lines = out.getvalue().splitlines()
        return status

    def test_the_last_line_has_the_totals_of_all_tests(self):
        fake = Fake(test=(20, 0, CTEST), asan=(5, 0, "asan: 7 tests passed, 0 failed, 2 skipped in 3 programs\n"))
        self.assertEqual(self.everything(fake), 0)
        # Nine of ctest, three runs of seven, and the two stages without tests that passed.
        self.assertEqual(self.lines[-1], "32 passed, 0 failed, 6 skipped")
        self.assertEqual(self.lines[-2], "stages: 6 passed, 0 failed, 1 skipped, 0 cut; flaky tests: 0")

    def test_a_failed_stage_fails_the_run_and_the_others_are_told(self):
        fake = Fake(lint=(1, 1, ""))
        self.assertEqual(self.everything(fake), 1)
        self.assertIn("FAILED: lint", self.lines)
        self.assertIn("test", fake.ran)

    def test_a_test_that_passes_the_second_time_is_flaky(self):
        failed = "67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  2 - A.B (Failed)\n"
        fake = Fake(test=(5, 8, failed), retest=(1, 0, "100% tests passed, 0 tests failed out of 1\n"))
        self.assertEqual(self.everything(fake), 0)
        self.assertEqual(self.ci.flaky, ["A.B"])
        self.assertEqual((self.ci.tests.failed, self.ci.tests.passed), (0, 3 + 5))

    def test_a_test_that_fails_twice_fails_the_run(self):
        failed = "67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  2 - A.B (Failed)\n"
        fake = Fake(test=(5, 8, failed), retest=(1, 8, "0% tests passed, 1 tests failed out of 1\n"))
        self.assertEqual(self.everything(fake), 1)
        self.assertIn("1 failed", self.lines[-1])

    def test_too_many_flaky_tests_fail_the_run(self):
        flaky = "".join(f"FLAKY: A.{i}\n" for i in range(stages.MOST_FLAKY + 1))
        self.assertEqual(self.everything(Fake(test=(5, 0, flaky + CTEST))), 1)
        self.assertTrue(any(line.startswith(f"TOO MANY: {stages.MOST_FLAKY + 1} flaky tests") for line in self.lines))

    def test_a_stage_at_the_limit_is_cut_and_two_are_too_many(self):
        self.assertEqual(self.everything(Fake(test=(300, 0, ""))), 0)
        self.assertEqual(self.ci.cut, ["test"])
        with mock.patch.object(stages, "MOST_CUT", 0):
            self.assertEqual(self.everything(Fake(test=(300, 0, ""))), 1)

    def test_a_cut_stage_in_which_a_test_had_failed_has_failed(self):
        fake = Fake(test=(300, 0, "FAILED: A.B\n"))
        self.assertEqual(self.everything(fake), 1)
        self.assertEqual(self.ci.failed, ["test"])

    def test_too_many_skipped_stages_fail_the_run(self):
        cannot = Stage(("image",), 1, cannot=lambda: "it needs docker")
        with mock.patch.object(stages, "FIRST", ALL + (cannot,) * 2):
            self.assertEqual(self.everything(Fake()), 1)
        self.assertIn("skipped: image; image; e2e", self.lines)

    def test_whose_turn_it_is_comes_first_then_what_changed_most(self):
        self.everything(Fake(), turn=5, changed=["operator/a.cc", "runtime/kernels/a.cc", "runtime/kernels/b.h", "README.md"])
        order = [stage.name for stage in self.ci.in_turn()]
        self.assertEqual(order, ["asan kernels", "asan engine", "asan operator", "tsan operator"])

    def test_a_change_counts_for_the_group_with_the_longest_path(self):
        self.everything(Fake(), turn=2, changed=["runtime/kernels/cpu/math/a.cc"])
        self.assertEqual([stage.name for stage in self.ci.in_turn()][:2], ["asan operator", "asan kernels"])

    def test_every_group_has_its_turn_though_time_is_short(self):
        firsts = set()
        for turn in range(len(ROTATION)):
            fake = Fake(test=(70, 0, ""), asan=(10, 0, ""), tsan=(10, 0, ""))
            self.assertEqual(self.everything(fake, turn=turn, changed=["operator/a.cc"] * 9), 0)
            ran = [name for name in fake.ran if "san" in name]
            self.assertEqual(len(ran), 1)
            self.assertEqual(len(self.ci.later), 3)
            firsts.update(ran)
        self.assertEqual(firsts, {stage.name for stage in ROTATION})

    def test_the_turn_that_finds_no_time_is_a_skip(self):
        self.everything(Fake(test=(80, 0, "")))
        self.assertIn("asan engine", self.ci.skipped)

    def test_time_that_setting_up_took_counts(self):
        self.everything(Fake(), spent=80 * 60)
        self.assertIn("test", self.ci.skipped)

    def test_stories_rotate_and_time_is_kept_for_them(self):
        told = set()
        with mock.patch.object(stages, "cannot_have_cluster", lambda: ""):
            for turn in range(8):
                fake = Fake(test=(40, 0, ""), asan=(14, 0, ""), tsan=(14, 0, ""), e2e=(10, 0, "== 4 passed in 60.0s ==\n"))
                self.assertEqual(self.everything(fake, turn=turn), 0)
                names = fake.ran[-1].split()
                self.assertEqual(names[0], "e2e")
                self.assertGreaterEqual(len(names) - 1, stages.FEWEST_STORIES)
                self.assertEqual(self.ci.tests.passed - 4, len(fake.ran) - 1)
                told.update(names[1:])
        self.assertEqual(told, set("abcdefgh"))

    def test_a_cluster_that_cannot_be_had_is_a_skip(self):
        with mock.patch.object(stages, "cannot_have_cluster", lambda: ""):
            self.assertEqual(self.everything(Fake(e2e=(1, pipeline.NO_CLUSTER, ""))), 0)
        self.assertTrue(self.ci.skipped[0].startswith("e2e"))

    def test_all_stories_are_told_where_that_is_asked(self):
        with mock.patch.object(stages, "cannot_have_cluster", lambda: ""), mock.patch.dict("os.environ", E2E_ALL="1"):
            fake = Fake(test=(60, 0, ""))
            self.everything(fake)
        self.assertEqual(len(fake.ran[-1].split()) - 1, 8)


class StagesTest(unittest.TestCase):
    def test_every_folder_of_the_tables_is_there_and_every_tested_folder_is_in_a_table(self):
        root = pathlib.Path(__file__).resolve().parent.parent
        named = {folder for stage in stages.ROTATION for folder in stage.folders}
        self.assertEqual([f for f in named if not (root / f).is_dir()], [])
        watched = {folder for stage in stages.ROTATION if stage.verb[0] == "asan" for folder in stage.folders}
        for test in list(root.glob("runtime/**/*_test.cc")) + list(root.glob("operator/**/*_test.cc")):
            path = test.relative_to(root).as_posix()
            self.assertTrue(any(path.startswith(f + "/") for f in watched), f"{path} is in no group of stages.py")

    def test_the_slowest_turn_fits_beside_what_always_runs(self):
        always = sum(stage.minutes for stage in stages.FIRST)
        longest = max(stage.minutes for stage in stages.ROTATION)
        self.assertLessEqual(always + longest, pipeline.LIMIT / 60)
        kept = stages.CLUSTER_MINUTES + stages.FEWEST_STORIES * stages.STORY_MINUTES
        self.assertLessEqual(always + longest + kept, pipeline.LIMIT / 60)

    def test_tidy_looks_at_what_changed_then_at_its_share(self):
        files = [f"{i}.cc" for i in range(100)]
        chosen = tidy_files.in_turn(files, {"70.cc"}, 1)
        self.assertEqual(chosen[:2], ["70.cc", "40.cc"])
        self.assertEqual(len(chosen), tidy_files.FILES_A_TURN)
        every = {file for turn in range(3) for file in tidy_files.in_turn(files, set(), turn)}
        self.assertEqual(every, set(files))


if __name__ == "__main__":
    unittest.main()
