"""The order of samples, from the seed by NumPy, so that every framework trains on the same
mini-batches."""

import numpy as np


def epoch_order(seed: int, epoch: int, samples: int) -> np.ndarray:
    """A permutation of range(samples), int64; RandomState's stream is frozen for all NumPy versions
    (NEP 19)."""
    return np.random.RandomState([seed, epoch]).permutation(samples)
