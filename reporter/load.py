"""Reads bundles into tidy pandas frames."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from suite.bundle import SUMMARY, Bundle
from suite.compliance.checker import Verdict, check_bundle, find_bundles
from suite.errors import SuiteError

RUN_COLUMNS = [
    "run_id", "path", "workload", "division", "framework", "framework_version", "device", "cpu_model", "data", "own_data", "seed", "batch_size",
    "threads", "status", "complies",
]  # fmt: skip
FIGURE_COLUMNS = ["run_id", "figure", "value", "unit", "source", "count", "period_s", "coverage", "spread", "reason", "method"]
EPOCH_COLUMNS = [
    "run_id", "epoch", "steps", "samples", "end_to_end_s", "fetch_s", "h2d_s", "compute_s", "comm_s", "overhead_s", "mean_loss", "eval_accuracy",
    "energy_j",
]  # fmt: skip
BROKEN_COLUMNS = ["path", "reason"]


@dataclass(frozen=True)
class Frames:
    """Tidy frames, one row per thing.

    ``runs``: a finished run; ``own_data`` tells whether it ran on the workload's own data set, ``complies`` the checker's verdict.
    ``figures``: a derived figure of a run, with its unit, source, count, spread and, where the value is missing, the reason.
    ``epochs``: a finished epoch, times in seconds. ``broken``: what could not be read or never came to its end.
    ``verdicts`` are the checker's, by run id.
    """

    runs: pandas.DataFrame
    figures: pandas.DataFrame
    epochs: pandas.DataFrame
    broken: pandas.DataFrame
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class _Rows:
    run: dict[str, Any]
    figures: list[dict[str, Any]]
    epochs: list[dict[str, Any]]
    verdict: Verdict


def load(paths: Iterable[Path]) -> Frames:
    """Read every bundle at or below the paths, in the order of their run ids.

    A bundle that cannot be read, never finished, or repeats a run id becomes a row of ``broken``; the others are not touched by it.
    Raises SuiteError for a path that holds no bundle at all.
    """
    found: dict[str, _Rows] = {}
    broken = []
    for path in (bundle for place in paths for bundle in find_bundles(place)):
        try:
            rows = _read(path)
            if rows.run["run_id"] in found:
                raise SuiteError(f"the run id {rows.run['run_id']} is there already, from {found[rows.run['run_id']].run['path']}")
            found[rows.run["run_id"]] = rows
        except SuiteError as error:
            broken.append({"path": path.as_posix(), "reason": str(error)})
    ordered = [found[key] for key in sorted(found)]
    return Frames(
        pandas.DataFrame([rows.run for rows in ordered], columns=RUN_COLUMNS),
        pandas.DataFrame([figure for rows in ordered for figure in rows.figures], columns=FIGURE_COLUMNS),
        pandas.DataFrame([epoch for rows in ordered for epoch in rows.epochs], columns=EPOCH_COLUMNS),
        pandas.DataFrame(broken, columns=BROKEN_COLUMNS),
        {rows.run["run_id"]: rows.verdict for rows in ordered},
    )


def _read(path: Path) -> _Rows:
    from suite.workloads import load_workload

    bundle, verdict = Bundle(path), check_bundle(path)
    record = bundle.run()
    if record.status != "finished" or not bundle.is_sealed:
        raise SuiteError(verdict.findings[0].observed)
    request, system, summary = record.request, bundle.json("system.json"), bundle.json(SUMMARY)
    data = request["data"]["name"]
    stop = bundle.log().first("run_stop")
    run = {
        "run_id": _plain_name(record.run_id),
        "path": path.as_posix(),
        "workload": request["workload"],
        "division": request["division"],
        "framework": request["framework"],
        "framework_version": _word(system.get("framework_version")),
        "device": request["platform"],
        "cpu_model": _word(system.get("cpu_model")),
        "data": data,
        "own_data": data == load_workload(request["workload"]).data,
        "seed": request["seed"],
        "batch_size": request["global_batch_size"],
        "threads": request["threads"],
        "status": stop.metadata.get("status") if stop else None,
        "complies": verdict.complies,
    }
    try:
        figures = [{"run_id": run["run_id"], "figure": name, **figure} for name, figure in summary["figures"].items()]
        epochs = [{"run_id": run["run_id"], **epoch} for epoch in summary["epochs"]]
        pandas.DataFrame(figures, columns=FIGURE_COLUMNS).astype({"value": "float64", "spread": "float64"})
        pandas.DataFrame(epochs, columns=EPOCH_COLUMNS).astype({name: "float64" for name in EPOCH_COLUMNS[1:]})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SuiteError(f"summary.json does not hold figures and epochs as the suite writes them ({str(error)[:200]})") from error
    return _Rows(run, figures, epochs, verdict)


def _plain_name(run_id: Any) -> str:
    """Run ids become folder names: nothing but letters, digits, dot, dash and underscore, and no leading dot."""
    name = str(run_id)
    if not name or len(name) > 120 or name.startswith(".") or not all(letter.isascii() and (letter.isalnum() or letter in "._-") for letter in name):
        raise SuiteError(f"the run id {name[:60]!r} is not a plain name")
    return name


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None
