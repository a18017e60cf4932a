"""The timings that a request may have, by what its framework declares."""

from reference_impls.contract import Request
from suite.catalog.frameworks import known_frameworks
from suite.catalog.timings import Timing, possible_timings

OF_OTHERS = ("cuda",)
"""Accelerators on which an implementation outside the checkout may be asynchronous: its declaration
is not in the bundle."""


def timings_of(request: Request) -> tuple[Timing, ...]:
    """The possible timings, the one without --timing first."""
    own = known_frameworks().get(request.framework)
    waits_in_steps = request.parallel.ranks > 1 or request.recomputation is not None
    return possible_timings(
        request.accelerator, waits_in_steps, OF_OTHERS if own is None else own.asynchronous_on
    )
