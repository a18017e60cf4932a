"""The suite on a booted arm64 kernel: known joules, exact counts, profiles by device tree, and a
bring-up.

Everything that it prints is of an emulated machine: not one value is a measurement of a board.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proofs.box.counting import LOOPS
from proofs.box.law import energy_of_time_j
from proofs.box.machine import Board, Job, boot
from proofs.box.place import CROSS, place
from proofs.box.verdict import Verdict
from reference_impls.contract import NS_PER_S
from suite.bundle.layout import READINGS_RAW
from suite.bundle.readings_table import ReadingsMemory, read_raw_channels
from suite.catalog.devices import load_device, load_devices
from suite.catalog.power import load_power_rules
from suite.extensions.bringup.record import SUFFIX, load_bringup
from suite.metrics.power_totals import measure_totals

READ_S, STEP_S = 60.0, 10.0
WRONG_GAIN = 1.07
NOT_IN_THE_PMU = ("l1d_access", "l1d_refill", "branches", "branch_mispredicts", "memory_access")
_SENSOR = """insmod /modules/i2c-stub.ko chip_addr=0x40
python3 -m proofs.box.board {law} {gain} &
until busybox wget -q -O /tmp/plug 'http://127.0.0.1:8080/rpc/Switch.GetStatus?id=0'; do sleep 0.2; done
insmod /modules/ina3221.ko
cat /sys/bus/i2c/drivers/ina3221/*/hwmon/hwmon*/in?_label
"""  # noqa: E501


def board_of(profile: str) -> Board:
    """The board of a profile's recorded machine."""
    recorded = load_device(profile).recorded
    assert recorded is not None and recorded.compatible
    return Board(recorded.compatible, f"emulated {profile}")


def energy() -> Iterator[Verdict]:
    """Joules through the kernel's driver against the law's integral."""
    job = boot(
        board_of("orin-nano"),
        _SENSOR.format(law="time", gain=1.0) + f"python3 -m proofs.box.reading {READ_S:g} /out\n",
    )
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / READINGS_RAW
        raw.write_bytes(_left(job, READINGS_RAW))
        channels = read_raw_channels(raw, ReadingsMemory())
        first_ns, last_ns = channels.span_ns or (0, 0)
        window = (first_ns + NS_PER_S, last_ns - NS_PER_S)
        measured, *_ = measure_totals(channels, load_power_rules(), window)
    record = json.loads(_left(job, "meter.json"))
    found, true_j = measured.energy, energy_of_time_j(window[0] / NS_PER_S, window[1] / NS_PER_S)
    low_j, high_j = found.interval_j or (0.0, 0.0)
    yield Verdict(
        "labels from the device tree: " + " ".join(sorted({one.name for one in channels})),
        "VDD_IN" in {one.name for one in channels},
    )
    print(
        f"  driver's settings: {record['settings']}; {found.count} readings, period"
        f" {found.achieved_period_s:.3f} s"
    )
    error = (found.energy_j or 0.0) / true_j - 1
    numbers = (
        f"law {true_j:.2f} J, suite {found.energy_j:.2f} J ({error:+.2%}), 95 % interval"
        f" {low_j:.1f} to {high_j:.1f} J"
    )
    yield Verdict(
        f"{measured.total.source}: {measured.total.rule.name},"
        f" {(window[1] - window[0]) / NS_PER_S:.1f} s: {numbers}",
        low_j <= true_j <= high_j,
    )
    sampling = found.uncertainty.sampling if found.uncertainty else None
    half_j = (sampling or 0.0) + (found.uncertainty.quantisation if found.uncertainty else 0.0)
    yield Verdict(
        f"the error is within sampling and quantisation alone, {half_j:.2f} J",
        abs(error) * true_j <= half_j,
    )


def counters() -> Iterator[Verdict]:
    """Exact instructions and cycles; what the PMU lacks is unsupported."""
    program = place() / "root/modules/count"
    subprocess.run(
        [
            f"{CROSS}gcc-12",
            "-nostdlib",
            "-static",
            "-o",
            str(program),
            str(Path(__file__).with_name("count.S")),
        ],
        check=True,
    )
    job = boot(
        board_of("raspberry-pi-4"),
        "python3 -m proofs.box.counting /modules/count >/out/counts.json\n",
        shift=1,
        cores=1,
    )
    found = json.loads(_left(job, "counts.json"))
    user, expected = found["user"], found["expected"]
    yield Verdict(
        f"instructions in user mode: {user['instructions']}, of a program with {expected}",
        user["instructions"] == expected,
    )
    yield Verdict(
        f"cycles in user mode: {user['cycles']}, at 2 ns an instruction {2 * expected}",
        abs(user["cycles"] - 2 * expected) <= 2 * 20,
    )
    counted = {
        name.removesuffix(".count"): round(count)
        for name, count in found["meter"].items()
        if name.endswith(".count")
    }
    yield Verdict(
        f"the counters meter, kernel included: {counted.get('instructions')} instructions",
        counted.get("instructions", 0) >= 2 * LOOPS,
    )
    claimed = sorted(name for name in NOT_IN_THE_PMU if name in counted)
    print(
        f"  the PMU lists {' '.join(found['listed'])}; the meter says:"
        f" {found['reason'] or 'nothing is missing'}"
    )
    yield Verdict(
        "events that the PMU lacks and that are counted all the same:"
        f" {' '.join(claimed) or 'none'}",
        not claimed,
    )


def profiles() -> Iterator[Verdict]:
    """Every profile with a device tree, each on a boot of its own."""
    for device in load_devices():
        recorded = device.recorded
        if recorded is not None and recorded.compatible:
            script = (
                "python3 -c 'from suite.machine.identify import identify;"
                " print(identify().device.name)' >/out/device\n"
            )
            job = boot(Board(recorded.compatible, device.title, has_sensor=False), script)
            name = _left(job, "device").decode().strip()
            yield Verdict(
                f"{recorded.compatible[0]}: {name} ({job.wall_s:.0f} s from power on to off)",
                name == device.name,
            )


def bringup() -> Iterator[Verdict]:
    """A bring-up beside a plug; the sensor's gain is wrong. Its file is left beside the box."""
    settings = (
        "mkdir -p /etc/edge-training-suite; echo 'shelly = { address = \"127.0.0.1:8080\" }'"
        " >/etc/edge-training-suite/meters.toml\n"
    )
    command = (
        f"python3 -m suite.cli.app bringup --yes --seconds {STEP_S:g} --output /out/box{SUFFIX}"
        " >/out/listing.txt 2>/out/progress.txt\n"
    )
    command = command.replace("-m suite.cli.app", "-c 'from suite.cli.app import main; main()'")
    job = boot(
        board_of("orin-nano"), settings + _SENSOR.format(law="load", gain=WRONG_GAIN) + command
    )
    lines = _left(job, "listing.txt").decode().splitlines()
    print(
        "\n".join(
            f"  {line}" for line in _left(job, "progress.txt").decode().splitlines() + lines[-9:]
        )
    )
    left = place() / f"emulated-orin-nano{SUFFIX}"
    left.write_bytes(_left(job, f"box{SUFFIX}"))
    found = load_bringup(left)
    yield Verdict(
        f"the file says {found.status}, device {found.device}, emulator {found.emulator}",
        (found.status, found.emulator) == ("complete", "qemu"),
    )
    gains = [
        one.gain
        for one in found.calibrations
        if one.sensor.startswith("ina3221") and one.gain is not None
    ]
    yield Verdict(
        f"gain of the sensor: {gains}, true {WRONG_GAIN}",
        bool(gains) and abs(gains[0] - WRONG_GAIN) < 0.01,
    )
    print(f"  its file: {left}")


def _left(job: Job, name: str) -> bytes:
    """A file that a job left; ends the program with the machine's console where it is not there."""
    if not job.files.get(name):
        sys.exit(f"the emulated machine left no {name}; its console:\n{job.console[-4000:]}")
    return job.files[name]
