"""Closes the tables of a run: plain files to Parquet."""

from itertools import chain
from pathlib import Path

from reference_impls import contract
from suite.bundle.layout import BASELOAD_RAW, READINGS_RAW, STEPS, node_baseloads, node_tables
from suite.bundle.reader import Bundle


def convert_tables(path: Path) -> None:
    """Turn the plain step records and readings of a bundle into Parquet; each plain file goes once its table is written."""
    from suite.bundle import tables

    log = Bundle(path).log()
    if (path / contract.steps_name(0)).exists():
        raw_steps = Bundle(path).raw_steps()
        tables.write_table(tables.read_raw_steps(raw_steps, log.finished_epochs()), path / STEPS)
        for raw in raw_steps:
            raw.unlink()
    of_nodes = (sorted(path.glob(names(0)[1].replace("0", "*"))) for names in (node_tables, node_baseloads))
    for raw in (path / READINGS_RAW, path / BASELOAD_RAW, *chain.from_iterable(of_nodes)):
        if raw.exists():
            tables.write_table(tables.read_raw_readings(raw), raw.with_suffix(".parquet"))
            raw.unlink()
