"""The caption of a figure: what is drawn, n, seeds, error bars, device, software, instrument."""

from collections.abc import Iterable, Sequence

from reporter.data.frames import Frames, Row, is_known, rows_of
from reporter.data.machine_names import machine_title
from reporter.data.values import entries_of
from reporter.figures.for_papers import entry_model
from reporter.figures.model import PaperFigure
from reporter.papers.presets import PAPERS, SUITE, Preset
from suite.catalog.data_sets import load_data_set
from suite.errors import SuiteError
from suite.files.counted import counted

MAX_SHOWN = 6


def caption_of(preset: Preset, figure: PaperFigure, frames: Frames) -> str:
    """The caption as sentences on lines: the figure, what is drawn, runs, machines, software,
    instruments, notes."""
    ids = tuple(dict.fromkeys(figure.ids))
    entries = [entries_of(frames)[name] for name in ids]
    runs = list(rows_of(frames.select("runs", "entry_id", ids)))
    source = (
        "" if preset.paper == SUITE else f", as in {_figure_text(preset)} of {PAPERS[preset.paper]}"
    )
    lines = [
        f"{preset.title}{source}.",
        figure.about,
        (
            f"Error bars: {figure.error_bars}."
            if figure.error_bars
            and any(one.low is not None for panel in figure.panels for one in panel.estimates)
            else "No error bars."
        ),
        _runs_text(entries, runs),
        _machines_text(entries),
        _software_text(entries),
        _instruments_text(frames, ids, figure.sensor_of) if figure.sensor_of else "",
        *figure.notes,
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _figure_text(preset: Preset) -> str:
    return (
        "the text"
        if preset.number == "text"
        else f"Figure{'s' if ' and ' in preset.number else ''} {preset.number}"
    )


def _runs_text(entries: Sequence[Row], runs: Sequence[Row]) -> str:
    counts = sorted({int(entry["runs"]) for entry in entries})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    seeds = sorted({int(run["seed"]) for run in runs})
    rounds = _few(str(entry["round"]) for entry in entries if is_known(entry["round"]))
    of_round = f" Round {rounds}." if rounds else ""
    return (
        f"n = {each} run{'' if counts[-1] == 1 else 's'} for each of"
        f" {counted(len(entries), 'setting')} ({counted(len(runs), 'run')}); seeds"
        f" {_numbers(seeds)}.{of_round}"
    )


def _numbers(values: Sequence[int]) -> str:
    """Numbers with ranges: 1 to 3, 7."""
    parts: list[list[int]] = []
    for value in values:
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    texts = [
        f"{part[0]} to {part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts
    ]
    return ", ".join(texts[:MAX_SHOWN]) + (
        f" and {len(texts) - MAX_SHOWN} more" if len(texts) > MAX_SHOWN else ""
    )


def _machines_text(entries: Sequence[Row]) -> str:
    machines = _few(machine_title(entry) for entry in entries)
    modes = _few(
        str(entry["power_mode"]) if is_known(entry["power_mode"]) else "unknown"
        for entry in entries
    )
    nodes = sorted({int(entry["nodes"]) for entry in entries})
    several = f" Nodes: {_numbers(nodes)}." if nodes != [1] else ""
    media = _few(
        str(entry["storage_medium"]) for entry in entries if is_known(entry["storage_medium"])
    )
    return f"Device: {machines}. Power mode: {modes}. Storage: {media or 'unknown'}.{several}"


def _software_text(entries: Sequence[Row]) -> str:
    frameworks = _few(
        f"{entry['implementation_name']} {entry['framework_version'] or ''}".strip()
        for entry in entries
    )
    models = _few(
        f"{entry_model(entry)} on {_data_title(str(entry['data']))} ({entry['division']} division)"
        for entry in entries
    )
    batches = _numbers(sorted({int(entry["batch_size"]) for entry in entries}))
    threads = _numbers(sorted({int(entry["threads"]) for entry in entries}))
    suites = _few(str(entry["suite_version"]) for entry in entries)
    return (
        f"{models}; batch size {batches}; threads {threads}. Framework: {frameworks}. Edge-training"
        f" suite {suites}."
    )


def _data_title(name: str) -> str:
    try:
        return load_data_set(name).title
    except SuiteError:
        return name


def _instruments_text(frames: Frames, ids: Sequence[str], figure: str) -> str:
    """Tier and coverage of the instruments, and the level of the EE HPC WG's methodology where
    every run has one."""
    wanted = set(frames.select("runs", "entry_id", ids)["run_id"])
    rows = [
        row
        for row in rows_of(frames.select("figures", "figure", [figure]))
        if row["run_id"] in wanted and is_known(row["value"])
    ]
    kinds = _few(
        f"{row['tier']}, covers the {row['covers']}"
        for row in rows
        if is_known(row["tier"]) and is_known(row["covers"])
    )
    methods = _few(str(row["method"]) for row in rows if is_known(row["method"]))
    return (
        "Instrument:"
        f" {kinds or 'unknown'}.{f' {methods}.' if methods and len(methods) < 200 else ''}"
    )


def _few(texts: Iterable[str]) -> str:
    """Distinct texts in order of the alphabet, at most MAX_SHOWN, and how many more."""
    distinct = sorted(set(texts))
    return "; ".join(distinct[:MAX_SHOWN]) + (
        f"; and {len(distinct) - MAX_SHOWN} more" if len(distinct) > MAX_SHOWN else ""
    )
