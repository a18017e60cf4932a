"""The contract of every meter, tested for all that are found in suite/meters/sources."""

import ast
import time
from pathlib import Path
from types import ModuleType

import pytest

from suite.errors import SuiteError
from suite.execution.recorder import RECORDER
from suite.files.paths import repository_root
from suite.meters import sources
from suite.meters.meter import Meter, MeteredProcess, Reading
from suite.meters.registry import meter_classes, meter_of, open_meters
from tests.kept_outputs import kept
from tests.spoiled import spoiled
from tests.suite.meters.meter_recordings import FOLDER, board, load_recording, path_of, write

FILES = sorted(
    path for path in Path(sources.__file__).parent.glob("*.py") if path.name != "__init__.py"
)
TIMEOUT_S = 120.0
meters = pytest.mark.parametrize("make", meter_classes(), ids=lambda make: make.name)


def classes_with_a_period(path: Path) -> list[str]:
    """Names of the classes of a file that state a period: its meters."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [
        node.name
        for node in found
        if any(
            isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "period_s"
            for each in node.body
        )
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_source_file_holds_one_meter_and_it_is_found(path: Path) -> None:
    assert classes_with_a_period(path) == [
        make.__name__ for make in meter_classes() if make.__module__.endswith(f".{path.stem}")
    ]
    assert len(classes_with_a_period(path)) == 1


def test_a_module_without_a_meter_is_named_with_what_to_add() -> None:
    module = ModuleType("wattmeter")
    module.__file__ = "suite/meters/sources/wattmeter.py"
    with pytest.raises(
        SuiteError, match=r"wattmeter\.py does not say which class is its meter; add `METER = NAME`"
    ):
        meter_of(module)


def test_names_are_distinct_and_none_is_the_recorders_own() -> None:
    names = [meter.name for meter in open_meters()]
    assert len({*names, RECORDER}) == len(names) + 1


def test_the_counters_are_opened_first_and_the_others_by_name() -> None:
    first, *others = [meter.name for meter in open_meters()]
    assert first == "counters"
    assert others == sorted(others)


@meters
def test_a_meter_states_a_period_and_what_it_reads(make: type[Meter], tmp_path: Path) -> None:
    meter = make(tmp_path)  # type: ignore[call-arg]
    assert 0 < meter.period_s <= 10
    assert meter.description


@meters
def test_on_a_machine_without_the_source_it_says_why_and_what_to_do(
    make: type[Meter], tmp_path: Path
) -> None:
    availability = make(tmp_path).availability()  # type: ignore[call-arg]
    assert not availability.available
    assert availability.reason
    assert availability.remedy


@meters
def test_a_meter_has_a_complete_recording(make: type[Meter]) -> None:
    path = path_of(make.name).relative_to(repository_root())
    assert path_of(make.name).exists(), (
        f"{path} is missing: record what {make.name} reads on a board"
        " (tests/suite/meters/meter_recordings.py)"
    )
    recording = load_recording(make.name)
    assert recording.missing() == [], f"fill in {path}"
    if recording.tested_by is not None:
        file, _, test = recording.tested_by.partition("::")
        assert f"def {test}(" in Path(repository_root(), file).read_text(), (
            f"{path} names a test that does not exist"
        )


@meters
def test_a_meter_reads_its_recording(make: type[Meter], tmp_path: Path) -> None:
    if not path_of(make.name).exists() or load_recording(make.name).tested_by:
        # the test above names what is missing; the recording names the test that serves this meter
        return
    recording = load_recording(make.name)
    with board(recording, tmp_path) as root:
        meter = make(root)  # type: ignore[call-arg]
        assert meter.availability().available, meter.availability().reason
        meter.open(MeteredProcess(recording.pid, root / "data"))
        try:
            if recording.changed:
                meter.read()
                write(recording.changed, root)
            readings = read_once(meter)
        finally:
            meter.close()
    assert {reading.source for reading in readings} == {make.name}
    assert {reading.channel: reading.unit for reading in readings} == {
        channel: unit for channel, (_, unit) in recording.readings.items()
    }
    assert {reading.channel: reading.value for reading in readings} == pytest.approx(
        {channel: value for channel, (value, _) in recording.readings.items()}
    )


def values(readings: list[Reading]) -> dict[str, list[object]]:
    return {reading.channel: [reading.value, reading.unit] for reading in readings}


@meters
def test_what_a_meter_reads_of_a_spoiled_source(make: type[Meter], tmp_path: Path) -> None:
    """Files spoiled before it is opened, and while it is read."""
    recording = load_recording(make.name)
    if not recording.files or recording.http or recording.programs:
        return
    write(recording.files, tmp_path)

    def read(meter: Meter) -> dict[str, object]:
        found = {"first": values(meter.read())}
        if recording.changed:
            write(recording.changed, tmp_path)
            found["second"] = values(meter.read())
        return found

    def opened() -> Meter:
        meter = make(tmp_path)  # type: ignore[call-arg]
        meter.open(MeteredProcess(recording.pid, tmp_path / "data"))
        return meter

    def new() -> object:
        there = make(tmp_path).availability()  # type: ignore[call-arg]
        if not there.available:
            return there
        meter = opened()
        found = read(meter)
        meter.close()
        return found

    running = opened()
    files = [name for name, content in recording.files.items() if not content.startswith("->")]
    found = {
        "before": spoiled(tmp_path, new, files, 3),
        "during": spoiled(tmp_path, lambda: read(running), files, 2),
    }
    running.close()
    kept("meters-spoiled", found, make.name)


def read_once(meter: Meter) -> list[Reading]:
    """The meter's next readings; one that waits in a background thread gets ten seconds."""
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (readings := meter.read()):
        assert time.monotonic() < deadline_s, f"{meter.name} read nothing"
        time.sleep(0.01)
    return readings


def test_every_recording_belongs_to_a_meter() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted(
        make.name for make in meter_classes()
    )


@meters
def test_where_it_is_available_here_it_reads_numbers_under_its_own_name(
    make: type[Meter], tmp_path: Path
) -> None:
    meter = make(Path("/"))  # type: ignore[call-arg]
    if not meter.availability().available:
        pytest.skip(f"no such meter here: {meter.availability().reason}")
    meter.open(MeteredProcess(1, Path(__file__).parent))
    readings = read_once(meter) + meter.read()
    meter.close()
    assert readings
    assert {reading.source for reading in readings} == {meter.name}
    assert all(reading.value == reading.value and reading.unit for reading in readings)
