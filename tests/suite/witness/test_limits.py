"""What a witness saw at the limits of the rule: its clock and its answers against the run's times,
in s."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.log import chain_head
from suite.compliance.rules import witness as rule
from suite.files.signature import SignatureState
from suite.witness.record import WitnessAnswer, WitnessRecord
from suite.witness.server import Journal
from suite.witness.statement import Statement, read_statement
from suite.witness.tokens import TokenVerdict, WitnessVerdict
from tests.builders import RICH, make_bundle
from tests.checks_alone import NS, context_of, found, log, varied

KNOWN, UNKNOWN = SignatureState.KNOWN, SignatureState.UNKNOWN
HONEST = {"receipt": (0.0, 1.0), "stamp": (141.0, 142.0), "run": (31.0, 131.0), "elapsed": 141.0}
"""When receipt and stamp were requested and answered, the run from init_start to run_stop, and the
time between them by the witness's clock."""
CLOCK, START, STOP = "from receipt to stamp", "the receipt to init_start", "run_stop to the stamp"
RUN = "from init_start to run_stop"


@pytest.mark.parametrize(
    ("changes", "boot", "expected"),
    [
        ({}, "own", []),
        ({"elapsed": 144.07}, "own", []),
        ({"elapsed": 144.08}, "own", [CLOCK]),
        ({"elapsed": 137.94}, "own", []),
        ({"elapsed": 137.93}, "own", [CLOCK]),
        ({"receipt": (0, 5.99)}, "own", []),
        ({"receipt": (0, 6.01)}, "own", ["0 to 6 s from the request to the receipt"]),
        ({"stamp": (141, 147.01)}, "own", ["0 to 6 s from the request to the stamp"]),
        ({"run": (60.99, 131)}, "own", []),
        ({"run": (61.01, 131)}, "own", [START]),
        ({"run": (0.99, 131)}, "own", [START]),
        ({"run": (31, 111.01)}, "own", []),
        ({"run": (31, 110.99)}, "own", [STOP]),
        ({"run": (31, 141.01)}, "own", [STOP]),
        ({"run": (31, 91.01), "old_task_s": 10}, "own", []),
        ({"run": (31, 90.99), "old_task_s": 10}, "own", [STOP]),
        ({"run": (31, 91.01), "old_task_s": 10, "asked_for": None}, "own", [STOP]),
        ({"run": (500, 516.94), "old_task_s": 10}, "another", []),
        ({"run": (500, 516.92), "old_task_s": 10}, "another", [RUN]),
        ({"run": (500, 643.07)}, "another", []),
        ({"run": (500, 643.08)}, "another", [RUN]),
        ({"run": (500, 536.94)}, "another", []),
        ({"run": (500, 536.92)}, "another", [RUN]),
    ],
)
def test_a_run_lasts_as_long_by_the_witnesss_clock(
    changes: dict[str, Any],
    boot: str,
    expected: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To 2 s and half a thousandth; on ``another`` machine than the harness's, only its length. An
    adaptation evaluates its old task as long after init_start, and again after run_stop."""
    context = context_of(make_bundle(tmp_path / "run", RICH))
    times = {**HONEST, **changes}
    asked, stamped = (
        WitnessAnswer("", *(round(at_s * NS) for at_s in times[name]), 1, {}, None)
        for name in ("receipt", "stamp")
    )
    head = str(chain_head(context.bundle.path / "log.txt"))
    record = WitnessRecord(2, "", asked, (head,), stamped)
    seen = [TokenVerdict(KNOWN, at_s, "lab") for at_s in (1e9, 1e9 + times["elapsed"])]
    monkeypatch.setattr(rule, "_record", lambda _: record)
    monkeypatch.setattr(rule, "witness_verdict", lambda *_: WitnessVerdict(*seen, None))
    start_s, stop_s = times["run"]
    metadata = {"boot": context.system["boot"] if boot == "own" else "another"}
    started, stopped = ("init_start", start_s, 0, metadata), ("run_stop", stop_s, 0, metadata)
    made, old_task = log(started, stopped), None
    if "old_task_s" in changes:
        made = log(started, ("old_task_accuracy", start_s + changes["old_task_s"], 0), stopped)
        old_task = changes.get("asked_for", {"name": "cifar10"})
    given = found("witness-time", varied(context, log=made, request={"old_task": old_task}))
    assert len(given) == len(expected)
    assert all(text in each.expected for each, text in zip(given, expected, strict=True))


@pytest.mark.parametrize(
    ("tokens", "by"),
    [
        (((KNOWN, "a"), (KNOWN, "a"), (KNOWN, "a")), "a"),
        (((KNOWN, "a"), (KNOWN, "a"), (KNOWN, "b")), None),
        (((KNOWN, "a"), (KNOWN, "b"), (KNOWN, "a")), None),
        (((KNOWN, "a"), (KNOWN, "a"), (UNKNOWN, "a")), None),
        (((KNOWN, "a"), None, (KNOWN, "a")), None),
    ],
)
def test_one_known_witness_saw_beginning_end_and_files(tokens: Any, by: str | None) -> None:
    made = [None if each is None else TokenVerdict(each[0], 0.0, each[1]) for each in tokens]
    assert WitnessVerdict(*made).witness == by


def test_a_statement_is_on_the_disk_before_it_is_given_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append((tmp_path / "journal").read_bytes()))
    Journal(tmp_path / "journal").append({"kind": "ssh"})
    assert synced == [b'{"kind":"ssh"}\n']


def test_a_statement_s_time_is_utc_wherever_the_witness_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Statement("lab", 1, 1_700_000_000.25, "0" * 64, "0" * 64)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        text = made.text()
        assert "2023-11-14T22:13:20.250000" in text and read_statement(text) == made
    finally:
        monkeypatch.undo()
        time.tzset()
