"""`suite reference-points`: what a reference point says, and how sure it is; also called `suite
reference`."""

import json

import pytest

from tests.conftest import Run


def test_expected_epochs_have_an_interval(suite: Run) -> None:
    answer = suite.done("reference-points show lenet")
    assert (
        "  expected: 4.92 epochs, 95% interval 4.15 to 5.77 (bootstrap over 13 runs)\n"
        in answer.stdout
    )
    first = json.loads(suite.typed("reference-points show lenet --json").stdout)["rows"][0]
    low, high = first["expected_interval"]
    assert low < first["expected_epochs"] < high


@pytest.mark.proof
def test_the_shorter_name_works(suite: Run) -> None:
    assert (
        suite.typed("reference show lenet").stdout
        == suite.typed("reference-points show lenet").stdout
    )
    answer = suite.typed("reference make nowhere")
    assert (answer.returncode, answer.stderr) == (
        2,
        "error: nowhere does not exist; give the path of a run directory.\n",
    )
