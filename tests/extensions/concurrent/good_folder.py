"""A made-up experiment with training beside inference that complies."""

from dataclasses import replace
from pathlib import Path

from reference_impls.turns.messages import COLUMNS, STEP_TIMES
from suite.extensions.concurrent.measuring.simulation import simulate
from suite.extensions.concurrent.record import records
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals, intended_ns
from suite.extensions.concurrent.record.layout import beside, inference_alone, training_alone
from suite.extensions.concurrent.record.results import close
from tests.builders import START_NS


def make_experiment(path: Path) -> Path:
    """Write an experiment with training beside inference that complies: batches of four of 40
    images/s, managed interleaving, ten seconds."""
    setting = records.Setting(
        "lenet",
        "lenet",
        "poisson",
        40.0,
        10.0,
        1,
        4,
        None,
        "managed",
        1,
        1,
        START_NS,
        10 * 10**9,
        10 * 10**9 + 5 * 10**7,
        -10,
    )
    arrivals = Arrivals(ArrivalKind.POISSON, setting.rate_per_s, setting.duration_s, setting.seed)
    rows, noticed = simulate(intended_ns(arrivals), setting.rule, lambda count: 20 * 10**6)
    _write_measurement(
        training_alone(path), replace(setting, infers=None, batch=1, schedule="alone"), (), ()
    )
    _write_measurement(
        inference_alone(path, 4), replace(setting, trains=None, schedule="alone"), rows, noticed
    )
    _write_measurement(beside(path, 4), setting, rows, noticed)
    close(path)
    return path


def _write_measurement(
    folder: Path,
    setting: records.Setting,
    rows: tuple[records.BatchRow, ...],
    noticed: tuple[int, ...],
) -> None:
    """A measurement; training steps of 10 ms fill the time between the batches."""
    records.write_recording(folder, setting, rows, noticed)
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
