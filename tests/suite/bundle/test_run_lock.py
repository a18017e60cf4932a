"""Whether a run still runs: nobody judges one that does, wherever it lies."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from suite import api
from suite.bundle.layout import LOCK
from suite.bundle.run_lock import is_held, refuse_running
from suite.compliance.paths import check_paths
from suite.compliance.review import review_states
from suite.compliance.submissions import check_submission
from suite.errors import SuiteError
from suite.execution.run_directory import RunLock
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.suite.submission.conftest import offer, submission  # noqa: F401 - fixtures


def judged_by_the_api(run: Path) -> str:
    result = api.check([run])
    assert not result.bundles and not result.complies
    return "".join(result.broken)


def reference_points(run: Path) -> str:
    with pytest.raises(SuiteError) as refused:
        api.make_reference_points([run])
    return str(refused.value)


def packaged(run: Path) -> str:
    request = PackageRequest("acme", None, SystemAvailability.AVAILABLE, "", ())
    with pytest.raises(SuiteError) as refused:
        package_runs([run], request, run.parent / "submissions")
    return str(refused.value)


@pytest.mark.parametrize("ask", [judged_by_the_api, reference_points, packaged])
def test_a_run_that_still_runs_is_judged_by_nobody(
    ask: Callable[[Path], str], good_bundle: Path
) -> None:
    with RunLock(good_bundle):
        said = ask(good_bundle)
    assert said == (f"{good_bundle} still runs; wait for its end: `suite watch {good_bundle}`.")


def test_nor_is_the_submission_that_it_lies_in(submission: Path) -> None:  # noqa: F811
    run = submission / "lenet/pytorch/run_2"
    with RunLock(run):
        verdict, (state,) = check_submission(submission), review_states(check_paths([submission]))
    assert (len(verdict.bundles), state.complies) == (2, None)
    assert verdict.broken == state.broken and f"{run} still runs" in verdict.broken[0]


def test_a_page_says_that_it_still_runs_and_not_where(good_bundle: Path) -> None:
    with RunLock(good_bundle):
        (row,) = api.load(good_bundle).broken.to_dict("records")
    assert row["reason"] == "it still runs"


def test_two_that_ask_do_not_take_each_other_for_the_run(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with (tmp_path / LOCK).open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not is_held(tmp_path)
    with RunLock(tmp_path), pytest.raises(SuiteError, match="still runs"):
        refuse_running(tmp_path)


def test_a_stranger_s_pipe_or_link_is_no_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK)
    assert not is_held(tmp_path)
    (tmp_path / "other").mkdir()
    with RunLock(tmp_path / "other"):
        (tmp_path / LOCK).unlink()
        (tmp_path / LOCK).symlink_to(tmp_path / "other" / LOCK)
        assert not is_held(tmp_path)
