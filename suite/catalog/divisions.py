"""The divisions of the rulebook."""

import enum


class Division(str, enum.Enum):
    """Closed: prescribed model, data, optimiser and target; tuned within listed ranges. Open:
    anything; quality is reported."""

    CLOSED = "closed"
    OPEN = "open"
