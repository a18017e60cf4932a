"""The checker reads a bundle as hostile input: it reports what is wrong, without a traceback."""

import json
import os
from pathlib import Path

import pytest

from reference_impls import contract
from suite.bundle.layout import MANIFEST, RUN, states_folder
from suite.bundle.manifest import seal
from suite.compliance.checker import check_bundle, find_bundles
from suite.compliance.registry import find_rule
from suite.compliance.rule import BundleContext
from suite.errors import SuiteError
from suite.files.json_file import write_json
from tests.builders import Scenario, make_bundle, make_record, make_request
from tests.checks_alone import found, varied
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import in_turn, save_after
from tests.faults.edits.file_edits import set_system
from tests.faults.edits.load_edits import crowd
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.reading_edits import scale_readings

FILES = (
    "run.json",
    "system.json",
    "summary.json",
    "log.txt",
    "steps.parquet",
    "readings.parquet",
    "MANIFEST.sha256",
)
JUNK = (
    b"",
    b"\x00" * 100,
    b"{",
    b"[]",
    b'{"schema": NaN}',
    b"[" * 100_000,
    b"PAR1" * 10,
    b"\xff\xfe\x00",
    b'{"figures": {"x": 1e999}}',
)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", JUNK, ids=range(len(JUNK)))
def test_junk_in_any_file_is_a_finding_or_one_sentence(
    name: str, content: bytes, good_bundle: Path
) -> None:
    (good_bundle / name).write_bytes(content)
    try:
        verdict = check_bundle(good_bundle)
    except SuiteError as error:
        assert name in str(error)
    else:
        assert not verdict.complies


@pytest.mark.parametrize(
    "name", ("system.json", "summary.json", "log.txt", "steps.parquet", "output.txt")
)
def test_a_missing_file_is_named(name: str, good_bundle: Path) -> None:
    (good_bundle / name).unlink()
    assert any(
        name in (finding.file, finding.expected.split()[-1])
        for finding in check_bundle(good_bundle).findings
    )


def test_links_are_not_followed(good_bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("secret")
    (good_bundle / "output.txt").unlink()
    (good_bundle / "output.txt").symlink_to(target)
    assert any(
        finding.check == "manifest" and finding.observed == "a link"
        for finding in check_bundle(good_bundle).findings
    )


@pytest.mark.parametrize(
    "change",
    (
        {"global_batch_size": 1e300},
        {"division": "closed\n"},
        {"workload": "../../etc"},
        {"data": []},
        {"preprocessing": {"mean": 1, "std": 2}},
        {"unknown": 1},
    ),
    ids=str,
)
def test_a_request_of_the_wrong_type_is_refused(
    change: dict[str, object], good_bundle: Path
) -> None:
    run = json.loads((good_bundle / "run.json").read_text())
    run["request"].update(change)
    (good_bundle / "run.json").write_text(json.dumps(run))
    assert [finding.check for finding in check_bundle(good_bundle).findings] == ["request-readable"]


def test_an_unfinished_run_is_one_finding_that_counts_its_epochs(tmp_path: Path) -> None:
    scenario = Scenario()
    request = make_request(tmp_path, scenario)
    write_json(tmp_path / "run.json", make_record(request, scenario, "running"))
    log = contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt")))
    for epoch in (1, 2):
        log.start("epoch_start", epoch_num=epoch)
        log.stop("epoch_stop", epoch_num=epoch)
    log.close()
    with (tmp_path / "log.txt").open("a") as stream:
        stream.write(':::MLLOG {"namespace": "edge", "time_')
    (finding,) = check_bundle(tmp_path).findings
    assert finding.check == "run-complete"
    assert "'running'" in finding.observed and "2 finished epochs" in finding.observed


def test_every_rule_that_a_finding_may_name_can_be_explained(good_bundle: Path) -> None:
    (good_bundle / "summary.json").unlink()
    named = {finding.check for finding in check_bundle(good_bundle).findings}
    assert "bundle-readable" in named
    for rule_id in (*named, "run-complete"):
        assert find_rule(rule_id).sentence


def test_a_path_without_a_bundle_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="does not exist"):
        find_bundles(tmp_path / "nowhere")
    with pytest.raises(SuiteError, match=r"no run\.json"):
        find_bundles(tmp_path)


def test_the_checker_writes_nothing(good_bundle: Path) -> None:
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in good_bundle.iterdir()
    }
    os.utime(good_bundle, ns=(0, 0))
    check_bundle(good_bundle)
    assert {
        path: (path.stat().st_mtime_ns, path.stat().st_size) for path in good_bundle.iterdir()
    } == before
    assert good_bundle.stat().st_mtime_ns == 0


def test_a_run_among_many_programs_is_slow_and_honest(good_bundle: Path) -> None:
    """As recorded on a machine of two cores with 14 to 20 runnable programs: the implementation had
    a fifth of a core."""
    save_after(crowd(0.2, own=0.13), recompute=True)(good_bundle)
    found = {finding.check for finding in check_bundle(good_bundle).findings}
    assert "foreign-load" in found
    assert "cpu-busy" not in found


@pytest.mark.parametrize(("framework", "is_possible"), (("lenet-in-c", True), ("pytorch", False)))
def test_a_program_without_an_interpreter_may_take_three_megabytes(
    framework: str, is_possible: bool, good_bundle: Path
) -> None:
    """As read of a LeNet-5 in C on a busy machine: its data were hardly in memory yet."""
    in_use = (
        EditableBundle(good_bundle).readings.query("channel == 'process_tree_rss'")["value"].max()
    )
    save_after(
        in_turn(
            scale_readings("memory", "process_tree_rss", 3.2e6 / in_use),
            set_everywhere("framework", framework),
        )
    )(good_bundle)
    assert (
        any(finding.check == "memory-fits" for finding in check_bundle(good_bundle).findings)
        is not is_possible
    )


OTHERS = {f"a{number:03}": "1" for number in range(200)}


@pytest.mark.parametrize(
    ("libraries", "count"),
    [(None, 0), ({}, 0), ({"a": "1"}, 1), (OTHERS, 0), ({**OTHERS, "torch": "1"}, 1)],
    ids=["not read", "no pip", "another", "the first of many", "another version among them"],
)
def test_a_framework_is_missed_where_every_package_is_listed(
    libraries: dict[str, str] | None, count: int, context: BundleContext
) -> None:
    system = {**context.system, "libraries": libraries, "framework_version": "2"}
    assert len(found("framework-installed", varied(context, system=system))) == count


@pytest.mark.parametrize(("python", "is_possible"), [("3.6.9", True), ("3.5.2", False)])
def test_the_python_that_trains_may_be_older_than_the_harnesss(
    python: str, is_possible: bool, good_bundle: Path
) -> None:
    """The system's on a Jetson, for which NVIDIA builds PyTorch."""
    save_after(set_system("python", python))(good_bundle)
    found = {finding.check for finding in check_bundle(good_bundle).findings}
    assert ("system-possible" not in found) is is_possible


def test_ranks_of_one_machine_log_one_boot(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "run", Scenario(ranks=2))
    log = (bundle / contract.log_name(1)).read_text(encoding="utf-8")
    boot = json.loads(log.splitlines()[0][len(contract.TOKEN) :])["metadata"]["boot"]
    assert "nodes-placed" not in {each.check for each in check_bundle(bundle).findings}
    (bundle / contract.log_name(1)).write_text(log.replace(boot, boot[::-1]), encoding="utf-8")
    (found,) = [each for each in check_bundle(bundle).findings if each.check == "nodes-placed"]
    assert found.observed.endswith("ran on another machine")


def test_a_finished_run_with_an_empty_log_is_one_finding(good_bundle: Path) -> None:
    (good_bundle / "log.txt").write_text("")
    (good_bundle / MANIFEST).unlink()
    seal(good_bundle)
    (finding,) = check_bundle(good_bundle).findings
    assert (finding.rule, finding.observed) == (
        "bundle-readable",
        "has no events, although the run finished",
    )


@pytest.mark.parametrize("is_sealed", [True, False])
def test_an_interrupted_run_that_kept_states_can_be_resumed(
    is_sealed: bool, good_bundle: Path
) -> None:
    record = json.loads((good_bundle / RUN).read_text()) | {"status": "interrupted"}
    states_folder(good_bundle).mkdir()
    (states_folder(good_bundle) / "epoch_1.npz").touch()
    if not is_sealed:
        (good_bundle / MANIFEST).unlink()
    for division in ("open", "closed"):
        record["request"]["division"] = division
        (good_bundle / RUN).write_text(json.dumps(record))
        (finding,) = check_bundle(good_bundle).findings
        assert (f"`--resume {good_bundle}`" in finding.fix) == (division == "open")
        assert ("suite finish" in finding.fix) is not is_sealed
