"""Faults that the rules of suite.compliance.rules.uncounted find, by check."""

from suite.compliance.rules.uncounted import START, STOP
from tests.faults.edits.fault import Edit, Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import (
    EPOCHS,
    delay_later_events,
    move_into_epoch,
    remove_event,
    repeat_interval,
    set_metadata,
    swap_events,
)


def _spread_over_reasons() -> Edit:
    others = (
        set_metadata(key, number, reason=reason)
        for key in (START, STOP)
        for number, reason in enumerate(("receipt", "pause"))
    )
    return in_turn(
        *others, *(delay_later_events(STOP, number, by_s) for number, by_s in enumerate((4, 8, 4)))
    )


def _pause_after_every_epoch() -> Edit:
    named = (
        set_metadata(key, number, reason="pause") for key in (START, STOP) for number in EPOCHS
    )
    return in_turn(*named, *(delay_later_events(STOP, number, 600) for number in EPOCHS))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "uncounted-bounded": (
        *both("an uncounted interval that does not end", remove_event(STOP, 1)),
        *both("an uncounted interval that does not begin", remove_event(START, 1)),
        *both("the ends of an uncounted interval exchanged", swap_events(START, STOP)),
        *both(
            "an unknown reason",
            in_turn(set_metadata(START, 1, reason="lunch"), set_metadata(STOP, 1, reason="lunch")),
        ),
        *both(
            "no reason",
            in_turn(set_metadata(START, 1, reason=None), set_metadata(STOP, 1, reason=None)),
        ),
        *both("another reason at the end", set_metadata(STOP, 1, reason="pause")),
        *both("two uncounted intervals after an epoch", repeat_interval(1)),
        *both("the last ten seconds of an epoch uncounted", move_into_epoch(1, 10)),
        recomputed("90 seconds uncounted after epoch 2", delay_later_events(STOP, 1, 90)),
        recomputed(
            "ten minutes uncounted after every epoch, as pauses", _pause_after_every_epoch()
        ),
    ),
    "uncounted-needed": (
        *both(
            "a receipt said to be asked for",
            in_turn(*(set_metadata(key, 1, reason="receipt") for key in (START, STOP))),
        ),
        recomputed(
            "one second uncounted after every epoch",
            in_turn(*(delay_later_events(STOP, number, 1) for number in EPOCHS)),
        ),
        recomputed("16 seconds uncounted for three reasons", _spread_over_reasons()),
    ),
}
