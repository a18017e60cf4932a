"""What other programs took beside real runs, held against the kernel's own account: ``python -m
tests.suite.meters.foreign_load FOLDER [RUNS]``.

Each run trains LeNet-5 on digits in a control group of its own (cpuacct, as root) beside a program
that uses ten CPU seconds. The truth is the machine's busy time less that group's CPU time between
two readings around the run, without the ends, which are compared as rates.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.log import run_window
from suite.bundle.reader import Bundle

GROUPS = Path("/sys/fs/cgroup/cpuacct")
BURN_S = 10.0
BURN = f"import time\nwhile time.process_time() < {BURN_S}: pass"
READ_S = 0.2


@dataclass(frozen=True)
class Account:
    """At one moment of CLOCK_MONOTONIC, s: CPU seconds that all cores were busy, and that the group
    used."""

    t_s: float
    busy_s: float
    own_s: float


def account(group: Path) -> Account:
    """Read both accounts; busy is what /proc/stat counts as user, nice, system, irq and softirq."""
    ticks = [
        int(part)
        for part in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    ]
    busy_s = sum(ticks[place] for place in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")
    return Account(
        time.monotonic(),
        busy_s,
        int((group / "cpuacct.usage").read_text(encoding="ascii")) * SECONDS_PER_NS,
    )


def at(accounts: list[Account], t_s: float) -> tuple[float, float]:
    """Busy and own CPU seconds at a moment, interpolated."""
    later = next(place for place, each in enumerate(accounts) if each.t_s >= t_s)
    first, last = accounts[later - 1], accounts[later]
    share = (t_s - first.t_s) / (last.t_s - first.t_s)
    return first.busy_s + share * (last.busy_s - first.busy_s), first.own_s + share * (
        last.own_s - first.own_s
    )


def measure(folder: Path, number: int) -> str:
    """One run: its length, foreign CPU seconds by the kernel and by the suite."""
    group, path = GROUPS / f"suite-foreign-load-{os.getpid()}", folder / f"run-{number}"
    group.mkdir()
    program = [
        str(Path(sys.executable).with_name("suite")),
        "run",
        "--division",
        "open",
        "--workload",
        "lenet",
        "--framework",
        "pytorch",
    ]
    options = [
        "--data",
        "mnist",
        "--epochs",
        "1",
        "--output",
        str(path),
        "--force",
        "--baseload",
        "0",
        *(["--workers", "2"] if number % 2 else []),
    ]
    command = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *program, *options]
    accounts = [account(group)]
    with (
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run,
        subprocess.Popen([sys.executable, "-c", BURN]),
    ):
        while run.poll() is None:
            time.sleep(READ_S)
            accounts.append(account(group))
    time.sleep(READ_S)
    accounts.append(account(group))
    group.rmdir()
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    window = run_window(Bundle(path).log())
    assert window is not None
    (busy_s, own_s), (busy_end_s, own_end_s) = (
        at(accounts, window[0] * SECONDS_PER_NS),
        at(accounts, window[1] * SECONDS_PER_NS),
    )
    truth_s = (busy_end_s - busy_s) - (own_end_s - own_s)
    found_s = json.loads((path / "summary.json").read_text(encoding="utf-8"))["figures"][
        "foreign_cpu_s"
    ]["value"]
    within = "yes" if abs(found_s - truth_s) <= BURN_S / 10 else "NO"
    length_s = (window[1] - window[0]) * SECONDS_PER_NS
    return (
        f"| {number} | {length_s:.1f} s | {truth_s:.2f} s | {found_s:.2f} s |"
        f" {found_s - truth_s:+.2f} s | {within} |"
    )


def main(folder: Path, runs: int) -> None:
    """Print a row per run."""
    folder.mkdir(parents=True, exist_ok=True)
    print(
        "| run | length | foreign, truth | `foreign_cpu_s` | difference | within a tenth of the"
        " other program's 10 s |\n|---|---|---|---|---|---|"
    )
    for number in range(runs):
        print(measure(folder, number), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2)
