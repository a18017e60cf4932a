"""The divisions of the rulebook."""

import enum

NO_ORGANIZATION = "none"
"""The organization of a run that was made for nobody; anybody may submit it."""


class Division(str, enum.Enum):
    """Closed: prescribed model, data, optimiser and target; tuned within listed ranges. Open:
    anything; quality is reported."""

    CLOSED = "closed"
    OPEN = "open"
