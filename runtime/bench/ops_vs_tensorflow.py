#!/usr/bin/env python3
"""The kernels' own times on TensorFlow's server and on ours: the same graphs, in turns, a row for each point.

  ops_vs_tensorflow.py --server 'build/bin/tensorfleet server' [-k WORD ...] [--size N ...] [--rounds N]

A point is an op with its inputs (op_points*.py); --list names them. A graph runs some copies of its node one after
another. Both servers run it in turns and report in their step statistics how long each node's kernel took; nothing else
of a step counts: no call, no client. Printed are the times at --quantile of all copies in all rounds, in microseconds,
and their ratio; then the medians of the ratios by size, and what is above --limit. Needs Python 3.11 with
tensorflow-cpu==2.15.1.
"""
import argparse
import shlex
import statistics
import sys
import time

import op_points
import op_points_networks
import op_points_parsing  # noqa: F401
import op_points_science
import op_points_state  # noqa: F401
from vs_tensorflow import Cluster, session, tf, v1

COPIES = {op_points.LARGE: 3, op_points_networks.GROUP: 3, op_points_science.GROUP: 3}  # else MANY
MANY = 10
CONTAINER = "point"


class Point:
    """One point's graph with a session on each server; the variables are in a container of its own."""

    def __init__(self, point):
        self.names, self.sessions = set(), []
        with tf.Graph().as_default() as graph, graph.container(CONTAINER):
            copy, last = point.make(), None
            for _ in range(COPIES.get(point.size, MANY)):
                with tf.control_dependencies([last] if last is not None else []):
                    last = copy()
                self.names.add(last.name)
            self.init = v1.global_variables_initializer()
        self.graph, self.last = graph, last

    def open(self, targets):
        self.sessions = [session(target, self.graph, plain=True) for target in targets]
        for s in self.sessions:
            s.run(self.init)
            s.run(self.last)

    def close(self, targets):
        for s, target in zip(self.sessions, targets):
            s.close()
            v1.Session.reset(target, [CONTAINER])

    def microseconds(self, which):
        """One step's times, one for each copy."""
        metadata = v1.RunMetadata()
        self.sessions[which].run(self.last, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=metadata)
        nodes = [n for d in metadata.step_stats.dev_stats for n in d.node_stats if n.node_name in self.names]
        if len(nodes) != len(self.names):
            raise RuntimeError("%d of %d nodes are in the statistics" % (len(nodes), len(self.names)))
        return [(n.op_end_rel_nanos - n.op_start_rel_nanos) / 1e3 for n in nodes]


def brief(error):
    """What is wrong, without where in the client the nodes were made."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "{{node" in line), lines[0])[:200]


def measure(point, targets, args):
    """Each server's time."""
    graph = Point(point)
    try:
        graph.open(targets)
        seen, start, rounds = [[] for _ in targets], time.perf_counter(), 0
        while rounds < args.rounds or time.perf_counter() - start < args.seconds:
            for which, times in enumerate(seen):
                times.extend(graph.microseconds(which))
            rounds += 1
        return [sorted(times)[int(args.quantile * (len(times) - 1))] for times in seen]
    finally:
        graph.close(targets)


def summary(ratios, limit):
    """`ratios`: (point, ratio) of all that were measured."""
    for size in dict.fromkeys(point.size for point, _ in ratios):
        group = [ratio for point, ratio in ratios if point.size == size]
        print("median of %3d points, size %-9s %.2fx" % (len(group), size, statistics.median(group)))
    slow = sorted(((ratio, point.name) for point, ratio in ratios if ratio > limit), reverse=True)
    print("%d of %d points above %.2fx%s" % (len(slow), len(ratios), limit, ":" if slow else ""))
    for ratio, name in slow:
        print("  %5.2fx %s" % (ratio, name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", help="our server's command")
    parser.add_argument("-k", action="append", default=[], help="only points whose name contains this; may be repeated")
    parser.add_argument("--size", action="append", default=[], help="only points of this size (1000, ..., networks)")
    parser.add_argument("--rounds", type=int, default=5, help="at least so many")
    parser.add_argument("--seconds", type=float, default=0.3, help="at least so long for one point")
    parser.add_argument("--quantile", type=float, default=0.5,
                        help="which of a node's times counts: 0.5 is the median; 0.1 where others use the machine too")
    parser.add_argument("--limit", type=float, default=1.1, help="what is slow")
    parser.add_argument("--list", action="store_true", help="only print the points' names")
    args = parser.parse_args()
    points = [p for p in op_points.POINTS if (not args.k or any(word in p.name for word in args.k)) and
              (not args.size or str(p.size) in args.size)]
    if args.list:
        print("\n".join(p.name for p in points))
        return 0
    if not args.server:
        parser.error("--server is needed")
    ratios, failed = [], 0
    clusters = [Cluster({"local": 1}, command) for command in (None, shlex.split(args.server))]
    targets = [c.target("local") for c in clusters]
    print("%-62s %12s %12s %7s" % ("point", "TensorFlow us", "ours us", "ratio"))
    try:
        for point in points:
            try:
                theirs, ours = measure(point, targets, args)
            except (tf.errors.OpError, RuntimeError) as e:
                failed += 1
                print("%-62s failed: %s" % (point.name, brief(e)), flush=True)
                continue
            ratios.append((point, ours / theirs))
            print("%-62s %13.1f %12.1f %6.2fx" % (point.name, theirs, ours, ours / theirs), flush=True)
    finally:
        for c in clusters:
            c.stop()
    summary(ratios, args.limit)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
