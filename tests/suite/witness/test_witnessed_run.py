"""Witnessed runs with the framework of the standard library, over HTTP: judged, edited afterwards,
the witness killed in the middle."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reference_impls.contract import log_name
from suite.bundle.log import chain_head
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.compliance.checker import BundleVerdict, check_bundle
from suite.compliance.finding import Finding
from suite.compliance.rules import witness as rule
from suite.execution.finish import finish
from suite.execution.witnessing import keep_witness_address
from suite.files.paths import repository_root
from suite.witness.client import request_signature
from suite.witness.record import WitnessRecord, files_digest, read_witness_record, stamp_digest
from suite.witness.server import WitnessServer
from suite.witness.tokens import judge_tokens
from tests.builders import Scenario, make_bundle
from tests.conftest import Run
from tests.dead_disk import DeadDisk, Killed
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import save_after
from tests.faults.edits.reading_edits import scale_readings
from tests.faults.edits.witness_edits import make_record, make_shorter
from tests.suite.witness.conftest import Lab, open_lab

FAKE = "run --division open --workload lenet --framework fake --data digits --baseload 0"
A_TENTH = save_after(make_shorter(0.9), recompute=True)


def record_of(run: Path) -> WitnessRecord:
    record = read_witness_record(run)
    assert record is not None
    return record


def rules_of(verdict: BundleVerdict) -> set[str]:
    return {finding.check for finding in verdict.findings}


def witness_rules(verdict: BundleVerdict) -> set[str]:
    """The rules about witnesses that found something."""
    return {name for name in rules_of(verdict) if name.startswith("witness-")}


@pytest.fixture(scope="module")
def _witnessed(
    suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, int]:
    """A folder with a witnessed run and with its witness's key and journal, and the witness's
    port."""
    folder = tmp_path_factory.mktemp("witnessed")
    with open_lab(folder / "lab") as lab:
        words = f"--witness {lab.address} --nonce drawn --run-number 1 --output {folder}/run"
        suite.done(f"{FAKE} --epochs 3 {words}")
        return folder, lab.server.server_port


@pytest.fixture
def lab(_witnessed: tuple[Path, int], tmp_path: Path) -> Iterator[Lab]:
    """The run's witness, at its address, with a journal of its own."""
    with open_lab(
        Path(shutil.copytree(_witnessed[0] / "lab", tmp_path / "lab")), _witnessed[1]
    ) as opened:
        yield opened


@pytest.fixture
def witnessed(_witnessed: tuple[Path, int], tmp_path: Path) -> Path:
    """A fresh copy of a witnessed run with a nonce."""
    return Path(shutil.copytree(_witnessed[0] / "run", tmp_path / "run"))


@pytest.fixture
def _known(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rulebook that knows the lab."""
    monkeypatch.setattr(rule, "trust_list", lambda: lab.trusted)


def findings_of_the_run(verdict: BundleVerdict) -> list[Finding]:
    """Without what other programs of a busy machine cause."""
    return [finding for finding in verdict.findings if finding.rule != "foreign-load"]


@pytest.mark.usefixtures("_known")
def test_a_witnessed_run_complies_and_names_its_witness(witnessed: Path, lab: Lab) -> None:
    bundle = Bundle(witnessed)
    run, request = bundle.run(), bundle.json("run.json")["request"]
    verdict = check_bundle(witnessed)
    assert findings_of_the_run(verdict) == []
    assert (
        judge_tokens(record_of(witnessed), run.run_id, request, run.nonce, lab.trusted).witness
        == "lab"
    )
    assert run.nonce is not None and run.nonce["run_number"] == 1
    digests = [
        json.loads(json.loads(line)["statement"])["digest"]
        for line in lab.journal.read_text().splitlines()
    ]
    record = record_of(witnessed)
    assert record.stamp is not None and record.asked_again is None
    assert digests == [
        record.receipt.digest,
        stamp_digest(run.run_id, [chain_head(witnessed / "log.txt") or ""], record.receipt.token),
        files_digest(
            run.run_id, listed_by_the_manifest(witnessed), record.receipt.token, record.stamp.token
        ),
    ]


def listed_by_the_manifest(run: Path) -> dict[str, str]:
    """Every file's digest, but for the witness's record."""
    listed = (line.split("  ") for line in (run / "MANIFEST.sha256").read_text().splitlines())
    return {name: digest for digest, name in listed if name != "witness.json"}


def test_every_file_of_the_bundle_is_stamped(witnessed: Path) -> None:
    present = {file.name for file in witnessed.iterdir()} - {"witness.json", "MANIFEST.sha256"}
    assert (
        set(record_of(witnessed).files) == present
        and {"readings.parquet", "system.json", "output.txt"} <= present
    )


@pytest.mark.usefixtures("_known")
def test_readings_that_were_edited_afterwards_are_refused_by_name(witnessed: Path) -> None:
    save_after(scale_readings("memory", "process_tree_rss", 0.9), recompute=True)(witnessed)
    verdict = check_bundle(witnessed)
    found = {finding.file for finding in verdict.findings if finding.check == "witness-files"}
    assert not verdict.complies and "readings.parquet" in found
    assert verdict.witnessed_by is None


def at_the_same_address(lab: Lab) -> WitnessServer:
    """The lab's witness again, after it was stopped."""
    server = WitnessServer(lab.witness, "127.0.0.1", lab.server.server_port)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    ).start()
    return server


@pytest.fixture
def unstamped(witnessed: Path, lab: Lab) -> Path:
    """The run as if the witness had gone while the bundle was closed."""
    record = record_of(witnessed)
    assert record.files_stamp is not None
    replace(
        record, files_stamp=replace(record.files_stamp, token=None, attempts=3, reason="gone")
    ).write(witnessed)
    (witnessed / "MANIFEST.sha256").unlink()
    seal(witnessed)
    keep_witness_address(witnessed, lab.address)
    return witnessed


@pytest.mark.usefixtures("_known")
def test_a_stamp_that_the_closing_did_not_get_is_got_by_finish_and_the_record_says_so(
    unstamped: Path, lab: Lab
) -> None:
    assert (
        witness_rules(check_bundle(unstamped)) == {"witness-known"}
        and check_bundle(unstamped).witnessed_by is None
    )
    before = (unstamped / "MANIFEST.sha256").read_bytes()
    lab.stop()
    assert "ConnectionRefusedError" in finish(unstamped).reason
    assert (unstamped / "MANIFEST.sha256").read_bytes() == before
    server = at_the_same_address(lab)
    finished = finish(unstamped)
    assert (finished.was_closed, finished.reason) == (
        True,
        "the witness has now stamped the run's files",
    )
    assert record_of(unstamped).asked_again == "gone"
    verdict = check_bundle(unstamped)
    assert witness_rules(verdict) == set() and verdict.witnessed_by == "lab"
    assert finish(unstamped).reason == ""
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("typed", [".", "../link"])
def test_the_witness_is_asked_again_however_the_run_is_named(
    typed: str, unstamped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (unstamped.parent / "link").symlink_to(unstamped)
    monkeypatch.chdir(unstamped)
    assert finish(Path(typed)).reason == "the witness has now stamped the run's files"
    assert not list(unstamped.parent.glob("*.witness.json"))


@pytest.mark.usefixtures("_known")
def test_a_late_stamp_leaves_the_run_without_the_witnesss_name(unstamped: Path, lab: Lab) -> None:
    lab.time_s = time.time() + 3600
    assert finish(unstamped).reason == "the witness has now stamped the run's files"
    verdict = check_bundle(unstamped)
    assert witness_rules(verdict) == {"witness-known"} and verdict.witnessed_by is None


def test_finish_asks_for_no_stamp_over_files_that_were_changed(unstamped: Path, lab: Lab) -> None:
    (unstamped / "system.json").write_text("{}")
    asked = lab.journal.read_bytes()
    assert "differ from its manifest" in finish(unstamped).reason
    assert lab.journal.read_bytes() == asked


@pytest.mark.usefixtures("_known")
def test_a_finish_that_is_killed_at_any_change_of_a_file_leaves_a_run_that_can_be_finished(
    unstamped: Path, lab: Lab, tmp_path: Path
) -> None:
    disk, number = DeadDisk(), 0
    while True:
        path = Path(shutil.copytree(unstamped, tmp_path / "copy"))
        keep_witness_address(path, lab.address)
        try:
            with disk.after(number, path):
                finish(path)
        except Killed:
            finish(path)
        else:
            break
        verdict = check_bundle(path)
        assert witness_rules(verdict) == set() and verdict.witnessed_by == "lab", disk.changes[-1]
        shutil.rmtree(path)
        number += 1
    assert number > 4


def test_a_record_of_the_first_schema_is_read_as_one_without_a_stamp_over_the_files(
    witnessed: Path,
) -> None:
    values = json.loads((witnessed / "witness.json").read_text())
    first = {key: values[key] for key in ("address", "receipt", "heads", "stamp")}
    (witnessed / "witness.json").write_text(json.dumps({"schema": 1, **first}))
    assert (record_of(witnessed).files, record_of(witnessed).files_stamp) == ({}, None)
    (witnessed / "MANIFEST.sha256").unlink()
    seal(witnessed)
    verdict = check_bundle(witnessed)
    assert witness_rules(verdict) == {"witness-known"} and any(
        "stamp over the files" in finding.expected for finding in verdict.findings
    )


def test_a_record_that_was_taken_out_is_missed(witnessed: Path) -> None:
    (witnessed / "witness.json").unlink()
    (witnessed / "MANIFEST.sha256").unlink()
    seal(witnessed)
    verdict = check_bundle(witnessed)
    assert not verdict.complies and witness_rules(verdict) == {"witness-recorded"}


def test_a_witness_that_the_rulebook_does_not_know_is_a_note(witnessed: Path) -> None:
    verdict = check_bundle(witnessed)
    assert verdict.complies
    findings = findings_of_the_run(verdict)
    assert [(each.check, each.severity.value) for each in findings] == [
        ("witness-known", "note")
    ] * 3


@pytest.mark.usefixtures("_known")
def test_times_that_were_shortened_by_a_tenth_afterwards_are_refused(witnessed: Path) -> None:
    A_TENTH(witnessed)
    verdict = check_bundle(witnessed)
    assert not verdict.complies
    (finding,) = (
        finding
        for finding in verdict.findings
        if finding.check == "witness-time" and "chain value" in finding.expected
    )
    assert finding.file == "log.txt"


@pytest.mark.usefixtures("_known")
def test_another_run_cannot_take_the_tokens(witnessed: Path) -> None:
    bundle = EditableBundle(witnessed)
    bundle.run["run_id"] += "9"
    bundle.save()
    observed = {
        finding.observed
        for finding in check_bundle(witnessed).findings
        if finding.check == "witness-time"
    }
    assert observed == {
        f"a {name} that cannot be trusted: its statement is about another digest"
        for name in ("receipt", "stamp")
    }


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    """A made-up run of a quarter of an hour."""
    return make_bundle(tmp_path / "long", Scenario(step_s=0.175))


def stamp_again(run: Path, true: WitnessRecord, lab: Lab) -> None:
    """The witness's honest stamp over an edited log: it saw as much time pass as the true run
    took."""
    assert true.stamp is not None
    run_id, heads = Bundle(run).run().run_id, (chain_head(run / log_name(0)) or "",)
    lab.time_s = 1.8e9
    receipt = request_signature(lab.address, true.receipt.digest).token
    lab.time_s += (true.stamp.asked_ns - true.receipt.answered_ns) * 1e-9
    digest = stamp_digest(run_id, heads, receipt)
    stamp = replace(true.stamp, digest=digest, token=request_signature(lab.address, digest).token)
    replace(true, receipt=replace(true.receipt, token=receipt), heads=heads, stamp=stamp).write(run)
    (run / "MANIFEST.sha256").unlink()
    seal(run)


def test_an_honest_long_run_agrees_with_its_witness(long_run: Path, lab: Lab) -> None:
    stamp_again(long_run, make_record(long_run), lab)
    assert rules_of(check_bundle(long_run)) & {"witness-time", "witness-known"} == {"witness-known"}


def test_a_log_that_was_shortened_before_it_was_stamped_leaves_time_unexplained(
    long_run: Path, lab: Lab
) -> None:
    true = make_record(long_run)
    A_TENTH(long_run)
    stamp_again(long_run, true, lab)
    verdict = check_bundle(long_run)
    assert "witness-time" in rules_of(verdict) and not verdict.complies
    assert any("from run_stop to the stamp" in finding.expected for finding in verdict.findings)


def test_the_machines_own_times_cannot_be_shortened_with_the_log(long_run: Path, lab: Lab) -> None:
    """Receipt and stamp moved next to the shorter run, by the machine's clock: the witness's clock
    says otherwise."""
    true = make_record(long_run)
    A_TENTH(long_run)
    shorter = make_record(long_run)
    stamp_again(long_run, true, lab)
    moved = record_of(long_run)
    assert moved.stamp is not None and shorter.stamp is not None
    stamp = replace(
        moved.stamp, asked_ns=shorter.stamp.asked_ns, answered_ns=shorter.stamp.answered_ns
    )
    receipt = replace(
        moved.receipt, asked_ns=shorter.receipt.asked_ns, answered_ns=shorter.receipt.answered_ns
    )
    replace(moved, receipt=receipt, stamp=stamp).write(long_run)
    (long_run / "MANIFEST.sha256").unlink()
    seal(long_run)
    found = [
        finding.expected
        for finding in check_bundle(long_run).findings
        if finding.check == "witness-time"
    ]
    assert any("by the witness's clock" in expected for expected in found)


@pytest.mark.proof
def test_a_witness_killed_in_the_middle_harms_nothing(
    digits: Path, suite_home: Path, lab: Lab, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = f"{FAKE} --epochs 6 --witness {lab.address} --output {run!s}"
    command = [str(Path(sys.executable).with_name("suite")), *words.split()]
    process = subprocess.Popen(
        command,
        env={**os.environ, "SUITE_HOME": str(suite_home)},
        stderr=subprocess.PIPE,
        cwd=repository_root(),
    )
    while '"epoch_stop"' not in (
        (run / "log.txt").read_text() if (run / "log.txt").exists() else ""
    ):
        assert process.poll() is None
        time.sleep(0.02)
    lab.stop()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    record = record_of(run)
    assert record.receipt.token is not None and record.stamp is not None
    assert (record.stamp.token, record.stamp.attempts) == (None, 3)
    assert record.files_stamp is not None and record.files_stamp.token is None
    assert "ConnectionRefusedError" in (record.files_stamp.reason or "")
    verdict = check_bundle(run)
    assert verdict.complies and witness_rules(verdict) == {"witness-known"}
    assert any("ConnectionRefusedError" in finding.observed for finding in verdict.findings)


def test_a_witness_that_was_never_there_harms_nothing(
    suite: Run, digits: Path, lab: Lab, tmp_path: Path
) -> None:
    lab.stop()
    suite.done(f"{FAKE} --epochs 1 --witness {lab.address} --output {tmp_path}/run")
    record = record_of(tmp_path / "run")
    assert record.receipt.token is None and record.stamp is not None and record.stamp.token is None
    assert check_bundle(tmp_path / "run").complies


MALFORMED = (
    "",
    "[]",
    "{}",
    '{"schema": 2}',
    '{"schema": 1, "address": "", "receipt": {}, "heads": [], "stamp": null}',
    '{"schema": 1, "address": 1, "receipt": null, "heads": 5, "stamp": null}',
    (
        '{"schema": 2, "address": "", "receipt": null, "heads": [], "stamp": null, "files": [],'
        ' "files_stamp": null, "asked_again": null}'
    ),
    (
        '{"schema": 2, "address": "", "receipt": null, "heads": [], "stamp": null, "files": {},'
        ' "files_stamp": 5, "asked_again": 5}'
    ),
)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_record_is_invalid(text: str, good_bundle: Path) -> None:
    (good_bundle / "witness.json").write_text(text)
    (good_bundle / "MANIFEST.sha256").unlink()
    seal(good_bundle)
    verdict = check_bundle(good_bundle)
    assert not verdict.complies and rules_of(verdict) == {"bundle-readable"}
