"""The run of `make demo`, one epoch of it, in an emulated arm64 Debian; its losses are compared
with x86's.

The framework is the aarch64 wheel that a Raspberry Pi installs. Everything that it prints of time,
memory or load is of an emulated machine.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proofs.box.place import copy_checkout, place, root
from proofs.box.verdict import Verdict
from suite.bundle.layout import SYSTEM

EPOCHS = 1
RUNS_ON = "aarch64"
EMULATOR_SHOWS = "system-described"
"""Under user emulation /proc shows the host's processor: the checker refuses such a run, by this
rule alone."""
SUITE = "python3 -c 'from suite.cli.app import main; main()'"
RUN = (
    "run --division open --device auto --workload lenet --framework pytorch --data digits --epochs"
    f" {EPOCHS} --output /out/demo --force"
)
# In a mount namespace of its own: nothing stays mounted.
_MOUNTS = r"""set -e
mount --bind {checkout} {root}/suite
mount -o remount,ro,bind {root}/suite
mount -t proc proc {root}/proc
mount --bind /sys {root}/sys
mount -t devtmpfs dev {root}/dev
mount -t tmpfs tmp {root}/tmp
mount --bind {out} {root}/out
exec chroot {root} /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root SUITE_HOME=/home/suite PYTHONPATH=/suite \
    PYTHONPYCACHEPREFIX=/var/cache/python sh -ec "$1"
"""  # noqa: E501


def userspace() -> Iterator[Verdict]:
    """Train in the box; check the run and train its first steps again on this machine."""
    folder = place() / "userspace"
    shutil.rmtree(folder, ignore_errors=True)
    out, checkout = folder / "out", copy_checkout(folder / "suite")
    out.mkdir()
    for step in ("env create pytorch --interpreter /usr/bin/python3", "data prepare digits", RUN):
        print(f"emulated$ suite {step}", flush=True)
        if emulated(f"{SUITE} {step}", checkout, out) != 0:
            yield Verdict(f"suite {step.split()[0]} ends with exit code 0", False)
            return
    run = out / "demo"
    system = json.loads((run / SYSTEM).read_text(encoding="utf-8"))
    yield Verdict(
        f"the run trained on {system['architecture']}, PyTorch {system['framework_version']}",
        system["architecture"] == RUNS_ON,
    )
    for arguments in (("env", "create", "pytorch"), ("data", "prepare", "digits")):
        answer_here(*arguments)
    yield _checked(run)
    yield _audited(run)


def emulated(command: str, checkout: Path, out: Path) -> int:
    """Run a shell command in the emulated Debian, in the checkout, with ``out`` as its /out;
    returns its exit code."""
    mounts = _MOUNTS.format(checkout=checkout, root=root(), out=out)
    return subprocess.run(["unshare", "--mount", "sh", "-c", mounts, "sh", command]).returncode


def answer_here(*arguments: str) -> str:
    """What a command of the suite prints on this machine; its messages are shown."""
    print(f"{os.uname().machine}$ suite {' '.join(arguments)}", flush=True)
    suite = str(Path(sys.executable).with_name("suite"))
    return subprocess.run([suite, *arguments], stdout=subprocess.PIPE, text=True).stdout


def _checked(run: Path) -> Verdict:
    """The checker finds nothing but what the emulator shows of this machine."""
    (verdict,) = json.loads(answer_here("check", str(run), "--json"))["verdicts"]
    rules = {
        severity: sorted(
            {each["rule"] for each in verdict["findings"] if each["severity"] == severity}
        )
        for severity in ("invalid", "warning")
    }
    found = " ".join(rules["invalid"]) or "nothing"
    warned = f"; it warns: {' '.join(rules['warning'])}" if rules["warning"] else ""
    return Verdict(
        f"the checker refuses the run for the host's processor in /proc alone: {found}{warned}",
        rules["invalid"] == [EMULATOR_SHOWS],
    )


def _audited(run: Path) -> Verdict:
    """The first steps, trained again on this machine, have the same losses."""
    record: dict[str, Any] = json.loads(
        answer_here("audit", str(run), "--framework", "pytorch", "--json")
    )
    pairs = [
        (there, here)
        for there, here in zip(record["losses"]["recorded"], record["losses"]["plain"], strict=True)
    ]
    largest = max(abs(there - here) for there, here in pairs)
    comparison, replayer = record["comparison"], record["replayer"]
    claim = (
        f"{len(pairs)} losses agree with PyTorch {replayer['framework_version']}'s on"
        f" {os.uname().machine} within {largest:.1e}: "
    )
    shown = " ".join(f"{there:.6f}" for there, _ in pairs)
    return Verdict(
        f"{claim}{shown}; audit: {comparison['verdict']}", comparison["verdict"] == "agrees"
    )
