"""How a campaign hands over its figures: to `make prove`, which keeps them as fields, not as
prose."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

PLACE = "PROOF_FIGURES"
"""Variable with the path of the file that the figures are written to."""
SKIPPED_BECAUSE = "skipped_because"
"""The reasons of skipped tests, which are judged and not kept."""


def hand_over(**figures: float | str | Sequence[str] | None) -> None:
    """Write the figures for `make prove`; a campaign that was started by hand has printed them and
    hands over nothing."""
    if PLACE in os.environ:
        Path(os.environ[PLACE]).write_text(json.dumps(figures), encoding="utf-8")
