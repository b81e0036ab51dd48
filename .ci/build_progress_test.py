import unittest

import build_progress


class BuildProgress(unittest.TestCase):
    def test_says_how_far_for_how_long_and_how_long_still(self):
        text = build_progress.line(100, 400, 60, "runtime/a.cc", 120)
        self.assertEqual(text, "building [######..................] 100 of 400, 1:00, about 3:00 left  runtime/a.cc")

    def test_promises_nothing_before_it_can_tell(self):
        self.assertNotIn("left", build_progress.line(2, 400, 60, "", 120))
        self.assertNotIn("left", build_progress.line(400, 400, 60, "", 120))

    def test_fits_the_terminal(self):
        self.assertLess(len(build_progress.line(100, 400, 60, "a/very/long/path" * 20, 80)), 80)

    def test_names_the_source_and_not_the_object(self):
        self.assertEqual(build_progress.subject("Building CXX object runtime/base/CMakeFiles/x.dir/io/a.cc.o"), "runtime/base/io/a.cc")


if __name__ == "__main__":
    unittest.main()
