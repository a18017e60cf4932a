"""Studies of memory: folders that ``suite memory study`` writes."""

import hashlib
from pathlib import Path

import pandas

from reporter.data.machine_names import short_title
from reporter.data.studies import ROWS, StudyKind, StudyRecord, WordTable, figure_row, recompute
from reporter.data.text import one_line
from suite.extensions.memory_study.record.study_file import (
    MEMORY_STUDY,
    STUDY,
    Fit,
    Measurement,
    MemoryStudy,
    Panel,
    read_memory_study,
)

SOURCE = (
    "highest resident set (VmHWM) of a process; factor: CPU time of a step divided by that"
    " without recomputation"
)
NO_SCHEDULE = "no schedule fits"
NO_ORDINARY = "training without recomputation was not measured"


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record, whose seal must be intact."""
    study = read_memory_study(record.parent)
    recompute(MEMORY_STUDY, record.parent)
    rows = [
        row
        for panel in study.panels
        for measured in panel.measured
        for row in _measured_rows(panel, measured)
    ]
    return StudyRecord(
        name=f"memory-{hashlib.sha256(record.read_bytes()).hexdigest()[:10]}",
        kind=STUDY_KIND.name,
        title=one_line(study.title),
        place=place,
        record=record,
        facts=_facts(study),
        runs=(),
        figures=pandas.DataFrame(rows or _fits(study), columns=list(ROWS)),
        notes=(),
        words=_what_fits(study),
    )


def _facts(study: MemoryStudy) -> tuple[tuple[str, str], ...]:
    return (
        ("processor", one_line(study.cpu_model or "unknown")),
        ("optimizer", one_line(study.optimizer)),
        (
            "framework's own memory",
            f"{study.framework_bytes / 1e6:.0f} MB, {one_line(study.framework_source)}",
        ),
        ("budget", f"{study.budget_bytes / 1e9:.3g} GB"),
    )


def _measured_rows(panel: Panel, measured: Measurement) -> list[dict[str, object]]:
    # one schedule is measured for several sizes of memory
    planned = "" if measured.planned_factor == 1 else f" in {measured.planned_bytes / 1e6:.0f} MB"
    part = one_line(f"{panel.name}: {measured.network}, {measured.schedule}{planned}")
    values = (
        ("planned_memory_bytes", measured.planned_bytes, "B"),
        ("measured_memory_bytes", measured.measured_bytes, "B"),
        (
            "measured_over_planned",
            measured.measured_bytes / measured.planned_bytes if measured.planned_bytes else None,
            "ratio",
        ),
        ("planned_recompute_factor", measured.planned_factor, "ratio"),
        ("recompute_factor", measured.factor, "ratio"),
    )
    return [
        _row(part, name, value, unit, measured.steps, NO_ORDINARY) for name, value, unit in values
    ]


def _fits(study: MemoryStudy) -> list[dict[str, object]]:
    """Rows of a study without measurements."""
    return [
        _row(
            one_line(f"{fit.network} in {fit.memory_gb:g} GB"),
            "recompute_factor",
            fit.factor,
            "ratio",
            1,
            NO_SCHEDULE,
        )
        for fit in study.fits
    ]


def _row(
    part: str, name: str, value: float | None, unit: str, count: int, missing: str
) -> dict[str, object]:
    return figure_row(
        part,
        name,
        {
            "value": value,
            "count": count,
            "spread": None,
            "unit": unit,
            "method": SOURCE,
            "reason": missing if value is None else None,
            "is_significant": None,
        },
    )


def _what_fits(study: MemoryStudy) -> WordTable:
    """Each network in each memory that a board has."""
    by_memory: dict[float, list[Fit]] = {}
    for fit in study.fits:
        by_memory.setdefault(fit.memory_gb, []).append(fit)
    networks = tuple(dict.fromkeys(one_line(fit.network) for fit in study.fits))
    title = (
        f"What fits on which board: mini-batches of {study.fits_batch}, pictures of"
        f" {study.fits_image}x{study.fits_image}"
    )
    return WordTable(
        title,
        ("memory", "boards", *networks),
        tuple(_of_memory(fits, networks) for fits in by_memory.values()),
    )


def _of_memory(fits: list[Fit], networks: tuple[str, ...]) -> tuple[str, ...]:
    said = {one_line(fit.network): _says(fit) for fit in fits}
    boards = ", ".join(short_title({"device": name}) for name in fits[0].devices)
    return (
        f"{fits[0].memory_gb:g} GB",
        one_line(boards, 600),
        *(said.get(network, "") for network in networks),
    )


def _says(fit: Fit) -> str:
    if fit.factor is None:
        return (
            "no"
            if fit.largest_batch is None
            else f"no, but a mini-batch of {fit.largest_batch} fits"
        )
    if fit.factor > 1:
        return f"with a schedule, factor {fit.factor:.2f}"
    return f"yes, up to {fit.largest_batch} pictures"


STUDY_KIND = StudyKind(
    name="memory",
    title="Memory",
    record=STUDY,
    read=read,
    figure_names={
        "planned_memory_bytes": "planned peak",
        "measured_memory_bytes": "measured peak",
        "measured_over_planned": "measured over planned",
        "planned_recompute_factor": "planned recompute factor",
        "recompute_factor": "recompute factor",
    },
)
