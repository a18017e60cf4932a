"""Where the limits of rules lie: findings on a rich run of which numbers are off by a factor, and
on folders of which a file is spoiled, as kept outputs."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.compliance.checker import check_bundle
from suite.compliance.paths import check_paths
from tests.builders import RICH, START_MS, START_NS, make_bundle
from tests.extensions.concurrent.good_folder import make_experiment
from tests.extensions.viewpoint.good_folder import make_viewpoint
from tests.faults.edits.editable_bundle import EditableBundle
from tests.kept_outputs import differences, in_short, kept, plain
from tests.made_once import made_once
from tests.spoiled import spoiled
from tests.suite.metrics.test_kept_figures import every_meter

FACTORS = (1.03, 0.5, 0.996, 1000.0, 0.9, 2.0, 1.004, 0.97, -1.0, 1.1)
SHARES, TRIED, SHOWN = 7, 3, 2
"""Bundles among which a record's numbers are shared out, each off in one of them; factors that a
table is tried with; findings of a check that are kept."""
UNITS = ("%", "J", "W", "s")
Factors = Iterator[float]


def scaled(value: Any, factors: Factors) -> Any:
    """Each number in it times the next factor; whole numbers stay whole."""
    if isinstance(value, dict):
        return {name: scaled(each, factors) for name, each in value.items()}
    if isinstance(value, list):
        return [scaled(each, factors) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    product = value * next(factors)
    return round(product) if isinstance(value, int) else product


def of_record(name: str) -> Callable[[EditableBundle, Factors], None]:
    def change(bundle: EditableBundle, factors: Factors) -> None:
        values = getattr(bundle, name)
        values.update(scaled({**values, "schema": "left"}, factors), schema=values["schema"])

    return change


def of_log(bundle: EditableBundle, factors: Factors) -> None:
    for event in bundle.events:
        event["value"] = scaled(event["value"], factors)


def of_clocks(bundle: EditableBundle, factor: float) -> None:
    for event in bundle.events:
        event["time_ms"] = START_MS + round((event["time_ms"] - START_MS) * factor)


def of_monotonic(bundle: EditableBundle, factor: float) -> None:
    for event in bundle.events:
        times = event["metadata"]
        times["mono_ns"] = START_NS + round((times["mono_ns"] - START_NS) * factor)


def of_parts(bundle: EditableBundle, factor: float) -> None:
    """The parts of every step in other proportions."""
    bundle.steps[["fetch_stall_s", "copy_s", "loss"]] *= [factor, 1 / factor, factor]


def of_steps(bundle: EditableBundle, factor: float) -> None:
    bundle.steps["compute_s"] *= factor


def of_unit(unit: str) -> Callable[[EditableBundle, float], None]:
    def change(bundle: EditableBundle, factor: float) -> None:
        bundle.readings.loc[bundle.readings["unit"] == unit, "value"] *= factor

    return change


RECORDS = {**{name: of_record(name) for name in ("run", "system", "summary")}, "log": of_log}
TABLES = {
    "clocks": of_clocks,
    "monotonic": of_monotonic,
    "parts": of_parts,
    "steps": of_steps,
    **{unit: of_unit(unit) for unit in UNITS},
}


def found_in(path: Path) -> dict[str, list[Any]]:
    """By check: how many findings, and the first ones."""
    found: dict[str, list[Any]] = {}
    for each in check_bundle(path).findings:
        found.setdefault(each.check, []).append([each.severity, each.observed])
    return {name: [len(each), *in_short(plain(each[:SHOWN]))] for name, each in found.items()}


def made(path: Path, with_meters: bool = False) -> EditableBundle:
    def make(place: Path) -> None:
        bundle = EditableBundle(make_bundle(place, RICH))
        if with_meters:
            every_meter(bundle)
            bundle.save(recomputed=True)

    return EditableBundle(made_once(("for limits", with_meters), path, make))


def changes(base: Any, bundle: EditableBundle) -> dict[str, Any]:
    bundle.save(recomputed="steps" in vars(bundle) or "readings" in vars(bundle))
    return {where: value for where, _, value in differences(base, found_in(bundle.path))}


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_found_where_numbers_of_a_record_are_off(name: str, tmp_path: Path) -> None:
    base, found = found_in(made(tmp_path / "base").path), {}
    for share in range(SHARES):
        bundle, factors = made(tmp_path / str(share)), itertools.cycle(FACTORS)
        RECORDS[name](
            bundle,
            (next(factors) if place % SHARES == share else 1.0 for place in itertools.count()),
        )
        found[str(share)] = changes(base, bundle)
    kept("findings-off", found, name)


@pytest.mark.parametrize("name", TABLES)
def test_what_is_found_where_a_table_is_off(name: str, tmp_path: Path) -> None:
    base = found_in(made(tmp_path / "base", name in UNITS).path)
    place, found = [*TABLES].index(name), {}
    for number in range(TRIED):
        factor = FACTORS[(TRIED * place + number) % len(FACTORS)]
        bundle = made(tmp_path / str(number), name in UNITS)
        TABLES[name](bundle, factor)
        found[str(factor)] = changes(base, bundle)
    kept("findings-off", found, name)


NODES = replace(RICH, ranks=2, nodes=2)
FOLDERS: dict[str, Callable[[Path], Path]] = {
    "run": lambda path: make_bundle(path, NODES),
    "concurrent": make_experiment,
    "viewpoint": make_viewpoint,
}
FILES = 15


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_found_in_a_folder_with_a_spoiled_file(name: str, tmp_path: Path) -> None:
    folder = FOLDERS[name](tmp_path / name)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def read() -> Any:
        result = check_paths([folder])
        found = [
            f"{each.check} in {each.file}: {each.observed}" for _, each in result.all_findings()
        ]
        return {"found": found, "broken": result.broken}

    kept("folders-spoiled", spoiled(folder, read, files[:: 1 + len(files) // FILES], 1), name)
