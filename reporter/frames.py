"""The tidy frames that everything else is drawn from: one row per thing, documented columns, units in the names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas

if TYPE_CHECKING:
    from suite.compliance.checker import Verdict

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
}

EPOCHS: Mapping[str, str] = {
    "run_id": "of which run",
    "epoch": "1, 2, …",
    "steps": "mini-batches",
    "samples": "trained on",
    "end_to_end_s": "first fetch to last step, s",
    "fetch_s": "blocked waiting for a mini-batch, s",
    "h2d_s": "copy to the device, s",
    "compute_s": "on the device, s",
    "comm_s": "gradient exchange not hidden behind compute, s",
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

READINGS: Mapping[str, str] = {
    "run_id": "of which run",
    "kind": "power or load",
    "channel": "what was read, by which meter",
    "t_s": "middle of an interval, s since run_start",
    "low": "smallest reading in the interval",
    "mean": "of the readings in the interval",
    "high": "greatest reading in the interval",
    "unit": "of low, mean and high",
}
"""Readings over time, drawn together to a few hundred intervals; read for the page of a run only, empty elsewhere."""

SPANS: Mapping[str, str] = {
    "run_id": "of which run",
    "name": "epoch 1, evaluation 1, …",
    "kind": "epoch or evaluation",
    "start_s": "s since run_start",
    "stop_s": "s since run_start",
}
"""What a run was doing when; read for the page of a run only, empty elsewhere."""

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


_KEYS = {"runs": "run_id", "figures": "run_id", "epochs": "run_id", "entries": "entry_id", "entry_figures": "entry_id"}


@dataclass(frozen=True)
class Frames:
    """Tidy pandas frames; the columns are those of the mappings in this module, which say what each holds.

    ``verdicts`` are the checker's, by run id.
    """

    runs: pandas.DataFrame
    figures: pandas.DataFrame
    epochs: pandas.DataFrame
    entries: pandas.DataFrame
    entry_figures: pandas.DataFrame
    broken: pandas.DataFrame
    verdicts: Mapping[str, "Verdict"]
    readings: pandas.DataFrame = field(default_factory=lambda: pandas.DataFrame(columns=list(READINGS)))
    spans: pandas.DataFrame = field(default_factory=lambda: pandas.DataFrame(columns=list(SPANS)))
    linpacks: pandas.DataFrame = field(default_factory=lambda: pandas.DataFrame(columns=list(LINPACKS)))

    def of_entries(self, entries: pandas.DataFrame) -> "Frames":
        """The same frames for some of the entries only."""
        chosen = set(entries["entry_id"])
        runs = self.runs[self.runs["entry_id"].isin(chosen)]
        names = set(runs["run_id"])
        return replace(
            self,
            runs=runs,
            figures=self.figures[self.figures["run_id"].isin(names)],
            epochs=self.epochs[self.epochs["run_id"].isin(names)],
            entries=entries,
            entry_figures=self.entry_figures[self.entry_figures["entry_id"].isin(chosen)],
        )

    def with_broken(self, rows: Iterable[Mapping[str, str]]) -> "Frames":
        """The same frames with more rows of what could not be shown."""
        return replace(self, broken=pandas.DataFrame([*self.broken.to_dict("records"), *rows], columns=list(BROKEN)))

    def by_run(self) -> Iterator[tuple[dict[str, Any], "Frames"]]:
        """Every run with the frames of it alone (and of its entry), in one pass over the frames."""
        groups = {name: dict(iter(getattr(self, name).groupby(key))) for name, key in _KEYS.items()}
        nothing = {name: getattr(self, name).iloc[:0] for name in _KEYS}
        for run in self.runs.to_dict("records"):
            keys = {name: run[key] for name, key in _KEYS.items()}
            parts = {name: groups[name].get(keys[name], nothing[name]) for name in _KEYS}
            verdicts = {run["run_id"]: self.verdicts[run["run_id"]]}
            yield run, replace(self, **parts, broken=self.broken.iloc[:0], verdicts=verdicts)

    def accepted(self) -> "Frames":
        """The same frames without what was refused or withdrawn."""
        return self.of_entries(self.entries[self.entries["state"] == ACCEPTED])


def known(value: object) -> bool:
    """A cell holds a value: neither None nor the NaN that pandas makes of it."""
    return value is not None and value == value
