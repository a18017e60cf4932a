"""Posterior of the physical model: equally plausible parameter sets, and how far the true law may
lie from the model's shape.

Each member draws parameters from the prior and errors of the measurements, and is moved to the best
compromise between both (randomised maximum likelihood: Kitanidis, Water Resources Research 1995;
Oliver, He and Reynolds, 1996; exact for a linear model). The optimiser is Levenberg's and
Marquardt's, for all members at once. Deviations from the model's shape (a Gaussian process over
the logarithms of the resources) are part of every prediction: steps, as bins of voltage make, and
smooth ones, whose size is inferred: members have one of three, for time and for power, and groups
count by their evidence. Finally the intervals are scaled by the leave-one-out errors of the
profiled modes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.physical import Board, Inputs, board_of, log_time_and_power
from suite.extensions.prediction.record.samples import Samples
from suite.extensions.prediction.record.table import Profile

Array = Any  # of floats

TIME_DEVIATIONS = (0.01, 0.035, 0.1)
POWER_DEVIATIONS = (0.01, 0.03, 0.08)
PRIOR_WEIGHTS = (0.3, 0.45, 0.25)
"""Prior probability of each size of deviation (relative standard deviation)."""
LENGTH = 1.0
"""Length scale of the deviation: a factor of e in one resource."""
STEPS = 0.04
"""Relative standard deviation by steps at unknown clocks, of every law: half a bin of voltage (a
tenth) of a rail that takes half of the power; clocks of memory and GPU that fit one another."""
MEMBERS_PER_GROUP = 24
MEMBERS = 128
ROUNDS = 14
MAX_STEP = 1.5
DIFFERENCE = 1e-4
TIME_WIDTH, POWER_WIDTH = 1.4, 1.05
"""Further factors of the intervals' widths: between what laws that others wrote need on average
(1.0 and 0.8) and what those with steps need (1.7 and 1.1; `benchmarks/predict_widths.py`)."""
SCALE_WEIGHT = 30
"""Weight of the prior scale of the intervals, 1, as a number of leave-one-out errors."""
NOT_CONTRADICTED = 0.9
"""Errors of the measurements that are far larger than stated show in the leave-one-out errors: the
scale is at least their lower 90 % limit."""
BLOCK = 1024
"""Modes that are predicted at once: their arrays fit the processor's cache."""


@dataclass(frozen=True)
class Posterior:
    """Members of the posterior, and what their deviations from the model need; a
    :class:`suite.extensions.prediction.record.samples.Predictor`."""

    board: Board
    scales: tuple[float, float]
    parameters: Array
    profiled: Inputs
    time: "Deviations"
    power: "Deviations"
    seed: int

    def predict(self, rows: Array) -> Samples:
        """Time and power in each mode, of every member: its law, its deviation at the profiled
        modes, and a draw of what they leave open."""
        given = self.board.inputs(rows, np.float32)
        random = np.random.default_rng(self.seed)
        parts = [
            self._block(given.take(slice(start, start + BLOCK)), random)
            for start in range(0, len(rows), BLOCK)
        ]
        log_time, log_power = (
            np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True)
        )
        return Samples(log_time, log_power)

    def _block(self, given: Inputs, random: np.random.Generator) -> tuple[Array, Array]:
        law = log_time_and_power(self.parameters, given, self.scales)
        alike = _correlations(given, self.profiled)
        return self.time.applied(law[0], alike, random), self.power.applied(law[1], alike, random)


@dataclass(frozen=True)
class Correlations:
    """Of the deviations in two lists of modes, which fall with their distance: those of ``smooth``
    deviations, and of ``steps`` at unknown clocks."""

    smooth: Array
    steps: Array

    def covariance(self, size: float) -> Array:
        """With smooth deviations of standard deviation ``size``."""
        return size**2 * self.smooth + STEPS**2 * self.steps


@dataclass(frozen=True)
class Deviations:
    """Deviation of one quantity from the model.

    ``sizes`` of each member (index into ``whitening``, the inverse Cholesky factors of the
    covariance of the profiled modes), ``residuals`` of each member at the profiled modes, ``scale``
    of the intervals.
    """

    deviations: tuple[float, ...]
    whitening: tuple[Array, ...]
    sizes: Array
    residuals: Array
    scale: float

    def applied(self, law: Array, alike: Correlations, random: np.random.Generator) -> Array:
        """The law's values, corrected by the residuals, with a draw of the remaining deviation,
        scaled about the mean; ``alike`` of the given and the profiled modes."""
        for size, deviation in enumerate(self.deviations):
            own = self.sizes == size
            if not own.any():
                continue
            gain = (alike.covariance(deviation) @ self.whitening[size].T).astype(np.float32)
            variance = deviation**2 + STEPS**2
            left = np.sqrt(np.maximum(variance - np.sum(gain**2, axis=1), 0))
            draws = random.standard_normal((int(own.sum()), len(gain)), dtype=np.float32)
            law[own] += (self.residuals[own] @ self.whitening[size].T).astype(
                np.float32
            ) @ gain.T + draws * left
        centre = np.mean(law, axis=0)
        return centre + (law - centre) * self.scale


def fit(modes: Modes, profile: Profile, seed: int = 0) -> Posterior:
    """Fit the model to profiled modes; ``modes`` are those of the board. The same arguments give
    the same posterior."""
    board, random = board_of(modes), np.random.default_rng(seed)
    problem = _problem(board, profile)
    standard, objective = _optimised(problem, random)
    evidence, errors = _linearised(problem, standard)
    chosen = _chosen(problem, objective, evidence, random)
    count = len(profile)
    residuals = problem.observed - problem.law(standard[chosen])
    time_errors, power_errors = np.split(errors[chosen], 2, axis=1)
    time = Deviations(
        TIME_DEVIATIONS,
        problem.time_whitening,
        problem.time_sizes[chosen],
        residuals[:, :count],
        TIME_WIDTH * _scale(time_errors),
    )
    power = Deviations(
        POWER_DEVIATIONS,
        problem.power_whitening,
        problem.power_sizes[chosen],
        residuals[:, count:],
        POWER_WIDTH * _scale(power_errors),
    )
    return Posterior(board, problem.scales, standard[chosen], problem.profiled, time, power, seed)


@dataclass(frozen=True)
class _Problem:
    """The measurements (logarithms of times, then of powers) and the members' covariances of
    them."""

    profiled: Inputs
    scales: tuple[float, float]
    observed: Array
    time_whitening: tuple[Array, ...]
    power_whitening: tuple[Array, ...]
    time_sizes: Array
    power_sizes: Array

    def law(self, standard: Array) -> Array:
        """Logarithms of times and powers of the profiled modes, (parameter sets, 2 modes)."""
        return np.concatenate(log_time_and_power(standard, self.profiled, self.scales), axis=1)

    def whitened(self, values: Array) -> Array:
        """Values of shape (members, ..., 2 modes) with unit covariance for each member."""
        count = values.shape[-1] // 2
        time = np.stack(self.time_whitening)[self.time_sizes]
        power = np.stack(self.power_whitening)[self.power_sizes]
        return np.concatenate(
            [_product(time, values[..., :count]), _product(power, values[..., count:])], axis=-1
        )

    def jacobian(self, standard: Array, law: Array) -> Array:
        """Derivatives of the whitened law, (members, parameters, 2 modes), by differences."""
        members, count = standard.shape
        moved = np.repeat(standard, count, axis=0)
        moved[np.arange(members * count), np.tile(np.arange(count), members)] += DIFFERENCE
        return self.whitened(
            (self.law(moved).reshape(members, count, -1) - law[:, None]) / DIFFERENCE
        )


def _product(matrices: Array, values: Array) -> Array:
    """Each member's matrix times its values."""
    if values.ndim == 2:
        return (matrices @ values[:, :, None])[:, :, 0]
    return values @ matrices.transpose(0, 2, 1)


def _problem(board: Board, profile: Profile) -> _Problem:
    profiled = board.inputs(profile.rows)
    alike = _correlations(profiled, profiled)
    groups = len(TIME_DEVIATIONS) * len(POWER_DEVIATIONS)
    sizes = np.repeat(np.arange(groups), MEMBERS_PER_GROUP)
    return _Problem(
        profiled,
        (float(profile.time_s.min()), float(profile.power_w.max())),
        np.log(np.concatenate([profile.time_s, profile.power_w])),
        _whitening(alike, TIME_DEVIATIONS, profile.time_error),
        _whitening(alike, POWER_DEVIATIONS, profile.power_error),
        sizes // len(POWER_DEVIATIONS),
        sizes % len(POWER_DEVIATIONS),
    )


def _whitening(
    alike: Correlations, deviations: Sequence[float], errors: Array
) -> tuple[Array, ...]:
    return tuple(
        np.linalg.inv(np.linalg.cholesky(alike.covariance(size) + np.diag(errors**2)))
        for size in deviations
    )


def _correlations(first: Inputs, second: Inputs) -> Correlations:
    apart = np.abs(_places(first)[:, None] - _places(second)[None]) / LENGTH
    return Correlations(np.exp(-np.sum(apart**2, axis=2) / 2), np.exp(-np.sum(apart, axis=2)))


def _places(given: Inputs) -> Array:
    usable = np.minimum(given.width, given.quota)
    crowding = [] if given.crowding is None else [1 + given.crowding]
    return np.log(
        np.stack([given.cpu, given.gpu, given.memory, usable, *crowding], axis=1).astype(float)
    )


def _optimised(problem: _Problem, random: np.random.Generator) -> tuple[Array, Array]:
    """Parameters of each member after the optimisation, and its objective (distance to its own data
    and prior draw)."""
    members, count = len(problem.time_sizes), len(problem.profiled.priors)
    start = random.standard_normal((members, count))
    every = np.broadcast_to(problem.observed, (members, len(problem.observed)))
    target = problem.whitened(every) + random.standard_normal(every.shape)
    standard, damping = start.copy(), np.ones(members)
    law = problem.law(standard)
    left = target - problem.whitened(law)
    objective = np.sum(left**2, axis=1) + np.sum((standard - start) ** 2, axis=1)
    for _ in range(ROUNDS):
        slopes = problem.jacobian(standard, law)
        curvature = (
            slopes @ slopes.transpose(0, 2, 1) + np.eye(count) * (1 + damping)[:, None, None]
        )
        gradient = (slopes @ left[:, :, None])[:, :, 0] - (standard - start)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        moved = standard + np.clip(step, -MAX_STEP, MAX_STEP)
        moved_law = problem.law(moved)
        moved_left = target - problem.whitened(moved_law)
        moved_objective = np.sum(moved_left**2, axis=1) + np.sum((moved - start) ** 2, axis=1)
        better = moved_objective < objective
        standard[better], law[better] = moved[better], moved_law[better]
        left[better], objective[better] = moved_left[better], moved_objective[better]
        damping = np.clip(np.where(better, damping * 0.3, damping * 4), 1e-3, 1e6)
    return standard, objective


def _linearised(problem: _Problem, standard: Array) -> tuple[Array, Array]:
    """Of each member, with the law linearised at its parameters: the logarithm of the evidence, and
    the standardised leave-one-out errors.

    The measurements then are normally distributed with covariance S = J' J + C; the standardised
    error of one given all others is [S^-1 d]_i / (S^-1)_ii^(1/2).
    """
    law = problem.law(standard)
    slopes = problem.jacobian(standard, law)
    covariance = slopes.transpose(0, 2, 1) @ slopes + np.eye(law.shape[1])
    difference = problem.whitened(problem.observed - law) + np.sum(
        slopes * standard[:, :, None], axis=1
    )
    inverse = np.linalg.inv(covariance)
    solved = (inverse @ difference[:, :, None])[:, :, 0]
    density = (
        _log_determinants(problem.time_whitening)[problem.time_sizes]
        + _log_determinants(problem.power_whitening)[problem.power_sizes]
    )
    evidence = (
        density - np.sum(difference * solved, axis=1) / 2 - np.linalg.slogdet(covariance)[1] / 2
    )
    whitening = _block_diagonal(problem)
    raw = (whitening.transpose(0, 2, 1) @ solved[:, :, None])[:, :, 0]
    diagonal = np.sum(whitening * (inverse @ whitening), axis=1)
    return evidence, raw / np.sqrt(diagonal)


def _log_determinants(factors: Sequence[Array]) -> Array:
    return np.array([np.log(np.diagonal(factor)).sum() for factor in factors])


def _block_diagonal(problem: _Problem) -> Array:
    count = len(problem.observed) // 2
    blocks = np.zeros((len(problem.time_sizes), 2 * count, 2 * count))
    blocks[:, :count, :count] = np.stack(problem.time_whitening)[problem.time_sizes]
    blocks[:, count:, count:] = np.stack(problem.power_whitening)[problem.power_sizes]
    return blocks


def _chosen(
    problem: _Problem, objective: Array, evidence: Array, random: np.random.Generator
) -> Array:
    """Indices of the members that stand for the posterior: of each group as many as its evidence
    says, without those stuck in a poor optimum."""
    group = problem.time_sizes * len(POWER_DEVIATIONS) + problem.power_sizes
    spread = np.sqrt(2.0 * len(problem.observed))
    kept, weights = [], []
    for number in range(group.max() + 1):
        own = np.flatnonzero(group == number)
        own = own[objective[own] <= objective[own].min() + 4 * spread]
        prior = (
            PRIOR_WEIGHTS[number // len(POWER_DEVIATIONS)]
            * PRIOR_WEIGHTS[number % len(POWER_DEVIATIONS)]
        )
        kept.append(own)
        weights.append(float(np.median(evidence[own])) + np.log(prior))
    shares = np.exp(np.array(weights) - max(weights))
    counts = np.round(MEMBERS * shares / shares.sum()).astype(int)
    return np.concatenate(
        [
            random.choice(own, count, replace=count > len(own))
            for own, count in zip(kept, counts, strict=True)
        ]
    )


def _scale(errors: Array) -> float:
    """Factor of the intervals' widths by the leave-one-out errors (members, modes): at least the
    smallest one that these do not contradict."""
    from scipy.special import chdtri  # type: ignore[import-untyped]  # start-up: loads SciPy

    count, square = errors.shape[1], float(np.median(np.mean(errors**2, axis=1)))
    shrunk = (SCALE_WEIGHT + count * square) / (SCALE_WEIGHT + count)
    return float(np.sqrt(max(shrunk, count * square / float(chdtri(count, 1 - NOT_CONTRADICTED)))))
