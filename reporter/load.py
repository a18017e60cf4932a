"""Reads bundles into tidy pandas frames."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from reporter import frames as columns
from reporter.derived import counted_figures, derived_figures
from reporter.entries import Row, entry_id, make_entries, make_entry_figures
from reporter.frames import ACCEPTED, GENERATED, REFUSED, STUDIED, WITHDRAWN, Frames
from reporter.text import plain, plain_or_none
from suite.bundle import COUNTERS, SUMMARY, SYSTEM, Bundle, BundleError
from suite.compliance.checker import Verdict, check_bundle, find_bundles
from suite.errors import SuiteError
from suite.experiments import stalls
from suite.workloads import load_workload

WITHDRAWAL = "WITHDRAWN"
"""A text file in a folder above bundles withdraws them; it says why. The bundles themselves are sealed."""

_METHOD = re.compile(r"\((?P<covers>[a-z -]+), (?P<tier>[a-z -]+)\)$")


@dataclass(frozen=True)
class Found:
    """A bundle, the path that was given and that it was found below, and its name relative to that."""

    path: Path
    given: Path
    place: str


@dataclass(frozen=True)
class _Rows:
    run: Row
    figures: list[Row]
    epochs: list[Row]
    verdict: Verdict


def load(paths: Iterable[Path], known_verdicts: Mapping[str, Verdict] | None = None) -> Frames:
    """Read every bundle at or below the paths into frames, in the order of their run ids.

    A bundle that cannot be read, never finished, or repeats a run id becomes a row of ``broken``; the others are not touched by it.
    ``known_verdicts``, by run id, spares the checker. Raises SuiteError for a path that holds no bundle at all.
    """
    read: dict[str, _Rows] = {}
    broken = []
    for found in find(paths):
        try:
            rows = _read(found, known_verdicts or {})
            if rows.run["run_id"] in read:
                raise SuiteError(f"the run id {rows.run['run_id']} is there already, from {read[rows.run['run_id']].run['place']}")
            read[rows.run["run_id"]] = rows
        except SuiteError as error:
            broken.append({"place": plain(found.place), "reason": _without_path(error, found)})
    return make_frames([read[name] for name in sorted(read)], sorted(broken, key=lambda row: (row["place"], row["reason"])))


def make_frames(read: list[_Rows], broken: list[Row]) -> Frames:
    """Frames from rows; the entries are made here."""
    runs = [rows.run for rows in read]
    figures = [figure for rows in read for figure in rows.figures]
    tables = {
        "runs": (runs, columns.RUNS),
        "figures": (figures, columns.FIGURES),
        "epochs": ([epoch for rows in read for epoch in rows.epochs], columns.EPOCHS),
        "entries": (make_entries(runs), columns.ENTRIES),
        "entry_figures": (make_entry_figures(runs, figures), columns.ENTRY_FIGURES),
        "broken": (broken, columns.BROKEN),
    }
    return Frames(
        **{name: pandas.DataFrame(rows, columns=list(names)) for name, (rows, names) in tables.items()},
        verdicts={rows.run["run_id"]: rows.verdict for rows in read},
    )


def find(paths: Iterable[Path]) -> Iterator[Found]:
    """Every bundle at or below the paths, each once, no link followed."""
    seen: set[Path] = set()
    for given in paths:
        for path in find_bundles(given):
            resolved = path.resolve()
            if resolved not in seen:
                seen.add(resolved)
                place = path.relative_to(given).as_posix() if path != given else path.resolve().name
                yield Found(path, given, place)


def _read(found: Found, known_verdicts: Mapping[str, Verdict]) -> _Rows:
    bundle = Bundle(found.path)
    record = bundle.run()
    run_id = _plain_name(record.run_id)
    verdict = known_verdicts.get(run_id) or check_bundle(found.path)
    if record.status != "finished" or not bundle.is_sealed:
        raise SuiteError(verdict.findings[0].observed)
    summary, withdrawn = bundle.json(SUMMARY), _withdrawal(found)
    try:
        run = {
            **_identity(record.request, bundle.json(SYSTEM)),
            "run_id": run_id,
            "place": plain(found.place),
            "path": str(found.path.resolve()),
            "seed": int(record.request["seed"]),
            "epochs": len(summary["epochs"]),
            "state": _state(withdrawn, found, record.request, verdict),
            "withdrawn": withdrawn,
            "started_time_ms": int(record.started_time_ms),
            "suite_version": plain(record.suite_version),
        }
        run["entry_id"] = entry_id(run)
        figures = [_figure(run_id, name, values) for name, values in summary["figures"].items()]
        figures += counted_figures(run_id, bundle.json(COUNTERS)) if bundle.file(COUNTERS).is_file() else []
        figures += derived_figures(figures)
        epochs = [{"run_id": run_id, **{name: epoch.get(name) for name in columns.EPOCHS if name != "run_id"}} for epoch in summary["epochs"]]
        pandas.DataFrame(epochs, columns=list(columns.EPOCHS)).astype({name: "float64" for name in columns.EPOCHS if name != "run_id"})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SuiteError(f"it does not hold what the suite writes ({type(error).__name__}: {plain(error)})") from error
    return _Rows(run, figures, epochs, verdict)


def _state(withdrawn: str | None, found: Found, request: Mapping[str, Any], verdict: Verdict) -> str:
    if withdrawn:
        return WITHDRAWN
    if request["data"]["synthetic"]:
        return GENERATED
    if request.get("batches", "read") != "read" or request.get("drop_cache_every_epoch") or _is_part_of_analysis(found):
        return STUDIED
    return ACCEPTED if verdict.complies else REFUSED


def _is_part_of_analysis(found: Found) -> bool:
    """The warm run of an analysis of stalls is like any other run but for its target; its folder tells."""
    return found.path != found.given and (found.path.parent / stalls.RECORD).is_file()


def _identity(request: Mapping[str, Any], system: Mapping[str, Any]) -> Row:
    data = plain(request["data"]["name"])
    return {
        "workload": plain(request["workload"]),
        "division": plain(request["division"]),
        "data": data,
        "own_data": data == load_workload(request["workload"]).data,
        "organization": plain(request["organization"]),
        "device": plain(request["platform"]),
        "cpu_model": plain_or_none(system.get("cpu_model")),
        "power_mode": plain_or_none(system.get("power_mode")),
        "nodes": int(request.get("nodes") or 1),
        "framework": plain(request["framework"]),
        "framework_version": plain_or_none(system.get("framework_version"), 40),
        "accelerator": plain(request["accelerator"]),
        "threads": int(request["threads"]),
        "workers": int(request["loading"]["workers"]),
        "storage_medium": plain_or_none(system.get("storage_medium"), 40),
        "batch_size": int(request["global_batch_size"]),
        "learning_rate": float(request["optimizer"]["base_learning_rate"]),
    }


def _figure(run_id: str, name: str, values: Mapping[str, Any]) -> Row:
    numbers = {key: None if values.get(key) is None else float(values[key]) for key in ("value", "count", "period_s", "coverage", "spread")}
    words = {key: plain_or_none(values.get(key)) for key in ("unit", "source", "reason", "method")}
    method = _METHOD.search(words["method"] or "")
    return {"run_id": run_id, "figure": plain(name, 60), **numbers, **words, "covers": method and method["covers"], "tier": method and method["tier"]}


def _withdrawal(found: Found) -> str | None:
    """The reason in the nearest folder above the bundle that has one, no further up than the path that was given."""
    folder = found.path
    while folder not in (found.given, folder.parent):
        folder = folder.parent
        file = folder / WITHDRAWAL
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                return plain(stream.read(4096).decode("utf-8", errors="replace").strip()) or "no reason is given"
    return None


def _plain_name(run_id: object) -> str:
    """Run ids become names of files: letters, digits, dot, dash and underscore, and no leading dot."""
    name = str(run_id)
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}", name):
        raise SuiteError(f"the run id {plain(name, 60)!r} is not a plain name")
    return name


def _without_path(error: SuiteError, found: Found) -> str:
    """The error in words that are the same wherever the bundle lies."""
    said = f"{error.path.name} {error.what}" if isinstance(error, BundleError) else str(error)
    return plain(said.replace(f"{found.path}/", "").replace(str(found.path), "it"), 400)
