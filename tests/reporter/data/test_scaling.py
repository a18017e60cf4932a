"""Lines of the scaling figure, and what a sweep's values are called."""

from dataclasses import replace
from pathlib import Path

import reporter
from reporter.data.scaling import scaling_lines
from tests.sweeps import plan


def test_two_lines_of_one_setting_have_different_names(runs: Path) -> None:
    """With two all-reduce backends: both start at the run of one rank, and they differ in the
    backend only."""
    frames = reporter.load([runs])
    entries = frames.entries[frames.entries["division"] == "closed"]
    alike = {
        "framework": "pytorch",
        "framework_version": "1.0",
        "implementation": "0" * 64,
        "nodes": [1, 2, 2],
        "ranks": [1, 2, 2],
    }
    alike["collective"] = ["none", "mpi", "native"]
    lines = scaling_lines(replace(frames, entries=entries.assign(**alike)), entries["entry_id"])
    assert [line.text for line in lines] == [
        "strong, batch 32, mpi all-reduce",
        "strong, batch 32, native all-reduce",
    ]
    one = alike | {"collective": ["none", "mpi", "mpi"]}
    assert {
        line.text
        for line in scaling_lines(
            replace(frames, entries=entries.assign(**one)), entries["entry_id"]
        )
    } == {"strong, batch 32"}


def test_ranks_that_synchronise_have_a_line_of_their_own_from_the_same_run_of_one_rank(
    runs: Path,
) -> None:
    frames = reporter.load([runs])
    entries = frames.entries[frames.entries["division"] == "closed"]
    alike = {
        "framework": "pytorch",
        "framework_version": "1.0",
        "implementation": "0" * 64,
        "nodes": [1, 2, 2],
        "ranks": [1, 2, 2],
    }
    alike |= {
        "collective": ["none", "mpi", "mpi"],
        "normalisation": ["local", "local", "synchronised"],
        "shares": ["equal", "equal", "speed"],
    }
    lines = scaling_lines(replace(frames, entries=entries.assign(**alike)), entries["entry_id"])
    assert [line.text for line in lines] == [
        "strong, batch 32, mpi all-reduce",
        "strong, batch 32, mpi all-reduce, synchronised normalisation, shares by speed",
    ]


def test_ranks_on_one_machine_are_not_called_nodes() -> None:
    of_hosts = replace(plan(("1", "2")), title="Scaling over nodes")
    on_one = replace(of_hosts, hosts=0)
    assert (of_hosts.varied, of_hosts.heading) == ("nodes", "Scaling over nodes")
    assert (on_one.varied, on_one.heading) == ("ranks", "Scaling over ranks")
