"""Boots the box's kernel in QEMU's machine `virt`, with a device tree of our making, and runs a job
in it."""

import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proofs.box.law import RAILS, SHUNT_OHM
from proofs.box.place import copy_checkout, place, root

LIMIT_S = 3600.0
MEMORY = "2G"
_HEAD = """mount -t tmpfs tmp /tmp; mount -t tmpfs run /run; mkdir -p /run/lock
ip link set lo up 2>/dev/null || busybox ip link set lo up
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root SUITE_HOME=/home/suite PYTHONPATH=/suite PYTHONPYCACHEPREFIX=/var/cache/python
cd /out
"""  # noqa: E501
_TAIL = """
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


@dataclass(frozen=True)
class Board:
    """What the device tree says the machine is: its ``compatible`` entries and model; with the
    sensor or without."""

    compatible: tuple[str, ...]
    model: str
    has_sensor: bool = True


@dataclass(frozen=True)
class Job:
    """What a machine did: its console, the files that it left, and how long it took from power on
    to off."""

    console: str
    files: dict[str, bytes]
    wall_s: float


def boot(board: Board, script: str, *, shift: int = 3, cores: int = 2) -> Job:
    """Run shell commands as the machine's only job; its files in /out come back.

    Time in the machine is the number of instructions: one takes 2**shift ns, and idle time passes
    at once. A busy host changes nothing.
    """
    with tempfile.TemporaryDirectory(dir=place()) as folder:
        out, checkout = Path(folder) / "out", copy_checkout(Path(folder) / "suite")
        out.mkdir()
        (out / "job.sh").write_text(_HEAD + script + _TAIL, encoding="utf-8")
        tree = device_tree(board, cores, out)
        shares: list[str] = []
        for tag, path, mode in (
            ("root", root(), ""),
            ("suite", checkout, ",readonly=on"),
            ("out", out, ""),
        ):
            shares += ["-fsdev", f"local,id={tag},path={path},security_model=passthrough{mode}"]
            shares += ["-device", f"virtio-9p-device,fsdev={tag},mount_tag={tag}"]
        command = [
            *_machine(cores),
            "-dtb",
            str(tree),
            "-kernel",
            str(place() / "vmlinuz"),
            "-initrd",
            str(place() / "initramfs.gz"),
            "-no-reboot",
        ]
        command += [
            "-append",
            "console=ttyAMA0 quiet panic=-1",
            *shares,
            "-icount",
            f"shift={shift},sleep=off",
        ]
        began_s = time.monotonic()
        console = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
        files = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        return Job(console.stdout + console.stderr, files, time.monotonic() - began_s)


def device_tree(board: Board, cores: int, folder: Path) -> Path:
    """QEMU's own device tree with the board's names, and a bus with an INA3221 whose channels have
    the names of RAILS."""
    plain, source, tree = folder / "virt.dtb", folder / "board.dts", folder / "board.dtb"
    subprocess.run([*_machine(cores, f",dumpdtb={plain}")], check=True, capture_output=True)
    written = subprocess.run(
        ["dtc", "-q", "-I", "dtb", "-O", "dts", str(plain)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = ", ".join(f'"{entry}"' for entry in board.compatible)
    written += (
        f'/ {{ compatible = {names}; model = "{board.model}"; serial-number = "4207120008815";'
        " };\n" + (_sensor() if board.has_sensor else "")
    )
    source.write_text(written, encoding="utf-8")
    subprocess.run(
        ["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", str(tree), str(source)], check=True
    )
    return tree


def _sensor() -> str:
    """Nodes as in a Jetson's device tree (Linux,
    Documentation/devicetree/bindings/hwmon/ti,ina3221.yaml)."""
    cells, shunt = "#address-cells = <1>; #size-cells = <0>;", round(SHUNT_OHM * 1e6)
    channels = "".join(
        f'input@{place} {{ reg = <{place}>; label = "{name}"; shunt-resistor-micro-ohms ='
        f" <{shunt}>; }};"
        for place, (name, _) in enumerate(RAILS)
    )
    return (
        f'/ {{ i2c-stub {{ {cells} power-sensor@40 {{ compatible = "ti,ina3221"; reg = <0x40>;'
        f" {cells} {channels} }}; }}; }};\n"
    )


def _machine(cores: int, options: str = "") -> Sequence[str]:
    return (
        "qemu-system-aarch64",
        "-M",
        f"virt{options}",
        "-cpu",
        "cortex-a72",
        "-smp",
        str(cores),
        "-m",
        MEMORY,
        "-nographic",
        "-net",
        "none",
    )
