"""100,000 broken inputs end the checker with a verdict or a sentence: no traceback, no hang, no
file written: `make prove fuzz`.

A target ends at the first input that breaks it.
"""

import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

from proofs.figures import hand_over
from proofs.fuzz.targets import Target, targets
from proofs.fuzz.watch import Watch, peak_mib

BATCH = 1000
"""Inputs per hypothesis run, each with another seed: hypothesis keeps every input of a run in
memory."""


@dataclass(frozen=True)
class Tally:
    """One target's inputs by the checker's exit code, and the time they took."""

    target: str
    complied: int
    not_compliant: int
    refused: int
    time_s: float
    slowest_s: float

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return self.complied + self.not_compliant + self.refused


def explore(watch: Watch, target: Target, inputs: int, first_seed: int = 0) -> Tally:
    """Try a target's share of all inputs; raises what the checker raised, with the input."""
    watch.answers.clear()
    watch.slowest_s, started_s, number = 0.0, time.perf_counter(), first_seed
    while watch.inputs < round(target.share * inputs):
        _batch(target, min(BATCH, round(target.share * inputs) - watch.inputs), number)
        number += 1
    answers = watch.answers
    return Tally(
        target.name,
        answers[0],
        answers[1],
        answers[2],
        time.perf_counter() - started_s,
        watch.slowest_s,
    )


def _batch(target: Target, inputs: int, number: int) -> None:
    @seed(number)
    @settings(
        max_examples=inputs, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(target.inputs)
    def examine(drawn: object) -> None:
        target.examine(drawn)

    examine()


def main() -> int:
    """``python -m proofs.fuzz [INPUTS [SEED]]``."""
    inputs, first_seed = [
        int(word) for word in [*sys.argv[1:], *("100000", "0")[len(sys.argv) - 1 :]]
    ]
    tallies, broken, started_s = [], [], time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        watch = Watch(Path(name))
        for target in targets(watch):
            try:
                tally = explore(watch, target, inputs, first_seed)
            except Exception:  # noqa: BLE001 - any exception is a failure of the checker
                traceback.print_exc(file=sys.stdout)
                broken.append(target.name)
                continue
            tallies.append(tally)
            print(
                f"{tally.target:26} {tally.inputs:6} inputs: {tally.complied} complied,"
                f" {tally.not_compliant} did not, {tally.refused} refused; {tally.time_s:.0f} s,"
                f" slowest {tally.slowest_s:.2f} s, peak {peak_mib():.0f} MiB",
                flush=True,
            )
    total = sum(tally.inputs for tally in tallies)
    print(
        f"{total} inputs in {time.perf_counter() - started_s:.0f} s: no traceback, no hang, no file"
        f" written, {peak_mib():.0f} MiB at most"
    )
    if broken:
        print(f"except these targets, which ended early: {', '.join(broken)}")
    slowest_s = max((tally.slowest_s for tally in tallies), default=None)
    hand_over(
        inputs=total,
        seed=first_seed,
        targets_broken=len(broken),
        slowest_s=slowest_s and round(slowest_s, 2),
        peak_mib=round(peak_mib()),
    )
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
