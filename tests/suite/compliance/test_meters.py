"""Meters' records of several nodes, each with a clock of its own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from suite.bundle import frames
from suite.bundle.layout import READINGS, node_tables
from suite.bundle.node_records import NODES
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.metrics.node_readings import clock_conversion
from suite.metrics.summary import derive_summary
from tests.builders import RICH, Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.file_edits import set_node

OFFSET_NS = 20_000_000
"""By which the second node's clock moved in the first half of the run, as its log says."""


@pytest.mark.parametrize(("clock", "is_refused"), [("its own", False), ("rank 0's", True)])
def test_the_jitter_of_a_meter_is_that_on_its_nodes_own_clock(
    clock: str, is_refused: bool, tmp_path: Path
) -> None:
    """On another clock it scatters by how much the offset changes, too."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", Scenario(ranks=2, nodes=2, step_s=0.01)))
    first, last = (bundle.event("clock_offsets_ns", number) for number in (0, 1))
    middle_ns = (first["metadata"]["mono_ns"] + last["metadata"]["mono_ns"]) // 2
    last["metadata"]["mono_ns"] = middle_ns
    last["value"][1][0] += OFFSET_NS
    bundle.save(recomputed=True)
    read = Bundle(bundle.path)
    convert = clock_conversion(read.log(), 1)
    assert convert is not None
    own = read.channels(1)
    (channel,) = (own if clock == "its own" else own.on_clock(convert)).of_source("cpu")
    jitter_s = float(channel.gaps_s.std(ddof=1))
    records = json.loads((bundle.path / NODES).read_text())["nodes"][1]["meters"]
    meters = [each | ({"jitter_s": jitter_s} if each["name"] == "cpu" else {}) for each in records]
    set_node(1, meters=meters)(bundle)
    bundle.save(recomputed=True)
    checks = {finding.check for finding in check_bundle(bundle.path).findings}
    assert ("meter-jitter" in checks) == is_refused


def test_a_run_whose_interfaces_count_in_32_bits_complies_and_knows_its_bytes(
    tmp_path: Path,
) -> None:
    """Both counters start again at zero in the middle of the run."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", replace(RICH, ranks=2, nodes=2)))
    whole = derive_summary(Bundle(bundle.path)).figures["wire_bytes_per_step"]
    for table in (READINGS, node_tables(1)[0]):
        readings = frames.read_readings(bundle.path / table)
        sent = readings.loc[readings["source"] == "network", "value"]
        readings.loc[sent.index, "value"] = (sent - sent.median()) % 2**32
        frames.write_table(readings, bundle.path / table)
    bundle.save(recomputed=True)
    assert not check_bundle(bundle.path).findings
    measured = derive_summary(Bundle(bundle.path)).figures["wire_bytes_per_step"]
    assert whole.value is not None and measured.value == pytest.approx(whole.value, rel=1e-6)
    assert measured.low == pytest.approx(whole.low) and measured.high == pytest.approx(whole.high)
