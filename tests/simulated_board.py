"""A simulated Jetson: the recorded files of a profile, with programs nvpmodel and jetson_clocks
that do what NVIDIA's do to files."""

import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from suite.catalog.devices import load_device
from tests.boards import planted

EMC_CAP = "sys/kernel/nvpmodel_emc_cap/emc_iso_cap"
FAN = "sys/devices/pwm-fan/target_pwm"
NVPMODEL = '''\
"""nvpmodel -m ID | -d FAN: sets the files that nvpmodel.conf names, then its status; core by core and clock by clock, as the real one."""
import pathlib, re, sys
root = pathlib.Path(sys.argv[0]).resolve().parents[2]
status = root / "var/lib/nvpmodel/status"
found = re.search(r"pmode:(\\d+)(?: fmode:(\\w+))?", status.read_text())
number, fan = int(found[1]), found[2] or "quiet"
paths, settings, modes, section = {}, [], set(), None
for line in (root / "etc/nvpmodel.conf").read_text().splitlines():
    words = line.split()
    if line.startswith("<"):
        section = dict(word.split("=") for word in line.strip("<> ").split() if "=" in word)
        kind = line.strip("< ").split()[0]
        modes |= {int(section["ID"])} if kind == "POWER_MODEL" else set()
    elif kind == "PARAM" and len(words) == 2:
        paths[section["NAME"], words[0]] = words[1]
    elif kind == "POWER_MODEL" and len(words) == 3 and section["ID"] == sys.argv[2]:
        settings.append(words)
if sys.argv[1] == "-d":
    fan = sys.argv[2]
elif int(sys.argv[2]) not in modes:
    sys.exit("NVPM ERROR: invalid power model ID %s!" % sys.argv[2])
else:
    number = int(sys.argv[2])
for parameter, argument, value in settings:
    path = root / paths[parameter, argument].lstrip("/")
    if int(value) == -1 and (parameter, "FREQ_TABLE") in paths:
        value = max((root / paths[parameter, "FREQ_TABLE"].lstrip("/")).read_text().split(), key=int)
    path.write_text("%d\\n" % max(0, int(value)))
status.write_text("pmode:%04d fmode:%s\\n" % (number, fan))
'''  # noqa: E501
JETSON_CLOCKS = '''\
"""jetson_clocks [--store FILE | --restore FILE]: locks every clock at its upper limit and turns the fan up; keeps the limits before in a file."""
import pathlib, sys
root = pathlib.Path(sys.argv[0]).resolve().parents[2]
policies = sorted((root / "sys/devices/system/cpu/cpufreq").glob("policy*"))
pairs = [(each / "scaling_min_freq", each / "scaling_max_freq") for each in policies]
pairs += [(each / "min_freq", each / "max_freq") for each in sorted((root / "sys/class/devfreq").glob("*"))]
fan = root / "sys/devices/pwm-fan/target_pwm"
if sys.argv[1:2] == ["--store"]:
    if pathlib.Path(sys.argv[2]).exists():
        sys.exit("File %s already exists. Can I overwrite it? Y/N:" % sys.argv[2])
    kept = [lowest for lowest, _ in pairs] + [fan]
    pathlib.Path(sys.argv[2]).write_text("".join("%s:%s\\n" % (path, path.read_text().strip()) for path in kept))
elif sys.argv[1:2] == ["--restore"]:
    for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
        path, _, value = line.rpartition(":")
        pathlib.Path(path).write_text(value + "\\n")
else:
    for lowest, highest in pairs:
        lowest.write_text(highest.read_text())
    fan.write_text("255\\n")
'''  # noqa: E501


def simulated_board(root: Path, profile: str = "agx-xavier") -> Path:
    """Plant the profile's recorded machine with its two programs, a cap of the memory controller,
    governors and a fan; returns ``root``."""
    planted(root, load_device(profile))
    _write(root / EMC_CAP, "0\n")
    _write(root / FAN, "80\n")
    for policy in (root / "sys/devices/system/cpu/cpufreq").glob("policy*"):
        _write(
            policy / "scaling_available_governors", "conservative performance schedutil powersave\n"
        )
    if not (root / "var/lib/nvpmodel/status").exists():
        _write(root / "var/lib/nvpmodel/status", "pmode:0000 fmode:quiet\n")
    for name, source in (("usr/sbin/nvpmodel", NVPMODEL), ("usr/bin/jetson_clocks", JETSON_CLOCKS)):
        _write(root / name, f"#!{sys.executable} -IS\n{source}")
        (root / name).chmod(0o755)
    return root


def settings_of(root: Path) -> dict[str, str]:
    """Every file below /sys and nvpmodel's status, with what it holds."""
    files = [*(root / "sys").rglob("*"), root / "var/lib/nvpmodel/status"]
    return {
        path.relative_to(root).as_posix(): path.read_text().strip()
        for path in files
        if path.is_file()
    }


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def with_kernel_rules(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Let files of the board refuse what a kernel refuses: limits that cross each other, and clocks
    whose cores are all off line."""
    read, write = Path.read_text, Path.write_text
    cores_of = {
        policy.name: (read(policy / "affected_cpus")).split()
        for policy in (root / "sys/devices/system/cpu/cpufreq").glob("policy*")
    }
    pairs = {"scaling_max_freq": "scaling_min_freq", "max_freq": "min_freq"}

    def refuse_off_line(path: Path) -> None:
        cores = cores_of.get(path.parent.name, []) if path.is_relative_to(root) else []
        if cores and all(
            read(root / f"sys/devices/system/cpu/cpu{core}/online").strip() == "0" for core in cores
        ):
            raise OSError(errno.EBUSY, "Device or resource busy")

    def guarded_read(path: Path, *arguments: Any, **named: Any) -> str:
        refuse_off_line(path)
        return read(path, *arguments, **named)

    def guarded_write(path: Path, data: str, *arguments: Any, **named: Any) -> int:
        refuse_off_line(path)
        for highest, lowest in pairs.items():
            below = path.name == highest and int(data) < int(read(path.with_name(lowest)))
            above = path.name == lowest and int(data) > int(read(path.with_name(highest)))
            if path.is_relative_to(root) and (below or above):
                raise OSError(errno.EINVAL, "Invalid argument")
        return write(path, data, *arguments, **named)

    patch.setattr(Path, "read_text", guarded_read)
    patch.setattr(Path, "write_text", guarded_write)
