"""A made-up experiment with training beside inference that complies."""

from dataclasses import replace
from pathlib import Path

from reference_impls.turns.messages import COLUMNS, STEP_TIMES
from suite.extensions.concurrent.measuring.simulation import simulate
from suite.extensions.concurrent.record import records
from suite.extensions.concurrent.record.arrivals import (
    NS_PER_S,
    ArrivalKind,
    Arrivals,
    intended_ns,
)
from suite.extensions.concurrent.record.layout import beside, inference_alone, training_alone
from suite.extensions.concurrent.record.results import close
from tests.builders import START_NS

POISSON = Arrivals(ArrivalKind.POISSON, 40.0, 10.0, 1)
TRACE_S = (*(image / 50 for image in range(100)), *(2 + image / 40 for image in range(320)))
"""Ten seconds, the first quarter of which has 120 of the 420 images."""


def make_experiment(path: Path, arrivals: Arrivals = POISSON, baseline_share: float = 1.0) -> Path:
    """Write an experiment with training beside inference that complies: batches of four of 40
    images/s, managed interleaving, ten seconds, of which a baseline lasts ``baseline_share``."""
    short = arrivals.lasting(baseline_share * arrivals.duration_s)
    alone = replace(_setting(short), schedule="alone")
    _write_measurement(training_alone(path), replace(alone, infers=None, batch=1), short)
    _write_measurement(inference_alone(path, 4), replace(alone, trains=None), short)
    _write_measurement(beside(path, 4), _setting(arrivals), arrivals)
    close(path)
    return path


def make_experiment_of_trace(path: Path) -> Path:
    """The same with the uneven arrivals of a trace, and baselines as short as the command's."""
    arrivals = Arrivals(ArrivalKind.TRACE, len(TRACE_S) / 10.0, 10.0, 0, TRACE_S)
    return make_experiment(path, arrivals, 0.25)


def _setting(arrivals: Arrivals) -> records.Setting:
    window_ns = round(arrivals.duration_s * NS_PER_S)
    return records.Setting(
        "lenet",
        "lenet",
        arrivals.kind.value,
        arrivals.rate_per_s,
        arrivals.duration_s,
        arrivals.seed,
        4,
        None,
        "managed",
        1,
        1,
        START_NS,
        window_ns,
        window_ns + 5 * 10**7,
        -10,
    )


def _write_measurement(folder: Path, setting: records.Setting, arrivals: Arrivals) -> None:
    """A measurement; training steps of 10 ms fill the time between the batches."""
    times = intended_ns(arrivals) if setting.infers is not None else ()
    rows, noticed = simulate(times, setting.rule, lambda count: 20 * 10**6)
    records.write_recording(folder, setting, rows, noticed, arrivals.trace_s)
    if setting.trains is None:
        return
    free = zip(
        [0, *(row.end_ns for row in rows)],
        [*(row.start_ns for row in rows), setting.window_ns],
        strict=True,
    )
    starts = [start for begin, end in free for start in range(begin, end - 10**7, 10**7)]
    (folder / records.TRAINING).mkdir()
    lines = [
        ",".join(COLUMNS),
        *(f"{setting.start_ns + start},{setting.start_ns + start + 10**7},16" for start in starts),
    ]
    (folder / records.TRAINING / STEP_TIMES).write_text("".join(f"{line}\n" for line in lines))
