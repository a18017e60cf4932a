"""The meters' cost stays small: a reading's CPU time, and the recorder's memory over time."""

from tests.suite.meters.reading_cost import reading_costs, resident_over_hours, table


def test_every_meter_that_can_be_read_takes_less_than_a_hundredth_of_a_core() -> None:
    costs = list(reading_costs(10))
    assert {"counters", "cpu", "load", "memory", "ina3221", "rapl", "throttling"} <= {cost.meter for cost in costs}
    assert {cost.meter: cost.share for cost in costs if cost.share > 0.01} == {}
    assert len(table(costs)) == 2 + len(costs)


def test_the_recorders_memory_hardly_grows_in_an_hour() -> None:
    resident = resident_over_hours(1.0)
    assert resident[-1] - resident[0] < 8  # MiB: 18,000 times of a meter's readings take 0.14
