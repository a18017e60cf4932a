"""`suite compare A B …`: figures of runs side by side, their ratios, and what differs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from reporter.data.quantities import quantity
from suite.cli.json_output import print_json
from suite.cli.loading import load_runs
from suite.cli.options import Json
from suite.cli.results import PARTS_OF_EPOCH, ROWS
from suite.errors import SuiteError
from suite.files.counted import counted

if TYPE_CHECKING:
    from reporter.data.frames import Frames
    from suite.metrics.comparisons import RunStatistics

ENERGY = "energy_j"
FIGURES = {
    "time_to_target_s": "time to target",
    **{name: ROWS[name] for name in PARTS_OF_EPOCH},
    ENERGY: "energy",
    "best_accuracy": "best accuracy",
    "peak_memory_bytes": "peak memory",
}
SAME = ("workload", "data", "model_trained")
"""Where these differ, times have no ratio; nor have they between frameworks on two accelerators."""


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of ``group`` over that of ``base``: geometric means of their runs or, of times and
    energies in enough sessions, of the sessions' means; arithmetic ones of the runs where they have
    no ratio. ``low`` and ``high`` bound the ratio's interval at the pair level of the rules,
    ``differs`` where it does not hold 1, as on leaderboards; what is None is so for the
    ``reason``."""

    figure: str
    unit: str
    base: str
    group: str
    base_value: float | None
    value: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    differs: bool | None = None
    reason: str | None = None


def compare(
    paths: Annotated[
        list[Path],
        Argument(
            help="Runs, or folders that each hold the runs of one configuration (verdicts need"
            " three runs of each configuration)."
        ),
    ],
    json: Json = False,
) -> None:
    """Compare runs with the first one: ratios with intervals, verdicts, and settings that
    differ."""
    if len(paths) < 2:
        raise SuiteError(
            f"Only one path was given ({paths[0]}); give two or more runs, or folders that each "
            "hold the runs of one configuration."
        )
    groups = {str(path): load_runs([path]) for path in paths}
    if len(groups) < len(paths):
        raise SuiteError("A path is given twice; give each path once.")
    base, *others = groups
    differences = _differences(groups)
    rows = [
        _compared(figure, (base, groups[base]), (name, groups[name]), of_pair)
        for name in others
        for of_pair in [_differences({base: groups[base], name: groups[name]})]
        for figure in FIGURES
    ]
    if json:
        compared = [asdict(row) for row in rows]
        print_json(
            "compare",
            {
                "runs": {name: len(frames.runs) for name, frames in groups.items()},
                "refused": {name: _refused(frames) for name, frames in groups.items()},
                "epochs": {name: _epochs(frames) for name, frames in groups.items()},
                "differences": differences,
                "compared": compared,
            },
        )
    else:
        print("\n".join(_lines(groups, differences, rows)))


def _differences(groups: "dict[str, Frames]") -> dict[str, list[str]]:
    """The properties of entries that are not the same in all groups, with their values. Raises
    SuiteError for a group whose own runs differ in one: their mean would describe none of them."""
    from reporter.data.frames import IDENTITY, is_known  # start-up: pandas
    from reporter.data.words import property_name  # likewise

    found = {}
    for name in IDENTITY:
        values = []
        column = "implementation_name" if name == "framework" else name
        for path, frames in groups.items():
            own = sorted({str(each) if is_known(each) else "none" for each in frames.runs[column]})
            if len(own) > 1:
                raise SuiteError(
                    f"The runs in {path} have several configurations ({property_name(name)}:"
                    f" {', '.join(own)}); give a folder for each."
                )
            values += own
        if len(set(values)) > 1:
            found[name] = values
    return found


def _compared(
    figure: str,
    base: "tuple[str, Frames]",
    group: "tuple[str, Frames]",
    differences: dict[str, list[str]],
) -> ComparedFigure:
    from suite.catalog.scoring import load_scoring  # start-up: SciPy
    from suite.metrics.comparisons import (  # likewise
        NEEDS_POSITIVE,
        OTHER_INSTRUMENTS,
        score_ratio,
    )

    scoring = load_scoring()
    (ours, unit, by, why), (others, _, of_other, why_not) = (
        _values(frames, figure) for _, frames in (group, base)
    )
    means = [sum(each) / len(each) if each else None for each in (others, ours)]
    row = ComparedFigure(figure, unit, base[0], group[0], means[0], means[1])
    reason = why or why_not or _incomparable(differences)
    if reason is None and len(by | of_other) > 1:
        reason = OTHER_INSTRUMENTS
    if reason is None and min(*ours, *others) <= 0:
        reason = NEEDS_POSITIVE
    if reason is not None:
        return replace(row, reason=reason)
    one, other = (_statistics(figure, frames) for _, frames in (group, base))
    row = replace(row, base_value=other.value, value=one.value, ratio=one.value / other.value)
    if (reason := _why_no_interval(one, other)) is not None:
        return replace(row, reason=reason)
    found = score_ratio(one, other, scoring.pair_level, scoring.epochs_level)
    return replace(row, **asdict(found), differs=found.is_different)


def _why_no_interval(*groups: "RunStatistics") -> str | None:
    from suite.catalog.scoring import load_scoring  # start-up: SciPy
    from suite.metrics.comparisons import ERROR_UNKNOWN  # likewise

    fewest, needed = min(each.runs for each in groups), load_scoring().min_runs
    if fewest < needed:
        needs = f"an interval needs {needed} runs per configuration"
        return f"{needs}; one configuration has only {fewest}"
    is_known = all(math.isfinite(each.fixed_variance) for each in groups)
    return None if is_known else ERROR_UNKNOWN


def _statistics(figure: str, frames: "Frames") -> "RunStatistics":
    """The figure of the runs, or of enough sessions the mean of each, with what they do not show of
    their scatter, and of an energy the instrument's error: as for the entries of a leaderboard."""
    from reporter.data.frames import records  # start-up: pandas
    from reporter.data.scores import fixed_variance  # likewise
    from suite.catalog.scoring import load_scoring  # start-up: SciPy
    from suite.metrics.comparisons import run_statistics  # likewise

    rows = list(records(frames.select("figures", "figure", [figure])))
    runs = [row["run_id"] for row in rows]
    of_entries = (scores.sessions or {} for scores in frames.scores.values())
    of_run = {run: session for each in of_entries for run, session in each.items()}
    sessions = [of_run[run] for run in runs] if of_run.keys() >= set(runs) else None
    floor = load_scoring().floor_of(figure, sessions is not None)
    fixed = fixed_variance(rows if figure == ENERGY else (), floor)
    values = [float(row["value"]) for row in rows]
    return run_statistics(values, fixed, sessions if floor else None)


def _values(frames: "Frames", figure: str) -> tuple[list[float], str, set[Any], str | None]:
    """A figure of the runs, its unit, what measured it (of an energy), and why it is unknown."""
    rows = frames.figures[frames.figures["figure"] == figure]
    unknown = rows[rows["value"].isna()]
    if not len(rows) or len(unknown):
        return (
            [],
            "",
            set(),
            unknown["reason"].iloc[0] if len(unknown) else "no run has this figure",
        )
    by = set(zip(rows["tier"], rows["covers"], strict=True)) if figure == ENERGY else set()
    return list(map(float, rows["value"])), str(rows["unit"].iloc[0]), by, None


def _incomparable(differences: dict[str, list[str]]) -> str | None:
    for name in SAME:
        if name in differences:
            return f"another {name.replace('_', ' ')}"
    is_one_machine = not differences.keys() & {"device", "cpu_model"}
    if differences.keys() >= {"framework", "accelerator"} and is_one_machine:
        from suite.metrics.comparisons import OTHER_ACCELERATORS  # start-up: SciPy

        return OTHER_ACCELERATORS
    return None


def _lines(
    groups: "dict[str, Frames]", differences: dict[str, list[str]], rows: Sequence[ComparedFigure]
) -> Iterator[str]:
    """For a person: the groups, what differs, and a table for each comparison; a reason that
    several figures share is said once."""
    from reporter.data.words import property_name  # start-up: pandas

    for name, frames in groups.items():
        others, (least, most) = _refused(frames), _epochs(frames)
        refused = (
            f", {others} of these runs not accepted (`suite check` says why)" if others else ""
        )
        trained = (
            f"{least} to {most} whole epochs" if least < most else counted(most, "whole epoch")
        )
        yield f"{name}: {counted(len(frames.runs), 'run')} of {trained}{refused}"
    for name, values in differences.items():
        if name == "implementation" and "framework" in differences:
            continue  # another framework has other code
        yield f"differs: {property_name(name)}: {' | '.join(values)}"
    for group in list(groups)[1:]:
        yield f"\n{group} / {rows[0].base}"
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if row.group != group or row.base_value == row.value == 0:
                continue
            if row.reason is not None:
                reasons.setdefault(row.reason, []).append(FIGURES[row.figure])
            if row.base_value is not None and row.value is not None:
                yield _line(row)
        for reason, names in reasons.items():
            yield f"  no verdict: {', '.join(names)}: {reason}"


def _refused(frames: "Frames") -> int:
    """Runs that break a rule, were withdrawn or trained on generated data; those of a study break
    none by being of one."""
    states = dict(zip(frames.runs["run_id"], frames.runs["state"], strict=True))
    return sum(
        state in ("withdrawn", "generated") or not frames.verdicts[run].complies
        for run, state in states.items()
    )


def _epochs(frames: "Frames") -> tuple[int, int]:
    """The fewest and the most whole epochs of a run."""
    return int(frames.runs["epochs"].min()), int(frames.runs["epochs"].max())


def _line(row: ComparedFigure) -> str:
    from suite.catalog.scoring import load_scoring  # start-up: SciPy

    unit, size = {"ratio": ("%", 0.01), "B": ("MiB", 2**20)}.get(row.unit, (row.unit, 1))
    means = (quantity((each or 0.0) / size, unit)[0] for each in (row.value, row.base_value))
    said = f"  {FIGURES[row.figure]:30} {' / '.join(means):28}"
    if row.ratio is not None:
        said += f" = {row.ratio:.3f}"
    if row.differs is not None:
        verdict = "differs" if row.differs else "no significant difference"
        level = load_scoring().pair_confidence
        said += f", {level}: {row.low:.3f} to {row.high:.3f}: {verdict}"
    return said.rstrip()
