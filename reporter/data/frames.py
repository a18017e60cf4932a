"""The tidy frames that everything else is drawn from: one row per thing, documented columns, units in the names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
import pandas

from suite.compliance.checker import BundleVerdict

Row = dict[str, Any]
Made = TypeVar("Made")

ACCEPTED, REFUSED, WITHDRAWN, GENERATED, STUDIED = "accepted", "refused", "withdrawn", "generated", "studied"

IDENTITY: Mapping[str, str] = {
    "workload": "the workload's name",
    "division": "closed or open",
    "data": "the data set's name",
    "own_data": "the data set is the workload's own",
    "organization": "who submits",
    "availability": "how the submission says that the system can be had: available, preview, research; None outside a submission",
    "device": "the device profile's name",
    "cpu_model": "the processor as the kernel names it",
    "power_mode": "the device's power mode",
    "storage_medium": "what the data lay on",
    "nodes": "how many machines",
    "ranks": "how many processes trained together",
    "collective": "how ranks sum gradients: mpi (the suite's own), native (the framework's), none on one rank",
    "framework": "the framework's name",
    "framework_version": "as the implementation logged it",
    "accelerator": "cpu or cuda",
    "threads": "of the framework",
    "workers": "processes that make mini-batches; 0: the training one does",
    "batch_size": "global, samples",
    "learning_rate": "at the start of the schedule",
}
"""What makes two runs repetitions of one entry: everything but seed, time and chance."""

RUNS: Mapping[str, str] = {
    "run_id": "the run's name, unique",
    "entry_id": "the entry that this run is a repetition of",
    "place": "where it was found, relative to the path that was given",
    "path": "where it was found, absolute; never shown on a page",
    **IDENTITY,
    "seed": "of weights and order",
    "epochs": "finished",
    "state": "accepted, refused (by the checker), withdrawn, generated (nobody published its data) or studied (made for an analysis)",
    "withdrawn": "why it was withdrawn",
    "round": "of the submission; None outside one, as the next two",
    "notes": "what the submitter says of it, on cooling for instance",
    "code": "where the submitter says that the code is that ran",
    "started_time_ms": "wall clock, ms since 1970",
    "suite_version": "that made the run",
}

FIGURES: Mapping[str, str] = {
    "run_id": "of which run",
    "figure": "its name; the unit ends it, except for ratios",
    "value": "None where it is unknown",
    "unit": "of value and spread",
    "source": "the raw record that it is computed from",
    "count": "from how many values",
    "period_s": "of the readings, s; None where every event is recorded",
    "coverage": "share of the measured time that the record covers",
    "spread": "sample standard deviation over the values; None for fewer than two",
    "reason": "why it is unknown",
    "method": "what made the value, where there is more than one way",
    "covers": "of energy: chip, module, board or wall",
    "tier": "of energy: analyser, wall meter, on-board sensor or estimate",
    "significant": "of a difference: whether it is statistically significant; None where it was not tested",
}

EPOCHS: Mapping[str, str] = {
    "run_id": "of which run",
    "epoch": "1, 2, …",
    "steps": "mini-batches",
    "samples": "trained on",
    "end_to_end_s": "first fetch to last step, s",
    "fetch_stall_s": "blocked waiting for a mini-batch, s",
    "copy_s": "copy to the device, s",
    "compute_s": "on the device, s",
    "communication_s": "gradient exchange not hidden behind compute, s",
    "overhead_s": "what the four leave of end_to_end_s, s",
    "mean_loss": "over the epoch's mini-batches",
    "eval_accuracy": "after the epoch; None where it was not evaluated",
    "energy_j": "of the epoch, J; None where it was not measured",
}

ENTRIES: Mapping[str, str] = {
    "entry_id": "stable: made from the identity's values",
    **IDENTITY,
    "state": "accepted, refused, withdrawn, generated or studied; the runs of an entry share it",
    "runs": "how many",
    "withdrawn": "why it was withdrawn",
}

ENTRY_FIGURES: Mapping[str, str] = {
    "entry_id": "of which entry",
    "figure": "as in figures",
    "value": "mean over the runs; None unless every run has it",
    "unit": "of value, spread, low and high",
    "runs": "that have a value",
    "spread": "sample standard deviation over the runs; of a single run, its own",
    "spread_over": "runs, or the run's own values",
    "low": "smallest of the runs",
    "high": "largest of the runs",
    "reason": "why it is unknown",
    "source": "the raw record",
    "covers": "of energy; None where the runs differ",
    "tier": "of energy; None where the runs differ",
}

LINPACKS: Mapping[str, str] = {
    "linpack_id": "ten hexadecimal digits of the record's SHA-256",
    "place": "where it was found, relative to the path that was given",
    "path": "where the record lies, absolute; never shown on a page",
    "kind": "HPL, or LU where it is only like it",
    "program": "what solved the system",
    "device": "the device profile's name",
    "cpu_model": "the processor as the kernel names it",
    "nodes": "how many machines",
    "ranks": "processes",
    "threads_per_rank": "of the BLAS",
    "size": "order of the matrix",
    "gflops": "10⁹ floating-point operations per second, of all nodes",
    "residual": "scaled, below 16",
    "gflops_per_watt": "over the mean power while it solved; None where that was not measured",
    "power_method": "sensor, rule, what it covers and its tier",
    "power_reason": "why the power is unknown",
}
"""LINPACK's results among the paths, one row per record."""

BROKEN: Mapping[str, str] = {"place": "where it was found, relative to the path that was given", "reason": "why it cannot be shown"}


@dataclass(frozen=True)
class Frames:
    """Tidy pandas frames; the columns are those of the mappings in this module, which say what each holds.

    ``verdicts`` are the checker's, ``digests`` those of all of a bundle's bytes (None: it changed while it was read), both by run id.
    """

    runs: pandas.DataFrame
    figures: pandas.DataFrame
    epochs: pandas.DataFrame
    entries: pandas.DataFrame
    entry_figures: pandas.DataFrame
    broken: pandas.DataFrame
    verdicts: Mapping[str, BundleVerdict]
    digests: Mapping[str, str | None]
    linpacks: pandas.DataFrame = field(default_factory=lambda: pandas.DataFrame(columns=list(LINPACKS)))
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def cached(self, what: str, compute: Callable[[], Made]) -> Made:
        """Something that follows from the frames, computed once and kept with them; nobody may change it."""
        if what not in self._kept:
            self._kept[what] = compute()
        return cast(Made, self._kept[what])

    def of_entries(self, entries: pandas.DataFrame) -> "Frames":
        """The same frames for some of the entries only."""
        runs = self.chosen("runs", "entry_id", entries["entry_id"])
        return replace(
            self,
            runs=runs,
            figures=self.chosen("figures", "run_id", runs["run_id"]),
            epochs=self.chosen("epochs", "run_id", runs["run_id"]),
            entries=entries,
            entry_figures=self.chosen("entry_figures", "entry_id", entries["entry_id"]),
        )

    def chosen(self, name: str, column: str, keys: Iterable[Any]) -> pandas.DataFrame:
        """The rows of the frame ``name`` whose ``column`` holds one of the keys, in the frame's order: a look into an index, not over all rows."""
        frame = getattr(self, name)
        places = self._places(name, column)
        found = [places[key] for key in dict.fromkeys(keys) if key in places]
        if sum(map(len, found)) == len(frame):
            return frame  # the very one: a copy would take as much memory again
        return frame.iloc[np.sort(np.concatenate(found))] if found else frame.iloc[:0]

    def rows_by(self, name: str, column: str) -> Callable[[Any], list[dict[str, Any]]]:
        """A function from a key to the rows of the frame ``name`` whose ``column`` holds it; unknown is None in them."""
        frame = getattr(self, name)
        places, names = self._places(name, column), [str(one) for one in frame.columns]
        columns = [[value if known(value) else None for value in frame[one].tolist()] for one in names]

        def rows(key: Any) -> list[dict[str, Any]]:
            return [dict(zip(names, (values[place] for values in columns), strict=True)) for place in places.get(key, np.empty(0, int)).tolist()]

        return rows

    def _places(self, name: str, column: str) -> Mapping[Any, np.ndarray]:
        """Where in a frame the rows stand whose column holds a value, by the value."""
        return self.cached(f"{name} by {column}", lambda: getattr(self, name).groupby(column, sort=False).indices)

    def with_broken(self, rows: Iterable[Mapping[str, str]]) -> "Frames":
        """The same frames with more rows of what could not be shown."""
        return replace(self, broken=pandas.DataFrame([*self.broken.to_dict("records"), *rows], columns=list(BROKEN)))

    def accepted(self) -> "Frames":
        """The same frames without what was refused or withdrawn."""
        return self.cached("accepted", lambda: self.of_entries(self.entries[self.entries["state"] == ACCEPTED]))


def make_frame(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> pandas.DataFrame:
    """A frame of rows, unknown where a row does not say.

    Its texts are Python's own strings: pages look at them one by one, which pandas' type for strings is slow at.
    """
    return pandas.DataFrame({name: _column([row.get(name) for row in rows]) for name in columns})


def _column(values: list[Any]) -> pandas.Series:
    return pandas.Series(values, dtype=object if not values or any(isinstance(value, str) for value in values) else None)


def rows_of(frame: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries of Python's own numbers and strings; unknown may be None or NaN, as :func:`known` tells."""
    names = [str(name) for name in frame.columns]
    return (dict(zip(names, values, strict=True)) for values in zip(*(frame[name].tolist() for name in names), strict=True))


def records(frame: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows as dictionaries, in which unknown is None."""
    for row in rows_of(frame):
        yield {key: value if known(value) else None for key, value in row.items()}


def known(value: object) -> bool:
    """A cell holds a value: neither None nor the NaN that pandas makes of it."""
    return value is not None and value == value
