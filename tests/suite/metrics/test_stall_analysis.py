"""Stall analysis: three runs through the command line, their differences, and the record that seals
them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import RECORD, BatchSource
from suite.compliance.checker import check_bundle
from suite.files.digest import sha256
from suite.files.json_file import read_json
from suite.files.paths import repository_root
from suite.machine.storage import disk_of, mount_of
from suite.metrics import stall_analysis
from suite.metrics.figure import Figure
from suite.metrics.stall_analysis import FIGURES, SourceRun, _notes, _run, stall_differences
from tests.builders import make_bundle
from tests.conftest import Run
from tests.disks import own_disk

STALLS = "run --division open --workload lenet --framework fake --data digits --stall-analysis"
# an epoch of the digits then takes seconds: a busy machine delays its own reads by tenths
READ_BYTES_PER_S = 250_000


def run_of(
    stall_s: float, epoch_s: float, spread: float = 0.01, resident: float | None = 1.0
) -> SourceRun:
    """A run of four epochs."""
    stall, epoch = (
        Figure(value, "s", "steps.parquet", 4, spread=spread) for value in (stall_s, epoch_s)
    )
    rest = Figure(1.0, "s", "steps.parquet", 4, spread=spread)
    return SourceRun("run", "0" * 64, epoch, stall, rest, rest, rest, resident)


def test_reading_is_cold_less_warm_and_preprocessing_warm_less_synthetic() -> None:
    figures = stall_differences(
        {
            BatchSource.COLD: run_of(5.0, 10.5),
            BatchSource.WARM: run_of(2.0, 7.0),
            BatchSource.SYNTHETIC: run_of(0.5, 5.0),
        }
    )
    values = {name: figure.value for name, figure in figures.items()}
    expected = {
        "read_stall_s": 3.0,
        "preprocessing_stall_s": 1.5,
        "read_epoch_s": 3.5,
        "preprocessing_epoch_s": 2.0,
    }
    assert values == pytest.approx(
        {**expected, "read_stall_share": 3 / 10.5, "preprocessing_stall_share": 1.5 / 10.5}
    )
    assert figures["read_stall_s"].spread == pytest.approx(0.01 * 2**0.5)


def test_a_difference_within_twice_its_standard_error_is_not_significant() -> None:
    figures = stall_differences(
        {
            BatchSource.COLD: run_of(2.05, 7.0, 0.1),
            BatchSource.WARM: run_of(2.0, 7.0, 0.1),
            BatchSource.SYNTHETIC: run_of(0.5, 5.0, 0.1),
        }
    )
    assert figures["read_stall_s"].is_significant is False
    assert figures["preprocessing_stall_s"].is_significant is True


def test_a_run_without_a_mean_leaves_the_difference_unknown() -> None:
    short = replace(
        run_of(1.0, 1.0),
        fetch_stall_s=Figure(None, "s", "steps.parquet", 0, reason="too few epochs"),
    )
    figures = stall_differences(
        {
            BatchSource.COLD: run_of(5.0, 10.0),
            BatchSource.WARM: short,
            BatchSource.SYNTHETIC: run_of(0.5, 5.0),
        }
    )
    assert (figures["read_stall_s"].value, figures["read_stall_s"].reason) == (
        None,
        "too few epochs",
    )
    assert figures["read_epoch_s"].value is not None


@pytest.mark.parametrize(
    ("cold", "warm", "words"),
    [
        (0.0, 1.0, []),
        (0.0, 0.4, ["40% of the data set in memory"]),
        (0.3, 1.0, ["30% of the data set still"]),
        (None, 1.0, ["is unknown"]),
    ],
)
def test_a_warm_run_that_was_not_warm_and_a_cold_one_that_was_not_cold_are_noted(
    cold: float | None, warm: float | None, words: list[str]
) -> None:
    notes = _notes(
        {
            BatchSource.COLD: run_of(5.0, 10.0, resident=cold),
            BatchSource.WARM: run_of(2.0, 7.0, resident=warm),
        }
    )
    assert len(notes) == len(words)
    assert all(word in note for word, note in zip(words, notes, strict=True))


def test_the_share_in_memory_is_that_of_the_epochs_of_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = Bundle(make_bundle(tmp_path / "run"))
    epochs = [
        {"epoch": number, "resident_start_ratio": share}
        for number, share in ((1, 0.0), (2, 0.5), (3, None), (4, 0.7))
    ]
    figures = dict.fromkeys(FIGURES, vars(Figure(1.0, "s", "steps.parquet", 4)))
    monkeypatch.setattr(
        stall_analysis, "read_summary", lambda _: {"epochs": epochs, "figures": figures}
    )
    assert _run(bundle).resident_start_ratio == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [("--steps", 5, "leave --steps out"), ("--epochs", 1, "at least --epochs 2")],
)
def test_options_without_a_mean_are_refused_before_any_run(
    suite: Run, digits: Path, tmp_path: Path, flag: str, value: int, message: str
) -> None:
    refused = suite.refused(f"{STALLS} {flag} {value} --output {tmp_path}/out")
    assert message in refused.stderr
    assert not (tmp_path / "out").exists()


def analyse(home: Path, output: Path, *wrapper: str) -> dict[str, Any]:
    """Run the analysis on the digits below ``home`` and read what it printed."""
    command = [
        *wrapper,
        str(Path(sys.executable).with_name("suite")),
        *f"{STALLS} --epochs 3 --output {output} --json".split(),
    ]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,
        cwd=repository_root(),
        env={**os.environ, "SUITE_HOME": str(home)},
    )
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


@dataclass(frozen=True)
class Analysed:
    """An analysis: its folder, and what it printed."""

    path: Path
    found: dict[str, Any]


@pytest.fixture(scope="module")
def analysed(suite_home: Path, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    """The digits, on this machine's own disk."""
    path = tmp_path_factory.mktemp("stalls") / "out"
    return Analysed(path, analyse(suite_home, path))


def test_three_sealed_runs_and_a_record_that_seals_them(analysed: Analysed) -> None:
    assert read_json(analysed.path / RECORD) == {
        name: value for name, value in analysed.found.items() if name not in ("format", "path")
    }
    assert (
        subprocess.run(
            ["sha256sum", "-c", "--quiet", "MANIFEST.sha256"], cwd=analysed.path
        ).returncode
        == 0
    )
    for source in BatchSource:
        bundle = Bundle(analysed.path / source.value)
        assert analysed.found["runs"][source.value]["manifest_sha256"] == sha256(
            bundle.path / "MANIFEST.sha256"
        )
        assert bundle.log().value("cache_clear") is (source is BatchSource.COLD)
        assert len(bundle.log().finished_epochs()) == 3
    assert (
        analysed.found["runs"]["synthetic"]["fetch_stall_s"]["value"]
        < analysed.found["figures"]["preprocessing_stall_s"]["value"] / 10
    )


def test_its_runs_are_no_entries(analysed: Analysed) -> None:
    for source, broken in (
        (BatchSource.COLD, True),
        (BatchSource.WARM, False),
        (BatchSource.SYNTHETIC, True),
    ):
        assert (
            "data-read"
            in {finding.check for finding in check_bundle(analysed.path / source.value).findings}
        ) is broken
        assert (
            "data-read" in Bundle(analysed.path / source.value).run().findings_allowed
        ) is broken


@dataclass(frozen=True)
class SlowDisk:
    """A file system with the data on it, and the control group that reads it slowly."""

    home: Path
    group: Path


@pytest.fixture
def slow_disk(analysed: Analysed, digits: Path, tmp_path: Path) -> Iterator[SlowDisk]:
    """The digits on a separate disk with a limited read rate (bytes per second); skips where that
    is not possible."""
    with own_disk(tmp_path) as mount:
        shutil.copytree(digits, mount / "data" / "digits")
        group = _slow_group(mount)
        yield SlowDisk(mount, group)
        group.rmdir()


def _slow_group(folder: Path) -> Path:
    """A control group (version 1 or 2) whose processes read the folder's disk slowly."""
    found = mount_of(folder.resolve())
    disk = disk_of(found) if found else None
    if disk is None:
        pytest.skip(f"{folder} lies on no block device")
    number = (disk / "dev").read_text().strip()
    version_1, version_2 = (
        Path("/sys/fs/cgroup/blkio/suite-test"),
        Path("/sys/fs/cgroup/suite-test"),
    )
    is_version_1 = version_1.parent.is_dir()
    group = version_1 if is_version_1 else version_2
    limit = group / ("blkio.throttle.read_bps_device" if is_version_1 else "io.max")
    try:
        group.mkdir(exist_ok=True)
        limit.write_text(
            f"{number} {READ_BYTES_PER_S}" if is_version_1 else f"{number} rbps={READ_BYTES_PER_S}"
        )
    except OSError as error:
        pytest.skip(
            f"reading cannot be slowed down here: {limit}: {error.strerror} (it takes root and"
            " block throttling in the kernel)"
        )
    return group


@pytest.mark.proof
def test_on_a_slow_disk_reading_grows_and_the_rest_does_not(
    analysed: Analysed, slow_disk: SlowDisk, tmp_path: Path
) -> None:
    join = f'echo $$ > {slow_disk.group}/cgroup.procs && exec "$@"'
    slow, fast = analyse(slow_disk.home, tmp_path / "slow", "sh", "-c", join, "sh"), analysed.found
    read_s = (
        slow_disk.home / "data" / "digits" / "train-images-idx3-ubyte"
    ).stat().st_size / READ_BYTES_PER_S
    assert slow["figures"]["read_stall_s"]["value"] > 0.5 * read_s
    assert abs(fast["figures"]["read_stall_s"]["value"]) < 0.25 * read_s
    assert (
        slow["figures"]["preprocessing_stall_s"]["value"]
        < fast["figures"]["preprocessing_stall_s"]["value"] + 0.25 * read_s
    )
    for source in BatchSource:
        assert (
            slow["runs"][source.value]["compute_s"]["value"]
            < fast["runs"][source.value]["compute_s"]["value"] + 0.25 * read_s
        )
