"""Bring-up: what is collected of every profile's machine, what is taken out of it, and what is left
of one that fails."""

import json
import subprocess
import threading
import time
import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from suite import api
from suite.bundle.readings_table import channels_of_frame
from suite.catalog.devices import Device, load_device, load_devices
from suite.cli.app import app
from suite.errors import FileError, SuiteError
from suite.extensions.bringup.measuring import bringup, collecting, first_run, staircase, trials
from suite.extensions.bringup.measuring.sanitising import Sanitiser
from suite.extensions.bringup.record import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    SCHEMA,
    BringUp,
    File,
    Program,
    load_bringup,
    plant,
)
from suite.files.json_file import write_json
from suite.machine.identify import identify
from suite.machine.power_settings import read_power_settings
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading
from tests.boards import SERIAL_NUMBER, planted

DEVICES = load_devices()
TEGRASTATS = (
    "RAM 2448/7620MB CPU [1%@729,0%@729] EMC_FREQ 0% GR3D_FREQ 0% VDD_IN 4832mW/4832mW"
    " VDD_CPU_GPU_CV 500mW/500mW"
)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits and steps as short as possible."""
    monkeypatch.setattr(staircase, "MIN_STEP_S", 0.0)
    monkeypatch.setattr(collecting, "STREAM_S", 0.5)


def collected(root: Path, output: Path) -> BringUp:
    """What a bring-up of the machine below ``root`` shows before it is kept."""
    shown: list[BringUp] = []
    with pytest.raises(SuiteError, match="Nothing was kept"):
        bringup.bring_up(
            bringup.BringUpOptions(output),
            lambda found: bool(shown.append(found)),
            lambda line: None,
            root,
        )
    assert not output.exists()
    return shown[0]


def script(root: Path, name: str, content: str) -> None:
    path = root / "usr/bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{content}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_the_file_of_every_profile_s_machine_is_read_as_the_machine_was(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    machine = planted(tmp_path / "machine", device)
    (machine / "etc/hostname").write_text("kitchen-board-7\n")
    (machine / "etc/nv_tegra_release").write_text("built on kitchen-board-7 by 10.20.30.40\n")
    found = collected(machine, tmp_path / "file.bringup.json")
    written = json.dumps(asdict(found))
    assert (
        SERIAL_NUMBER not in written
        and "kitchen-board" not in written
        and "10.20.30.40" not in written
    )
    assert found.board_digest is not None and found.device == device.name and found.failures == ()
    replayed = [
        trial for trial in found.meters if trial.available and trial.name in trials.FROM_FILES
    ]
    assert all(trial.is_replayed and trial.readings for trial in replayed)
    copy = plant(found, tmp_path / "copy")
    assert read_power_settings(copy).label == read_power_settings(machine).label
    if device.recorded is not None and not device.recorded.dmi:
        assert identify(copy).device == device


def test_programs_are_recorded_and_replayed(
    tmp_path: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    machine = planted(tmp_path / "machine", load_device("orin-nano"))
    script(machine, "tegrastats", f"while :; do echo '{TEGRASTATS}'; sleep 0.1; done")
    script(
        machine,
        "jetson_release",
        'echo "Serial Number: 1421021099999"; echo "MAC: 48:b0:2d:11:22:33"; exit 3',
    )
    found = collected(machine, tmp_path / "file.bringup.json")
    programs = {program.command: program for program in found.programs}
    assert (
        programs["tegrastats --interval 500"].exit_code is None
        and TEGRASTATS in programs["tegrastats --interval 500"].output
    )
    assert programs["jetson_release"] == Program(
        "jetson_release", "Serial Number: <serial number>\nMAC: <mac>\n", 3
    )
    (tegrastats,) = (trial for trial in found.meters if trial.name == "tegrastats")
    assert tegrastats.is_replayed and {one.channel for one in tegrastats.readings} >= {
        "VDD_IN",
        "VDD_CPU_GPU_CV",
    }


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Serial\t\t: 10000000a1b2c3d4", "Serial\t\t: <serial number>"),
        (
            "    Serial Number                    : 1421021012345",
            "    Serial Number                    : <serial number>",
        ),
        ("GPU UUID : GPU-1a2b3c4d-1111-2222-3333-444455556666", "GPU UUID : GPU-<uuid>"),
        ("eth0 48:b0:2d:aa:bb:cc and 48-B0-2D-AA-BB-CC", "eth0 <mac> and <mac>"),
        ("wlx00c0ca112233.sent", "wlx<mac>.sent"),
        ("http://192.168.1.20/rpc, 10.0.0.1", "http://<ip>/rpc, <ip>"),
        ("inet6 fe80::4ab0:2dff:feaa:bbcc/64, 2001:db8::1", "inet6 <ip>/64, <ip>"),
        ("/home/ada/joulejotter.csv cannot be read", "<path> cannot be read"),
        (
            "# R36 (release), REVISION: 4.4, GCID: 41062509, DATE: Mon Jun 16 16:07:13 UTC 2025",
            None,
        ),
        ("nvidia,p3768-0000+p3767-0005-super\0nvidia,tegra234", None),
        ("1-0040 0000:01:00.0 127.0.0.1 6.8.12-tegra 12:34:56", None),
        ("VDD_IN 4832mW/4832mW volt(23)=5.14732000V", None),
    ],
)
def test_what_identifies_is_replaced_and_nothing_else(
    text: str, clean: str | None, tmp_path: Path
) -> None:
    assert Sanitiser(tmp_path).clean(text) == (text if clean is None else clean)


def test_a_host_named_after_its_board_does_not_cost_the_board_s_name(tmp_path: Path) -> None:
    machine = planted(tmp_path, load_device("rk3588"))
    (machine / "etc/hostname").write_text("rock-5b\n")
    assert Sanitiser(machine).clean("radxa,rock-5b") == "radxa,rock-5b"


class Hanging:
    """A meter whose driver never answers."""

    name, period_s, description = "hanging", 1.0, ""

    def __init__(self, root: Path) -> None:
        self._never = threading.Event()

    def availability(self) -> MeterAvailability:
        self._never.wait()
        return AVAILABLE


def test_a_hanging_meter_and_a_hanging_program_end_at_their_time_limits(
    tmp_path: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "TRIAL_LIMIT_S", 0.2)
    monkeypatch.setattr(trials, "open_meters", lambda root: (Hanging(root),))
    monkeypatch.setattr(bringup, "open_meters", lambda root: ())
    monkeypatch.setattr(collecting, "PROGRAM_LIMIT_S", 0.3)
    script(tmp_path, "nvpmodel", "echo first line; sleep 600")
    options = bringup.BringUpOptions(
        tmp_path / "file.bringup.json", step_s=0.01, with_identity=False
    )
    written = bringup.bring_up(options, lambda found: True, lambda line: None, tmp_path)
    found = load_bringup(written.path)
    assert found.status == COMPLETE and found.programs == (
        Program("nvpmodel -q", "first line\n", None),
    )
    assert [(trial.available, trial.reason) for trial in found.meters] == [
        (False, "the trial failed: TimeoutError: did not return within 0.2 s")
    ]


class Placed:
    """A meter that notes for which folders of data it was opened."""

    name, period_s, description = "disk", 1.0, ""

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def availability(self) -> MeterAvailability:
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        self.folders.append(process.data_directory)

    def read(self) -> list[Reading]:
        return [Reading(time.monotonic_ns(), self.name, "read_bytes", 1.0, "B")]

    def close(self) -> None:
        pass


def test_the_staircase_reads_the_disk_of_the_first_readings(
    tmp_path: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary folder may be in memory, where the meter `disk` fails."""
    meter = Placed()
    for module in (trials, bringup):
        monkeypatch.setattr(module, "open_meters", lambda root: (meter,))
    options = bringup.BringUpOptions(
        tmp_path / "file.bringup.json", step_s=0.01, with_identity=False
    )
    bringup.bring_up(options, lambda found: True, lambda line: None, tmp_path)
    first, of_the_staircase = meter.folders
    assert first == of_the_staircase


def test_cores_and_packages_are_told_apart_in_the_file_as_on_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    for cpu in range(4):  # two cores with two threads each, one package
        for name, content in {
            "thermal_throttle/core_throttle_count": 3,
            "thermal_throttle/package_throttle_count": 3,
            "topology/core_id": cpu // 2,
            "topology/physical_package_id": 0,
        }.items():
            path = tmp_path / f"machine/sys/devices/system/cpu/cpu{cpu}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
    found = collected(tmp_path / "machine", tmp_path / "file.bringup.json")
    (throttling,) = (trial for trial in found.meters if trial.name == "throttling")
    assert len(throttling.readings) == 3 and throttling.is_replayed


def test_a_failure_is_in_the_file(
    tmp_path: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise RuntimeError("no clock")

    monkeypatch.setattr(staircase, "climb", broken)
    options = bringup.BringUpOptions(
        tmp_path / "file.bringup.json", step_s=1.0, with_identity=False
    )
    assert bringup.bring_up(
        options, lambda found: True, lambda line: None, tmp_path
    ).bringup.failures == ("the staircase: RuntimeError: no clock",)
    assert load_bringup(options.output or tmp_path).status == FAILED


def test_ctrl_c_leaves_the_file(tmp_path: Path, short: None) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("step 3"):
            raise KeyboardInterrupt

    options = bringup.BringUpOptions(
        tmp_path / "file.bringup.json", step_s=0.2, with_identity=False
    )
    with pytest.raises(
        KeyboardInterrupt,
        match=r"file\.bringup\.json holds what was collected before the interruption",
    ):
        bringup.bring_up(options, lambda found: True, interrupt)
    found = load_bringup(tmp_path / "file.bringup.json")
    assert (
        found.status == INTERRUPTED
        and [step.busy_cores for step in found.steps] == [0, 1]
        and found.meters
        and found.ranges
    )


def test_a_staircase_loads_the_cores_and_finds_a_wrong_gain() -> None:
    """Of a processor's own sensor no gain is expected at the socket."""
    steps = tuple((place % 4, (place * 10**10, (place + 1) * 10**10)) for place in range(6))
    t_ns = np.arange(5 * 10**8, 6 * 10**10, 10**9)
    true_w = 3.0 + 2.5 * (t_ns // 10**10 % 4) + np.random.default_rng(1).normal(0, 0.02, len(t_ns))
    true_w[t_ns // 10**9 % 10 < 4] -= 1.0  # before a step has settled
    readings = {
        "t_ns": np.concatenate([t_ns, t_ns, t_ns + 10**8]),
        "source": np.repeat(["ina3221", "rapl", "shelly"], len(t_ns)),
        "channel": np.repeat(["VDD_IN", "package-0", "power"], len(t_ns)),
        "value": np.concatenate([1.07 * true_w, np.cumsum(0.7 * true_w), true_w]),
        "unit": np.repeat(["W", "J", "W"], len(t_ns)),
    }
    channels = channels_of_frame(pandas.DataFrame(readings))
    climbed = staircase.Staircase(steps, channels, (), False)
    (found,) = staircase.calibrations(climbed)
    assert (
        found.gain == pytest.approx(1.07, abs=0.01)
        and found.deviates
        and found.sensor == "ina3221: VDD_IN"
    )
    described = staircase.describe_steps(climbed)
    assert [step.busy_cores for step in described] == [0, 1, 2, 3, 0, 1]
    assert {power.total: power.power_w for power in described[2].powers}[
        "shelly: shelly"
    ] == pytest.approx(8.0, abs=0.05)


@pytest.mark.parametrize(
    ("cores", "levels"),
    [
        (1, (0, 1) * 3),
        (2, (0, 1, 2) * 2),
        (4, (0, 1, 2, 3, 4)),
        (14, (0, 2, 4, 5, 7, 9, 10, 12, 14)),
    ],
)
def test_levels(cores: int, levels: tuple[int, ...]) -> None:
    assert staircase.plan(cores, 10.0).levels == (*levels, 0)


EMPTY = BringUp(
    SCHEMA, "0", "2026-11-22", COMPLETE, None, "generic", "", None, (), "aarch64", "6.1", None
)


@pytest.mark.parametrize(("emulator", "begins"), [(None, ""), ("qemu", "emulated-")])
def test_the_name_of_a_file_says_that_its_board_is_emulated(
    emulator: str | None, begins: str
) -> None:
    path = bringup.default_path(replace(EMPTY, emulator=emulator))
    assert path.name == f"{begins}generic-2026-11-22.bringup.json"


@pytest.mark.parametrize(
    ("bringup", "problem"),
    [
        (replace(EMPTY, files=(File("../../etc/passwd", "x"),)), "outside"),
        (replace(EMPTY, files=(File("/etc/passwd", "x"),)), "outside"),
        (replace(EMPTY, files=(File("usr/bin/vcgencmd", "x"),)), "outside"),
        (replace(EMPTY, files=(File("sys/a/../../../b", "x"),)), "outside"),
        (
            replace(EMPTY, files=(File("sys/a", "x"), File("sys/a/b", "x"))),
            "two files with the same path",
        ),
        (
            replace(EMPTY, files=(File("sys/a/b", "x"), File("sys/a", "x"))),
            "two files with the same path",
        ),
        (replace(EMPTY, files=(File("sys/a", "x" * 70_000),)), "more than 65536 characters"),
        (replace(EMPTY, programs=(Program("../sh -c id", "", 0),)), "not a plain command"),
        (replace(EMPTY, programs=(Program("vcgencmd ;id", "", 0),)), "not a plain command"),
        (
            replace(EMPTY, files=tuple(File(f"sys/{number}", "") for number in range(5001))),
            "more than 5000 files",
        ),
    ],
)
def test_a_hostile_file_is_refused(bringup: BringUp, problem: str, tmp_path: Path) -> None:
    write_json(tmp_path / "hostile.bringup.json", bringup)
    with pytest.raises(FileError, match=problem):
        load_bringup(tmp_path / "hostile.bringup.json")


def test_nothing_of_a_file_is_executed(tmp_path: Path) -> None:
    text = f"$(touch {tmp_path}/executed)\n`touch {tmp_path}/executed`\n"
    root = plant(
        replace(EMPTY, programs=(Program("vcgencmd pmic_read_adc", text, 0),)), tmp_path / "root"
    )
    for arguments in (["pmic_read_adc"], [], ["--interval", "1000"]):
        printed = subprocess.run(
            [root / "usr/bin/vcgencmd", *arguments], capture_output=True, text=True, check=True
        ).stdout
        assert printed == text
    assert not (tmp_path / "executed").exists()


def test_the_run_that_goes_with_a_file_is_shown_packed_and_complies(
    digits: Path, suite_home: Path, tmp_path: Path, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    quick = replace(first_run.OPTIONS, framework="fake", epochs=1)
    monkeypatch.setattr(first_run, "OPTIONS", quick)
    typed = f"{first_run.COMMAND.replace('pytorch', 'fake')} --epochs 1"
    monkeypatch.setattr(first_run, "COMMAND", typed)
    monkeypatch.chdir(tmp_path)
    words = ["bringup", "--train", "--yes", "--seconds", "0.1", "--output"]
    refused = CliRunner().invoke(app, [*words, "mine.json"])
    assert "use --output mine.zip" in str(refused.exception)
    answer = CliRunner().invoke(app, [*words, "mine.zip"])
    assert answer.exit_code == 0, answer.output
    refused = CliRunner().invoke(app, [*words, "mine.zip"])
    assert "mine.zip exists" in str(refused.exception)
    archive = tmp_path / "mine.zip"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "sent")
    assert "run/system.json:" in answer.output and "What a board reports" in answer.output
    monkeypatch.setattr(first_run, "OPTIONS", replace(quick, batch_size=10**6))
    answer = CliRunner().invoke(app, [*words, "failed.zip"])
    assert answer.exit_code == 1 and "failed: the run: " in answer.output, answer.output
    assert zipfile.ZipFile("failed.zip").namelist() == ["failed.json"], "what was collected stays"
    assert load_bringup(next((tmp_path / "sent").glob("*.json"))).status == COMPLETE
    assert api.check(tmp_path / "sent/run").complies
