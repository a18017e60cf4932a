"""The queueing model: what the mean latency of an image should be, from the arrivals, the batch
size and the service times.

A batch of b images is complete when its last one arrives: image i waits (b - 1 - i) / rate for it.
Complete batches are the customers of a queue with one server, GI/G/1. Their waiting time is
Kingman's bound with the correction of Krämer and Langenbach-Belz (1976), which is exact for single
Poisson arrivals (Pollaczek and Khinchine) and for uniform arrivals with constant service (no
waiting). Then comes the service itself.

The service time of a batch is from the moment it is complete and inference idle to its end: waiting
for a training step to end is part of it.
"""

import math
from dataclasses import dataclass

import numpy as np

from suite.extensions.concurrent.record.arrivals import ArrivalKind, Times


@dataclass(frozen=True)
class Load:
    """What the model is given. ``gap_variation`` is the squared coefficient of variation of the
    times between complete batches, ``service_variation`` that of the service times."""

    rate_per_s: float
    batch: int
    service_s: float
    service_variation: float
    gap_variation: float

    @property
    def utilisation(self) -> float:
        """Share of the time that inference is busy; 1 and above: the queue grows without end."""
        return self.rate_per_s * self.service_s / self.batch


@dataclass(frozen=True)
class Prediction:
    """The parts of an image's mean latency, s, and their sum; ``utilisation`` is the share of the
    time that inference is busy."""

    forming_s: float
    waiting_s: float
    service_s: float
    utilisation: float

    @property
    def latency_s(self) -> float:
        """The mean latency of an image."""
        return self.forming_s + self.waiting_s + self.service_s


def predict(load: Load) -> Prediction | None:
    """The model's latency; None where the queue grows without end."""
    if load.utilisation >= 1:
        return None
    forming_s = (load.batch - 1) / (2 * load.rate_per_s)
    return Prediction(forming_s, _waiting_s(load), load.service_s, load.utilisation)


def forming_s(rate_per_s: float, batch: int) -> list[float]:
    """How long each image of a batch waits for the last one, on average: (b - 1 - i) / rate."""
    return [(batch - 1 - index) / rate_per_s for index in range(batch)]


def gap_variation(kind: ArrivalKind, intended_ns: Times, batch: int) -> float:
    """The squared coefficient of variation of the times between complete batches: 0 for uniform
    arrivals, 1 / b for a Poisson process (Erlang's distribution); of a trace as its times give
    it."""
    if kind is ArrivalKind.UNIFORM:
        return 0.0
    if kind is ArrivalKind.POISSON:
        return 1 / batch
    gaps = np.diff(intended_ns[batch - 1 :: batch].astype(np.float64))
    return float(np.var(gaps) / np.mean(gaps) ** 2) if len(gaps) > 1 and gaps.mean() > 0 else 0.0


def _waiting_s(load: Load) -> float:
    """Mean waiting time of a complete batch."""
    arrivals, service, busy = load.gap_variation, load.service_variation, load.utilisation
    if arrivals + service == 0 or busy == 0:
        return 0.0
    if arrivals <= 1:
        exponent = -2 * (1 - busy) * (1 - arrivals) ** 2 / (3 * busy * (arrivals + service))
    else:
        exponent = -(1 - busy) * (arrivals - 1) / (arrivals + 4 * service)
    return busy / (1 - busy) * load.service_s * (arrivals + service) / 2 * math.exp(exponent)
