"""The definitions of a run's records are what a run writes."""

import json
from pathlib import Path

import pytest

from reference_impls import contract, definitions
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from tests.conftest import Run

SOMETIMES = (
    definitions.SEVERAL_RANKS,
    definitions.SEVERAL_NODES,
    definitions.IN_BUDGET,
    definitions.RESUMED,
    definitions.ACCUMULATING,
    definitions.ADAPTING,
)
OF_MODELS = {"model_layers", "arithmetic"}
"""What the fake framework, whose model is two arrays, does not log."""
NEEDED = {event.key for event in definitions.EVENTS if event.needed not in SOMETIMES} - OF_MODELS


@pytest.fixture(scope="module")
def bundle(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A run of the fake framework."""
    path = tmp_path_factory.mktemp("runs") / "run"
    suite.done(
        "run --division open --workload lenet --framework fake --data digits --epochs 2"
        f" --device generic --baseload 0 --output {path}"
    )
    return Bundle(path)


def test_a_run_logs_what_is_defined(bundle: Bundle) -> None:
    log = bundle.log()
    assert {event.key for event in log.events} == NEEDED | {fact.key for fact in definitions.FACTS}
    types = {event.key: event.event_type for event in definitions.EVENTS}
    metadata = {event.key: set(event.metadata) for event in definitions.EVENTS}
    for event in log.events:
        assert event.event_type == types.get(event.key, definitions.POINT)
        assert set(event.metadata) - {"mono_ns", "rank", "boot", "chain"} == metadata.get(
            event.key, set()
        )


def test_the_harness_begins_the_log_and_the_implementation_continues_its_chain(
    bundle: Bundle,
) -> None:
    log = bundle.log()
    assert not log.problems
    assert [event.key for event in log.events[: len(definitions.FACTS)]] == [
        fact.key for fact in definitions.FACTS
    ]
    attached = {str(meter["name"]): meter for meter in bundle.run().meters}
    assert attached, "the meters were opened between the facts and init_start"
    assert log.events[len(definitions.FACTS)].key == "init_start"


def test_an_implementation_that_finds_no_log_begins_it(tmp_path: Path) -> None:
    writer = contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt")))
    assert not writer.is_begun
    writer.point("seed", 1)
    writer.close()
    begun = contract.last_link(str(tmp_path / "log.txt"))
    assert begun == writer.chain
    more = contract.LogWriter(
        contract.RecordFile(str(tmp_path / "log.txt"), exists=True), begun=begun
    )
    assert more.is_begun
    more.point("model", "lenet5")
    more.close()
    assert not read_log(tmp_path / "log.txt").problems


@pytest.mark.parametrize("text", ["", "warning\n", json.dumps({"key": "seed"}) + "\n"])
def test_another_file_in_place_of_the_log_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(text)
    with pytest.raises(contract.ContractError, match="new run directory"):
        contract.last_link(str(tmp_path / "log.txt"))


def test_the_columns_of_step_records_are_explained() -> None:
    assert tuple(name for name, _ in definitions.STEP_MEANINGS) == contract.STEP_COLUMNS
