"""The tidy frames that boards, figures and pages are made from: documented columns, units in the
names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
import pandas

from reporter.data.entry_scores import EntryScores
from reporter.data.shown_replications import ShownReplication
from suite.compliance.checker import BundleVerdict
from suite.compliance.rules.sensors import SENSORS_ELSEWHERE

Row = dict[str, Any]
Value = TypeVar("Value")

ACCEPTED, REFUSED, WITHDRAWN, GENERATED, STUDIED = (
    "accepted",
    "refused",
    "withdrawn",
    "generated",
    "studied",
)

WITHOUT = "none"
"""Value of the columns recomputation, where everything is kept, and other_settings."""

IDENTITY: Mapping[str, str] = {
    "workload": "the workload's name",
    "division": "closed or open",
    "data": "the data set's name",
    "own_data": "whether the data set is the workload's own",
    "organization": "submitting organization",
    "availability": (
        "availability of the system, as declared: available, preview or research; None outside a "
        "submission"
    ),
    "device": "the device profile's name",
    "cpu_model": "CPU model as reported by the kernel",
    "gpu": "names of the GPUs that NVIDIA's driver lists; None if there are none",
    "node_machines": (
        "number of nodes that differ from the first one, and what differs (processor, GPU, board "
        "or power mode); alike if none differs"
    ),
    "power_mode": "the device's power mode and its limits, read before the run (docs/boards.md)",
    "storage_medium": "storage medium of the data set",
    "other_settings": (
        "settings of a sweep that no other column has, such as 'neighbours 1'; none where there is"
        " none"
    ),
    "nodes": "number of nodes",
    "ranks": "number of training processes",
    "collective": (
        "all-reduce backend: mpi (the suite's), native (the framework's) or none (one rank);"
        " followed by the number format if gradients are rounded before they are sent"
    ),
    "isolation": (
        "how the implementation was isolated: none, namespace (its own Linux namespaces) or podman "
        "(a container)"
    ),
    "normalisation": (
        "batch normalisation statistics: local (over one rank's samples) or synchronised (over the"
        " whole mini-batch)"
    ),
    "shares": (
        "samples of a mini-batch on each rank: equal, or by the speed of each rank, measured before"
        " the first step"
    ),
    "accumulation": "number of mini-batches whose gradients are summed for one update",
    "timing": (
        "synchronised (the loop waits for the device after every step, so the parts of a step are"
        " timed) or asynchronous (the loop waits at the end of an epoch)"
    ),
    "recomputation": "memory budget and schedule of recomputation; none: all activations are kept",
    "resumed": (
        "number of epochs that an earlier run had trained when it stored the state from which this"
        " run resumed; 0: not resumed"
    ),
    "framework": "the framework's name",
    "framework_version": "as logged by the implementation",
    "accelerator": "cpu or cuda",
    "threads": "threads of the framework per process",
    "workers": "data-loading processes; 0: the training process loads the data",
    "prefetch": "mini-batches that each data-loading process prepares ahead",
    "batch_size": "global batch size, samples",
    "learning_rate": "base learning rate of the schedule",
    "max_epochs": "maximum epochs (also the horizon of the learning-rate schedule)",
    "short": "epochs after which a short entry stops; 0: not a short entry",
    "model_trained": (
        "the trained model, as the implementation logged it; the requested model if it logged none"
    ),
    "parameters": "number of the model's trained parameters; None if not logged",
    "optimizer_used": "the optimizer, as logged; the requested one if none was logged",
    "precision": (
        "arithmetic precision: as requested (closed division) or as logged (open division); None "
        "if not logged"
    ),
    "implementation": (
        "first 12 digits of the SHA-256 of the implementation's files; None in bundles of versions"
        " of the suite that did not record it"
    ),
    "round": "the round that the run was made for; None if the run names no round",
    "suite_version": "version of the suite that made the run",
}
"""Properties that the runs of an entry share; the runs differ in seed and time."""

NODE_MACHINES, ALIKE = "node_machines", "alike"
"""Column of the other nodes' machines, and its value where none differs from the first one."""

ISOLATION, BARE = "isolation", "none"
"""Column that tells what an implementation was started in, and its value for a run without
isolation."""

RUNS: Mapping[str, str] = {
    "run_id": "the run's name, unique",
    "entry_id": "id of the entry that the run belongs to",
    "place": "folder of the bundle, relative to the given path",
    "path": "folder of the bundle, absolute; never shown on a page",
    **IDENTITY,
    "implementation_name": (
        "the implementation's name on pages: the framework's name or, for an implementation"
        " outside the checkout, its title"
    ),
    "seed": "seed of initial weights and sample order",
    "nonce_kind": (
        "where the seed came from: round (the round's nonce), self-chosen (the"
        " submitter's own nonce) or none (the submitter chose the seed)"
    ),
    "is_nominated": (
        "whether the submitter nominated this entry for its device before the round had a nonce"
    ),
    "audited_in": (
        "framework of an unsigned audit that replayed the run and found agreeing losses. If the"
        " audit replayed from a training state, too, 'from a state' follows. None without such an"
        " audit"
    ),
    "audited_by": (
        "organizations that, in a signed review, drew a training state of the run, replayed the "
        "run from that state and found agreement; None if there are none"
    ),
    "witnessed_by": (
        "witness, listed in rules/witnesses, that saw the run begin and end and stamped the run's"
        " files; None without a witness"
    ),
    "signed_by": (
        "organization whose key signed the submission, according to submissions/ALLOWED_SIGNERS; "
        "None if the key is not listed there"
    ),
    "boot": (
        "boot id of the machine during the run; runs with the same boot id belong to one session;"
        " None if unknown"
    ),
    "board": "name of the machine, as its device tree or firmware reports it; None where unknown",
    "epochs": "finished epochs",
    "reached": "whether an evaluation reached the target; None without a target",
    "trained_s": (
        "time from run_start to the last evaluation, without uncounted time, s; None where it "
        "was not logged"
    ),
    "planned_runs": "declared number of planned runs of the entry; None if not declared",
    "launches": (
        "declared number of launches of the entry, unfinished ones included; None if not declared"
    ),
    "launches_accepted": (
        "whether a reviewer accepted that the failed launches outnumber the planned runs; None"
        " outside a submission"
    ),
    "state": (
        "accepted, refused (by the checker), withdrawn, generated (trained on generated data) or"
        " studied (part of a study, on no leaderboard)"
    ),
    "study": "title of the study that the run was made for; None outside of sweeps",
    "withdrawn": "reason for the withdrawal; None if not withdrawn",
    "notes": "the submitter's notes, for example on cooling; None outside a submission",
    "code": (
        "repository and commit of the code, as declared by the submitter; None outside a submission"
    ),
    "code_is_public": (
        "whether the submitter declared the code's address and commit, and no uncommitted changes;"
        " None outside a submission"
    ),
    "started_time_ms": "start by the wall clock, ms since 1970-01-01",
}

FIGURES: Mapping[str, str] = {
    "run_id": "the run",
    "figure": "name of the figure, ending in its unit except for ratios",
    "value": "value of the figure; None if unknown",
    "unit": "unit of value and spread",
    "source": "file of the bundle that the value is computed from",
    "count": "number of values that the figure is computed from",
    "period_s": "period of the readings, s; None where every event is recorded",
    "coverage": "fraction of the measured time that the readings cover",
    "spread": "sample standard deviation over the values; None for fewer than two",
    "low": "lower end of the 95 % interval of an energy or power; None without an interval",
    "high": "upper end of the 95 % interval of an energy or power; None without an interval",
    "reason": "why the value is unknown",
    "method": "how the value was obtained",
    "level": (
        "level that the measurement of an energy meets in the EE HPC WG's power measurement"
        " methodology"
    ),
    "covers": (
        "what the sensor of an energy or power covers: chip, chips (CPU and GPU), module, board or"
        " wall"
    ),
    "tier": (
        "kind of the sensor of an energy or power: analyser, wall meter, on-board sensor or"
        " estimate"
    ),
    "attached": (
        "whether the sensor's readings come from a logger's file that was attached after the run; "
        "None without a sensor"
    ),
    "contradicted_by": (
        "meters that measure the same part of the machine as the sensor but differ from it by "
        "more than the stated errors; None without such meters"
    ),
    "significant": (
        "for a difference: whether it is statistically significant; None for other figures, and if"
        " not tested"
    ),
}

EPOCHS: Mapping[str, str] = {
    "run_id": "the run",
    "epoch": "number of the epoch, from 1",
    "steps": "number of mini-batches",
    "samples": "number of training samples",
    "end_to_end_s": "time from the first fetch to the end of the last step, s",
    "worker_start_s": (
        "time of the first fetch, which starts the data-loading processes, s; 0 without such"
        " processes"
    ),
    "fetch_stall_s": "time in which training waits for the next mini-batch, s",
    "copy_s": "host-to-device copy, s",
    "compute_s": "compute on the device, s",
    "communication_s": "exposed (non-overlapped) communication, s",
    "overhead_s": (
        "end_to_end_s minus worker_start_s, fetch_stall_s, copy_s, compute_s and communication_s, s"
    ),
    "mean_loss": "mean loss over the epoch's mini-batches",
    "eval_accuracy": "accuracy after the epoch, 0 to 1; None without an evaluation",
    "energy_j": "energy of the epoch, J; None where it was not measured",
}

WHERE_ALIKE = "as in the frame `runs`; None where the entry's runs differ"

ENTRIES: Mapping[str, str] = {
    "entry_id": "hash of the column `state` and of the columns that identify the entry",
    **IDENTITY,
    "state": (
        "accepted, refused, withdrawn, generated or studied; the same for all runs of an entry"
    ),
    "runs": "number of runs",
    "reached": "number of runs that reached the target; None without a target",
    **dict.fromkeys(
        ("implementation_name", "planned_runs", "launches", "launches_accepted"),
        "as in the frame `runs`",
    ),
    **dict.fromkeys(("nonce_kind", "is_nominated", "audited_in"), WHERE_ALIKE),
    "audited_by": (
        "organizations that audited every run of the entry (see the frame `runs`); None if there"
        " are none"
    ),
    **dict.fromkeys(("witnessed_by", "signed_by", "board", "code_is_public"), WHERE_ALIKE),
    "withdrawn": "reason for the withdrawal; None if not withdrawn",
}

ENTRY_FIGURES: Mapping[str, str] = {
    "entry_id": "the entry",
    "figure": "as in the frame `figures`",
    "value": (
        "mean over the runs (geometric for a score); None unless every run has a value, from one"
        " kind of instrument"
    ),
    "unit": "unit of value, spread, low, high, interval_low and interval_high",
    "runs": "number of runs with a value",
    "spread": "sample standard deviation over the runs; of a single run, the spread within the run",
    "spread_over": "what the spread is computed from: runs, or the values of a single run",
    "low": "lowest value of the runs",
    "high": "highest value of the runs",
    "interval_low": (
        "lower end of the 95 % interval of a score or of the measured time or energy to target;"
        " None for other figures and for a single run"
    ),
    "interval_high": "upper end of the interval that begins at interval_low",
    "reason": "why the value is unknown",
    "source": "as in the frame `figures`",
    **dict.fromkeys(
        ("covers", "tier"), "as in the frame `figures`; None where the entry's runs differ"
    ),
    "attached": "as in the frame `figures`, of any of the entry's runs",
}

SETTINGS = "settings"
"""Key of a run's varied settings in its row; a frame has them as columns of POINTS."""

POINTS: Mapping[str, str] = {
    "run_id": "the run",
    "study": "title of the study that the run was made for",
    "seed": "seed of initial weights and sample order",
}
"""Runs of sweeps, one row per run; a column for each varied setting follows, as framework and
batch_size (None: that study does not vary it)."""

LINPACKS: Mapping[str, str] = {
    "linpack_id": "ten hexadecimal digits of the record's SHA-256",
    "place": "folder of the record, relative to the given path",
    "path": "file of the record, absolute; never shown on a page",
    "kind": "HPL, or LU (SciPy's LU decomposition: comparable to HPL, but not the same program)",
    "program": "program that solved the linear system",
    "device": "the device profile's name",
    "cpu_model": "CPU model as reported by the kernel",
    "nodes": "number of nodes",
    "ranks": "number of processes",
    "threads_per_rank": "threads of the BLAS per process",
    "size": "order of the matrix",
    "gflops": "10⁹ floating-point operations per second, all nodes together",
    "residual": "scaled residual, below 16",
    "gflops_per_watt": (
        "gflops divided by the mean power during the solution; None where power was not measured"
    ),
    "power_method": "how power was measured: meter, power rule (rules/power.toml), coverage, tier",
    "power_reason": "why the power is unknown",
}
"""LINPACK results, one row per record."""

BROKEN: Mapping[str, str] = {
    "place": "folder, relative to the given path",
    "reason": "why the folder cannot be shown",
}


@dataclass(frozen=True)
class Frames:
    """Tidy pandas frames, with the columns of the mappings in this module.

    ``scores`` and ``replications`` are by entry id, ``verdicts`` of the checker and ``digests`` of
    all of a bundle's bytes (None: the bundle changed while it was read) are by run id.
    """

    runs: pandas.DataFrame
    figures: pandas.DataFrame
    epochs: pandas.DataFrame
    entries: pandas.DataFrame
    entry_figures: pandas.DataFrame
    broken: pandas.DataFrame
    verdicts: Mapping[str, BundleVerdict]
    digests: Mapping[str, str | None]
    scores: Mapping[str, EntryScores] = field(default_factory=dict)
    replications: Mapping[str, tuple[ShownReplication, ...]] = field(default_factory=dict)
    linpacks: pandas.DataFrame = field(
        default_factory=lambda: pandas.DataFrame(columns=list(LINPACKS))
    )
    points: pandas.DataFrame = field(default_factory=lambda: pandas.DataFrame(columns=list(POINTS)))
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def cached(self, key: str, compute: Callable[[], Value]) -> Value:
        """The value of ``compute``, called once per key for these frames. Treat the value as
        immutable."""
        if key not in self._cache:
            self._cache[key] = compute()
        return cast(Value, self._cache[key])

    def of_entries(self, entries: pandas.DataFrame) -> "Frames":
        """These frames, restricted to some of the entries."""
        runs = self.select("runs", "entry_id", entries["entry_id"])
        return replace(
            self,
            runs=runs,
            figures=self.select("figures", "run_id", runs["run_id"]),
            epochs=self.select("epochs", "run_id", runs["run_id"]),
            entries=entries,
            entry_figures=self.select("entry_figures", "entry_id", entries["entry_id"]),
        )

    def select(self, name: str, column: str, keys: Iterable[Any]) -> pandas.DataFrame:
        """Rows of the frame ``name`` whose ``column`` holds one of the keys, in the frame's order;
        uses an index instead of a scan."""
        frame = getattr(self, name)
        positions = self._positions(name, column)
        found = [positions[key] for key in dict.fromkeys(keys) if key in positions]
        if sum(map(len, found)) == len(frame):
            return frame  # not a copy, which would double the memory
        return frame.iloc[np.sort(np.concatenate(found))] if found else frame.iloc[:0]

    @property
    def entry_of(self) -> Mapping[str, str]:
        """The id of each run's entry, by run id."""
        return dict(zip(self.runs["run_id"], self.runs["entry_id"], strict=True))

    def rows_by(self, name: str, column: str) -> Callable[[Any], list[dict[str, Any]]]:
        """A function from a key to the rows of the frame ``name`` whose ``column`` holds it;
        unknown values are None. Nothing is read before the first key."""

        def rows(key: Any) -> list[dict[str, Any]]:
            names, every = self.cached(f"rows of {name}", lambda: _rows_of(getattr(self, name)))
            of_key = self._positions(name, column).get(key, np.empty(0, int)).tolist()
            return [dict(zip(names, every[position], strict=True)) for position in of_key]

        return rows

    def _positions(self, name: str, column: str) -> Mapping[Any, np.ndarray]:
        """The positions of a frame's rows by their value in the column."""
        return self.cached(
            f"{name} by {column}", lambda: getattr(self, name).groupby(column, sort=False).indices
        )

    def with_unread_sensors(self) -> set[str]:
        """The entries with a run whose board's own sensors were not read, because its kernel or
        container may lack them or `--meters` left them out."""
        return {
            entry
            for run, entry in self.entry_of.items()
            if any(each.check == SENSORS_ELSEWHERE for each in self.verdicts[run].findings)
        }

    def with_broken(self, rows: Iterable[Mapping[str, str]]) -> "Frames":
        """These frames with more rows of ``broken``."""
        return replace(
            self,
            broken=pandas.DataFrame([*self.broken.to_dict("records"), *rows], columns=list(BROKEN)),
        )

    def accepted(self) -> "Frames":
        """These frames, restricted to accepted entries."""
        return self.cached(
            "accepted", lambda: self.of_entries(self.entries[self.entries["state"] == ACCEPTED])
        )

    def measured(self) -> "Frames":
        """These frames, restricted to accepted entries, and those of sweeps whose runs comply."""
        return self.cached("measured", self._measured)

    def _measured(self) -> "Frames":
        of_sweeps = self.runs[self.runs["run_id"].isin(self.points["run_id"])]
        entry_of = self.entry_of
        wrong = {entry_of[run] for run in of_sweeps["run_id"] if not self.verdicts[run].complies}
        is_studied = self.entries["entry_id"].isin(set(of_sweeps["entry_id"]) - wrong)
        return self.of_entries(self.entries[(self.entries["state"] == ACCEPTED) | is_studied])


def make_frame(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> pandas.DataFrame:
    """A frame of rows; missing keys are unknown. Strings stay Python objects: pages read them one
    by one, which pandas' string type is slow at."""
    return pandas.DataFrame({name: _column([row.get(name) for row in rows]) for name in columns})


def _column(values: list[Any]) -> pandas.Series:
    return pandas.Series(
        values,
        dtype=object if not values or str in set(map(type, values)) else None,
    )


def _values_of(column: pandas.Series) -> list[Any]:
    """The values of a column; unknown ones are None."""
    values: list[Any] = column.tolist()
    unknown = column.isna()
    if not unknown.any():
        return values
    return [None if gone else one for one, gone in zip(values, unknown.tolist(), strict=True)]


def _rows_of(frame: pandas.DataFrame) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns and the rows' values; unknown ones are None."""
    names = [str(name) for name in frame.columns]
    return names, list(zip(*(_values_of(frame[name]) for name in names), strict=True))


def rows_of(frame: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries of Python numbers and strings; unknown values are None or NaN (see
    :func:`is_known`)."""
    names = [str(name) for name in frame.columns]
    return (
        dict(zip(names, values, strict=True))
        for values in zip(*(frame[name].tolist() for name in names), strict=True)
    )


def records(frame: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows as dictionaries; unknown values are None."""
    names, every = _rows_of(frame)
    for values in every:
        yield dict(zip(names, values, strict=True))


Key = TypeVar("Key")


def grouped(items: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """The items by their key, both in the items' order."""
    groups: dict[Key, list[Value]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def is_known(value: object) -> bool:
    """Whether a cell holds a value: neither None nor NaN."""
    return value is not None and value == value
