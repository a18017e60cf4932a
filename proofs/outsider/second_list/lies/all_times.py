"""Lies that scale all times, or all of a kind."""

from typing import Any

import numpy as np

from proofs.outsider.edits import PARTS
from proofs.outsider.second_list.edits import remove_time, resample, scale
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, NOTHING, lie

SUBJECT = "all times scaled"


@lie(SUBJECT, EDITED, "a tenth of all times", NOTHING)
def a_tenth_off_everything(copy: ForgedCopy) -> None:
    """Log, wall clock, steps, CPU time and readings as a machine that is a ninth faster would have
    them; every meter keeps its own schedule."""
    scale(copy, 0.9)


@lie(SUBJECT, EDITED, "half of all times", NOTHING + "; rates of events per second")
def half_of_everything(copy: ForgedCopy) -> None:
    """As above, by one half."""
    scale(copy, 0.5)


@lie(
    SUBJECT,
    EDITED,
    "a tenth of all times",
    "CPU seconds of one thread exceed the time, if the machine was quiet",
)
def a_tenth_off_but_cpu_time(copy: ForgedCopy) -> None:
    """As above, but the CPU time is left as it was."""
    scale(copy, 0.9, cpu=False)


@lie(SUBJECT, EDITED, "half of all times", "more CPU seconds than seconds")
def half_but_cpu_time(copy: ForgedCopy) -> None:
    """Half of everything, but the CPU time is left as it was."""
    scale(copy, 0.5, cpu=False)


def _scaled(copy: ForgedCopy, factor: float) -> Any:
    first = int(copy.logs[0][0]["metadata"]["mono_ns"])
    return lambda times: np.where(
        np.asarray(times) > first,
        first + ((np.asarray(times) - first) * factor).astype(np.int64),
        times,
    )


@lie(SUBJECT, EDITED, "a tenth of all times", "the readings go on after the end")
def readings_forgotten(copy: ForgedCopy) -> None:
    """Log, wall clock and steps, not the readings."""
    copy.retime(_scaled(copy, 0.9), readings=False)


@lie(SUBJECT, EDITED, "a tenth of all times", "the wall clock")
def wall_clock_forgotten(copy: ForgedCopy) -> None:
    """Everything but the wall clock."""
    moved = _scaled(copy, 0.9)
    resample(copy, moved)
    copy.retime(moved, readings=False, wall=False)


@lie(SUBJECT, EDITED, "a tenth of all times", "the meters' periods")
def readings_moved_together(copy: ForgedCopy) -> None:
    """Readings are moved with the times; the meters' records are left."""
    copy.retime(_scaled(copy, 0.9))


@lie(SUBJECT, EDITED, "a tenth of all times", "the meters' periods: 0.9 s where a second is stated")
def readings_moved_and_restated(copy: ForgedCopy) -> None:
    """Readings are moved with the times, and the meters' records made to fit."""
    copy.retime(_scaled(copy, 0.9))
    copy.restate_meters()


@lie(
    SUBJECT,
    EDITED,
    "the later epochs, which make the time per epoch",
    "computing at two speeds with one clock; " + NOTHING,
)
def later_epochs_only(copy: ForgedCopy) -> None:
    """From the second epoch on everything takes 85 %."""
    start = copy.events("epoch_start")[1]["metadata"]["mono_ns"]

    def moved(times: Any) -> Any:
        times = np.asarray(times, dtype=np.int64)
        return np.where(times > start, start + ((times - start) * 0.85).astype(np.int64), times)

    resample(copy, moved)
    copy.retime(moved, readings=False)


@lie(
    SUBJECT,
    EDITED,
    "two thirds of the evaluations' time",
    NOTHING + "; an evaluation that is faster than others of its kind",
)
def evaluations_only(copy: ForgedCopy) -> None:
    """Evaluations take a third of their time, everything else follows."""
    from proofs.outsider.second_list.edits import take_out

    starts = [event["metadata"]["mono_ns"] for event in copy.events("eval_start")]
    stops = [event["metadata"]["mono_ns"] for event in copy.events("eval_accuracy")]
    take_out(
        copy,
        [
            (start + (stop - start) // 3, stop - 1000)
            for start, stop in zip(starts, stops, strict=True)
        ],
    )


@lie(SUBJECT, EDITED, "fetching", NOTHING)
def fetching_only(copy: ForgedCopy) -> None:
    """Fetching takes a third in every step."""
    remove_time(copy, "fetch_stall_s", copy.steps["fetch_stall_s"].to_numpy() * 2 / 3)


@lie(SUBJECT, ERROR, "nothing; a slip", "log and steps")
def steps_of_another_clock(copy: ForgedCopy) -> None:
    """The steps' clock runs a twentieth faster than the log's."""
    first = int(copy.steps["start_ns"].iloc[0])
    copy.steps["start_ns"] = first + ((copy.steps["start_ns"] - first) * 0.95).astype(np.int64)
    copy.steps[PARTS] *= 0.95


@lie(SUBJECT, ERROR, "nothing; a slip", "the wall clock")
def a_monotonic_clock_of_microseconds(copy: ForgedCopy) -> None:
    """All monotonic times are in microseconds."""
    copy.retime(lambda times: np.asarray(times) // 1000, wall=False, steps=False)
    copy.steps["start_ns"] //= 1000


@lie(SUBJECT, EDITED, "three hundredths", NOTHING)
def three_hundredths_off(copy: ForgedCopy) -> None:
    """Three hundredths off everything."""
    scale(copy, 0.97)


@lie(
    SUBJECT,
    EDITED,
    "a tenth of a witnessed run",
    "the witness's clock and the stamped head",
    sample="witnessed",
)
def a_tenth_off_a_witnessed_run(copy: ForgedCopy) -> None:
    """A tenth off everything, the witness's record left."""
    scale(copy, 0.9)


@lie(
    SUBJECT,
    EDITED,
    "a tenth of a witnessed run",
    NOTHING + ": the witness is optional",
    sample="witnessed",
)
def a_tenth_off_and_no_witness(copy: ForgedCopy) -> None:
    """A tenth off everything, and the witness taken out of command and bundle."""
    scale(copy, 0.9)
    copy.drop_witness()


@lie(
    SUBJECT, EDITED, "a tenth of a witnessed run", "the command names a witness", sample="witnessed"
)
def a_tenth_off_and_the_witness_lost(copy: ForgedCopy) -> None:
    """A tenth off everything, and witness.json is lost; the command is left."""
    scale(copy, 0.9)
    del copy.json["witness"]
    (copy.path / "witness.json").unlink()
