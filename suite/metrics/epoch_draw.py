"""The draw of the epoch whose training state must be handed in."""

import hashlib

from reference_impls.updates import steps_per_epoch
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request


def whole_epochs(bundle: Bundle) -> int:
    """How many epochs can be drawn: the finished ones but for a last one that the step limit cut
    short, since no replay can go on from its state."""
    request = read_request(bundle.run(), f"{bundle.path / RUN}")
    finished = len(bundle.log().finished_epochs())
    if request.steps is None:
        return finished
    return min(finished, request.steps // steps_per_epoch(request))


def drawn_epoch(head: str, value: str, epochs: int) -> int:
    """One of the epochs 1 to ``epochs``, from the chain value of rank 0's last log line and a value
    that somebody else gives after sealing.

    SHA-256 of ``head`` and ``value``, one after the other in UTF-8, as a whole number (most
    significant byte first), modulo ``epochs``, plus 1.
    """
    return (
        int.from_bytes(hashlib.sha256((head + value).encode("utf-8")).digest(), "big") % epochs + 1
    )
