"""One check of the box: python -m proofs.box.check NAME. Exit code 1: a claim did not hold.

Everything that it prints is of an emulated machine: not one value is a measurement of a board.
"""

import sys
from collections.abc import Callable, Iterator, Mapping

from proofs.box import kernel
from proofs.box.place import make
from proofs.box.userspace import userspace
from proofs.box.verdict import Verdict

KERNEL: Mapping[str, Callable[[], Iterator[Verdict]]] = {
    "energy": kernel.energy,
    "counters": kernel.counters,
    "profiles": kernel.profiles,
    "bringup": kernel.bringup,
}
CHECKS: Mapping[str, Callable[[], Iterator[Verdict]]] = {"userspace": userspace, **KERNEL}
HELD, FAILED = "  yes ", "  NO  "


def main(name: str) -> None:
    """Make what the check needs, and run it."""
    make("root", "wheels", *(("kernel", "initramfs") if name in KERNEL else ()))
    print(f"{name} (emulated)", flush=True)
    failed = 0
    for verdict in CHECKS[name]():
        print(f"{HELD if verdict.held else FAILED}{verdict.claim}", flush=True)
        failed += not verdict.held
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1])
