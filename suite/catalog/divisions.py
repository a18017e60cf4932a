"""The divisions of the rulebook."""

import enum


class Division(str, enum.Enum):
    """Closed: same model, data, optimiser and target, tuned within listed ranges. Open: anything, quality reported."""

    CLOSED = "closed"
    OPEN = "open"
