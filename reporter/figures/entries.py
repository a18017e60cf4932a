"""Entries that are alike, and figures of entries with their error bars."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from reporter.data.frames import IDENTITY, Frames, Row, grouped, is_known, rows_of
from reporter.data.values import entries_of, figures_of
from reporter.figures.model import Estimate


def entry_groups(
    frames: Frames, ids: Iterable[str], properties: Sequence[str], least: int = 2
) -> list[list[Row]]:
    """The entries in groups that differ in ``properties`` only, in at least ``least`` of their
    values, and in their order."""
    entries, same = entries_of(frames), [name for name in IDENTITY if name not in properties]
    groups = grouped(
        (entries[name] for name in sorted(ids)),
        lambda entry: tuple(str(entry[name]) for name in same),
    )
    return [
        sorted(group, key=lambda entry: [_place(entry[name]) for name in properties])
        for _, group in sorted(groups.items())
        if len({tuple(str(entry[name]) for name in properties) for entry in group}) >= least
    ]


def _place(value: object) -> tuple[bool, float, str]:
    """Numbers by value, texts by letter, unknown values first."""
    number = float(value) if isinstance(value, int | float) else None
    return number is not None, number or 0.0, str(value)


def entry_estimates(frames: Frames, figure: str, factor: float = 1.0) -> dict[str, Estimate]:
    """A figure of every entry that has it, by entry id: the mean over its runs, with one standard
    deviation to each side."""
    found = figures_of(frames, figure)
    return {
        name: Estimate.around(
            float(row["value"]), float(row["spread"]) if is_known(row["spread"]) else None
        ).times(factor)
        for name in entries_of(frames)
        if (row := found.get(name)) is not None and math.isfinite(row["value"])
    }


def whole_epochs(frames: Frames) -> Iterator[Row]:
    """The epochs that trained every sample, by run and number, without the first of a resumed run,
    whose caches are cold: those that figures of an epoch are means of. An epoch that was cut short
    is the last of its run."""
    runs = {
        run["run_id"]: (int(run["resumed"]), int(run["epochs"])) for run in rows_of(frames.runs)
    }
    for row in rows_of(frames.epochs.sort_values(["run_id", "epoch"])):
        before, count = runs[row["run_id"]]
        if row["epoch"] <= before + count and not (before and row["epoch"] == before + 1):
            yield row


def epoch_sums(
    frames: Frames, columns: Sequence[str], is_first: bool = False
) -> dict[str, Estimate]:
    """The sum of columns over the first epoch or the later ones: mean of the runs' means, with one
    standard deviation over runs; no entries that lack a value."""
    means = means_of_runs(frames, columns, is_first)
    return {name: mean_of(values) for name, values in means.items()}


def means_of_runs(
    frames: Frames, columns: Sequence[str], is_first: bool = False
) -> dict[str, list[float]]:
    """The runs' means over first or later whole epochs, by entry; no entries that lack a value."""
    entry_of, of_run = frames.entry_of, dict[str, list[float]]()
    for row in whole_epochs(frames):
        if (row["epoch"] == 1) == is_first:
            of_run.setdefault(row["run_id"], []).append(
                sum(float(row[name]) if is_known(row[name]) else math.nan for name in columns)
            )
    means = {
        name: [statistics.fmean(of_run[run]) for run in runs]
        for name, runs in grouped(of_run, entry_of.__getitem__).items()
    }
    return {name: values for name, values in means.items() if all(map(math.isfinite, values))}


def mean_of(values: Sequence[float]) -> Estimate:
    """The mean of some values with one sample standard deviation to each side, if there are two or
    more."""
    spread = statistics.stdev(values) if len(values) > 1 else None
    return Estimate.around(statistics.fmean(values), spread)
