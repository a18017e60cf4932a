"""Gradient agreement: before the first step, and after epochs, all ranks compute the gradient of
the same mini-batch and compare. Python 3.6 grammar; NumPy.

Ranks that sum one wrong gradient stay equal to one another, so equal weights do not show it. A
gradient is compared by SUMS sums of its elements with random signs (AMS sketch: Alon, Matias,
Szegedy, STOC 1996): the expected squared distance of two sketches is that of the gradients.
"""

import random
import zlib
from itertools import islice
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np

from reference_impls.communication import World
from reference_impls.contract import (
    FLOAT32,
    SECONDS_PER_NS,
    TF32,
    Batch,
    ContractError,
    Implementation,
    Pipeline,
    Request,
    monotonic_ns,
)
from reference_impls.data_stalls import drop_files
from reference_impls.training_state import has_statistics

SUMS, PIECE = 16, 2**20
TOLERANCES = {FLOAT32: 0.2, TF32: 0.2}
ROUNDED = 0.5
"""Largest distance relative to the gradient's norm: in float32 and tf32, and in 16-bit types. Equal
processors give 0; kernels for another processor gave up to 0.05 in float32 (ResNet-50; the other
models 0.02), and in bfloat16 more than is allowed (docs/multi-node.md)."""
MIN_NORM = 1e-3
"""Of all parameters' root mean square: gradients that should be zero are rounding errors."""
FIRST_BATCHES = 4
OVERFLOWS = "the gradient of every parameter overflows at all ranks"
MAX_SHARE = 0.005
"""Of an epoch's time, for the comparison after it."""


class Distance(NamedTuple):
    """The largest distance of any rank: its relative size, the parameter, and the ranks beyond the
    tolerance. Unknown (None) where every parameter's gradient overflows at all ranks."""

    relative: Optional[float]
    parameter: Optional[str]
    ranks: List[int]


class Agreement:
    """The comparisons of a run; ``cost_s`` is how long one takes."""

    def __init__(self, request: Request, world: World, implementation: Implementation) -> None:
        self._world, self._implementation = world, implementation
        self._tolerance = TOLERANCES.get(request.precision, ROUNDED)
        self._drawn = None  # type: Optional[Batch]
        self.cost_s = 0.0

    def before_training(self, pipeline: Pipeline, drops: bool) -> Optional[Dict[str, Any]]:
        """Compare on rank 0's first mini-batch, and on a drawn one of a drawn rank, which is kept.
        Returns the event's value; None for an implementation without the method gradients."""
        if type(self._implementation).gradients is Implementation.gradients:
            return None
        draw = self._draw()
        sender, place = draw.randrange(self._world.size), draw.randrange(FIRST_BATCHES)
        first, self._drawn = self._fetch(pipeline, 0, 0), self._fetch(pipeline, sender, place)
        if drops:
            drop_files(pipeline.files())
        found = [self._compare(batch) for batch in (first, self._drawn)]
        return max(found, key=lambda each: each["distance"] or 0.0)

    def after_epoch(self, took_s: float) -> Optional[Dict[str, Any]]:
        """Compare on the drawn mini-batch with the weights of now, where that costs less than half
        a percent of the epoch."""
        if self._world.bcast(self._drawn is None or self.cost_s > MAX_SHARE * took_s):
            return None
        assert self._drawn is not None
        return self._compare(self._drawn)

    def _draw(self) -> random.Random:
        return random.Random(self._world.bcast(random.SystemRandom().getrandbits(64)))

    def _fetch(self, pipeline: Pipeline, sender: int, place: int) -> Batch:
        """A rank's mini-batch, or its last one where it has fewer, at every rank."""
        own = None  # type: Optional[Batch]
        if self._world.rank == sender:
            batches = pipeline.training(1)
            own = list(islice(batches, place + 1))[-1]
            del batches  # ends the workers and closes the files
        return self._world.allgather(own)[sender]  # type: ignore[no-any-return]

    def _compare(self, batch: Batch) -> Dict[str, Any]:
        """Raises ContractError at every rank where the gradients differ."""
        began_ns, seed = monotonic_ns(), self._draw().getrandbits(32)
        before = self._implementation.training_state()
        gradients = self._implementation.gradients(self._implementation.to_device(batch))
        if has_statistics(before):
            self._implementation.restore(before)
        names = sorted(gradients)
        own = np.array([sketch(gradients[name], seed ^ _number(name)) for name in names])
        found = farthest(np.array(self._world.allgather(own)), names, self._tolerance)
        if found.ranks:
            raise ContractError(_sentence(self._world.nodes, found, self._tolerance))
        self.cost_s = (monotonic_ns() - began_ns) * SECONDS_PER_NS
        value = {
            "distance": found.relative,
            "parameter": found.parameter,
            "tolerance": self._tolerance,
            "cost_s": self._world.bcast(self.cost_s),
        }
        return dict(value, **({"reason": OVERFLOWS} if found.relative is None else {}))


def sketch(values: Any, seed: int) -> "np.ndarray":
    """SUMS sums of the elements with random signs, the same signs for the same seed; NaN where an
    element is not finite."""
    flat, signs = np.asarray(values).ravel(), np.random.RandomState(seed)
    sums = np.zeros(SUMS)
    for start in range(0, len(flat), PIECE):
        piece = flat[start : start + PIECE].astype(np.float64)
        bits = np.unpackbits(np.frombuffer(signs.bytes(-(-len(piece) // 8)), np.uint8))
        piece[bits[: len(piece)] == 1] *= -1
        sums += np.pad(piece, (0, -len(piece) % SUMS), "constant").reshape(-1, SUMS).sum(axis=0)
    return sums if np.isfinite(sums).all() else np.full(SUMS, np.nan)


def farthest(sketches: "np.ndarray", names: List[str], tolerance: float) -> Distance:
    """Compare sketches (ranks, parameters, SUMS) with their median over the ranks. Of two ranks
    none is the odd one: both are.

    A gradient that overflows is another one than any finite one, and none is known where it does at
    all ranks.
    """
    overflows = np.isnan(sketches).any(axis=2)
    known = np.flatnonzero(~overflows.all(axis=0))
    if not len(known):
        return Distance(None, None, [])
    names, sketches = [names[place] for place in known], np.nan_to_num(sketches[:, known])
    centre, is_pair = np.median(sketches, axis=0), len(sketches) == 2
    norms = (
        np.linalg.norm(sketches, axis=2).max(axis=0) if is_pair else np.linalg.norm(centre, axis=1)
    )
    least = max(MIN_NORM * float(np.sqrt(np.mean(norms**2))), float(np.finfo(np.float64).tiny))
    # each of a pair is half of their distance from the mean
    apart = np.linalg.norm(sketches - centre, axis=2) * (1 + is_pair) / np.maximum(norms, least)
    rank, place = np.unravel_index(int(np.argmax(apart)), apart.shape)
    beyond = np.flatnonzero((apart > tolerance).any(axis=1))
    return Distance(float(apart[rank, place]), names[place], [int(each) for each in beyond])


def _number(name: str) -> int:
    return zlib.crc32(name.encode("utf-8"))


def _sentence(nodes: List[str], found: Distance, tolerance: float) -> str:
    assert found.relative is not None
    odd = list(dict.fromkeys(nodes[rank] for rank in found.ranks))
    rest = [node for node in dict.fromkeys(nodes) if node not in odd]
    who = " and ".join([", ".join(odd[:-1]), odd[-1]] if len(odd) > 1 else odd)
    verb = "compute" if len(odd) > 1 else "computes"
    what = "other gradients than {}".format(rest[0]) if rest else "different gradients"
    return (
        "{} {} {} from the same mini-batch ({}: {:.2g} of its norm apart, {:g} is allowed); look"
        " for another library, processor or memory fault there, and create the environment again"
        " with `suite env create --force`.".format(
            who, verb, what, found.parameter, found.relative, tolerance
        )
    )
