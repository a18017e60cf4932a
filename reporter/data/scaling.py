"""Which runs on several nodes compare with which run on one: everything equal except the number of
nodes."""

from collections.abc import Iterable
from dataclasses import dataclass

from reference_impls.contract import SPEED, SYNCHRONISED
from reporter.data.frames import IDENTITY, Frames, Row
from reporter.data.values import entries_of

NOT_COMPARED = (
    *("nodes", "ranks", "collective", "normalisation", "shares"),
    *("batch_size", "learning_rate"),
)
SETTING = [name for name in IDENTITY if name not in NOT_COMPARED]
STRONG, WEAK = "strong", "weak"


@dataclass(frozen=True)
class ScalingLine:
    """Entries by number of nodes, ascending from 1: equal in SETTING, ranks per node, exchange, and
    batch.

    ``kind`` is strong (the same global batch) or weak (the same batch per rank). One rank exchanges
    nothing and compares with each. The learning rate may differ: it does not change the work of a
    step. ``exchange`` is named where lines of the same setting differ in it, else empty.
    """

    kind: str
    batch_size: int
    ranks_per_node: int
    by_nodes: dict[int, Row]
    exchange: str = ""

    @property
    def text(self) -> str:
        """What is held, in words."""
        of_batch = (
            f"batch {self.batch_size}"
            if self.kind == STRONG
            else f"batch {self.batch_size} per rank"
        )
        ranks = "" if self.ranks_per_node == 1 else f", {self.ranks_per_node} ranks per node"
        exchange = f", {self.exchange}" if self.exchange else ""
        return f"{self.kind}, {of_batch}{ranks}{exchange}"


def scaling_lines(frames: Frames, ids: Iterable[str]) -> tuple[ScalingLine, ...]:
    """The lines of some entries, in order of their settings: each starts at one node and has two
    numbers of nodes or more.

    Where two entries of a line have the same number of nodes (they differ in learning rate), the
    first by id stands for both.
    """
    entries = entries_of(frames)
    groups: dict[tuple[str, ...], list[Row]] = {}
    for name in sorted(ids):
        entry = entries[name]
        if int(entry["ranks"]) % int(entry["nodes"]) == 0:
            groups.setdefault(
                (
                    *(str(entry[key]) for key in SETTING),
                    str(int(entry["ranks"]) // int(entry["nodes"])),
                ),
                [],
            ).append(entry)
    lines = [line for _, group in sorted(groups.items()) for line in _lines(group)]
    return tuple(lines)


def _lines(group: list[Row]) -> list[ScalingLine]:
    """The lines of entries that share setting and ranks per node."""
    alone = [entry for entry in group if int(entry["nodes"]) == 1]
    found = []
    exchanges = sorted({_exchange(entry) for entry in group if int(entry["nodes"]) > 1})
    for exchange in exchanges:
        several = [
            entry for entry in group if int(entry["nodes"]) > 1 and _exchange(entry) == exchange
        ]
        bases = [
            entry for entry in alone if int(entry["ranks"]) == 1 or _exchange(entry) == exchange
        ]
        for kind, batch_of in ((STRONG, _global), (WEAK, _per_rank)):
            for batch in sorted({batch_of(entry) for entry in bases}):
                by_nodes: dict[int, Row] = {}
                for entry in (entry for entry in (*bases, *several) if batch_of(entry) == batch):
                    by_nodes.setdefault(int(entry["nodes"]), entry)
                if len(by_nodes) > 1:
                    ranks_per_node = int(group[0]["ranks"]) // int(group[0]["nodes"])
                    name = exchange if len(exchanges) > 1 else ""
                    found.append(
                        ScalingLine(
                            kind, int(batch), ranks_per_node, dict(sorted(by_nodes.items())), name
                        )
                    )
    return found


def _exchange(entry: Row) -> str:
    """What ranks send to each other, in words."""
    statistics = ", synchronised normalisation" if entry["normalisation"] == SYNCHRONISED else ""
    shares = ", shares by speed" if entry["shares"] == SPEED else ""
    return f"{entry['collective']} all-reduce{statistics}{shares}"


def _global(entry: Row) -> float:
    return float(entry["batch_size"])


def _per_rank(entry: Row) -> float:
    return float(entry["batch_size"]) / float(entry["ranks"])
