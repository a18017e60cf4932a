"""Writes the static site: a leaderboard, and a page of evidence per run. The same bundles give the same bytes."""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from reference_impls.contract import TOKEN
from reporter.figures import FIGURES
from reporter.load import Frames, load
from suite.bundle import MANIFEST, Bundle
from suite.errors import SuiteError

MARK = ".edge-training-site"
COPIED = ("run.json", "system.json", "summary.json", "log.txt", "steps.parquet", "readings.parquet", "output.txt", MANIFEST)
HERE = Path(__file__).resolve().parent
MAX_LOG_LINES = 400


@dataclass(frozen=True)
class Column:
    """A column of the leaderboard: a figure, how it is headed, and how its number is written."""

    figure: str
    heading: str
    pattern: str
    factor: float = 1.0


COLUMNS = (
    Column("time_to_target_s", "time to target, s", "{:.1f}"),
    Column("time_to_epoch_s", "time to epoch, s", "{:.3g}"),
    Column("first_epoch_s", "epoch 1, s", "{:.3g}"),
    Column("best_accuracy", "best accuracy, %", "{:.2f}", 100.0),
    Column("fetch_stall_s", "fetch stall, s", "{:.3g}"),
    Column("energy_j", "energy, J", "{:.1f}"),
)


def build(paths: Iterable[Path], output: Path, force: bool = False) -> Path:
    """Render the bundles at or below ``paths`` into ``output``; returns the leaderboard page's path.

    An existing folder that this function did not make is an error, with or without ``force``; one that it made is replaced with ``force``.
    """
    frames = load(paths)
    _refuse_foreign(output, force)
    output.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}."))
    try:
        _write(frames, folder)
        shutil.rmtree(output, ignore_errors=True)
        folder.chmod(0o755)
        folder.rename(output)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return output / "index.html"


def _refuse_foreign(output: Path, force: bool) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / MARK).is_file():
        raise SuiteError(f"{output} exists and is no site that `suite report` made; choose another --output.")
    if not force:
        raise SuiteError(f"{output} exists; type --force to replace it, or choose another --output.")


def _write(frames: Frames, folder: Path) -> None:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    (folder / MARK).write_text("made by suite report\n")
    for file in sorted((HERE / "static").iterdir()):
        shutil.copyfile(file, folder / file.name)
    board = templates.get_template("leaderboard.html")
    (folder / "index.html").write_text(
        board.render(boards=_boards(frames), broken=frames.broken.to_dict("records"), columns=COLUMNS), encoding="utf-8"
    )
    evidence = templates.get_template("run.html")
    for row in frames.runs.to_dict("records"):
        place = folder / "runs" / row["run_id"]
        place.mkdir(parents=True)
        (place / "index.html").write_text(evidence.render(**_evidence(frames, row)), encoding="utf-8")
        for name in COPIED:
            if (Path(row["path"]) / name).is_file():
                shutil.copyfile(Bundle(Path(row["path"])).file(name), place / name)


def _boards(frames: Frames) -> list[dict[str, Any]]:
    """One board per workload, division and data set; runs that the checker refused stand apart on it."""
    boards = []
    for (workload, division, data), runs in frames.runs.groupby(["workload", "division", "data"], sort=True):
        chosen = set(runs["run_id"])
        part = Frames(runs, frames.figures[frames.figures["run_id"].isin(chosen)], frames.epochs, frames.broken, frames.verdicts)
        rows = sorted((_row(part, row) for row in runs.to_dict("records")), key=lambda row: row["order"])
        boards.append(
            {
                "workload": workload,
                "division": division,
                "data": data,
                "own_data": bool(runs["own_data"].all()),
                "sections": [
                    section for section in (_section("accepted", rows, True), _section("refused by the checker", rows, False)) if section["rows"]
                ],
                "figures": [{"name": name, "svg": markupsafe.Markup(draw(part))} for name, draw in FIGURES.items()],
            }
        )
    return boards


def _section(title: str, rows: list[dict[str, Any]], complies: bool) -> dict[str, Any]:
    return {"title": title, "complies": complies, "rows": [row for row in rows if row["complies"] is complies]}


def _row(frames: Frames, run: dict[str, Any]) -> dict[str, Any]:
    figures = {figure["figure"]: figure for figure in frames.figures[frames.figures["run_id"] == run["run_id"]].to_dict("records")}
    cells = [_cell(column, figures.get(column.figure)) for column in COLUMNS]
    target = figures["time_to_target_s"]["value"]
    return {**run, "cells": cells, "order": (target != target or target is None, target or 0.0, run["run_id"])}


def _cell(column: Column, figure: dict[str, Any] | None) -> dict[str, Any]:
    """What a cell shows, what it sorts by, and why it is empty where it is."""
    if figure is None:
        return {"figure": column.figure, "text": "—", "spread": "", "sort": "", "why": "this run was made before the figure was defined"}
    value, spread = figure["value"], figure["spread"]
    if value is None or value != value:
        return {"figure": column.figure, "text": "—", "spread": "", "sort": "", "why": figure["reason"]}
    shown = "" if spread is None or spread != spread else f"± {_number(column.pattern, spread * column.factor)}"
    made = f", {figure['method']}" if isinstance(figure["method"], str) else ""
    why = f"{figure['count']:g} value{'s' if figure['count'] != 1 else ''} from {figure['source']}{made}"
    return {"figure": column.figure, "text": _number(column.pattern, value * column.factor), "spread": shown, "sort": repr(float(value)), "why": why}


def _number(pattern: str, value: float) -> str:
    text = pattern.format(value)
    return f"{value:.0f}" if "e" in text else text


def _evidence(frames: Frames, run: dict[str, Any]) -> dict[str, Any]:
    bundle, verdict = Bundle(Path(run["path"])), frames.verdicts[run["run_id"]]
    lines = bundle.file("log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    figures = frames.figures[frames.figures["run_id"] == run["run_id"]]
    record = bundle.run()
    return {
        "run": run,
        "command": " ".join(["suite", *(str(word) for word in record.command[1:])]),
        "verdict": verdict,
        "figures": [{key: None if value != value else value for key, value in row.items()} for row in figures.to_dict("records")],
        "epochs": frames.epochs[frames.epochs["run_id"] == run["run_id"]].to_dict("records"),
        "system": bundle.json("system.json"),
        "meters": record.meters,
        "files": [name for name in COPIED if (bundle.path / name).is_file()],
        "log": [(number, line) for number, line in enumerate(lines, start=1) if TOKEN in line][:MAX_LOG_LINES],
        "log_lines": len(lines),
    }
