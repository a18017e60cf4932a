"""Converts a run's CSV files to Parquet when the run has ended."""

from itertools import chain
from pathlib import Path

from reference_impls import contract
from suite.bundle.frames import read_raw_readings, read_raw_steps, write_table
from suite.bundle.layout import BASELOAD_RAW, READINGS_RAW, STEPS, node_baseloads, node_tables
from suite.bundle.reader import Bundle


def convert_tables(path: Path) -> None:
    """Convert the step records and readings of a bundle to Parquet; each CSV file is removed once its table is written."""
    log = Bundle(path).log()
    if (path / contract.steps_name(0)).exists():
        raw_steps = Bundle(path).raw_steps()
        write_table(read_raw_steps(raw_steps, log.finished_epochs()), path / STEPS)
        for raw in raw_steps:
            raw.unlink()
    of_nodes = (sorted(path.glob(names("*")[1])) for names in (node_tables, node_baseloads))
    for raw in (path / READINGS_RAW, path / BASELOAD_RAW, *chain.from_iterable(of_nodes)):
        if raw.exists():
            write_table(read_raw_readings(raw), raw.with_suffix(".parquet"))
            raw.unlink()
