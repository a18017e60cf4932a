"""The record of a resumed run: the run whose training it continues, from which epoch, since when,
and why that run ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import SECONDS_PER_NS, Request
from reference_impls.training_state import KINDS
from suite.bundle.layout import states_folder
from suite.bundle.log import LogEvent
from suite.files.schema import Count, Seconds, ShortText, from_plain
from suite.files.shell_command import shell_command

MS_PER_S = 1000.0


@dataclass(frozen=True)
class Resumption:
    """What run.json says of the interrupted run ``run_id``.

    ``epoch`` is the number of epochs that it had trained when it kept the state that this run
    starts from, ``state`` that state's digests by kind. ``ranks`` and ``nodes`` are those that it
    trained on, ``reason`` why it ended, in its own words, ``ended_time_ms`` the time of its last
    event. ``began_time_ms`` and ``began_mono_ns`` are its run_start on both clocks, the second of
    the boot ``boot``; of a run that was resumed itself, those of the first run. ``uncounted_s`` are
    the seconds since then that count into no time.
    """

    run_id: ShortText
    epoch: Count
    state: Mapping[str, str]
    ranks: Count
    nodes: Count
    reason: ShortText
    ended_time_ms: Count
    began_time_ms: Count
    began_mono_ns: Count
    boot: str | None
    uncounted_s: Seconds

    def before_s(self, start: LogEvent) -> float | None:
        """Counted time from the first run's run_start to this run's, the lost time included; None
        where ``start`` has no time.

        By the monotonic clock within one boot, by the wall clock otherwise.
        """
        if start.mono_ns is None:
            return None
        same_boot = self.boot is not None and start.metadata.get("boot") == self.boot
        monotonic_s = (start.mono_ns - self.began_mono_ns) * SECONDS_PER_NS
        wall_s = (start.time_ms - self.began_time_ms) / MS_PER_S
        return (monotonic_s if same_boot else wall_s) - self.uncounted_s


def read_resumption(values: Mapping[str, Any] | None) -> Resumption | None:
    """The record in run.json; None for a run that was not resumed. Raises ValueError for a record
    that the suite does not write."""
    if values is None:
        return None
    found = from_plain(values, Resumption, "resumed: ")
    if set(found.state) != set(KINDS):
        raise ValueError(f"state has digests of {list(found.state)}"[:300] + f", not of {KINDS}")
    return found


def how_to_resume(run: Path, training: Request) -> str:
    """How to continue a run that did not finish; nothing where it kept no state, and in the closed
    division, which trains without a break."""
    if training.division != "open" or not any(states_folder(run).glob("epoch_*.npz")):
        return ""
    hosts = ", a --hostfile of the remaining hosts" if training.parallel.nodes > 1 else ""
    return (
        "To continue from the last kept state, rerun the same command with another"
        f" --output{hosts} and `{shell_command('--resume', run)}`."
    )


def known_resumption(values: Mapping[str, Any] | None) -> Resumption | None:
    """The same, and None for a record that cannot be read: the rule `resumed-agrees` reports that
    one."""
    try:
        return read_resumption(values)
    except ValueError:
        return None
