"""`--meters`: names to read, or names to leave out; the record says which were left out."""

from pathlib import Path

import pytest

from suite.catalog.meter_choice import LEFT_OUT, POWER_SCHEDULES, REQUIRED
from suite.catalog.power import load_power_rules, power_sources
from suite.compliance.rules.meters import findings_of_choice
from suite.errors import SuiteError
from suite.execution.recorder import Recorder
from suite.meters.meter import MeteredProcess, moments_of
from suite.meters.registry import (
    chosen_meters,
    left_out_meters,
    meter_classes,
    open_meters,
    refuse_absent_meters,
)

NAMES = {meter.name for meter in meter_classes()}


def test_names_choose_and_names_with_a_minus_leave_out() -> None:
    assert left_out_meters(None) == ()
    assert left_out_meters("-jtop,-tegrastats") == ("jtop", "tegrastats")
    assert set(left_out_meters("cpu, load")) == NAMES - {"cpu", "load"}


@pytest.mark.parametrize("choice", ["cpu,jtp", "-jtp", "", "all"])
def test_an_unknown_name_is_answered_with_the_list(choice: str) -> None:
    with pytest.raises(
        SuiteError, match=r"there is no meter .*; the meters are counters, cpu, cpu-clock, disk"
    ) as raised:
        left_out_meters(choice)
    assert all(name in str(raised.value) for name in NAMES)


def test_a_mixed_list_is_refused() -> None:
    with pytest.raises(SuiteError, match="mixes meters to read and to leave out"):
        left_out_meters("cpu,-jtop")


def test_a_named_meter_that_the_machine_lacks_is_refused_and_one_to_leave_out_is_not(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        SuiteError, match="The meter 'ina3221' cannot be read here: there is no INA3221"
    ):
        refuse_absent_meters("ina3221", tmp_path)
    refuse_absent_meters("-ina3221", tmp_path)
    refuse_absent_meters("wall-clock")


def test_the_record_of_a_meter_that_was_left_out_says_so(tmp_path: Path) -> None:
    recorder = Recorder(chosen_meters(("counters", "cpu")), tmp_path)
    recorder.start(MeteredProcess(1, tmp_path))
    records = {record.name: record for record in recorder.stop()}
    assert set(records) == NAMES | {"recorder"}
    assert (records["cpu"].available, records["cpu"].reason, records["cpu"].readings) == (
        False,
        LEFT_OUT,
        0,
    )


def test_what_a_closed_run_needs_and_what_power_is_added_up_from_are_meters() -> None:
    assert set(REQUIRED) <= NAMES
    assert NAMES & set(power_sources(load_power_rules())) == set(POWER_SCHEDULES)


def test_the_schedules_that_rules_compare_are_those_of_the_meters() -> None:
    known = {meter.name: (meter.period_s, moments_of(meter).value) for meter in open_meters()}
    assert {name: known[name] for name in POWER_SCHEDULES} == POWER_SCHEDULES
    assert {
        moments
        for name, (_, moments) in known.items()
        if name in REQUIRED and name not in POWER_SCHEDULES
    } == {"fixed"}


def test_a_closed_run_may_leave_out_power_meters_only() -> None:
    assert findings_of_choice("closed", ("jtop", "tegrastats")) == ()
    assert findings_of_choice("open", ("cpu",)) == ()
    (finding,) = findings_of_choice("closed", ("jtop", "cpu", "counters"))
    assert finding.observed == "left out: counters, cpu"
