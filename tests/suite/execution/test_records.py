"""The one writer of a run's records: what drivers, witnesses and other nodes wrote is redacted in
every record, once, and nothing else is."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from reference_impls.contract import Recomputation
from suite.bundle.node_records import NodeRecord
from suite.bundle.reader import Bundle
from suite.execution.meter_session import MeterRecord
from suite.execution.run_records import RunRecords, amend_system
from suite.files.redaction import Redactor
from suite.machine import system
from suite.witness.record import SCHEMA, WitnessAnswer, WitnessRecord
from tests.builders import Scenario, make_request

HOST = "quixotebox"
SWAPPED = Redactor((), ((HOST, "node0"), ("node0", "node1")))
"""A second redaction would rename what the first one wrote."""
LOST = f"{HOST} lost node0"
SAFE = "node0 lost node1"
METER = asdict(MeterRecord("shelly", 1.0, False, LOST, last_error=LOST))


@pytest.fixture
def records(tmp_path: Path) -> RunRecords:
    return RunRecords(tmp_path, SWAPPED)


def written(records: RunRecords, name: str) -> dict[str, Any]:
    text = (records.path / name).read_text()
    assert HOST not in text
    values: dict[str, Any] = json.loads(text)
    return values


def test_a_runs_record_is_redacted_each_time_it_is_written_and_stays_as_it_is(
    records: RunRecords, good_bundle: Path
) -> None:
    words = ("/usr/bin/suite", "run", "--witness", HOST)
    plain = replace(Bundle(good_bundle).run(), command=words, message=LOST, meters=(METER,))
    for _ in range(2):
        records.write_run(plain)
        values = written(records, "run.json")
        assert (values["message"], values["command"]) == (SAFE, ["suite", *words[1:3], "$WITNESS"])
        assert [values["meters"][0][name] for name in ("reason", "last_error")] == [SAFE, SAFE]
    assert plain.message == LOST


def test_nodes_and_their_page_caches_links_systems_and_meters_are_redacted(
    records: RunRecords,
) -> None:
    link = {"interface": "eth0", "address": "address0", "reason": LOST}
    described = {"kernel": "6.1", "notes": {"boot": LOST}}
    cache = {"asked": "cold", "is_cold": None, "reason": LOST}
    records.write_nodes(
        [NodeRecord("node1", "node1", (1,), LOST, link, cache, described, (METER,))]
    )
    (node,) = written(records, "nodes.json")["nodes"]
    assert (node["host"], node["node"], node["problem"]) == ("node1", "node1", SAFE)
    assert node["link"] == {**link, "reason": SAFE}
    assert node["system"]["notes"]["boot"] == node["page_cache"]["reason"] == SAFE
    assert node["meters"][0]["last_error"] == SAFE


def test_a_witnesss_address_is_a_label_and_its_statements_stay_as_they_were_signed(
    records: RunRecords,
) -> None:
    answer = WitnessAnswer("5" * 64, 1, 2, 3, {"statement": "node0"}, LOST)
    records.write_witness(WitnessRecord(SCHEMA, f"http://{HOST}", answer, ("node0",), answer))
    values = written(records, "witness.json")
    assert values["address"] == "$WITNESS" and values["heads"] == ["node0"]
    for name in ("receipt", "stamp"):
        assert (values[name]["reason"], values[name]["token"]) == (SAFE, {"statement": "node0"})


def test_a_description_is_redacted_before_the_run_and_amended_as_it_is(
    records: RunRecords, tmp_path: Path
) -> None:
    described = system.describe_system("generic", system.Software(), tmp_path)
    records.write_system(replace(described, notes={**described.notes, "boot": LOST}))
    amend_system(records.path, system.POWER_CHANGES, ["mode: 1 to 2"])
    values = written(records, "system.json")
    assert values[system.POWER_CHANGES] == ["mode: 1 to 2"]
    assert system.POWER_CHANGES not in values["notes"] and values["notes"]["boot"] == SAFE


@pytest.mark.parametrize(
    ("spills_to", "recorded"),
    [
        ("/home/zebedeeq/acts", "$HOME/acts"),
        ("/media/zebedeeq/ssd/acts", "$HOME/ssd/acts"),
        ("/mnt/ssd/acts", "$ELSEWHERE/acts"),
        (None, None),
    ],
)
def test_the_folder_of_activations_on_storage_is_recorded_without_names(
    spills_to: str | None, recorded: str | None, records: RunRecords
) -> None:
    planned = Recomputation(2, 1, 1.0, "store all", [], [], spills_to)
    request = make_request(records.path, Scenario())._replace(recomputation=planned)
    assert records.request_values(request)["recomputation"] == {
        **planned._asdict(),
        "spill_folder": recorded,
    }
