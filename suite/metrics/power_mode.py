"""Changes of the power mode and of limits on clocks and power during a run, from the readings of
the meter ``power-mode``."""

from dataclasses import dataclass

import numpy as np

from suite.bundle.channels import Channels

SOURCE, CHANGED, MODE_ID = "power-mode", "changed", "nvpmodel"


@dataclass(frozen=True)
class SettingChange:
    """A setting that was read with another value than before: ``t_ns`` is the first reading of the
    new value, at most a period late."""

    channel: str
    t_ns: int
    before: float
    after: float
    unit: str


def find_setting_changes(
    channels: Channels, start_ns: int, stop_ns: int
) -> tuple[SettingChange, ...]:
    """All changes of a setting between two readings, the second of them in the window; sorted by
    time. Empty where the meter read nothing."""
    found = []
    for channel in channels.of(SOURCE):
        if channel.name == CHANGED:
            continue
        ordered = channel.in_time
        for index in np.flatnonzero(np.diff(ordered.values) != 0):
            if start_ns <= ordered.t_ns[index + 1] <= stop_ns:
                before, after = float(ordered.values[index]), float(ordered.values[index + 1])
                found.append(
                    SettingChange(
                        channel.name, int(ordered.t_ns[index + 1]), before, after, channel.unit
                    )
                )
    return tuple(sorted(found, key=lambda change: (change.t_ns, change.channel)))
