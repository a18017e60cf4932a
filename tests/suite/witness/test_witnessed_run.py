"""Witnessed runs with the framework of the standard library, over HTTP: judged, edited afterwards, the witness killed in the middle."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reference_impls.contract import log_name
from suite.bundle.log import chain_head
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.compliance.checker import BundleVerdict, check_bundle
from suite.compliance.faults.editable_bundle import EditableBundle
from suite.compliance.faults.fault import save_after
from suite.compliance.faults.witness_edits import make_record, make_shorter
from suite.compliance.rules import witness as rule
from suite.files.paths import repository_root
from suite.witness.client import ask
from suite.witness.record import WitnessRecord, read_witness_record, stamp_digest
from suite.witness.verdict import judge_tokens
from tests.builders import Scenario, make_bundle
from tests.conftest import Run
from tests.suite.witness.conftest import Lab

FAKE = ("run", "--division", "open", "--workload", "lenet", "--framework", "fake", "--data", "digits", "--baseload", "0")
A_TENTH = save_after(make_shorter(0.9), recompute=True)


def record_of(run: Path) -> WitnessRecord:
    record = read_witness_record(run)
    assert record is not None
    return record


def rules_of(verdict: BundleVerdict) -> set[str]:
    return {finding.rule for finding in verdict.findings}


@pytest.fixture
def witnessed(suite: Run, digits: Path, lab: Lab, tmp_path: Path) -> Path:
    """A witnessed run with a nonce."""
    answer = suite(*FAKE, "--epochs", 3, "--witness", lab.address, "--nonce", "drawn", "--run-number", 1, "--output", tmp_path / "run")
    assert answer.returncode == 0, answer.stderr
    return tmp_path / "run"


@pytest.fixture
def _known(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rulebook that knows the lab."""
    monkeypatch.setattr(rule, "trust_list", lambda: lab.trusted)


@pytest.mark.usefixtures("_known")
def test_a_witnessed_run_complies_and_names_its_witness(witnessed: Path, lab: Lab) -> None:
    bundle = Bundle(witnessed)
    run, request = bundle.run(), bundle.json("run.json")["request"]
    verdict = check_bundle(witnessed)
    assert verdict.findings == ()
    assert judge_tokens(record_of(witnessed), run.run_id, request, run.nonce, lab.trusted).by == "lab"
    assert run.nonce is not None and run.nonce["run_number"] == 1
    digests = [json.loads(json.loads(line)["statement"])["digest"] for line in lab.journal.read_text().splitlines()]
    assert digests == [
        record_of(witnessed).receipt.digest,
        stamp_digest(run.run_id, [chain_head(witnessed / "log.txt") or ""], record_of(witnessed).receipt.token),
    ]


@pytest.mark.slow
def test_a_witness_that_the_rulebook_does_not_know_is_a_note(witnessed: Path) -> None:
    verdict = check_bundle(witnessed)
    assert verdict.complies
    assert [(finding.rule, finding.severity.value) for finding in verdict.findings] == [("witness-known", "note")] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("_known")
def test_times_that_were_shortened_by_a_tenth_afterwards_are_refused(witnessed: Path) -> None:
    A_TENTH(witnessed)
    verdict = check_bundle(witnessed)
    assert not verdict.complies
    (finding,) = (finding for finding in verdict.findings if finding.rule == "witness-time" and "chain value" in finding.expected)
    assert finding.file == "log.txt"


@pytest.mark.slow
@pytest.mark.usefixtures("_known")
def test_another_run_cannot_take_the_tokens(witnessed: Path) -> None:
    bundle = EditableBundle(witnessed)
    bundle.run["run_id"] += "9"
    bundle.save()
    observed = {finding.observed for finding in check_bundle(witnessed).findings if finding.rule == "witness-time"}
    assert observed == {f"a {name} that cannot be trusted: it is a statement about something else" for name in ("receipt", "stamp")}


@pytest.fixture
def long_run(tmp_path: Path) -> Path:
    """A made-up run of a quarter of an hour."""
    return make_bundle(tmp_path / "long", Scenario(step_s=0.7))


def stamp_again(run: Path, true: WitnessRecord, lab: Lab) -> None:
    """The witness's honest stamp over an edited log: it saw as much time pass as the true run took."""
    assert true.stamp is not None
    run_id, heads = Bundle(run).run().run_id, (chain_head(run / log_name(0)) or "",)
    lab.time_s = 1.8e9
    receipt = ask(lab.address, true.receipt.digest).token
    lab.time_s += (true.stamp.asked_ns - true.receipt.answered_ns) * 1e-9
    digest = stamp_digest(run_id, heads, receipt)
    stamp = replace(true.stamp, digest=digest, token=ask(lab.address, digest).token)
    replace(true, receipt=replace(true.receipt, token=receipt), heads=heads, stamp=stamp).write(run)
    (run / "MANIFEST.sha256").unlink()
    seal(run)


def test_an_honest_long_run_agrees_with_its_witness(long_run: Path, lab: Lab) -> None:
    stamp_again(long_run, make_record(long_run), lab)
    assert rules_of(check_bundle(long_run)) & {"witness-time", "witness-known"} == {"witness-known"}


def test_a_log_that_was_shortened_before_it_was_stamped_leaves_time_unexplained(long_run: Path, lab: Lab) -> None:
    true = make_record(long_run)
    A_TENTH(long_run)
    stamp_again(long_run, true, lab)
    verdict = check_bundle(long_run)
    assert "witness-time" in rules_of(verdict) and not verdict.complies
    assert any("from run_stop to the stamp" in finding.expected for finding in verdict.findings)


def test_the_machines_own_times_cannot_be_shortened_with_the_log(long_run: Path, lab: Lab) -> None:
    """Receipt and stamp moved next to the shorter run, by the machine's clock: the witness's clock says otherwise."""
    true = make_record(long_run)
    A_TENTH(long_run)
    shorter = make_record(long_run)
    stamp_again(long_run, true, lab)
    moved = record_of(long_run)
    assert moved.stamp is not None and shorter.stamp is not None
    stamp = replace(moved.stamp, asked_ns=shorter.stamp.asked_ns, answered_ns=shorter.stamp.answered_ns)
    receipt = replace(moved.receipt, asked_ns=shorter.receipt.asked_ns, answered_ns=shorter.receipt.answered_ns)
    replace(moved, receipt=receipt, stamp=stamp).write(long_run)
    (long_run / "MANIFEST.sha256").unlink()
    seal(long_run)
    found = [finding.expected for finding in check_bundle(long_run).findings if finding.rule == "witness-time"]
    assert any("as by the witness's clock" in expected for expected in found)


def test_a_witness_killed_in_the_middle_harms_nothing(digits: Path, suite_home: Path, lab: Lab, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = [*FAKE, "--epochs", "6", "--witness", lab.address, "--output", str(run)]
    command = [str(Path(sys.executable).with_name("suite")), *words]
    process = subprocess.Popen(command, env={**os.environ, "SUITE_HOME": str(suite_home)}, stderr=subprocess.PIPE, cwd=repository_root())
    while '"epoch_stop"' not in ((run / "log.txt").read_text() if (run / "log.txt").exists() else ""):
        assert process.poll() is None
        time.sleep(0.02)
    lab.stop()
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    record = record_of(run)
    assert record.receipt.token is not None and record.stamp is not None
    assert (record.stamp.token, record.stamp.attempts) == (None, 3)
    verdict = check_bundle(run)
    assert verdict.complies and rules_of(verdict) == {"witness-known"}
    assert any("ConnectionRefusedError" in finding.observed for finding in verdict.findings)


@pytest.mark.slow
def test_a_witness_that_was_never_there_harms_nothing(suite: Run, digits: Path, lab: Lab, tmp_path: Path) -> None:
    lab.stop()
    assert suite(*FAKE, "--epochs", 1, "--witness", lab.address, "--output", tmp_path / "run").returncode == 0
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
)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_record_is_invalid(text: str, good_bundle: Path) -> None:
    (good_bundle / "witness.json").write_text(text)
    (good_bundle / "MANIFEST.sha256").unlink()
    seal(good_bundle)
    verdict = check_bundle(good_bundle)
    assert not verdict.complies and rules_of(verdict) == {"bundle-readable"}
