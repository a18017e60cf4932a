"""What suite.api has of the bring-up."""

from collections.abc import Callable, Iterable
from pathlib import Path

from suite.extensions.bringup.measuring import bringup
from suite.extensions.bringup.measuring.bringup import WrittenBringUp
from suite.extensions.bringup.record import BringUp

__all__ = ["BringUp", "WrittenBringUp", "bring_up"]

DEFAULT_STEP_S = 20.0


def bring_up(
    output: str | Path | None = None,
    *,
    step_s: float = DEFAULT_STEP_S,
    with_identity: bool = True,
    confirm: Callable[[BringUp], bool] = lambda found: True,
    report: Callable[[str], None] = lambda line: None,
    also: Callable[[BringUp], Iterable[str]] = lambda found: (),
) -> WrittenBringUp:
    """Gather what this machine reports, its meters' first readings, and a staircase of loads that
    calibrates its power sensor, in one file.

    ``confirm`` gets what was collected, without what identifies its owner, before anything is
    written (extensions/bringup/README.md); False keeps nothing. ``step_s`` is the length of each
    load. ``report`` gets a line for each part. ``also`` collects more before ``confirm``, and
    returns what failed of it. Ctrl-C raises KeyboardInterrupt, which names the file.
    """
    options = bringup.BringUpOptions(
        None if output is None else Path(output), step_s, with_identity
    )
    return bringup.bring_up(options, confirm, report, also=also)
