"""Real runs beside a program that plays a logger whose clock drifts: ``python -m
tests.suite.metrics.traces.logged_runs RUNS EPOCHS FOLDER``.

The program reads the CPU time of all processes of `suite run` twenty times a second and makes a
power of it: 2 W, and 4 W per busy core. What each virtual logger wrote of it is attached with
--dry-run: one per period and run, on clocks with another offset, rate and change of rate. The truth
is CLOCK_MONOTONIC, the clock of the run's own log.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proofs.clock_fits.__main__ import HEADINGS, QUARTZ, Judged, coverage, row
from suite import api
from suite.bundle.arrays import Values
from suite.errors import SuiteError
from suite.machine.process_tree import process_tree
from tests.suite.metrics.traces.test_clock_fit import largest_error_s

PERIODS_S = (0.1, 0.5, 1.0, 2.0, 5.0)
READ_S = 0.05
MARGIN_S = 15.0
IDLE_W, CORE_W, NOISE_W = 2.0, 4.0, 0.1


@dataclass(frozen=True, eq=False)
class Recording:
    """CPU time of a run's processes: moments on CLOCK_MONOTONIC, s, and CPU seconds so far."""

    t_s: Values
    cpu_s: Values

    def mean_power_w(self, begins_s: Values, ends_s: Values) -> Values:
        """Mean power between moments, W."""
        used_s = np.interp(ends_s, self.t_s, self.cpu_s) - np.interp(begins_s, self.t_s, self.cpu_s)
        return IDLE_W + CORE_W * used_s / (ends_s - begins_s)


def record(command: list[str]) -> Recording:
    """Run a command and record the CPU time of its processes, from 15 s before it to 15 s after
    it."""
    moments, used, seen = [], [], {}
    begin_s, process, ended_s = time.monotonic(), None, None
    while ended_s is None or time.monotonic() < ended_s + MARGIN_S:
        if process is None and time.monotonic() >= begin_s + MARGIN_S:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        if process is not None and ended_s is None:
            seen.update(_cpu_ns(process.pid))
            if process.poll() is not None:
                ended_s = time.monotonic()
        moments.append(time.monotonic())
        used.append(sum(seen.values()) * 1e-9)
        time.sleep(READ_S)
    if process is None or process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return Recording(np.array(moments), np.array(used))


def _cpu_ns(pid: int) -> dict[str, int]:
    """CPU time of every thread of a process and its descendants, ns, by its folder in /proc."""
    found = {}
    for each in process_tree(Path("/"), pid):
        for task in Path(f"/proc/{each}/task").glob("*"):
            try:
                found[str(task)] = int((task / "schedstat").read_text(encoding="ascii").split()[0])
            except (OSError, ValueError):
                continue  # it has just exited: its last reading stays
    return found


def logger_file(
    recording: Recording, period_s: float, random: np.random.Generator, path: Path
) -> tuple[Values, Values]:
    """Write what a logger with a quartz of its own writes; returns its times and the true ones,
    s."""
    true_s = np.arange(
        recording.t_s[0] + period_s, recording.t_s[-1] - period_s, period_s
    ) + random.uniform(0, period_s)
    true_s = true_s[true_s < recording.t_s[-1] - period_s / 2]
    power_w = recording.mean_power_w(true_s - period_s / 2, true_s + period_s / 2) + random.normal(
        0, NOISE_W, len(true_s)
    )
    elapsed_s = true_s - true_s[0]
    rate, change = (
        random.uniform(-QUARTZ, QUARTZ),
        random.uniform(-QUARTZ, QUARTZ) / 5 / max(elapsed_s[-1], 1.0),
    )
    times_s = np.round(random.uniform(0, 1e5) + elapsed_s * (1 + rate) + change * elapsed_s**2, 4)
    rows = "".join(
        f"{each:.4f},{watts:.4f}\n" for each, watts in zip(times_s, power_w, strict=True)
    )
    path.write_text("time (s),power (W)\n" + rows, encoding="utf-8")
    return times_s, true_s


def attached(bundle: Path, recording: Recording, period_s: float, seed: int) -> Judged:
    """Attach what a virtual logger wrote, without writing it, and compare the clock with the
    truth."""
    path = bundle.with_name(f"{bundle.name}-{period_s:g}.csv")
    times_s, true_s = logger_file(
        recording, period_s, np.random.default_rng((4, seed, round(period_s * 100))), path
    )
    try:
        found = api.attach_power(bundle, path, covers="board", tier="analyser", dry_run=True)
    except SuiteError as error:
        print(f"  run {seed}, {period_s:g} s: {error}", file=sys.stderr)
        return Judged()
    since_s = true_s - found.course.origin_ns * 1e-9
    return Judged(
        largest_error_s(found.fit, times_s, since_s, found.course.run_s), found.fit.half_width_s
    )


def main(runs: int, epochs: int, folder: Path) -> None:
    """Print the table of all runs, with and without a power pulse turn about."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[float, list[Judged]] = {period_s: [] for period_s in PERIODS_S}
    for number in range(runs):
        bundle = folder / f"run-{number}"
        suite = [
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
            str(epochs),
            "--output",
            str(bundle),
            "--force",
            "--baseload",
            "0",
        ]
        recording = record([*suite, *options, *(["--power-pulse"] if number % 2 else [])])
        for period_s in PERIODS_S:
            found[period_s].append(attached(bundle, recording, period_s, number))
    print(HEADINGS)
    for period_s, judged in found.items():
        print(row("real runs", f"{period_s:g} s", judged))
    print(f"\nreal runs: {coverage([one for judged in found.values() for one in judged])}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
