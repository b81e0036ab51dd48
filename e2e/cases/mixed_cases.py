#!/usr/bin/env python3
"""Clusters of our servers together with TensorFlow's: each story is told on a cluster that is all TensorFlow's and on the mixed
ones, and must come to the same results.

  mixed_cases.py --server 'build/bin/tensorfleet server' [-k WORD]
  mixed_cases.py --server tensorflow    on TensorFlow's servers alone, to see that the stories are fair

The mixed clusters: `our_ps`, TensorFlow's chief and worker with our parameter servers, as in a TFJob of TensorFlow's image
whose parameter servers have ours; and `our_master`, our chief with TensorFlow's worker and parameter servers. The stories are in
mixed_*stories.py. Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import atexit

import mixed_stories
import mixed_training_stories  # noqa: F401: adds its stories
import mixed_value_stories  # noqa: F401
import numpy as np

from case_tools import Cluster, base, main_of, v1

TASKS = {"ps": 2, "worker": 1, "chief": 1}
OURS = {"all_tensorflow": (), "our_ps": ("ps",), "our_master": ("chief",)}     # the jobs whose servers are ours
TOLERANCE = 1e-6


class Mixed(Cluster):
    """The servers of TASKS; those of the jobs in `ours` are as --server says, the others TensorFlow's."""

    def __init__(self, ours):
        self.ours = ours
        super().__init__(TASKS)

    def start(self, job, index):
        server = base.SERVER
        try:
            if job not in self.ours:
                base.SERVER = "tensorflow"
            super().start(job, index)
        finally:
            base.SERVER = server


CLUSTERS, EXPECTED = {}, {}


def cluster(kind):
    """The one cluster of this kind, which the stories share unless they break it."""
    if kind not in CLUSTERS:
        CLUSTERS[kind] = Mixed(OURS[kind])
        atexit.register(CLUSTERS[kind].__exit__)
    return CLUSTERS[kind]


def told(story, kind):
    v1.reset_default_graph()
    if not getattr(story, "breaks_servers", False):
        return story(cluster(kind))
    with Mixed(OURS[kind]) as own:
        return story(own)


def same(where, got, want):
    """Fails where `got` differs: floats by more than TOLERANCE (relative above 1), everything else at all."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), (where, got.keys(), want.keys())
        for key in want:
            same("%s.%s" % (where, key), got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), (where, got, want)
        for i, (g, w) in enumerate(zip(got, want)):
            same("%s[%d]" % (where, i), g, w)
    else:
        got, want = np.asarray(got), np.asarray(want)
        assert (got.dtype.kind, got.shape) == (want.dtype.kind, want.shape), (where, got, want)
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)


def case_of(name, story, kind):
    def case():
        if name not in EXPECTED:
            EXPECTED[name] = told(story, "all_tensorflow")
        same(name, told(story, kind), EXPECTED[name])
    return case


if __name__ == "__main__":
    CASES = {"case_%s_with_%s" % (name, kind): case_of(name, story, kind)
             for name, story in mixed_stories.STORIES.items() for kind in ("our_ps", "our_master")}
    main_of(CASES, __doc__)
