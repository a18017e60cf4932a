"""Real runs ended at a few moments; `make prove interruptions` tries 200."""

from pathlib import Path

import pytest

from proofs.interruptions.__main__ import (
    CLOSING,
    GROUP,
    KILL,
    START,
    TERM,
    TRAINING,
    Moment,
    interrupt,
)
from tests.every_case import some

MOMENTS = (
    Moment(TRAINING, 0.3, KILL, False),
    Moment(START, 0.3, KILL, False),
    Moment(TRAINING, 0.1, GROUP, False),
    Moment(CLOSING, 0.0, KILL, False),
    Moment(CLOSING, 0.0, TERM, False),
    Moment(CLOSING, 0.05, GROUP, True),
)


@pytest.mark.parametrize(
    "moment",
    some(MOMENTS),
    ids=lambda moment: f"{moment.how} {moment.phase}{', twice' * moment.twice}",
)
def test_nothing_that_was_trained_is_lost(
    moment: Moment, digits: Path, suite_home: Path, tmp_path: Path
) -> None:
    outcome = interrupt(moment, tmp_path / "run", suite_home)
    if (moment.phase, moment.how, moment.twice) == (CLOSING, TERM, False):
        assert (outcome.before, outcome.after, outcome.epochs) == (
            "finished, sealed",
            "finished",
            2,
        )
