"""A closing that is cut off at any file operation leaves the raw records or the closed bundle, and
`suite finish` completes it."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reference_impls import contract
from suite import api
from suite.bundle import layout
from suite.bundle.reader import Bundle
from suite.cli.app import app
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.execution import closing, run_records
from suite.execution.finish import CUT_OFF, finish
from suite.execution.run_directory import RunLock
from tests.builders import RICH
from tests.conftest import Run
from tests.dead_disk import DeadDisk, Killed
from tests.every_case import EVERY_CASE, some
from tests.unclosed import make_unclosed

SHORT = replace(RICH, data="digits", division="open", accuracies=(0.5, 0.6))
NODES = replace(SHORT, ranks=2, nodes=2)


@pytest.fixture(scope="module")
def disk() -> DeadDisk:
    return DeadDisk()


@pytest.fixture(
    scope="module",
    params=some([NODES, SHORT]),
    ids=lambda scenario: "two nodes" if scenario.nodes > 1 else "one rank",
)
def unclosed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_unclosed(tmp_path_factory.mktemp("unclosed") / "run", request.param)


def content(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def is_raw(path: Path, raw: dict[str, bytes]) -> bool:
    kept = content(path)
    return all(kept.get(name) == raw[name] for name in raw if name.endswith((".csv", ".txt")))


@pytest.mark.usefixtures("trains")
def test_a_closing_cut_off_at_any_change_of_a_file_loses_nothing_and_can_be_completed(
    unclosed: Path, disk: DeadDisk, tmp_path: Path
) -> None:
    raw = content(unclosed)
    whole = shutil.copytree(unclosed, tmp_path / "whole")
    with disk.after(10**6, whole):
        closing.close_bundle(whole)
    changes, expected = len(disk.changes), content(whole)
    assert (
        changes > 15
        and layout.LOCK not in expected
        and not any(name.endswith(".csv") for name in expected)
    )
    for number in range(0, changes, 1 if EVERY_CASE else 5):
        path = shutil.copytree(unclosed, tmp_path / "run")
        with pytest.raises(Killed), disk.after(number, path):
            closing.close_bundle(path)
        if Bundle(path).is_sealed:
            assert {
                name: file for name, file in content(path).items() if name in expected
            } == expected, disk.changes[-1]
        else:
            assert is_raw(path, raw), disk.changes[-1]
        assert set(Bundle(path).steps().epochs) == {1, 2}
        finish(path)
        completed = content(path)
        later = json.loads(completed[layout.RUN])["closed_later"]
        own = (layout.RUN, layout.MANIFEST)
        assert {name: completed[name] for name in completed if name not in own} == {
            name: expected[name] for name in expected if name not in own
        }
        assert later is None or later["by"] == "suite finish"
        assert finish(path).was_closed
        shutil.rmtree(path)
    assert check_bundle(whole).complies


def test_raw_records_are_removed_after_the_manifest_is_on_the_medium(
    unclosed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, order = shutil.copytree(unclosed, tmp_path / "run"), []
    sync, unlink, replaced = closing.sync_to_storage, Path.unlink, Path.replace
    monkeypatch.setattr(
        closing, "sync_to_storage", lambda file: (order.append(f"sync {file.name}"), sync(file))
    )
    monkeypatch.setattr(
        Path,
        "unlink",
        lambda self, **how: (order.append(f"remove {self.name}"), unlink(self, **how))[1],
    )
    monkeypatch.setattr(
        Path,
        "replace",
        lambda self, target: (order.append(f"publish {target.name}"), replaced(self, target))[1],
    )
    closing.close_bundle(path)
    sealed = order.index(f"publish {layout.MANIFEST}")
    assert order[sealed - 1] == order[sealed + 1] == f"sync {path.name}"
    assert f"sync {layout.STEPS}" in order[:sealed] and "sync log.txt" in order[:sealed]
    assert (
        next(place for place, step in enumerate(order) if step.startswith("remove ")) > sealed + 1
    )
    assert order[-1] == f"remove {layout.LOCK}"


def test_a_run_whose_process_was_killed_after_the_training_is_closed_as_finished_and_complies(
    tmp_path: Path,
) -> None:
    path = make_unclosed(tmp_path / "run", SHORT, "running")
    closed = finish(path)
    assert (closed.status, closed.epochs, closed.was_closed) == ("finished", 2, False)
    record = Bundle(path).run()
    assert (
        record.exit_code is None
        and record.closed_later is not None
        and record.closed_later["by"] == "suite finish"
    )
    assert {meter["name"]: meter["readings"] for meter in record.meters}["um25c"] == len(
        Bundle(path).channels().of_source("um25c")[0]
    )
    verdict = check_bundle(path)
    assert verdict.complies, verdict.findings


@pytest.mark.parametrize("key", ["frozen", "old_task_accuracy"])
def test_an_adaptation_that_was_cut_off_after_its_training_is_closed_as_interrupted(
    key: str, tmp_path: Path
) -> None:
    """What it logs before the training, it logs after it, too."""
    path = make_unclosed(tmp_path / "run", SHORT, "running")
    log = path / contract.log_name(0)
    before = next(line for line in log.read_text().splitlines(keepends=True) if "init_stop" in line)
    log.write_text(before.replace("init_stop", key) + log.read_text())
    assert finish(path).status == "interrupted"


def test_a_run_that_one_rank_did_not_end_is_closed_as_interrupted_with_its_epochs(
    tmp_path: Path,
) -> None:
    path = make_unclosed(tmp_path / "run", NODES, "running")
    log = path / contract.log_name(1)
    log.write_text(
        "".join(
            line for line in log.read_text().splitlines(keepends=True) if "run_stop" not in line
        )
    )
    closed = finish(path)
    assert (closed.status, closed.epochs, closed.reason) == ("interrupted", 2, CUT_OFF)
    (finding,) = check_bundle(path).findings
    assert (
        finding.check == "run-complete"
        and "'interrupted'" in finding.observed
        and "2 finished epochs" in finding.observed
    )
    assert "run again" in finding.fix


def test_a_run_killed_before_its_first_step_is_closed_without_figures(tmp_path: Path) -> None:
    path = make_unclosed(tmp_path / "run", SHORT, "running")
    for name in ("steps.csv", "log.txt", "readings.csv", "baseload.csv"):
        (path / name).unlink()
    assert finish(path).status == "interrupted"
    assert not (path / layout.SUMMARY).exists() and not check_bundle(path).complies


@pytest.mark.parametrize("written", ["", "t_ns,sou"])
def test_a_run_whose_readings_never_reached_the_disk_is_closed_without_them(
    written: str, tmp_path: Path
) -> None:
    path = make_unclosed(tmp_path / "run", SHORT, "running")
    (path / layout.READINGS_RAW).write_text(written)
    assert (finish(path).status, len(Bundle(path).readings_frame())) == ("finished", 0)


def test_a_run_killed_before_another_rank_s_first_steps_are_written_is_closed(
    tmp_path: Path,
) -> None:
    """The file of that rank's steps is made at the start."""
    path = make_unclosed(tmp_path / "run", NODES, "running")
    (path / contract.steps_name(1)).write_text("")
    finish(path)
    assert Bundle(path).steps().ranks == (0,)


def test_an_unfinished_run_s_finding_says_what_to_type(unclosed: Path, tmp_path: Path) -> None:
    path = shutil.copytree(unclosed, tmp_path / "run")
    (finding,) = check_bundle(path).findings
    assert f"suite finish {path}" in finding.fix


def test_a_run_that_still_runs_is_refused_by_name_of_its_process(
    suite: Run, unclosed: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(unclosed, tmp_path / "run")
    before = content(path)
    with RunLock(path):
        answer = suite.refused(f"finish {path}")
        assert f"still runs (process {os.getpid()} on " in answer.stderr
        judged = str(CliRunner().invoke(app, ["check", str(path)]).exception)
        assert judged.startswith(f"Could not judge: {path} still runs; wait for its end: ")
        suite.refused(
            f"run --division open --workload lenet --framework fake --output {path} --force"
        )
    assert {**content(path), layout.LOCK: b""} == {**before, layout.LOCK: b""}


def test_the_lock_of_a_process_that_was_killed_is_free_and_its_child_s_is_not(
    tmp_path: Path,
) -> None:
    """A killed harness may leave an implementation behind for a moment."""
    script = (
        "import os, subprocess, sys; from pathlib import Path\n"
        "from suite.execution.run_directory import RunLock\n"
        "with RunLock(Path(sys.argv[1])) as lock:\n"
        "    child = subprocess.Popen(['sleep', '600'], pass_fds=(lock.handle,),"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    print(child.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True
    )
    child = int(ran.stdout)
    with pytest.raises(SuiteError, match="still runs"), RunLock(tmp_path):
        pass
    os.kill(child, 9)
    with (tmp_path / layout.LOCK).open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # returns when the child is gone
    with RunLock(tmp_path):
        pass


def test_several_runs_are_finished_and_each_problem_is_named(
    suite: Run, unclosed: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(unclosed, tmp_path / "run")
    answer = suite.refused(f"finish {path} {tmp_path}/nowhere --json")
    assert "nowhere does not exist" in answer.stderr
    (closed,) = json.loads(answer.stdout)["runs"]
    assert (closed["path"], closed["status"], closed["epochs"]) == (str(path), "finished", 2)
    (again,) = api.finish(path)
    assert again.was_closed


def test_a_closed_bundle_has_its_tables_logs_and_records_alone(tmp_path: Path) -> None:
    raw = "steps.csv steps.rank1.csv steps.rank10.csv readings.csv readings.node1.csv"
    raw += " baseload.csv baseload.node12.csv hosts.txt output.raw.txt private.json request.json"
    cut_off = ".run.json.ab .private.json.ab .request.json.ab .data.json.ab .system.json"
    cut_off += " .counters.json.x .summary.json .power.json .nodes.json"
    cut_off += " .output.txt .output.raw.txt .witness.json .MANIFEST.sha256 .steps.parquet"
    kept = "log.txt log.rank1.txt steps.parquet readings.node1.parquet run.json output.txt"
    kept += " notes.csv steps.rankx.csv readings.nodex.csv .notes power.json nodes.json"
    for name in (*raw.split(), *cut_off.split(), *kept.split(), layout.LOCK):
        (tmp_path / name).touch()
    (tmp_path / "steps.rank2.csv").mkdir()
    *found, last = (file.name for file in closing.leftovers(tmp_path))
    assert sorted(found) == sorted([*raw.split(), *cut_off.split()])
    assert last == layout.LOCK, "until the last one is gone, closing again completes it"


def test_power_rules_are_kept_of_what_was_read_on_any_node(tmp_path: Path) -> None:
    """Also of a meter whose record was lost with its node's recorder."""
    path = make_unclosed(tmp_path / "run", NODES)
    for table in (layout.node_tables(1)[1], layout.node_baseloads(1)[1]):
        rows = (path / table).read_text()
        (path / table).write_text(rows.replace("um25c", "shelly"))
    record = json.loads((path / "nodes.json").read_text())
    record["nodes"][1].update(problem="its recorder did not stop", meters=[])
    (path / "nodes.json").write_text(json.dumps(record))
    closing.close_bundle(path)
    rules = json.loads((path / layout.POWER).read_text())["rules"]
    assert {source for rule in rules for source in rule["sources"]} == {"um25c", "shelly"}
    assert "power-rules-known" not in {each.check for each in check_bundle(path).findings}


def test_of_a_long_output_both_ends_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_records, "KEPT_OF_EACH_END", 1000)
    path = make_unclosed(tmp_path / "run", SHORT)
    lines = [f"{number:09d}\n" for number in range(500)]
    (path / layout.OUTPUT).write_text("".join(lines))
    closing.close_bundle(path)
    left_out = "[3000 characters of the output were left out here]\n"
    assert (path / layout.OUTPUT).read_text() == "".join(
        [*lines[:100], "\n", left_out, *lines[-100:]]
    )


def test_no_line_of_the_output_is_cut_before_its_names_are_taken_out(tmp_path: Path) -> None:
    path = make_unclosed(tmp_path / "run", SHORT)
    (path / layout.OUTPUT).write_text("x" * (2**16 - 10) + " jane@example.org\n")
    closing.close_bundle(path)
    assert (path / layout.OUTPUT).read_text().endswith("x <e-mail>\n")
