"""Steps of two and four hosts at 100 Mbit/s and 1 Gbit/s, ours beside DistributedDataParallel with
the same numbers on the wire, median and tail: `make prove wire`.

``python -m proofs.wire --models vgg11,lenet5 --hosts 2,4 --megabits 100,1000 --turns 8``. The same
command goes on after a break. Under load, another process uses half a core.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from benchmarks.allreduce import MODELS, RIVALS, Settings, on_hosts, rank_options
from benchmarks.runner.benchmark import Ratio, ratio_of
from proofs.figures import hand_over
from proofs.proof import find_proof

CAPTION = """\
- Ours (overlapped) and DistributedDataParallel over Gloo in {turns} turns, over links that `tc tbf`
  shapes in both directions; in float16 with its `fp16_compress_hook`. Its hook for bfloat16 refuses
  Gloo. *Other process*: one that uses half a core beside the ranks.
- Times: median and 99th percentile (nearest rank) of n steps, each at the rank that took longest.
  Of fewer than 100 steps that percentile is the longest one, and called so.
- Ratios: less than 1 where ours is shorter. The first is the median over the turns' medians (95 %
  by order statistics), the second that of the percentiles (95 %: {resamples} bootstraps of turns).
- Limit: what a rank must send at least, 2 (n - 1) / n of the gradients, half of that in float16, at
  the rate of one connection of bare TCP through the links in the same run; over our exact exchange
  alone, and over our median step less the forward pass, which hides no exchange.
- Load: that of the machine before and after, most of it the ranks' own."""
HEADING = (
    "| model | hosts | link | other process | sent | n | ours | DDP | ours / DDP | ours, 99 % |"
    " DDP, 99 % | ours / DDP, 99 % | bare TCP | limit / alone | limit / ours | load |"
)
TURN_S, MAX_STEPS = 1.5, 40
"""Seconds of a turn, if nothing but the link took time, and its most steps."""
MAX_MEGABITS = 100
"""Fastest links of hosts that share cores."""
RESAMPLES = 2000
BUSY = """
import time
while True:
    until_s = time.monotonic() + 0.05
    while time.monotonic() < until_s:
        pass
    time.sleep(0.05)
"""
LOADS = {"none": (), "half a core": (sys.executable, "-c", BUSY)}
NUMBERS = dict(zip(RIVALS, ("float32", "float16"), strict=True))


@dataclass(frozen=True)
class Case:
    """What the ranks train, on how many hosts, over which links, beside which other process."""

    model: str
    hosts: int
    megabits: float
    load: str
    turns: int

    @property
    def steps(self) -> int:
        """Steps of a turn: fewer on a slow link."""
        limit_s = limit_bytes(self.hosts, MODELS[self.model].gradient_bytes) * 8e-6 / self.megabits
        return min(MAX_STEPS, max(1, int(TURN_S / limit_s)))

    @property
    def cells(self) -> tuple[str, ...]:
        """The columns that name it."""
        model, cores = MODELS[self.model], os.cpu_count() or 1
        return (
            f"{model.title}, {model.gradient_bytes / 1e6:.3g} MB",
            f"{self.hosts} on {cores} cores" + ", oversubscribed" * (self.hosts > cores),
            f"{self.megabits:g} Mbit/s",
            self.load,
        )


@dataclass(frozen=True)
class Row:
    """Ours and its rival in one case: the ratios of the median steps and of the tails, and the
    table's line."""

    median: Ratio
    tail: tuple[float, float, float]
    limit_share: float
    text: str


def limit_bytes(hosts: int, gradient_bytes: int) -> float:
    """Bytes that a rank must send at least."""
    return 2 * (hosts - 1) / hosts * gradient_bytes


def main(words: Sequence[str]) -> int:
    """Measure every case, printing its rows as they are known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("models", "vgg11,lenet5"),
        ("hosts", "2,4"),
        ("megabits", "100,1000"),
        ("turns", "8"),
    ):
        parser.add_argument(f"--{name}", default=default)
    options, rows = parser.parse_args(words), list[Row]()
    caption = CAPTION.format(turns=options.turns, resamples=RESAMPLES)
    print(f"{caption}\n\n{HEADING}\n{'|---' * (HEADING.count('|') - 1)}|", flush=True)
    for case in cases(options):
        for row in rows_of(case, kept(case)):
            rows.append(row)
            print(row.text, flush=True)
    hand_over(
        rows=len(rows),
        least_limit_over_ours=round(min(row.limit_share for row in rows), 2),
        largest_ours_over_ddp=round(max(row.median.median for row in rows), 3),
        rows_in_which_ours_is_longer=sum(row.median.low > 1 for row in rows),
        rows_in_which_ddp_is_longer=sum(row.median.high < 1 for row in rows),
        rows_in_which_our_tail_is_longer=sum(row.tail[1] > 1 for row in rows),
        rows_in_which_the_tail_of_ddp_is_longer=sum(row.tail[2] < 1 for row in rows),
    )
    for case in cases(options):
        place(case).unlink()
    return 0


def cases(options: argparse.Namespace) -> Iterator[Case]:
    """Those of few hosts first; of more hosts than cores those whose cores can fill their links."""
    for hosts, load, model, megabits in product(
        map(int, options.hosts.split(",")),
        LOADS,
        options.models.split(","),
        map(float, options.megabits.split(",")),
    ):
        if hosts <= (os.cpu_count() or 1) or (load == "none" and megabits <= MAX_MEGABITS):
            yield Case(model, hosts, megabits, load, int(options.turns))


def place(case: Case) -> Path:
    """Where a case's measurements lie until the table is whole."""
    return find_proof("wire").kept / f"{'-'.join(map(str, vars(case).values()))}.json"


def kept(case: Case) -> Mapping[str, Any]:
    """What an earlier try measured that was broken off, or now."""
    path = place(case)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(measured(case)), encoding="utf-8")
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def measured(case: Case) -> dict[str, Any]:
    """What rank 0 prints, the rate of bare TCP, and the machine's load before and after."""
    model, before = MODELS[case.model], os.getloadavg()[0]
    settings = Settings(
        case.hosts, "hosts", case.model, None, case.steps, case.turns, case.megabits
    )
    options = [*rank_options(settings, case.model, model), "--only", *RIVALS, *RIVALS.values()]
    with beside(LOADS[case.load]):
        output, goodput_bytes_s = on_hosts(settings, options, model)
    said = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return {**said, "goodput_bytes_s": goodput_bytes_s, "load": [before, os.getloadavg()[0]]}


@contextmanager
def beside(command: Sequence[str]) -> Iterator[None]:
    """Within this context the command runs, if there is one."""
    if not command:
        yield
        return
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.kill()


def rows_of(case: Case, found: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each kind of number on the wire."""
    exact_s = limit_bytes(case.hosts, found["gradient_bytes"]) / found["goodput_bytes_s"]
    unhidden_s = statistics.median(found["exchange_alone_s"])
    forward_s = statistics.median(found["forward_s"])
    for way, rival in RIVALS.items():
        is_exact = NUMBERS[way] == "float32"
        limit_s = exact_s if is_exact else exact_s / 2
        ours, theirs = found["steps_s"][way], found["steps_s"][rival]
        turns = zip(map(statistics.median, ours), map(statistics.median, theirs), strict=True)
        median, tail = ratio_of(way, way, rival, list(turns)), tail_ratio(ours, theirs)
        medians = [statistics.median(chain.from_iterable(side)) for side in (ours, theirs)]
        share = limit_s / (medians[0] - forward_s)
        steps = sum(map(len, ours))
        longest = "longest " * (steps < 100)
        cells = (
            *case.cells,
            NUMBERS[way],
            str(steps),
            *(f"{side_s * 1e3:.1f} ms" for side_s in medians),
            _interval(median.median, median.low, median.high),
            *(f"{longest}{percentile(side) * 1e3:.1f} ms" for side in (ours, theirs)),
            _interval(*tail),
            f"{found['goodput_bytes_s'] * 8e-6:.0f} Mbit/s",
            f"{limit_s / unhidden_s:.2f}" if is_exact else "",
            f"{share:.2f}",
            ", ".join(f"{load:.1f}" for load in found["load"]),
        )
        yield Row(median, tail, share, f"| {' | '.join(cells)} |")


def percentile(turns: Sequence[Sequence[float]]) -> float:
    """The 99th of all turns' steps, by nearest rank: of fewer than 100 the largest."""
    ordered = sorted(chain.from_iterable(turns))
    return ordered[math.ceil(0.99 * len(ordered)) - 1]


def tail_ratio(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]
) -> tuple[float, float, float]:
    """The ratio of the 99th percentiles, and its 95 % interval: turns are drawn, because the steps
    of one depend on one another."""
    draw, ratios = random.Random(1), list[float]()
    for _ in range(RESAMPLES):
        turns = draw.choices(range(len(ours)), k=len(ours))
        ratios.append(
            percentile([ours[turn] for turn in turns])
            / percentile([theirs[turn] for turn in turns])
        )
    ratios.sort()
    low, high = ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]
    return percentile(ours) / percentile(theirs), low, high


def _interval(value: float, low: float, high: float) -> str:
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
