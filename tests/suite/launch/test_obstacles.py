"""What is said before anything is downloaded, where pip would fail or install what does not run."""

import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.launch.environments import (
    adoptable_environment,
    plan_environment,
    vendor_environment,
)
from suite.launch.obstacles import refuse_crash, refuse_obstacles, refuse_python

PYTORCH, PYTHON = load_framework("pytorch"), Path(sys.executable)
USAGE = namedtuple("USAGE", "total used free")


def test_a_32_bit_userland_is_told_to_use_the_64_bit_image(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_bytes(b"\x7fELF\x01\x01\x01")
    with pytest.raises(SuiteError, match=r"32-bit Python .*; install the 64-bit image"):
        refuse_obstacles(PYTORCH, python, None)


def jetson(root: Path, release: int) -> None:
    (root / "etc").mkdir()
    (root / "etc/nv_tegra_release").write_text(f"# R{release} (release), REVISION: 4.0\n")


@pytest.mark.parametrize(("release", "is_refused"), [(32, True), (36, True), (38, False)])
def test_a_jetson_uses_nvidias_build_where_pips_cannot_use_its_gpu(
    release: int, is_refused: bool, tmp_path: Path
) -> None:
    jetson(tmp_path, release)
    refuse_obstacles(load_framework("chainer"), PYTHON, None, tmp_path)
    if not is_refused:
        refuse_obstacles(PYTORCH, PYTHON, None, tmp_path)
        return
    with pytest.raises(SuiteError, match=r"/usr/bin/python3 has no build that can.*--interpreter"):
        refuse_obstacles(PYTORCH, PYTHON, None, tmp_path)


def test_a_variant_has_the_obstacles_and_the_vendors_build_of_the_framework_that_it_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jetson(tmp_path, 36)
    variant = load_framework("pytorch_bf16")
    monkeypatch.setattr("suite.launch.obstacles.jetson_release", lambda root: 36)
    with pytest.raises(SuiteError, match=r"GPU of this Jetson.*`suite env create pytorch "):
        plan_environment(variant)
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").symlink_to(PYTHON)
    shared = replace(PYTORCH, import_name="json", gpu_build="True")
    monkeypatch.setattr("suite.launch.recipe.load_framework", lambda name: shared)
    assert vendor_environment(replace(variant, import_name="json"), tmp_path) is not None
    assert vendor_environment(replace(variant, import_name="none_such"), tmp_path) is None


@pytest.mark.parametrize("condition", ["True", "False"])
def test_a_jetsons_own_interpreter_is_used_where_its_build_is_one_for_gpus(
    condition: str, tmp_path: Path
) -> None:
    framework = replace(PYTORCH, import_name="json", gpu_build=condition)
    assert vendor_environment(framework, tmp_path) is None  # not a Jetson
    jetson(tmp_path, 36)
    assert vendor_environment(framework, tmp_path) is None  # no interpreter there
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3").symlink_to(PYTHON)
    found = vendor_environment(framework, tmp_path)
    assert (found is not None) is (condition == "True")
    assert vendor_environment(replace(framework, version="2.9.1"), tmp_path) is None


@pytest.mark.parametrize(
    ("features", "version", "is_refused"),
    [
        ("fp asimd evtstrm crc32 cpuid", "2.10.0", True),  # Cortex-A72
        ("fp asimd evtstrm crc32 cpuid", "2.4.0+cpu", True),
        ("fp asimd evtstrm crc32 cpuid", "2.9.1", False),
        ("fp asimd evtstrm aes crc32 atomics fphp cpuid", "2.10.0", False),  # Cortex-A76
        (None, "2.10.0", False),  # x86-64 has flags
    ],
)
def test_a_version_that_crashes_on_old_arm_cores_is_refused_with_one_that_works(
    features: str | None, version: str, is_refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "proc").mkdir()
    line = "flags\t: fpu" if features is None else f"Features\t: {features}"
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\n{line}\n")
    if not is_refused:
        refuse_crash(PYTORCH, {"torch": version}, tmp_path)
        return
    with pytest.raises(SuiteError, match=r"crashes on .*`suite env create pytorch==2\.9\.1`"):
        refuse_crash(PYTORCH, {"torch": version}, tmp_path)


@pytest.mark.parametrize(
    ("highest", "version", "is_refused"),
    [
        ("3.11", (3, 11), False),
        ("3.11", (3, 12), True),
        ("3.9", (3, 10), True),  # numbers, not texts
        ("3.9", (3, 8), False),
        (None, (4, 0), False),
    ],
)
def test_a_python_without_packages_is_refused(
    highest: str | None, version: tuple[int, int], is_refused: bool
) -> None:
    framework = replace(PYTORCH, highest_python=highest)
    if is_refused:
        with pytest.raises(SuiteError, match=f"use Python {highest} or an earlier one"):
            refuse_python(framework, version, PYTHON)
    else:
        refuse_python(framework, version, PYTHON)


def test_an_interpreter_that_the_processor_cannot_run_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nkill -ILL $$\n")
    python.chmod(0o755)
    with pytest.raises(SuiteError, match="illegal instruction while importing torch"):
        adoptable_environment(PYTORCH, python)


def test_a_small_folder_for_temporary_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: USAGE(10**9, 8 * 10**8, 2 * 10**8))
    refuse_obstacles(PYTORCH, PYTHON, 2 * 10**8, tmp_path)
    with pytest.raises(SuiteError, match="set TMPDIR to a folder on a disk"):
        refuse_obstacles(PYTORCH, PYTHON, 2 * 10**8 + 1, tmp_path)
