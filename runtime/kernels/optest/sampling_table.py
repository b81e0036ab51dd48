"""Programs for random distributions, generators in variables and candidate samplers: the numbers are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from lines import INDEX, Pool
from state_table import Program, constant

v1 = tf.compat.v1
raw = tf.raw_ops

RATES = np.array([0.0, 0.3, 1.0, 4.0, 9.99, 10.0, 25.0, 1000.0])
OUTPUTS = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)


def distributions(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    seed = constant([7, -3], np.int64)
    key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
    for number, dtype in enumerate((np.float16, np.float32, np.float64)):
        alphas = constant(np.array([0.1, 0.5, 1.0, 1.5, 40.0], dtype))
        gamma = raw.RandomGamma(shape=constant([3, 7]), alpha=alphas, seed=5, seed2=number)
        steps += [gamma, gamma, raw.RandomGamma(shape=constant([0]), alpha=alphas, seed=5), raw.StatelessRandomGammaV2(shape=constant([4, 5]), seed=seed, alpha=alphas),
                  raw.StatelessRandomGammaV3(shape=constant([4, 5]), key=key, counter=counter, alg=1, alpha=alphas),
                  raw.StatelessRandomGammaV2(shape=constant([4, 6]), seed=seed, alpha=alphas)]
        poisson = raw.RandomPoissonV2(shape=constant([9]), rate=constant(RATES[:7].astype(dtype)), seed=3, seed2=8)
        steps += [poisson, poisson]
        for out in OUTPUTS:
            rates = constant(RATES.astype(dtype))
            steps += [raw.RandomPoissonV2(shape=constant([6]), rate=rates, seed=3, seed2=number, dtype=out),
                      raw.StatelessRandomPoisson(shape=constant([5, 8]), seed=seed, lam=rates, dtype=out)]
            counts, probs = constant(np.array([[1.0], [30.0], [200.0]], dtype)), constant(np.array([0.0, 0.05, 0.5, 0.9, 1.0], dtype))
            steps.append(raw.StatelessRandomBinomial(shape=constant([4, 3, 5]), seed=seed, counts=counts, probs=probs, dtype=out))
    for kind in (np.int32, np.int64):
        steps.append(raw.RandomPoissonV2(shape=constant([6]), rate=constant(np.array([1, 20], kind)), seed=3, dtype=tf.int64))
    for dtype in ("float32", "int32", "string", "bool"):
        steps.append(raw.StatelessShuffle(value=constant(pool((7, 2), dtype)), key=key, counter=counter, alg=1))
    shown = raw.NonDeterministicInts(shape=constant([2, 3]), dtype=tf.int32)
    return steps + [raw.Shape(input=shown)]


def generators(pool: Pool) -> list[Any]:
    state = v1.get_variable("state", initializer=np.array([5, 0, 77], np.int64), use_resource=True, trainable=False)
    short = v1.get_variable("short", initializer=np.array([1, 2], np.int64), use_resource=True, trainable=False)
    algorithm, shape = constant(1, np.int64), constant([3, 5])
    some: dict[str, Any] = {"resource": state.handle, "algorithm": algorithm, "shape": shape}
    steps: list[Any] = [[v.initializer for v in (state, short)]]
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        steps += [raw.StatefulUniform(**some, dtype=dtype), raw.StatefulStandardNormalV2(**some, dtype=dtype), raw.StatefulTruncatedNormal(**some, dtype=dtype)]
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        steps.append(raw.StatefulUniformFullInt(**some, dtype=dtype))
    for kind in INDEX:
        steps.append(raw.StatefulUniformInt(**some, minval=constant(np.array(-7, kind)), maxval=constant(np.array(90, kind))))
    for out in OUTPUTS:
        steps.append(raw.StatefulRandomBinomial(resource=state.handle, algorithm=algorithm, shape=constant([4, 2]), counts=constant([20.0, 300.0]),
                                                probs=constant([0.3, 0.8]), dtype=out))
    steps += [raw.RngSkip(resource=state.handle, algorithm=algorithm, delta=constant(3, np.int64)), tf.identity(state.read_value()),
              raw.RngReadAndSkip(resource=state.handle, alg=constant(1), delta=constant(np.uint64(5))), tf.identity(state.read_value()),
              raw.StatefulUniform(resource=short.handle, algorithm=algorithm, shape=shape, dtype=tf.float32),
              raw.StatefulUniform(resource=state.handle, algorithm=constant(9, np.int64), shape=shape, dtype=tf.float32)]
    return steps


def candidates(pool: Pool) -> list[Any]:
    true = constant(np.array([[1, 4], [0, 7], [19, 2]], np.int64))
    steps: list[Any] = []
    for unique in (True, False):
        some: dict[str, Any] = {"true_classes": true, "num_true": 2, "num_sampled": 8, "unique": unique, "seed": 3, "seed2": 11}
        weights = [float(1 + i % 5) for i in range(20)]
        for sampled in (raw.UniformCandidateSampler(**some, range_max=20), raw.LogUniformCandidateSampler(**some, range_max=20),
                        raw.LearnedUnigramCandidateSampler(**some, range_max=20), raw.ThreadUnsafeUnigramCandidateSampler(**some, range_max=20),
                        raw.FixedUnigramCandidateSampler(**some, range_max=20, unigrams=weights, distortion=0.75),
                        raw.FixedUnigramCandidateSampler(**some, range_max=11, unigrams=weights, num_reserved_ids=1, num_shards=2, shard=0),
                        raw.AllCandidateSampler(**some)):
            hits = raw.ComputeAccidentalHits(true_classes=true, sampled_candidates=sampled.sampled_candidates, num_true=2)
            steps += [[list(sampled), list(hits)]] * 3
    few = {"num_true": 2, "num_sampled": 30, "unique": True, "seed": 3, "seed2": 11}
    return steps + [list(raw.UniformCandidateSampler(true_classes=true, **few, range_max=20)),
                    list(raw.ComputeAccidentalHits(true_classes=true, sampled_candidates=constant([4, 4, 9], np.int64), num_true=2))]


SAMPLING: tuple[Program, ...] = (
    Program("Distributions", distributions, 64),
    Program("Random generators in variables", generators, 4),
    Program("Candidate samplers", candidates, 16),
)
