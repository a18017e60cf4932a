"""`suite doctor` lists every source: available, or the reason and the remedy; a broken source does not make it fail."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from suite.cli.doctor import diagnose_meters, doctor
from suite.meters.registry import meter_classes, open_meters


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the command with an empty home."""
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    app = typer.Typer()
    app.command()(doctor)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_every_meter_is_listed_with_the_rest_of_what_a_run_needs(run: Any) -> None:
    result = run("--json")
    lines = {line["what"]: line for line in json.loads(result.output)}
    assert result.exit_code == 0
    assert {f"meter: {meter.name}" for meter in meter_classes()} <= set(lines)
    assert {"Python", "memory", "disk", "environment: pytorch", "data: mnist"} <= set(lines)
    assert lines["environment: pytorch"] == {
        "what": "environment: pytorch",
        "there": False,
        "found": "There is no environment for PyTorch",
        "remedy": "suite env create pytorch",
    }


def test_without_a_terminal_each_thing_is_a_line_with_tabs(run: Any) -> None:
    result = run()
    assert result.exit_code == 0
    assert all(line.count("\t") == 3 for line in result.output.splitlines())


def test_on_a_bare_machine_every_missing_source_has_a_reason_and_a_remedy(tmp_path: Path) -> None:
    for diagnosis in diagnose_meters(open_meters(tmp_path)):
        assert not diagnosis.there
        assert diagnosis.found
        assert diagnosis.remedy


def test_a_driver_that_breaks_does_not_hide_the_other_sources(tmp_path: Path) -> None:
    broken, sound = open_meters(tmp_path)[:2]
    broken.availability = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    first, second = diagnose_meters([broken, sound])
    assert (first.there, first.found) == (False, "the availability check failed: ZeroDivisionError: division by zero")
    assert second.what == f"meter: {sound.name}"
