"""What an edit is, and what several edits share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from proofs.outsider.edits import PARTS
from proofs.outsider.third_list.copy_edits import replace_times
from proofs.outsider.third_list.forged_copy import ForgedCopy

NS = 1e-9


@dataclass(frozen=True)
class Edit:
    """One entry: ``sample`` is the framework whose run is edited, or ``submission``; ``change``
    edits in place."""

    name: str
    text: str
    level: str
    gains: str
    contradicted: str
    sample: str
    change: Callable[[Any], None]


def listed(
    entries: list[Edit],
) -> Callable[..., Callable[[Callable[[Any], None]], Callable[[Any], None]]]:
    """A decorator that puts functions into a list; a function's docstring says what it does."""

    def edit(
        level: str, gains: str, contradicted: str, sample: str
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        def put(change: Callable[[Any], None]) -> Callable[[Any], None]:
            entries.append(
                Edit(
                    change.__name__,
                    " ".join((change.__doc__ or "").split()),
                    level,
                    gains,
                    contradicted,
                    sample,
                    change,
                )
            )
            return change

        return put

    return edit


def restate(copy: ForgedCopy) -> None:
    """Make the meters' records fit the readings, their jitter included."""
    copy.restate_meters()
    for meter in copy.run["meters"]:
        own = copy.readings[copy.readings["source"] == meter["name"]]
        if meter["jitter_s"] is not None and len(own):
            channel = own["channel"].value_counts().idxmax()
            gaps = np.diff(own.loc[own["channel"] == channel, "t_ns"].to_numpy(np.int64))
            meter["jitter_s"] = float((gaps * NS).std(ddof=1))


def retimed(copy: ForgedCopy, parts: Any) -> None:
    """Give the steps other times, in whole nanoseconds, and move log, later steps and readings
    accordingly."""
    replace_times(copy, np.round(np.asarray(parts) / NS) * NS)
    restate(copy)


def times(copy: ForgedCopy) -> Any:
    """The parts of all steps, s, as an array of its own: a row a step, columns as PARTS."""
    return copy.steps[PARTS].to_numpy().copy()


def of_epoch(copy: ForgedCopy, epoch: int) -> Any:
    """Mask of an epoch's steps."""
    return (copy.steps["epoch"] == epoch).to_numpy()


def scale_growth(
    copy: ForgedCopy, source: str, channel: str, factor: float, whole: bool = True
) -> None:
    """Make a counter grow by a part of what it grew by."""
    mask = copy.at(source, channel)
    values = copy.readings.loc[mask, "value"].to_numpy()
    scaled = values[0] + (values - values[0]) * factor
    copy.readings.loc[mask, "value"] = np.round(scaled) if whole else scaled.round(2)
