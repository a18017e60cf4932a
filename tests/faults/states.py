"""Faults that the rules of suite.compliance.rules.states find, by check."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from reference_impls.training_state import KINDS
from suite.compliance.rules.states import NOTHING, SHARED
from tests.faults.edits.fault import Fault, both, recomputed, unsealed
from tests.faults.edits.file_edits import Lines, change_lines, rechained, replace_in_line, resealed
from tests.faults.edits.log_edits import (
    copy_value,
    remove_event,
    repeat_event,
    set_event,
    set_metadata,
)


def _faults() -> Iterator[Fault]:
    yield from both("the digests of epoch 2 left out", remove_event("state_digests", 1))
    yield from both("the digests of epoch 2 twice", repeat_event("state_digests"))
    yield recomputed("digests under another epoch", set_metadata("state_digests", epoch_num=2))
    for name, value in (
        ("no", None),
        ("one", "0" * 64),
        ("a digit short", dict.fromkeys(KINDS, "0" * 63)),
        ("of parameters only", {"parameter": "0" * 64}),
    ):
        yield recomputed(f"digests: {name}", set_event("state_digests", value=value))
    yield recomputed("the digests of epoch 1 after epoch 2", copy_value("state_digests", 0, 1))
    one, other = "1" * 64, "2" * 64
    yield recomputed(
        "one digest of parameters and velocities",
        set_event("state_digests", value=dict.fromkeys(SHARED, one) | {"statistic": NOTHING}),
    )
    yield recomputed(
        "statistics of LeNet-5",
        set_event("state_digests", value={"parameter": one, "velocity": other, "statistic": other}),
    )
    for kind in SHARED:
        change = replace_in_line("state_digests", f'"{kind}": "', f'"{kind}": "0')
        yield unsealed(
            f"rank 1's {kind} digest with a digit more",
            resealed(change_lines(log_name(1), rechained(change))),
            ranks=2,
        )
    other_statistics = rechained(
        replace_in_line("state_digests", '"statistic": "e', '"statistic": "f')
    )
    yield unsealed(
        "other statistics on rank 1", resealed(change_lines(log_name(1), other_statistics)), ranks=2
    )
    yield unsealed(
        "rank 1's digests exchanged",
        resealed(change_lines(log_name(1), rechained(_exchange))),
        ranks=2,
    )


def _exchange(lines: Lines) -> Lines:
    """Name the digest of the parameters as that of the velocities, and vice versa."""
    for old, new in (("parameter", "other"), ("velocity", "parameter"), ("other", "velocity")):
        lines = replace_in_line("state_digests", f'"{old}": "', f'"{new}": "')(lines)
    return lines


FAULTS: dict[str, tuple[Fault, ...]] = {
    "state-digests": tuple(_faults()),
}
