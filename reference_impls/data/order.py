"""The order of samples, made by NumPy from the seed, so that every framework sees the same mini-batches."""

import numpy as np


def epoch_order(seed: int, epoch: int, samples: int) -> np.ndarray:
    """A permutation of range(samples), int64; RandomState's stream is frozen for all NumPy versions (NEP 19)."""
    return np.random.RandomState([seed, epoch]).permutation(samples)
