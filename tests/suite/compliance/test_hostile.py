"""Hostile and careless input: bounded, escaped, and reported as a finding."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from suite.bundle.layout import MANIFEST, MAX_MANIFEST_BYTES, WITNESS
from suite.bundle.manifest import seal
from suite.compliance.applying import MAX_VIOLATIONS
from suite.compliance.checker import check_bundle
from suite.compliance.finding import MAX_TEXT_LENGTH, Finding, printable
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.witness_edits import witnessed

Run = Callable[..., Any]


def findings_of(bundle: Path, rule: str) -> list[Finding]:
    return [finding for finding in check_bundle(bundle).findings if finding.check == rule]


def edited(bundle: Path, change: Callable[[EditableBundle], object]) -> Path:
    editable = EditableBundle(bundle)
    change(editable)
    editable.save()
    return bundle


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", "a b"),
        ("é…", "é…"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb", "a\\nb"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_escaped(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_a_value_cannot_send_control_characters_to_the_terminal(
    good_bundle: Path, suite: Run
) -> None:
    answer = suite(
        "check",
        edited(good_bundle, lambda bundle: bundle.system.update(device="\x1b[2Jcomplies\ud800")),
    )
    assert answer.returncode == 1
    assert "\x1b" not in answer.stdout and "system-agrees" in answer.stdout


def test_a_finding_is_short_however_long_the_value(good_bundle: Path) -> None:
    (finding,) = findings_of(
        edited(good_bundle, lambda bundle: bundle.request["optimizer"].update(name="x" * 10**6)),
        "closed-hyperparameters",
    )
    assert all(len(str(value)) <= MAX_TEXT_LENGTH for value in dataclasses.astuple(finding))


def test_a_rule_reports_a_limited_number_of_violations(good_bundle: Path) -> None:
    for number in range(2 * MAX_VIOLATIONS):
        (good_bundle / f"more{number}").touch()
    assert len(findings_of(good_bundle, "manifest")) == MAX_VIOLATIONS


def test_a_manifest_that_is_too_large_is_not_read(good_bundle: Path) -> None:
    (good_bundle / MANIFEST).write_bytes((b" " * 4095 + b"\n") * (MAX_MANIFEST_BYTES // 4096 + 1))
    assert MANIFEST in {finding.file for finding in findings_of(good_bundle, "bundle-readable")}


@pytest.mark.parametrize("value", [1.5e308, -1.5e308, float("inf"), float("nan")])
@pytest.mark.parametrize("column", ["fetch_stall_s", "compute_s", "loss"])
def test_values_that_overflow_are_a_finding(column: str, value: float, good_bundle: Path) -> None:
    edited(good_bundle, lambda bundle: bundle.steps.loc.__setitem__((slice(0, 3), column), value))
    assert not check_bundle(good_bundle).complies


@pytest.mark.parametrize("boot", [[], {"a": []}, 10**400, None])
def test_metadata_of_any_type_is_compared(boot: object, good_bundle: Path) -> None:
    edited(good_bundle, lambda bundle: bundle.event("run_start")["metadata"].update(boot=boot))
    assert findings_of(good_bundle, "log-clock")


def test_an_event_after_a_million_characters_is_reported(good_bundle: Path) -> None:
    log = good_bundle / "log.txt"
    log.write_text(log.read_text() + "x" * 2**20 + ':::MLLOG {"key": "eval_accuracy"}\n')
    (good_bundle / MANIFEST).unlink()
    seal(good_bundle)
    (finding,) = findings_of(good_bundle, "log-readable")
    assert finding.line == len(log.read_text().splitlines())


def test_a_table_with_text_that_is_not_utf_8_is_a_finding(good_bundle: Path) -> None:
    table = pyarrow.parquet.read_table(good_bundle / "readings.parquet")
    names = (
        pyarrow.array([b"proc\xffss_tree_rss"] * len(table))
        .cast(pyarrow.binary())
        .view(pyarrow.string())
    )
    table = table.set_column(table.schema.get_field_index("channel"), "channel", names)
    pyarrow.parquet.write_table(table, good_bundle / "readings.parquet")
    assert "readings.parquet" in {
        finding.file for finding in findings_of(good_bundle, "bundle-readable")
    }


@pytest.mark.parametrize("column", ["source", "channel", "unit"])
def test_a_reading_without_a_channel_is_a_finding(column: str, good_bundle: Path) -> None:
    edited(good_bundle, lambda bundle: bundle.readings.loc.__setitem__((3, column), None))
    assert "readings.parquet" in {
        finding.file for finding in findings_of(good_bundle, "bundle-readable")
    }


@pytest.mark.parametrize("name", ["\ud800", "", 7, None, []])
def test_a_meter_name_of_any_type_is_compared(name: object, good_bundle: Path) -> None:
    edited(good_bundle, lambda bundle: bundle.run["meters"][0].update(name=name))
    assert findings_of(good_bundle, "readings-counted")


@pytest.mark.parametrize(
    ("started", "rule"),
    [(10**400, "run-record"), (-(10**400), "run-record"), (1e308, "bundle-readable")],
)
def test_a_start_that_overflows_is_a_finding(started: float, rule: str, good_bundle: Path) -> None:
    edited(good_bundle, lambda bundle: bundle.run.update(started_time_ms=started))
    assert findings_of(good_bundle, rule)


def test_a_huge_number_of_samples_is_not_counted_to(good_bundle: Path) -> None:
    def change(bundle: EditableBundle) -> None:
        bundle.request["data"]["train_samples"], bundle.request["global_batch_size"] = 2**62, 1

    assert findings_of(edited(good_bundle, change), "ranks-complete")


@pytest.mark.parametrize("key", ["heads", "files", "files_stamp", "asked_again"])
def test_a_witness_record_without_a_key_is_not_read(key: str, good_bundle: Path) -> None:
    witnessed()(good_bundle)
    values = json.loads((good_bundle / WITNESS).read_text())
    del values[key]
    (good_bundle / WITNESS).write_text(json.dumps(values))
    (finding,) = findings_of(good_bundle, "bundle-readable")
    assert finding.file == WITNESS and key in finding.observed
