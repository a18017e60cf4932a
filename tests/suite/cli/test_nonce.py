"""`suite nonce lock` and the nonce's options of `suite run`."""

import json
from pathlib import Path

import pytest

from tests.conftest import Run

FAKE = "--division open --workload lenet --framework fake --data digits"


def test_a_run_belongs_to_the_entry_that_was_locked(suite: Run, digits: Path) -> None:
    """Threads may be tuned after the lock; the batch size may not."""
    digest, *_ = suite.typed(f"nonce lock {FAKE}").stdout.split()

    def entry(options: str = "") -> tuple[str, int]:
        answer = suite.done(f"run {FAKE} --dry-run --nonce drawn {options}")
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
    ],
)
def test_options_that_contradict_each_other_are_one_sentence(
    options: str, named: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    answer = suite.refused(f"run {FAKE} --output {tmp_path}/run {options}")
    assert named in answer.stderr and answer.stderr.count("\n") <= 2
