"""`make wire`: an exchange of gradients over shaped links against what bare TCP carries through them; rows of a table of docs/multi-node.md.

``python -m benchmarks.wire_table --models lenet5,vgg11 --hosts 2,4 --megabits 100,1000``: each combination is a row, which replaces the one of an
earlier run. Every time is the median over the turns of a step less its forward pass, which hides no exchange; "alone" is our exchange while the
ranks compute nothing. The limit is what a rank sends at least, 2 (n - 1) / n of the gradients, at the rate of one TCP connection through the same
links in the same run.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from benchmarks.allreduce import DDP, MODELS, Settings, on_hosts, rank_options
from suite.files.paths import repository_root

DOCUMENT = repository_root() / "docs/multi-node.md"
BEGIN, END = "<!-- measured: wire -->\n", "<!-- end -->\n"
ALONE = "ours, alone"
OVERLAPPED, AFTER, FLOAT16, BFLOAT16 = "ours, overlapped", "ours, after the backward pass", "ours, float16", "ours, bfloat16"
HEADING = (
    "| model | hosts | link | bare TCP | limit | exchange alone | ours | ours, after the backward pass | DDP over Gloo | float16 | bfloat16 "
    "| limit / alone | limit / ours | limit / DDP | limit of 16 bits / float16 | load before and after | day |"
)


@dataclass(frozen=True)
class Row:
    """One combination: its key in the table, and its cells."""

    key: tuple[str, str, str]
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        """The line of the table."""
        return f"| {' | '.join((*self.key, *self.cells))} |"


def main(words: Sequence[str]) -> int:
    """Measure every combination, writing each row as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("models", ",".join(MODELS)), ("hosts", "2,4"), ("megabits", "100,1000"), ("turns", "5")):
        parser.add_argument(f"--{name}", default=default)
    options = parser.parse_args(words)
    for model in options.models.split(","):
        for hosts in map(int, options.hosts.split(",")):
            for megabits in map(float, options.megabits.split(",")):
                row = measured(model, hosts, megabits, int(options.turns))
                write(row)
                print(row.text, flush=True)
    return 0


def measured(name: str, hosts: int, megabits: float, turns: int) -> Row:
    """One row, with a quarter of the steps of a turn: a slow link takes longer."""
    model, load = MODELS[name], os.getloadavg()[0]
    settings = Settings(ranks=hosts, where="hosts", model=name, steps=max(1, model.steps // 4), turns=turns, megabits=megabits)
    output, goodput_bytes_s = on_hosts(settings, rank_options(settings, name, model), model)
    found: Mapping[str, Any] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    limit_s = 2 * (hosts - 1) / hosts * found["gradient_bytes"] / goodput_bytes_s
    taken_s = {way: median_beyond(times_s, found["forward_s"]) for way, times_s in found["step_s"].items()}
    key = (f"{model.title}, {found['gradient_bytes'] / 1e6:.3g} MB", _hosts(hosts), f"{megabits:g} Mbit/s")
    taken_s[ALONE] = statistics.median(found["exchange_alone_s"])
    times = (f"{taken_s[way] * 1e3:.1f} ms" for way in (ALONE, OVERLAPPED, AFTER, DDP, FLOAT16, BFLOAT16))
    shares = (f"{limit / taken_s[way]:.2f}" for limit, way in ((limit_s, ALONE), (limit_s, OVERLAPPED), (limit_s, DDP), (limit_s / 2, FLOAT16)))
    carried, loads = f"{goodput_bytes_s * 8 / 1e6:.0f} Mbit/s", f"{load:.1f}, {os.getloadavg()[0]:.1f}"
    return Row(key, (carried, f"{limit_s * 1e3:.1f} ms", *times, *shares, loads, datetime.now(timezone.utc).strftime("%Y-%m-%d")))


def median_beyond(times_s: Sequence[float], forward_s: Sequence[float]) -> float:
    """Median of a step's time without its forward pass."""
    return statistics.median(time_s - forward for time_s, forward in zip(times_s, forward_s, strict=True))


def _hosts(count: int) -> str:
    cores = os.cpu_count() or 1
    return f"{count} on {cores} cores" + (", oversubscribed" if count > cores else "")


def write(row: Row) -> None:
    """Put a row in the place of the one with its key, or behind the others."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    rows = {tuple(cell.strip() for cell in line.split("|")[1:4]): line for line in old.splitlines()[2:]}
    rows[row.key] = row.text
    lines = [HEADING, "|---" * (HEADING.count("|") - 1) + "|", *rows.values()]
    DOCUMENT.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
