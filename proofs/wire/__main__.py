"""Times of gradient exchanges on 2 and 4 hosts at 100 Mbit/s and 1 Gbit/s, against bare TCP: `make
prove wire`.

``python -m proofs.wire --models lenet5,vgg11 --hosts 2,4 --megabits 100,1000``: each combination is
a row of the table. Every time is the median over the turns of a step less its forward pass, which
hides no exchange; "alone" is our exchange while the ranks compute nothing.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.allreduce import DDP, MODELS, Settings, on_hosts, rank_options
from proofs.figures import hand_over

CAPTION = (
    "Links that `tc tbf` shapes in both directions. The time is that of a step less its forward"
    " pass, which hides no exchange. The limit is what a rank must send at least, 2 (n - 1) / n of"
    " the gradients, at the rate of one bare TCP connection through the links in the same run."
    " Medians over the turns; 16 bits against half of that limit."
)
ALONE = "ours, alone"
OVERLAPPED, AFTER, FLOAT16, BFLOAT16 = (
    "ours, overlapped",
    "ours, after the backward pass",
    "ours, float16",
    "ours, bfloat16",
)
HEADING = (
    "| model | hosts | link | bare TCP | limit | exchange alone | ours | ours, after the backward"
    " pass | DDP over Gloo | float16 | bfloat16 | limit / alone | limit / ours | limit / DDP |"
    " limit of 16 bits / float16 | load before and after |"
)


@dataclass(frozen=True)
class Row:
    """One combination: its cells, and the limit's share of our exchange alone, of our step and of
    DistributedDataParallel's."""

    cells: tuple[str, ...]
    share_alone: float
    share_ours: float
    share_ddp: float

    @property
    def text(self) -> str:
        """The line of the table."""
        return f"| {' | '.join(self.cells)} |"


def main(words: Sequence[str]) -> int:
    """Measure every combination, printing each row as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (
        ("models", ",".join(MODELS)),
        ("hosts", "2,4"),
        ("megabits", "100,1000"),
        ("turns", "5"),
    ):
        parser.add_argument(f"--{name}", default=default)
    options, rows = parser.parse_args(words), []
    print(f"{CAPTION}\n\n{HEADING}\n{'|---' * (HEADING.count('|') - 1)}|", flush=True)
    for model in options.models.split(","):
        for hosts in map(int, options.hosts.split(",")):
            for megabits in map(float, options.megabits.split(",")):
                rows.append(measured(model, hosts, megabits, int(options.turns)))
                print(rows[-1].text, flush=True)
    hand_over(
        rows=len(rows),
        least_limit_over_exchange_alone=round(min(row.share_alone for row in rows), 2),
        largest_limit_over_exchange_alone=round(max(row.share_alone for row in rows), 2),
        rows_in_which_ours_is_not_slower_than_ddp=sum(
            row.share_ours >= row.share_ddp for row in rows
        ),
    )
    return 0


def measured(name: str, hosts: int, megabits: float, turns: int) -> Row:
    """One row, with a quarter of the steps of a turn: a slow link takes longer."""
    model, load = MODELS[name], os.getloadavg()[0]
    settings = Settings(
        ranks=hosts,
        where="hosts",
        model=name,
        steps=max(1, model.steps // 4),
        turns=turns,
        megabits=megabits,
    )
    output, goodput_bytes_s = on_hosts(settings, rank_options(settings, name, model), model)
    found: Mapping[str, Any] = json.loads(
        next(line for line in output.splitlines() if line.startswith("{"))
    )
    limit_s = 2 * (hosts - 1) / hosts * found["gradient_bytes"] / goodput_bytes_s
    taken_s = {
        way: median_beyond(times_s, found["forward_s"]) for way, times_s in found["step_s"].items()
    }
    key = (
        f"{model.title}, {found['gradient_bytes'] / 1e6:.3g} MB",
        _hosts(hosts),
        f"{megabits:g} Mbit/s",
    )
    taken_s[ALONE] = statistics.median(found["exchange_alone_s"])
    times = (
        f"{taken_s[way] * 1e3:.1f} ms" for way in (ALONE, OVERLAPPED, AFTER, DDP, FLOAT16, BFLOAT16)
    )
    shares = (
        f"{limit / taken_s[way]:.2f}"
        for limit, way in (
            (limit_s, ALONE),
            (limit_s, OVERLAPPED),
            (limit_s, DDP),
            (limit_s / 2, FLOAT16),
        )
    )
    carried, loads = (
        f"{goodput_bytes_s * 8 / 1e6:.0f} Mbit/s",
        f"{load:.1f}, {os.getloadavg()[0]:.1f}",
    )
    cells = (*key, carried, f"{limit_s * 1e3:.1f} ms", *times, *shares, loads)
    return Row(cells, *(limit_s / taken_s[way] for way in (ALONE, OVERLAPPED, DDP)))


def median_beyond(times_s: Sequence[float], forward_s: Sequence[float]) -> float:
    """Median of a step's time without its forward pass."""
    return statistics.median(
        time_s - forward for time_s, forward in zip(times_s, forward_s, strict=True)
    )


def _hosts(count: int) -> str:
    cores = os.cpu_count() or 1
    return f"{count} on {cores} cores" + (", oversubscribed" if count > cores else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
