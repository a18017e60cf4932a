"""Figures 2a to 2h of the Raspberry Pi study from counts of valgrind's cachegrind (`suite
cachegrind`)."""

from dataclasses import replace
from functools import partial

from reporter.figures.counters import COUNTERS
from reporter.figures.entries import mean_of
from reporter.figures.for_papers import rows_panel
from reporter.figures.model import Estimate, Missing, PaperFigure, PlotRow
from reporter.papers.measures import FoundValue, Unknown, ratio_of_means, selection_in_words
from reporter.papers.presets import PRESETS
from reporter.papers.records import RecordKind, first_sealed
from suite.catalog.frameworks import load_framework
from suite.catalog.papers import Item, Measure
from suite.extensions.counted_steps.record import (
    COUNTED_STEPS,
    X86_64,
    CountedSteps,
    figures,
    rates,
    read_counted_steps,
)
from suite.files.counted import counted

PER_EPOCH = "_per_epoch"
FIGURES = {
    preset.name: tuple(preset.drawn_by.split(":")[2:])
    for preset in PRESETS
    if preset.drawn_by.startswith("counters:")
}
RATES = frozenset({"instructions_per_cpu_s", "ipc"})
"""Figures that need times of the training without valgrind."""

SIMULATED = frozenset(
    {"l1d_refill", "l1d_miss_ratio", "branch_mispredicts", "branch_mispredict_ratio"}
)
"""Figures of cachegrind's model of caches and branch predictor; all others are counted."""


def draw(item: Item, record: CountedSteps) -> PaperFigure | Missing:
    """A bar per framework; an axis of simulated figures says so. Missing: rates of a record whose
    training was not timed."""
    by_name = {counter.figure: counter for counter in COUNTERS}
    panels, names = [], FIGURES[item.id]
    for name in names:
        of, counter = _estimates(record, name), by_name[name]
        if not of:
            return Missing(
                f"the record has no {'clock of the cores' if name == 'ipc' else 'times'}: count"
                " again with `suite cachegrind`"
            )
        rows = [
            PlotRow(load_framework(framework).title, (value.times(counter.factor),), f"c{style}")
            for style, (framework, value) in enumerate(of.items())
        ]
        mark = " (simulated caches)" if name.startswith("l1d") else " (simulated)"
        panels.append(rows_panel(counter.title + (mark if name in SIMULATED else ""), rows))
    if names[0] in RATES:
        return PaperFigure(
            tuple(panels),
            (),
            _about(record, names) + _timed(record, names),
            "± one standard deviation over the windows",
        )
    return PaperFigure(
        tuple(panels),
        (),
        _about(record, names),
        "none, because the counts come from one pair of processes for each framework",
    )


def _estimates(record: CountedSteps, name: str) -> dict[str, Estimate]:
    """By framework; empty where a rate is unknown."""
    if name not in RATES:
        return {framework: Estimate(values[name]) for framework, values in figures(record).items()}
    of = {framework: values[name] for framework, values in rates(record).items()}
    return (
        {framework: mean_of(values) for framework, values in of.items()} if all(of.values()) else {}
    )


def _timed(record: CountedSteps, names: tuple[str, ...]) -> str:
    """How the time of a step and the clock were measured."""
    windows, clocks_hz = (
        len(record.timed) // len(record.pairs),
        [window.clock_hz for window in record.timed if window.clock_hz is not None],
    )
    clock = ""
    if "ipc" in names:
        clock = (
            " Cycles: CPU time times the cores' mean clock in the same window"
            f" ({min(clocks_hz) / 1e9:.2f} to {max(clocks_hz) / 1e9:.2f} GHz). The clock is"
            " measured by timing a chain of dependent additions."
        )
    supported = (
        " The training uses only instructions that valgrind supports (AVX2)."
        if record.architecture == X86_64
        else " OpenBLAS, with valgrind and without it, uses its generic kernels."
    )
    return (
        f" CPU time of a step: measured in {windows} windows of the same training without"
        f" valgrind.{supported}{clock}"
    )


def _about(record: CountedSteps, names: tuple[str, ...]) -> str:
    versions = ", ".join(
        f"{load_framework(name).title} {pair[0].framework_version or ''}".strip()
        for name, pair in record.pairs.items()
    )
    steps = sorted({more.steps - fewer.steps for fewer, more in record.pairs.values()})
    caches = (
        f" Caches: those of a {record.caches.processor}, without prefetching."
        if SIMULATED & set(names)
        else ""
    )
    per_epoch = (
        ""
        if names[0] in RATES
        else f", multiplied by the {record.steps_per_epoch} steps of an epoch"
    )
    return (
        f"{record.workload} on {record.data} ({versions}; mini-batches of {record.batch_size},"
        f" {counted(record.threads, 'thread')}), counted by {record.source.split(',')[0]}"
        f" ({record.valgrind}): mean counts of a step over {' and '.join(map(str, steps))}"
        f" steps{per_epoch}, without evaluations; {record.architecture.replace('_', '-')}"
        f" instructions of {record.cpu_model or 'an unknown processor'}.{caches}"
    )


def measure(wanted: Measure, record: CountedSteps) -> FoundValue | Unknown:
    """A figure of one framework, or over that of another. Counts have no interval; rates have that
    of the timed windows."""
    counts, timed = figures(record), rates(record)
    name = (wanted.figure or "").removesuffix(PER_EPOCH)
    names = [side.framework or "" for side in (wanted.of, wanted.over) if side is not None]
    windows = [timed.get(each, {}).get(name, ()) for each in names]
    if all(windows):
        return replace(
            ratio_of_means([(windows[0], windows[1] if len(windows) > 1 else ())]),
            of="counted by valgrind, timed without it",
        )
    values = [value for each in names if (value := counts.get(each, {}).get(name)) is not None]
    if len(values) < len(names):
        return Unknown(
            f"{name} was not counted for {selection_in_words(wanted.of)}"
            + (f" and {selection_in_words(wanted.over)}" if wanted.over else "")
        )
    return FoundValue(
        values[0] / values[1] if len(values) > 1 else values[0], of="counted by valgrind"
    )


def _with_caption(item: Item, record: CountedSteps) -> tuple[PaperFigure, str] | Missing:
    found = draw(item, record)
    if isinstance(found, Missing):
        return found
    return found, f"{item.title}.\n{found.about}\nError bars: {found.error_bars}.\n"


PAPER_RECORD = RecordKind(
    "counted", partial(first_sealed, COUNTED_STEPS, read_counted_steps), _with_caption, measure
)
