"""A run as its implementation and its recorder leave it: raw records, nothing derived."""

import json
from pathlib import Path

import pandas

from reference_impls import contract
from suite.bundle import layout
from tests.builders import Scenario, make_bundle

RAW = {layout.READINGS: layout.READINGS_RAW, layout.BASELOAD: layout.BASELOAD_RAW}
DERIVED = (layout.COUNTERS, layout.SUMMARY, layout.POWER, layout.MANIFEST)


def make_unclosed(path: Path, scenario: Scenario, status: str = "finished") -> Path:
    """A run whose training ended; run.json says ``status``."""
    make_bundle(path, scenario)
    steps = pandas.read_parquet(path / layout.STEPS)
    for rank, of_rank in steps.groupby("rank"):
        of_rank.to_csv(path / contract.steps_name(int(str(rank))), index=False)
    (path / layout.STEPS).unlink()
    tables = {
        **RAW,
        **{
            layout.node_tables(1)[0]: layout.node_tables(1)[1],
            layout.node_baseloads(1)[0]: layout.node_baseloads(1)[1],
        },
    }
    for table, raw in tables.items():
        if (path / table).exists():
            pandas.read_parquet(path / table).to_csv(path / raw, index=False)
            (path / table).unlink()
    for name in DERIVED:
        (path / name).unlink()
    run = json.loads((path / layout.RUN).read_text())
    run.update(
        {"status": status}
        if status == "finished"
        else {"status": status, "exit_code": None, "meters": []}
    )
    (path / layout.RUN).write_text(json.dumps(run))
    (path / contract.REQUEST_NAME).write_text(json.dumps(run["request"]))
    (path / layout.LOCK).write_bytes(bytes(2**16))
    system = json.loads((path / layout.SYSTEM).read_text())
    system.update(
        framework_version=None,
        notes={**system["notes"], "framework_version": "the implementation did not log it"},
    )
    (path / layout.SYSTEM).write_text(json.dumps(system))
    return path
