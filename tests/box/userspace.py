"""`make box-userspace`: the run of `make demo`, one epoch of it, in an emulated arm64 Debian; its losses are compared with x86's.

The framework is the aarch64 wheel that a Raspberry Pi installs. Everything that it prints of time, memory or load is of an emulated machine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.box.place import copy_checkout, make, place, root

EPOCHS = 1
SUITE = "python3 -c 'from suite.cli.app import main; main()'"
RUN = f"run --division open --device auto --workload lenet --framework pytorch --data digits --epochs {EPOCHS} --output /out/demo --force"
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
"""


def emulated(command: str, checkout: Path, out: Path) -> int:
    """Run a shell command in the emulated Debian, in the checkout, with ``out`` as its /out; returns its exit code."""
    mounts = _MOUNTS.format(checkout=checkout, root=root(), out=out)
    return subprocess.run(["unshare", "--mount", "sh", "-c", mounts, "sh", command]).returncode


def main() -> None:
    """Train in the box; check the run and train its first steps again on this machine."""
    make("root", "wheels")
    folder = place() / "userspace"
    shutil.rmtree(folder, ignore_errors=True)
    out, checkout = folder / "out", copy_checkout(folder / "suite")
    out.mkdir()
    steps = ("env create pytorch --interpreter /usr/bin/python3", "data prepare digits", RUN)
    for step in steps:
        print(f"emulated$ suite {step}", flush=True)
        if emulated(f"{SUITE} {step}", checkout, out) != 0:
            sys.exit(f"suite {step.split()[0]} failed in the emulated Debian")
    suite = str(Path(sys.executable).with_name("suite"))
    run = str(out / "demo")
    print("# the checker sees that the processor in /proc is this machine's: of an emulated run that is right", flush=True)
    subprocess.run([suite, "check", run])
    here = (("env", "create", "pytorch"), ("data", "prepare", "digits"), ("audit", run, "--framework", "pytorch"))
    for arguments in here:
        print(f"{os.uname().machine}$ suite {' '.join(arguments)}", flush=True)
        if subprocess.run([suite, *arguments]).returncode != 0:
            sys.exit(f"suite {arguments[0]} failed on this machine")


if __name__ == "__main__":
    main()
