"""The C++ files that ./dev tidy looks at, a line each.

    tidy_files.py [PATH...]     those of the paths (all unless named)
    tidy_files.py --turn        those that changed, and a share of the rest by CI_TURN (the day unless set)
"""

import datetime
import os
import subprocess
import sys

from pipeline import changed_files

# clang-tidy takes about 8 s a file, so this is about 5 minutes on two cores; every file has its turn in 20 runs of this stage.
FILES_A_TURN = 40


def in_turn(files, changed, turn):
    """At most FILES_A_TURN: what changed, then the share of the turn."""
    chosen = [file for file in files if file in changed]
    begin = turn * FILES_A_TURN % max(len(files), 1)
    rest = [file for file in files[begin:] + files[:begin] if file not in changed]
    return (chosen + rest)[:FILES_A_TURN]


def main():
    paths = [word for word in sys.argv[1:] if word != "--turn"]
    listed = subprocess.run(["git", "ls-files", "--", *(paths or ["."])], check=True, capture_output=True, text=True)
    files = [file for file in listed.stdout.splitlines() if file.endswith(".cc")]
    if "--turn" in sys.argv:
        turn = int(os.environ.get("CI_TURN", datetime.date.today().toordinal()))
        files = in_turn(files, set(changed_files(os.environ.get("CI_BASE"))), turn)
    print("\n".join(files))


if __name__ == "__main__":
    main()
