"""What the links of a run's nodes lost, in words."""

from collections.abc import Mapping
from typing import Any

from reporter.data.text import number_in_full, one_line, significant
from suite.compliance.values import is_number

LOST = {
    "retransmitted": "TCP segments were sent again",
    "dropped": "packets were dropped",
    "errors": "packets were damaged",
    "carrier_changes": "changes of the carrier",
}
"""What a counter of the meter ``links`` counts."""


def link_loss(loss: Mapping[str, Any]) -> str:
    """What a link lost, of a record of ``disturbances``."""
    place, _, noun = one_line(loss.get("channel"), 60).rpartition(".")
    where = "" if place == "tcp" else f"{place}: "
    of_all = f" ({100.0 * loss['share']:.3g} % of all)" if is_number(loss.get("share")) else ""
    start_s = significant(loss["start_s"], 4)
    count, held_s = number_in_full(loss["count"]), significant(loss["held_s"], 3)
    return (
        f"{where}{count} {LOST.get(noun, noun)}{of_all} within {held_s} s, which began {start_s} s"
        " after run_start"
    )
