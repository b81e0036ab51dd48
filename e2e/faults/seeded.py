"""Runs that are drawn from a seed, one after the other, and what became of each."""
import argparse
import shutil
import time


def parser(description):
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--runs", type=int, default=200)
    made.add_argument("--seed", type=int, default=1, help="of the first run; the next ones count up")
    return made


def run_all(args, make):
    """make(seed) gives a run: go() and check() raise AssertionError or TimeoutError, close() ends what it has started; told
    is its faults, for people, and directory what it leaves, which is kept when it fails. Returns the exit code."""
    failed = []
    for seed in range(args.seed, args.seed + args.runs):
        run, start, verdict = make(seed), time.monotonic(), "ok"
        try:
            run.go()
            run.check()
        except (AssertionError, TimeoutError) as e:
            verdict = "FAILED: %s; see %s" % (e, run.directory)
            failed.append(seed)
        finally:
            run.close()
        print("seed %-5d %5.1f s  %-6s [%s]" % (seed, time.monotonic() - start, verdict, ", ".join(run.told)), flush=True)
        if verdict == "ok":
            shutil.rmtree(run.directory)
    print("%d runs, %d failed%s" % (args.runs, len(failed), ": seeds %s" % failed if failed else ""))
    return 1 if failed else 0
