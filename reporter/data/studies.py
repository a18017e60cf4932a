"""What is more than one run: finds and reads the records that lie above the bundles of a study."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas

from reporter.data.entries import make_entries, make_entry_figures
from reporter.data.frames import ENTRIES, ENTRY_FIGURES, FIGURES, RUNS, Frames, make_frame, records
from reporter.data.seals import refuse_broken_seal
from reporter.data.text import plain, plain_or_none
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json
from suite.metrics import stall_analysis
from suite.metrics.json_diff import differences
from suite.metrics.scaling_model import ScalingModel
from suite.metrics.study import STUDY, analyse, read_study

ROWS: Mapping[str, str] = {
    "part": "the run within the study, or the study as a whole",
    "figure": "its name; the unit ends it, except for ratios",
    "value": "None where it is unknown",
    "unit": "of value and spread",
    "count": "from how many values",
    "spread": "sample standard deviation over the values",
    "method": "how it was made, and how sure it is",
    "reason": "why it is unknown",
}
WHOLE = "study"
TOLERANCE = 1e-6
NOTES = re.compile(r"(^|\.)notes($|\[)")


@dataclass(frozen=True)
class StudyRecord:
    """A study: its kind, its runs as (part, run id) in their order, and its figures as a tidy frame whose columns are those of ROWS.

    ``place`` is where it was found, relative to the path that was given; ``record`` is the sealed file that the figures were read from.
    """

    name: str
    kind: str
    title: str
    place: str
    record: Path
    facts: tuple[tuple[str, str], ...]
    runs: tuple[tuple[str, str], ...]
    figures: pandas.DataFrame
    notes: tuple[str, ...]


def find_studies(paths: Iterable[Path]) -> tuple[tuple[StudyRecord, ...], tuple[dict[str, str], ...]]:
    """Every study at or below the paths, by name, and those that cannot be shown, as rows of the frame ``broken``; no link is followed."""
    studies: dict[str, StudyRecord] = {}
    broken = []
    for given in paths:
        for record in _records(given):
            place = record.parent.relative_to(given).as_posix() if record.parent != given else record.parent.resolve().name
            try:
                study = READERS[record.name](record, plain(place))
                studies.setdefault(study.name, study)
            except SuiteError as error:
                said = f"{error.path.name} {error.what}" if isinstance(error, FileError) else str(error)
                broken.append({"place": plain(place), "reason": plain(said.replace(str(record.parent), "it"), 400)})
    return tuple(studies[name] for name in sorted(studies)), tuple(broken)


def frames_of_study(frames: Frames, study: StudyRecord) -> Frames:
    """The frames of the runs that the study names, and of entries made of those alone: others may have run the same thing since."""
    names = {run for _, run in study.runs}
    runs, figures = (list(records(frames.chosen(name, "run_id", names))) for name in ("runs", "figures"))
    return replace(
        frames,
        runs=make_frame(runs, RUNS),
        figures=make_frame(figures, FIGURES),
        epochs=frames.chosen("epochs", "run_id", names),
        entries=make_frame(make_entries(runs), ENTRIES),
        entry_figures=make_frame(make_entry_figures(runs, figures), ENTRY_FIGURES),
    )


def _records(given: Path) -> Iterator[Path]:
    found = (path for name in READERS for path in given.rglob(name))
    return (path for path in sorted(found) if path.is_file() and not path.is_symlink())


def _read_stalls(record: Path, place: str) -> StudyRecord:
    """A folder of ``suite run --stall-analysis``; raises SuiteError unless its figures follow from the bundles that it names."""
    values = read_json(record)
    again = _computed_again(record, lambda: stall_analysis.analyse(record.parent).to_dict())
    parts = [source.value for source in stall_analysis.Source]
    rows = [_row(part, name, values["runs"][part][key]) for part in parts for key, name in _OF_A_RUN.items()]
    rows += [_row(WHOLE, name, figure) for name, figure in values["figures"].items()]
    runs = tuple((part, plain(values["runs"][part]["run_id"])) for part in parts)
    return StudyRecord(
        name=f"stalls-{runs[0][1].removesuffix('-cold')}",
        kind="stalls",
        title=f"Stalls of {plain(values['workload'])} in {plain(values['framework'])}",
        place=place,
        record=record,
        facts=tuple((name, plain(values[name])) for name in ("workload", "data", "framework", "device")),
        runs=runs,
        figures=pandas.DataFrame(rows, columns=list(ROWS)),
        notes=tuple(plain(note, 400) for note in again["notes"]),
    )


_OF_A_RUN = {"epoch": "time_to_epoch_s", "stall": "fetch_stall_s", "copy": "copy_s", "compute": "compute_s", "overhead": "overhead_s"}


def _row(part: str, name: str, figure: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: None if figure[key] is None else float(figure[key]) for key in ("value", "count", "spread")}
    words = {key: plain_or_none(figure[key]) for key in ("unit", "method", "reason")}
    return {"part": part, "figure": name, **numbers, **words}


def _computed_again(record: Path, compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What the bundles say. Raises SuiteError unless the record says the same and its seal is whole.

    Fits may differ in their last digits between machines, and notes in their words between versions of the suite: the notes are those of now.
    """
    try:
        computed: dict[str, Any] = json.loads(json.dumps(compute()))
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SuiteError(f"its bundles do not hold what the suite writes ({type(error).__name__}: {plain(error)})") from error
    found = differences(computed, read_json(record), tolerance=TOLERANCE)
    other = next((where for where, _ in found if not NOTES.search(where)), None)
    if other is not None:
        raise SuiteError(f"{record.name} does not say what its runs say ({plain(other)} is another); make the study again.")
    refuse_broken_seal(record.parent, record.name)
    return computed


def _read_sweep(record: Path, place: str) -> StudyRecord:
    """A folder of ``suite sweep``; raises SuiteError unless its figures follow from the bundles that it names."""
    said = read_study(record.parent)
    again = _computed_again(record, lambda: analyse(record.parent, said.plan).to_dict())
    plan = said.plan
    facts = {"workload": plan.workload, "data": plan.data, "framework": plan.framework, plan.variable.value: ", ".join(plan.values)}
    if plan.scaling is not None:
        facts |= {"scaling": plan.scaling.value, "ranks on": f"{plan.hosts} hosts" if plan.hosts else "this machine alone"}
    of_points = [
        _row(f"{plan.variable.value} {point.value}", name, figure) for point in said.points for name, figure in asdict(point.figures).items()
    ]
    return StudyRecord(
        name=f"sweep-{plain(said.points[0].runs[0].run_id, 120)}",
        kind="sweep",
        title=f"{plain(plan.title)}: {plain(plan.workload)} in {plain(plan.framework)}",
        place=place,
        record=record,
        facts=tuple((name.replace("_", " "), plain(value)) for name, value in facts.items()),
        runs=tuple((f"{plan.variable.value} {point.value}", plain(run.run_id)) for point in said.points for run in point.runs),
        figures=pandas.DataFrame([*of_points, *_model_rows(said.model)], columns=list(ROWS)),
        notes=tuple(plain(note, 400) for note in (*again["notes"], *(again["model"]["notes"] if again["model"] else ()))),
    )


def _model_rows(model: ScalingModel | None) -> Iterator[dict[str, Any]]:
    """What was fitted, each number with the ends of its interval."""
    for fit in model.fits if model else ():
        for one in fit.parameters:
            method = f"{fit.algorithm.value} allreduce, fitted to {model.points if model else 0} runs; 95 %: {one.low:.3g} to {one.high:.3g}"
            yield {"part": WHOLE, "figure": f"{fit.algorithm.value}_{one.name}", "value": one.value, "unit": "s", "method": method}


READERS: Mapping[str, Callable[[Path, str], StudyRecord]] = {stall_analysis.RECORD: _read_stalls, STUDY: _read_sweep}
"""Records by the name of their file. A new kind of study is one reader and one entry here."""
