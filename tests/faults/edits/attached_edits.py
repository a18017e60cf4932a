"""Edits of a trace that was attached to a run; the trace is made from the run's own course."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.bundle.attached import CLOCK_ERROR, KEPT, SOURCE
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.manifest import seal
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit, save_after

if TYPE_CHECKING:
    from suite.metrics.traces.course import Course

START_S, PERIOD_S = 1000.0, 0.2
"""Of the made-up logger: its clock as the run starts, and its period."""
Change = Callable[[Path], object]


@edit
def attached(run: Path, change: Change = lambda run: None, by_hand: bool = False) -> None:
    """Attach a trace that follows the run, then apply a change."""
    from suite.bundle.reader import Bundle  # start-up: as below
    from suite.catalog.power import Coverage, Tier  # start-up: as below
    from suite.metrics.traces.attaching import prepare_attachment, write_trace  # start-up: pandas
    from suite.metrics.traces.columns import TraceOptions  # start-up: pandas
    from suite.metrics.traces.course import course_of  # start-up: NumPy

    bundle = Bundle(run)
    file = run.with_name(f"{run.name}-trace.csv")
    file.write_text(made_trace(course_of(bundle)), encoding="utf-8")
    found = prepare_attachment(
        bundle, file, Coverage.WALL, Tier.WALL_METER, TraceOptions(), -START_S if by_hand else None
    )
    write_trace(run, found, ("suite", "power", "attach"))
    file.unlink()
    change(run)


@edit
def left_out(run: Path, meter: str, change: Change = lambda run: None) -> None:
    """Leave a meter out of the energies after the run, then apply a change."""
    from suite.metrics.left_out import leave_out  # start-up: as below

    leave_out(run, meter, "its shunt is loose")
    change(run)


def made_trace(course: "Course", stretch: float = 1.0, seed: int = 0) -> str:
    """A logger's file: 2 W idle, 4 W loading, 7 W computing, with noise, times since START_S at
    run_start; ``stretch`` scales the times."""
    import numpy as np  # start-up

    t_s = np.arange(course.begin_s, course.end_s, PERIOD_S)
    shares = course.shares(t_s - PERIOD_S / 2, t_s + PERIOD_S / 2)
    names = [phase.name for phase in course.phases]
    idle = sum(
        (shares[:, names.index(name)] for name in ("before", "after") if name in names),
        np.zeros(len(t_s)),
    )
    loading = shares[:, names.index("loading")] if "loading" in names else 0.0
    power_w = (
        2.0 * idle
        + 4.0 * loading
        + 7.0 * (1 - idle - loading)
        + np.random.default_rng(seed).normal(0, 0.3, len(t_s))
    )
    rows = [
        f"{START_S + time_s * stretch:.4f},{value:.4f}\n"
        for time_s, value in zip(t_s.tolist(), power_w.tolist(), strict=True)
    ]
    return "time (s),power (W)\n" + "".join(rows)


@edit
def shift_attached(run: Path, by_s: float, with_record: bool = False) -> None:
    """Shift the attached readings in time; with ``with_record``, the fit says so."""
    if with_record:
        change_record(offset_plus_s=by_s)(run)

    def shift(bundle: EditableBundle) -> None:
        rows = bundle.at(SOURCE) & (bundle.readings["channel"] != CLOCK_ERROR)
        bundle.readings.loc[rows, "t_ns"] += round(by_s * 1e9)

    save_after(shift, recompute=True)(run)


@edit
def scale_attached(run: Path, factor: float) -> None:
    """Scale the attached power readings."""

    def scale(bundle: EditableBundle) -> None:
        bundle.readings.loc[bundle.at(SOURCE) & (bundle.readings["unit"] == "W"), "value"] *= factor

    save_after(scale, recompute=True)(run)


@edit
def scale_own(run: Path, source: str, factor: float) -> None:
    """Scale the readings of one of the run's own meters."""

    def scale(bundle: EditableBundle) -> None:
        bundle.readings.loc[bundle.at(source), "value"] *= factor

    save_after(scale, recompute=True)(run)


@edit
def change_run(run: Path, /, **changed: Any) -> None:
    """Change values of run.json."""
    _write(run, {**json.loads((run / RUN).read_text(encoding="utf-8")), **changed})


@edit
def change_kept(run: Path, factor: float) -> None:
    """Scale the power in the kept trace, its digest made to fit."""
    header, *rows = gzip.decompress((run / KEPT).read_bytes()).decode().splitlines()
    pairs = [row.split(",") for row in rows]
    _replace_kept(
        run,
        "\n".join(
            [header, *(f"{time_s},{float(power_w) * factor:.4f}" for time_s, power_w in pairs)]
        )
        + "\n",
    )


@edit
def another_trace(run: Path) -> None:
    """Keep a trace that does not follow the run: its power goes up and down every two seconds."""
    header, *rows = gzip.decompress((run / KEPT).read_bytes()).decode().splitlines()
    times_s = [row.split(",")[0] for row in rows]
    _replace_kept(
        run,
        "\n".join(
            [header, *(f"{time_s},{2.0 + 5.0 * (float(time_s) % 2 < 1)}" for time_s in times_s)]
        )
        + "\n",
    )


@edit
def scale_times(run: Path, factor: float) -> None:
    """Keep the same trace on a clock that is faster, so that the run in it is longer."""
    header, *rows = gzip.decompress((run / KEPT).read_bytes()).decode().splitlines()
    pairs = [row.split(",") for row in rows]
    _replace_kept(
        run,
        "\n".join(
            [header, *(f"{float(time_s) * factor:.4f},{power_w}" for time_s, power_w in pairs)]
        )
        + "\n",
    )


def _replace_kept(run: Path, text: str) -> None:
    with (run / KEPT).open("wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
        packed.write(text.encode())
    values = json.loads((run / RUN).read_text(encoding="utf-8"))
    values["attached"]["trace"].update(
        sha256=hashlib.sha256(text.encode()).hexdigest(), size_bytes=len(text)
    )
    _write(run, values)


@edit
def change_record(run: Path, /, offset_plus_s: float = 0.0, **changed: Any) -> None:
    """Change values of the trace's record, or of its fit."""
    values = json.loads((run / RUN).read_text(encoding="utf-8"))
    record = values["attached"]
    record["fit"]["offset_s"] += offset_plus_s
    for name, value in changed.items():
        (record["fit"] if name in record["fit"] else record)[name] = value
    _write(run, values)


@edit
def without_record(run: Path) -> None:
    """Leave the record out."""
    _write(run, {**json.loads((run / RUN).read_text(encoding="utf-8")), "attached": None})


def _write(run: Path, values: dict[str, Any]) -> None:
    (run / RUN).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    (run / MANIFEST).unlink()
    seal(run)
