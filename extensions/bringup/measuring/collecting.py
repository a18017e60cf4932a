"""What a bring-up collects of a board: files of the kernel and of NVIDIA's configuration, and what
the vendors' programs print."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from suite.extensions.bringup.record import MAX_FILE_BYTES, MAX_FILES, Program
from suite.machine import nvpmodel
from suite.machine.procfs import read_text

FILES_LIMIT_S, PROGRAM_LIMIT_S, STREAM_S = 60.0, 10.0, 2.5
PROGRAM_FOLDERS = ("usr/local/bin", "usr/bin", "usr/sbin", "bin", "opt/vc/bin")
_CPU = "sys/devices/system/cpu"
PATTERNS = (
    "proc/device-tree/compatible",
    "proc/device-tree/model",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/loadavg",
    "proc/stat",
    "proc/uptime",
    "proc/sys/kernel/perf_event_paranoid",
    "etc/os-release",
    "etc/nv_tegra_release",
    "etc/nvpmodel.conf",
    "var/lib/nvpmodel/status",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/class/dmi/id/product_version",
    "sys/class/dmi/id/product_family",
    "sys/class/dmi/id/board_name",
    "sys/class/thermal/thermal_zone*/*",
    "sys/class/thermal/cooling_device*/*",
    "sys/class/hwmon/hwmon*/*",
    "sys/class/hwmon/hwmon*/device/temp",
    "sys/bus/i2c/drivers/ina*/*/hwmon/hwmon*/*",
    "sys/bus/i2c/drivers/ina*/*/iio:device*/*",
    f"{_CPU}/online",
    f"{_CPU}/present",
    f"{_CPU}/cpu[0-9]*/online",
    f"{_CPU}/cpu[0-9]*/cpu_capacity",
    f"{_CPU}/cpufreq/boost",
    f"{_CPU}/cpufreq/policy*/*",
    f"{_CPU}/cpu[0-9]*/cpufreq/scaling_*",
    f"{_CPU}/intel_pstate/*",
    f"{_CPU}/cpu[0-9]*/thermal_throttle/*",
    f"{_CPU}/cpu[0-9]*/topology/*_id",
    "sys/class/devfreq/*/*",
    "sys/class/powercap/*/*",
    "sys/class/power_supply/*/*",
    "sys/firmware/acpi/platform_profile",
    "sys/devices/platform/soc*/soc*:firmware/get_throttled",
    "sys/devices/gpu.0/load",
    "sys/devices/platform/gpu.0/load",
    "sys/devices/platform/17000000.g*/load",
    "sys/devices/platform/bus@0/*.gpu/load",
    "sys/kernel/debug/bpmp/debug/clk/emc/*rate",
    "sys/kernel/debug/clk/emc/clk_rate",
    "sys/bus/event_source/devices/*/type",
    "sys/bus/event_source/devices/*/cpus",
    "sys/bus/event_source/devices/*/events/*",
)
"""Files below the root, by shell patterns; a file that cannot be read, is not text or is longer
than MAX_FILE_BYTES is left out."""
LEFT_OUT = ("serial_number", "uevent", "name_assign_type", "manufacture_")
"""Files by parts of their names that identify a machine, or only repeat others."""
STREAMING = "tegrastats --interval 500"
"""A program that prints until it is ended."""
COMMANDS = (
    STREAMING,
    "nvpmodel -q",
    "jetson_clocks --show",
    "jetson_release",
    "vcgencmd pmic_read_adc",
    "vcgencmd get_throttled",
    "vcgencmd measure_temp",
    "vcgencmd measure_clock arm",
    "nvidia-smi -q",
    "lscpu",
)
Found = TypeVar("Found")


def call_within(limit_s: float, work: Callable[[], Found]) -> Found:
    """What ``work`` returns or raises; raises TimeoutError after ``limit_s``, and abandons its
    thread: a driver may never answer."""
    answers: queue.Queue[tuple[Found | None, BaseException | None]] = queue.Queue()

    def answer() -> None:
        try:
            answers.put((work(), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            answers.put((None, error))

    threading.Thread(target=answer, daemon=True).start()
    try:
        found, error = answers.get(timeout=limit_s)
    except queue.Empty:
        raise TimeoutError(f"did not return within {limit_s:g} s") from None
    if error is not None:
        raise error
    return found  # type: ignore[return-value]


def collect_files(root: Path, into: dict[str, str], reading: list[str]) -> None:
    """Read every file of PATTERNS, and those that nvpmodel.conf names, into ``into`` by path;
    ``reading`` has the one that is being read."""
    for path in _paths(root):
        if len(into) >= MAX_FILES:
            return
        name = str(path.relative_to(root))
        reading[:] = [name]
        content = _content(path)
        if content is not None:
            into[name] = content


def run_programs(root: Path, report: Callable[[str], None]) -> Iterator[Program]:
    """What each program of COMMANDS prints that the machine below ``root`` has, standard error
    included; each is ended after a time limit."""
    for command in COMMANDS:
        name, *arguments = command.split()
        found = shutil.which(
            name, path=os.pathsep.join(str(root / folder) for folder in PROGRAM_FOLDERS)
        )
        if found is not None:
            report(f"running {command}")
            yield _run(
                command, [found, *arguments], STREAM_S if command == STREAMING else PROGRAM_LIMIT_S
            )


def _run(command: str, arguments: list[str], limit_s: float) -> Program:
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Program(command, f"cannot be started: {error.strerror}", None)
    try:
        output, exit_code = process.communicate(timeout=limit_s)[0], process.returncode
    except subprocess.TimeoutExpired:
        _end(process)
        output, exit_code = process.communicate()[0], None
    except BaseException:
        _end(process)
        raise
    return Program(command, output.decode("utf-8", "replace")[:MAX_FILE_BYTES], exit_code)


def _end(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _paths(root: Path) -> Iterator[Path]:
    seen = set()
    configuration = nvpmodel.parse_configuration(read_text(root / nvpmodel.CONFIGURATION) or "")
    named = [path.lstrip("/") for paths in configuration.paths.values() for path in paths.values()]
    named += [
        parameter.lstrip("/")
        for model in configuration.models
        for parameter, _, _ in model.settings
        if parameter.startswith("/")
    ]
    for pattern in (
        *PATTERNS,
        *(each for each in named if each.startswith("sys/") and ".." not in each),
    ):
        for path in sorted(root.glob(pattern)):
            if (
                path not in seen
                and path.is_file()
                and not any(part in path.name for part in LEFT_OUT)
            ):
                seen.add(path)
                yield path


def _content(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
        return content.decode("utf-8") if len(content) <= MAX_FILE_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
