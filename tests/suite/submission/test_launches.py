"""Declared launches, withdrawals, and folders without a declaration."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.reader import Bundle
from suite.bundle.study_mark import StudyMark
from suite.compliance.paths import check_paths
from suite.compliance.submissions import check_submission
from suite.errors import SuiteError
from suite.submission.declaration import NAME, read_declaration
from suite.submission.launches import declare_entries
from suite.submission.package import PackageRequest, package_runs
from tests.faults.edits.submission_edits import forget_run
from tests.suite.submission.conftest import make_runs


def findings(submission: Path) -> set[str]:
    return {finding.check for finding in check_submission(submission).findings}


def failed_run(folder: Path, source: Path, status: str, seed: int = 9, **request: object) -> Path:
    """What a run that did not finish leaves: its record."""
    run = folder / f"{status}-{seed}"
    run.mkdir(parents=True)
    record = json.loads((source / "run.json").read_text())
    record["request"] |= {"seed": seed, **request}
    (run / "run.json").write_text(
        json.dumps(
            {**record, "run_id": f"{record['run_id']}-{status}", "status": status, "exit_code": 1}
        )
    )
    return run


def test_launches_of_the_entry_are_declared_whether_they_finished_or_not(
    offer: PackageRequest, tmp_path: Path
) -> None:
    runs = make_runs(tmp_path / "runs")
    for status in ("failed", "interrupted", "running"):
        failed_run(tmp_path / "runs", runs[0], status)
    # of another entry
    failed_run(tmp_path / "runs", runs[0], "failed", seed=10, global_batch_size=64)
    submission = package_runs(
        runs, replace(offer, launches=(tmp_path / "runs",)), tmp_path / "tree"
    )
    (entry,) = read_declaration(submission).entries
    assert sorted(launch.status for launch in entry.launches) == [
        "failed",
        "finished",
        "finished",
        "finished",
        "interrupted",
        "running",
    ]
    assert (entry.planned_runs, entry.workload, entry.framework) == (3, "lenet", "pytorch")
    assert check_submission(submission).complies


def test_each_entry_has_its_own_launches_in_the_order_of_their_ids() -> None:
    records = [
        SimpleNamespace(
            run_id=name,
            status=status,
            request={
                "workload": "lenet",
                "framework": by,
                "seed": seed,
                "old_task": {"name": "cifar10"} if seed else None,
            },
        )
        for seed, (name, by, status) in enumerate(
            (("c", "b", "finished"), ("b", "a", "failed"), ("a", "b", "finished"))
        )
    ]
    runs: list[Any] = [SimpleNamespace(run=lambda record=record: record) for record in records]
    assert [
        (entry.framework, entry.planned_runs, [launch.run_id for launch in entry.launches])
        for entry in declare_entries(runs, (), None)
    ] == [("a", 0, ["b"]), ("b", 2, ["a", "c"])]


def test_runs_of_a_study_are_no_launches_of_the_entry(tmp_path: Path) -> None:
    """`suite sweep` writes them below the folder of the runs."""
    folder = tmp_path / "runs"
    (run,) = make_runs(folder, 1)
    launched_again = failed_run(folder, run, "finished") / "run.json"
    record = json.loads(launched_again.read_text())
    for study, count in ((None, 2), (StudyMark("Threads", (("threads", "2"),), 5).to_dict(), 1)):
        launched_again.write_text(json.dumps({**record, "study": study}))
        (entry,) = declare_entries([Bundle(run)], (folder,), None)
        assert (entry.planned_runs, len(entry.launches)) == (count, count)


@pytest.mark.parametrize(
    ("record", "system", "is_declared"),
    [
        ({}, None, True),
        ({}, {}, True),
        ({}, {"libraries": {}}, True),
        ({}, {"power_mode": "15W: nvpmodel 2"}, False),
        ({"suite_version": "0.0.1"}, None, False),
        ({"round": "v0.2"}, None, False),
    ],
)
def test_launches_on_another_system_or_by_another_version_are_of_another_entry(
    record: dict[str, Any], system: dict[str, Any] | None, is_declared: bool, tmp_path: Path
) -> None:
    """A launch that ended before it described its system may be of this one."""
    folder = tmp_path / "runs"
    (run,) = make_runs(folder, 1)
    launch = failed_run(folder, run, "failed")
    for name, changes in (("run.json", record), ("system.json", system)):
        path = launch / name if (launch / name).exists() else run / name
        if changes is not None:
            (launch / name).write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    (entry,) = declare_entries([Bundle(run)], (folder,), None)
    assert len(entry.launches) == 1 + is_declared


def test_a_folder_for_launches_that_does_not_exist_is_an_error(
    offer: PackageRequest, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError, match="--launches"):
        package_runs(
            make_runs(tmp_path / "runs", 1),
            replace(offer, launches=(tmp_path / "none",)),
            tmp_path / "tree",
        )


def launched(run_id: object = "a", status: str = "failed", count: int = 1, planned: int = 1) -> Any:
    """Entries with these numbers of launches."""
    launches = [{"run_id": run_id, "status": status}] * count
    entry = {"workload": "lenet", "framework": "pytorch", "planned_runs": planned}
    return {"entries": [{**entry, "launches": launches}]}


@pytest.mark.parametrize(
    "changes",
    [
        *({"entries": entries} for entries in (None, {}, [1], [{}])),
        launched(planned=0),
        launched(status="won"),
        launched(status="failed\n"),
        launched(run_id=1),
        launched(count=10_001),
        {"remark": "a key that it does not have"},
        {"schema": 1},
    ],
)
def test_another_form_is_no_declaration(changes: dict[str, Any], submission: Path) -> None:
    values = json.loads((submission / NAME).read_text())
    (submission / NAME).write_text(json.dumps({**values, **changes}))
    with pytest.raises(SuiteError, match="is not a declaration"):
        read_declaration(submission)


def test_a_declaration_may_have_ten_thousand_launches(submission: Path) -> None:
    values = json.loads((submission / NAME).read_text())
    (submission / NAME).write_text(json.dumps({**values, **launched(count=10_000)}))
    assert len(read_declaration(submission).entries[0].launches) == 10_000


def test_a_digest_with_a_line_break_is_no_declaration(submission: Path) -> None:
    values = json.loads((submission / NAME).read_text())
    values["implementations"][0]["sha256"] += "\n"
    (submission / NAME).write_text(json.dumps(values))
    assert "is not a declaration" in check_submission(submission).broken[0]


def test_a_declaration_of_schema_1_has_no_launches(submission: Path) -> None:
    values = json.loads((submission / NAME).read_text())
    del values["entries"], values["implementations"]
    (submission / NAME).write_text(json.dumps({**values, "schema": 1}))
    assert read_declaration(submission).entries == ()
    assert findings(submission) == {"submission-launches", "submission-implementation"}


def test_a_withdrawn_run_is_no_part_of_its_entry(submission: Path) -> None:
    (submission / "lenet/pytorch/run_2/WITHDRAWN").write_text("The fan failed.\r\n")
    assert findings(submission) == {"submission-runs"}
    (submission / "lenet/pytorch/run_2/WITHDRAWN").write_text(" \n")
    assert "bundle-files" in {
        finding.check
        for bundle in check_submission(submission).bundles
        for finding in bundle.findings
    }


@pytest.mark.parametrize("place", ["lenet/pytorch/WITHDRAWN", "lenet/WITHDRAWN", "WITHDRAWN"])
def test_the_runs_of_a_withdrawn_folder_are_no_entry(place: str, submission: Path) -> None:
    forget_run(3)(submission)
    assert findings(submission) == {"submission-runs"}
    (submission / place).write_text("The fan failed.\n")
    assert findings(submission) == set()


def test_a_submission_without_a_declaration_is_said(submission: Path) -> None:
    (submission / NAME).unlink()
    for given in (submission, submission.parents[1]):
        result = check_paths([given])
        assert len(result.bundles) == 3 and not result.complies
        assert len(result.broken) == 1 and "no declaration.json" in result.broken[0]


def test_a_bundle_that_is_given_by_itself_needs_no_declaration(
    submission: Path, tmp_path: Path
) -> None:
    (submission / NAME).unlink()
    assert check_paths([submission / "lenet/pytorch/run_1"]).broken == ()
    shutil.copytree(submission / "lenet/pytorch", tmp_path / "elsewhere/runs")
    assert check_paths([tmp_path / "elsewhere"]).broken == ()
