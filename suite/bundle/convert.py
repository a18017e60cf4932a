"""Converts a run's CSV files to Parquet when the run has ended, in bounded memory; the CSV files
stay."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow

from reference_impls import contract
from suite.bundle.layout import BASELOAD_RAW, READINGS_RAW, STEPS, node_baseloads, node_tables
from suite.bundle.raw_tables import read_batches
from suite.bundle.reader import Bundle
from suite.bundle.schemas import READING_TYPES, STEP_TYPES
from suite.bundle.tables import TableWriter, finished_steps
from suite.files.durable import publish


def convert_tables(path: Path) -> None:
    """Write the Parquet tables of a bundle beside its CSV files; the same files give the same
    bytes."""
    if (path / contract.steps_name(0)).exists():
        bundle = Bundle(path)
        _write(
            finished_steps(bundle.raw_steps(), bundle.log().finished_epochs()),
            STEP_TYPES,
            path / STEPS,
        )
    for raw in raw_readings(path):
        _write(read_batches(raw, READING_TYPES), READING_TYPES, raw.with_suffix(".parquet"))


def raw_readings(path: Path) -> list[Path]:
    """The CSV files of readings of every node, those before the run included."""
    of_nodes = (sorted(path.glob(names("*")[1])) for names in (node_tables, node_baseloads))
    return [
        raw
        for raw in (path / READINGS_RAW, path / BASELOAD_RAW, *chain.from_iterable(of_nodes))
        if raw.exists()
    ]


def _write(batches: Iterable[pyarrow.RecordBatch], types: dict[str, str], path: Path) -> None:
    with publish(path) as temporary:
        writer = TableWriter(temporary, types)
        for batch in batches:
            writer.write(batch)
        writer.close()
