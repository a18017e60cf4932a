"""Runs that are killed at random moments and resumed have every loss of a run without a break:
`make prove resumptions`.

``python -m proofs.resumptions [RUNS [SEED [FRAMEWORK…]]]``. A run trains LeNet-5 on the digits and
keeps its states; after a random part of the training's time SIGKILL ends its harness, and the
kernel with it the training. A quarter of the resumed runs are killed and resumed again.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proofs.figures import hand_over
from proofs.interruptions.__main__ import await_lock, poll
from suite.bundle.layout import states_folder
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.paths import repository_root

EPOCHS, BATCH = 4, 96
SHARE_KILLED_AGAIN = 0.25
NOTHING_KEPT, ENDED, SAME, OTHER = (
    "killed before a state was kept",
    "finished before the kill",
    "the same losses",
    "other losses",
)


@dataclass(frozen=True)
class Trained:
    """A run that nothing interrupted: the loss of every step, and the seconds that its training
    took."""

    losses: dict[int, float]
    time_s: float


class Campaign:
    """Runs of one framework in ``folder``, with the environments and the digits of the suite's own
    home."""

    def __init__(self, framework: str, folder: Path, chance: random.Random) -> None:
        self._options = f"--framework {framework} --epochs {EPOCHS} --batch-size {BATCH}"
        self._folder, self._chance, self._made = folder, chance, 0
        self._whole = self._uninterrupted()

    def trial(self) -> tuple[int, str]:
        """Kill a run at a random moment and resume it, perhaps more than once: how often it was
        resumed, and what came of it."""
        path, kept, resumed, losses = self._run(self._moment_s()), None, 0, dict[int, float]()
        while not (path / "MANIFEST.sha256").exists():
            losses.update(_losses(path))
            kept = path if list(states_folder(path).glob("epoch_*.npz")) else kept
            if kept is None:
                return resumed, NOTHING_KEPT
            again_s = self._moment_s() if self._chance.random() < SHARE_KILLED_AGAIN else None
            path, resumed = self._run(again_s, f"--resume {kept}"), resumed + 1
        losses.update(_losses(path))
        if not resumed:
            return 0, ENDED
        return resumed, SAME if losses == self._whole.losses else OTHER

    def _moment_s(self) -> float:
        return self._chance.uniform(0, self._whole.time_s)

    def _uninterrupted(self) -> Trained:
        path = self._run(None)
        start, stop = (Bundle(path).log().first(key) for key in ("run_start", "run_stop"))
        assert (
            start is not None
            and stop is not None
            and start.mono_ns is not None
            and stop.mono_ns is not None
        )
        return Trained(_losses(path), (stop.mono_ns - start.mono_ns) / 1e9)

    def _run(self, killed_after_s: float | None, more: str = "") -> Path:
        """Make a run, and kill it that long after its first epoch began; raises AssertionError
        where one that was not killed fails."""
        self._made += 1
        path = self._folder / f"run{self._made}"
        words = (
            "run --division open --workload lenet --data digits --baseload 0 --keep-states"
            f" --output {path} {self._options} {more}"
        ).split()
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("suite")), *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=repository_root(),
        )
        if killed_after_s is not None:
            poll(
                lambda: (
                    process.poll() is not None
                    or (
                        (path / "log.txt").exists()
                        and '"epoch_start"' in (path / "log.txt").read_text()
                    )
                )
            )
            time.sleep(killed_after_s)
            process.kill()
        _, said = process.communicate()
        assert process.returncode == 0 or killed_after_s is not None, said
        await_lock(path)
        return path


def _losses(path: Path) -> dict[int, float]:
    """The loss of every step of the epochs that are on the medium."""
    try:
        steps = Bundle(path).steps_frame()
    except SuiteError:  # it ended before its first step
        return {}
    return dict(zip(steps["step"].tolist(), steps["loss"].tolist(), strict=True))


def table(outcomes: Mapping[tuple[str, int, str], int]) -> str:
    """A row for each framework: how many runs were killed, and what became of them. ``outcomes``
    counts (framework, times resumed, outcome).

    A run that was killed before it kept a state cannot be resumed, and says nothing about losses.
    """
    rows = [
        (
            "| framework | killed | before a first state was kept | resumed | of these with the"
            " same losses |"
        ),
        "|---|---|---|---|---|",
    ]
    for framework in dict.fromkeys(name for name, _, _ in outcomes):
        count = Counter[str]()
        for (name, times, outcome), runs in sorted(outcomes.items()):
            if name == framework:
                count[outcome] += runs
                count[_often(times)] += runs if outcome in (SAME, OTHER) else 0
        resumed = count[SAME] + count[OTHER]
        often = ", ".join(
            f"{count[_often(times)]} {_often(times)}"
            for times in range(1, 100)
            if count[_often(times)]
        )
        rows.append(
            f"| {framework} | {resumed + count[NOTHING_KEPT]} | {count[NOTHING_KEPT]} | {resumed}"
            f" ({often or 'none'}) | {count[SAME]} |"
        )
    return "\n".join(rows)


def _often(times: int) -> str:
    return {1: "once", 2: "twice", 3: "three times"}.get(times, f"{times} times")


def main() -> int:
    """Exit code 1 where losses differ."""
    runs, seed = (int(word) for word in [*sys.argv[1:3], *("20", "0")[len(sys.argv[1:3]) :]])
    frameworks, outcomes, started_s = (
        sys.argv[3:] or ["pytorch"],
        Counter[tuple[str, int, str]](),
        time.monotonic(),
    )
    with tempfile.TemporaryDirectory(prefix="resumptions-") as name:
        for framework in frameworks:
            folder = Path(name) / framework
            folder.mkdir()
            campaign = Campaign(framework, folder, random.Random(seed))
            for number in range(1, runs + 1):
                resumed, outcome = campaign.trial()
                print(
                    f"{framework}, run {number}: resumed {resumed} times, {outcome}",
                    file=sys.stderr,
                    flush=True,
                )
                outcomes[framework, resumed, outcome] += 1
    print(table(outcomes))
    print(
        f"\n{runs} runs in each of {len(frameworks)} frameworks with seed {seed} in"
        f" {time.monotonic() - started_s:.0f} s."
    )
    same, other, kept = (
        sum(count for (*_, outcome), count in outcomes.items() if outcome == which)
        for which in (SAME, OTHER, NOTHING_KEPT)
    )
    hand_over(
        killed=same + other + kept,
        resumed=same + other,
        resumed_with_the_same_losses=same,
        killed_before_a_state_was_kept=kept,
    )
    return int(other > 0)


if __name__ == "__main__":
    sys.exit(main())
