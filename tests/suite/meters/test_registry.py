"""The contract that every meter keeps, generated from the registry."""

import ast
from pathlib import Path

import pytest

from suite.execution.recorder import RECORDER
from suite.meters import sources
from suite.meters.meter import Meter, MeteredProcess
from suite.meters.registry import METERS, open_meters

FILES = sorted(path for path in Path(sources.__file__).parent.glob("*.py") if path.name != "__init__.py")
meters = pytest.mark.parametrize("make", METERS, ids=lambda make: make.name)


def classes_with_a_period(path: Path) -> list[str]:
    """Names of the classes of a file that state a period: its meters."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [node.name for node in found if any(isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "period_s" for each in node.body)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_source_file_holds_one_meter_and_it_is_registered(path: Path) -> None:
    assert classes_with_a_period(path) == [make.__name__ for make in METERS if make.__module__.endswith(f".{path.stem}")]
    assert len(classes_with_a_period(path)) == 1


def test_names_are_distinct_and_none_is_the_recorders_own() -> None:
    names = [meter.name for meter in open_meters()]
    assert len({*names, RECORDER}) == len(names) + 1


@meters
def test_a_meter_states_a_period_and_what_it_reads(make: type[Meter], tmp_path: Path) -> None:
    meter = make(tmp_path)  # type: ignore[call-arg]
    assert 0 < meter.period_s <= 10
    assert meter.description


@meters
def test_on_a_machine_without_the_source_it_says_why_and_what_to_do(make: type[Meter], tmp_path: Path) -> None:
    availability = make(tmp_path).availability()  # type: ignore[call-arg]
    assert not availability.available
    assert availability.reason
    assert availability.remedy


@meters
def test_where_it_is_available_here_it_reads_numbers_under_its_own_name(make: type[Meter], tmp_path: Path) -> None:
    meter = make(Path("/"))  # type: ignore[call-arg]
    if not meter.availability().available:
        pytest.skip(meter.availability().reason)
    meter.open(MeteredProcess(1, Path(__file__).parent))
    readings = meter.read() + meter.read()
    meter.close()
    assert readings
    assert {reading.source for reading in readings} == {meter.name}
    assert all(reading.value == reading.value and reading.unit for reading in readings)
