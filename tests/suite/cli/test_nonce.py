"""`suite nonce lock` and the nonce's options of `suite run`."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from suite.catalog.divisions import Division
from suite.catalog.rounds import current_round
from suite.cli import run
from suite.cli.run_settings import RunSettings
from tests.conftest import Run

FAKE = "--division open --workload lenet --framework fake --data digits"


def test_a_run_belongs_to_the_entry_that_was_locked(suite: Run) -> None:
    """Threads may be tuned after the lock; the batch size may not."""
    closed = "--division closed --workload lenet --org lab --dry-run"
    locked = suite.done(f"nonce lock {closed}")
    digest, *_ = locked.stdout.split()
    assert f"rules/rounds/{current_round().name}.toml" in locked.stderr

    def entry(options: str = "") -> tuple[str, int]:
        answer = suite.done(f"run {closed} --nonce drawn {options}")
        (printed,) = json.loads(answer.stdout)["rows"]
        return printed["nonce"]["entry_sha256"], printed["request"]["seed"]

    first, second, tuned, other = (
        entry(),
        entry("--run-number 1"),
        entry("--threads 7"),
        entry("--batch-size 32"),
    )
    assert first[0] == second[0] == tuned[0] == digest != other[0]
    assert len({first[1], second[1], other[1]}) == 3 and tuned[1] == first[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--nonce a --seed 1", "--seed"),
        ("--run-number 1", "--nonce"),
        ("--nonce a --stall-analysis", "--stall-analysis"),
        ("--stall-analysis --short 2", "leave --short out"),
        ("--stall-analysis --baseload 30", "leave --baseload out"),
    ],
)
def test_options_that_contradict_each_other_are_one_sentence(
    options: str, named: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    answer = suite.refused(f"run {FAKE} --output {tmp_path}/run {options}")
    assert named in answer.stderr and answer.stderr.count("\n") <= 2


@pytest.mark.parametrize(
    ("of_round", "said"),
    [
        (None, "has no nonce yet"),
        ("drawn", "has the nonce 'drawn'; a closed run with another nonce cannot be submitted"),
        ("typed", None),
    ],
)
def test_a_closed_run_s_nonce_that_is_not_its_round_s_is_told_before_the_training(
    of_round: str | None,
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged_by = replace(current_round(), nonce=of_round)
    monkeypatch.setattr(run, "current_round", lambda: judged_by)
    for division, warning in ((Division.CLOSED, said), (Division.OPEN, None)):
        settings = SimpleNamespace(nonce="typed", division=division)
        run._warn_of_nonce(cast(RunSettings, settings))
        told = capsys.readouterr().err
        assert told.startswith("warning: ") and warning in told if warning else not told
