"""A sweep of power modes on a simulated board that is killed at 200 random moments leaves every
setting put back: `make prove power-modes`."""

import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from proofs.figures import hand_over
from proofs.power_modes.sweep_modes import HELD, KEPT
from suite.files.paths import repository_root
from suite.machine.modes.set_and_restore import left_settings, recover_modes, restore_modes
from tests.simulated_board import settings_of, simulated_board

MAX_WAIT_S = 0.4
"""A mode takes about 0.1 s to set: most of it in nvpmodel and jetson_clocks, which are processes of
their own."""


@dataclass(frozen=True)
class Killed:
    """What a kill left: how many settings differed from before, and whether all are back."""

    changed: int
    is_restored: bool


def kill_at(root: Path, seed: int, kind: str, wait_s: float) -> Killed:
    """Start a sweep of modes on the board, kill it ``wait_s`` after its first mode holds, and let
    the next command put everything back."""
    before = settings_of(root)
    command = [sys.executable, "-m", "proofs.power_modes.sweep_modes", str(root), str(seed), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=repository_root())
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(wait_s)
    process.kill()
    process.communicate()
    left = settings_of(root)
    recover_modes(root)
    if kind == KEPT:
        restore_modes(root)  # a mode that was completely set stays until somebody puts it back
    after = settings_of(root)
    return Killed(
        sum(left.get(name) != value for name, value in before.items()),
        after == before and not left_settings(root),
    )


def main() -> int:
    """``python -m proofs.power_modes [KILLS [SEED]]``."""
    kills, seed = [int(word) for word in [*sys.argv[1:], *("200", "0")[len(sys.argv) - 1 :]]]
    chance, started_s, outcomes = random.Random(seed), time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="power-modes-") as name:
        for number in range(kills):
            root = simulated_board(Path(name) / f"board{number}")
            outcome = kill_at(
                root,
                chance.randrange(2**32),
                chance.choice((HELD, HELD, HELD, KEPT)),
                chance.uniform(0, MAX_WAIT_S),
            )
            outcomes.append(outcome)
            if not outcome.is_restored:
                print(
                    f"kill {number}: {outcome.changed} settings had changed, and not all were put"
                    " back",
                    flush=True,
                )
    restored, untouched = (
        sum(each.is_restored for each in outcomes),
        sum(each.changed == 0 for each in outcomes),
    )
    print(
        f"{restored} of {kills} kills restored (seed {seed}, {time.monotonic() - started_s:.0f} s);"
        f" {untouched} of them had changed nothing."
    )
    hand_over(
        kills=kills, seed=seed, kills_put_back=restored, kills_that_had_changed_nothing=untouched
    )
    return int(restored != kills)


if __name__ == "__main__":
    sys.exit(main())
