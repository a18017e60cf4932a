"""Faults that the rules of suite.compliance.rules.trained find, by rule."""

from collections.abc import Iterator

from suite.catalog.divisions import Division
from suite.compliance.rules.trained import (
    BY_FIRST_RANK,
    DECLARED,
    EVERY_EPOCH,
    MAX_LENGTH,
    OF_RANKS,
    OF_RANKS_EVERY_EPOCH,
    ONCE,
)
from suite.compliance.wording import shown
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, edit, in_turn, recomputed
from tests.faults.edits.log_edits import remove_event, set_event, set_everywhere
from tests.faults.edits.rank_log_edits import remove_of_all, remove_of_rank


@edit
def _lose_parameters(bundle: EditableBundle, value: object) -> None:
    bundle.event("parameters")["value"] = value


_TO_OPEN = set_everywhere("division", Division.OPEN.value)


def _open_faults() -> Iterator[Fault]:
    for key in DECLARED:
        yield from both(f"an open run without {key}", in_turn(_TO_OPEN, remove_event(key)))
        for value in ("", None, 5, " x", "x" * (MAX_LENGTH + 1), "a\nb"):
            yield from both(
                f"an open run with {key} = {shown(value)[:40]}",
                in_turn(_TO_OPEN, set_event(key, value=value)),
            )
    for value in (None, 0, "many"):
        yield from both(
            f"an open run with {value!r} parameters", in_turn(_TO_OPEN, _lose_parameters(value))
        )


FAULTS: dict[str, tuple[Fault, ...]] = {
    "open-declares": tuple(_open_faults()),
    "closed-trained": (
        *both(
            "a softmax regression in the closed division",
            set_event("model_trained", value="softmax_regression"),
        ),
        *both("Adam in the closed division", set_event("optimizer_used", value="adam")),
        *both("bfloat16 where float32 was requested", set_event("precision", value="bf16-mixed")),
    ),
    "own-loop-logged": (
        *(
            fault
            for key in (*ONCE, *BY_FIRST_RANK)
            for fault in both(f"no {key}", remove_event(key))
        ),
        *(
            fault
            for key in EVERY_EPOCH
            for fault in both(f"no {key} of epoch 2", remove_event(key, 1))
        ),
        recomputed("no learning rates of rank 1", remove_of_rank(1, "learning_rates"), ranks=2),
        recomputed(
            "rank 1's digests of epoch 2 left out of an open run",
            in_turn(_TO_OPEN, remove_of_rank(1, "state_digests", 1)),
            ranks=2,
        ),
        *(
            recomputed(f"no {key} of two ranks", remove_of_all(key), ranks=2)
            for key in (*OF_RANKS, *OF_RANKS_EVERY_EPOCH)
        ),
    ),
}
