"""Definitions answer what others ask of them: by name, by setting, by channel, newest first."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.accuracies import (
    ReferenceAccuracies,
    RunAccuracies,
    add_accuracies,
    load_accuracies,
)
from suite.catalog.audit_tolerances import OUTSIDE, AuditTolerances, PairTolerance
from suite.catalog.definitions import load_one
from suite.catalog.extensions import _folder
from suite.catalog.meter_choice import left_out
from suite.catalog.power import (
    PowerTotal,
    load_power_rules,
    power_rules_before_v03,
    rulebook_beside,
    rules_for,
    totals_of_channels,
    without_sources,
)
from suite.catalog.prices import PriceList, Quote, SystemPart, _problem, system_prices
from suite.catalog.reference_points import ReferencePoint, ReferenceRun, local_batch_size
from suite.catalog.rounds import PinnedRules, Round, current_round, judging_round
from suite.catalog.scoring import ShortEntries, load_scoring
from suite.catalog.throttling import COOLING_REMEDY, SUPPLY, is_throttling_channel, remedy
from suite.catalog.uncounted_limits import UncountedReason
from suite.catalog.workloads import OptimizerDefinition, load_workload
from suite.errors import SuiteError
from suite.files.names import nearest
from suite.files.schema import from_plain


def test_a_definition_is_found_by_its_name_alone_and_read_again_when_it_changes(
    tmp_path: Path,
) -> None:
    file = tmp_path / "data.toml"
    text = 'name = "data"\nmeaning = "{}"\nmax_per_epoch = 1\nmax_s = 2.0\nmax_share = 0.5\n'
    file.write_text(text.format("first"))
    assert load_one(tmp_path, UncountedReason, "reason", "data").meaning == "first"
    file.write_text(text.format("another"))
    assert load_one(tmp_path, UncountedReason, "reason", "data").meaning == "another"
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "data.toml").write_text(text.format("below"))
    for name in ("below/data", "../data", "/data", "ä" * 126):  # longer than names of files
        with pytest.raises(SuiteError, match="There is no reason"):
            load_one(tmp_path, UncountedReason, "reason", name)
    with pytest.raises(SuiteError, match=r"did you mean 'data'.*`suite list reasons`"):
        load_one(tmp_path, UncountedReason, "reason", "DATE")
    file.rename(tmp_path / "other.toml")
    with pytest.raises(SuiteError, match="the name is 'data' but the file is called 'other'"):
        load_one(tmp_path, UncountedReason, "reason", "other")
    assert (
        nearest("ORIM", ["Orin", "nano"]) == "did you mean 'Orin'? " and nearest("x", ["y"]) == ""
    )
    assert nearest("nope", ["no-pause"]) == "", "short names are alike by chance"


def test_an_optimizer_without_momentum_is_refused() -> None:
    """Frameworks keep no velocity then, and the training state has one."""
    values = vars(load_workload("lenet").optimizer)
    assert from_plain(values, OptimizerDefinition, "").momentum == 0.9
    with pytest.raises(SuiteError, match="momentum: expected"):
        from_plain({**values, "momentum": 0.0}, OptimizerDefinition, "")


def test_a_short_entry_is_whole_epochs_of_a_longer_schedule() -> None:
    short = ShortEntries(min_epochs=4, min_whole_s=86_400)
    kept = {steps: short.epochs(steps, 100, of=10) for steps in (300, 399, 400, 450, 900, 1000)}
    assert kept == {300: 0, 399: 0, 400: 4, 450: 0, 900: 9, 1000: 0}
    assert short.epochs(None, 100, of=10) == 0


def test_what_a_session_does_it_does_to_times_and_energies() -> None:
    scoring = load_scoring()
    assert scoring.session_floor > scoring.noise_floor > 0
    for figure in ("time_to_target_s", "energy_per_epoch_j"):
        assert scoring.floor_of(figure, is_separated=False) == scoring.session_floor
        assert scoring.floor_of(figure, is_separated=True) == scoring.noise_floor
    for figure in ("best_accuracy", "peak_memory_bytes"):
        assert scoring.floor_of(figure, is_separated=False) == 0.0


def quote(part: SystemPart, price: float, date: str, configuration: str = "") -> Quote:
    return Quote(
        part, f"{part.value} of {date}", price, "EUR", "a shop", "a page", date, configuration
    )


BOARD, SUPPLY_UNIT, STORAGE, FAN = SystemPart


def test_a_system_costs_the_newest_quote_of_each_part_of_its_configuration() -> None:
    quotes = (
        quote(BOARD, 60, "2024-01-01", "4 GB"),
        quote(BOARD, 80, "2024-01-01", "8 GB"),
        quote(BOARD, 70, "2025-02-01", "8 GB"),
        quote(BOARD, 75, "2024-12-31", "8 GB"),
        quote(SUPPLY_UNIT, 12, "2024-01-01"),
        quote(STORAGE, 10, "2024-01-01", "8 GB"),
        quote(STORAGE, 9, "2024-01-01", "4 GB"),
        quote(FAN, 0, "2024-01-01"),
    )
    small, large = system_prices(PriceList("pi5", quotes))
    assert (small.configuration, small.price, small.currency) == ("4 GB", 81, "EUR")
    assert (large.configuration, large.price) == ("8 GB", 92)
    three_years_s = 3 * 365.25 * 24 * 3600
    assert large.cost_of(three_years_s / 4) == pytest.approx(23)
    (lacking,) = system_prices(PriceList("pi5", (quotes[0], quotes[4])))
    assert lacking.price is None and lacking.currency is None and lacking.cost_of(1) is None
    assert lacking.reason == "the price of the system's storage and cooling is unknown"
    other = replace(quotes[4], currency="USD")
    (mixed,) = system_prices(PriceList("pi5", (quotes[0], other, quotes[6], quotes[7])))
    assert mixed.price is None and mixed.reason == "the system's prices are in EUR and USD"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("price", -0.01, "a price of at least 0"),
        ("price", float("nan"), "a price of at least 0"),
        ("price", float("inf"), "a price of at least 0"),
        ("date", "2024-5-31", "a date"),
        ("date", "2024-05-31T00:00", "a date"),
        ("currency", "eur", "a currency"),
        ("said_by", "", "who stated the price"),
        ("source", "", "who stated the price"),
    ],
)
def test_what_is_no_quote_is_refused(field: str, value: object, problem: str) -> None:
    good = quote(BOARD, 0, "2024-05-31")
    assert _problem(good) is None and problem in str(_problem(replace(good, **{field: value})))  # type: ignore[arg-type]


def test_a_round_decides_which_checks_apply_and_how_severe_they_are() -> None:
    pinned = PinnedRules(("first", "renamed"), ("second",), ("third",))
    closed = Round("v9.9", "", (), (), closed="2030-01-01", rules=pinned)
    severities = [closed.severity((check,), "invalid") for check in ("first", "second", "third")]
    assert severities == ["invalid", "warning", "note"] and not closed.applies("fourth")
    assert closed.severity(("new-name", "renamed"), "note") == "invalid", "by any of its ids"
    opened = replace(closed, rules=None, closed=None, rules_left_out=("first",))
    assert opened.severity(("first", "another"), "note") is None and opened.applies("fourth")
    assert opened.severity(("fourth",), "warning") == "warning"


def test_an_entry_is_nominated_only_if_it_was_locked_too() -> None:
    both = Round("v9.9", "", (), (), locked=("a", "b"), nominated=("b", "c"))
    assert [both.nominates(digest) for digest in "abc"] == [False, True, False]
    assert judging_round("v0.1").name == "v0.1" and judging_round("v7") == current_round()
    assert judging_round(None) == current_round()


def run(seed: int, *accuracies: float, framework: str = "pytorch") -> RunAccuracies:
    return RunAccuracies(f"run-{seed}", framework, seed, "float32", "cpu", "0" * 64, accuracies)


def test_new_accuracies_stand_beside_those_of_their_setting(tmp_path: Path) -> None:
    first = ReferenceAccuracies(32, 0.01, 10, (run(2, 0.5), run(1, 0.4)))
    add_accuracies("lenet", [first], tmp_path)
    again = ReferenceAccuracies(32, 0.01, 10, (run(1, 0.4), run(1, 0.7, framework="chainer")))
    other = ReferenceAccuracies(16, 0.01, 10, (run(1, 0.8),))
    add_accuracies("lenet", [again, other], tmp_path)
    small, large = load_accuracies("lenet", tmp_path)
    assert small == other and large.setting == (32, 0.01, 10)
    kept = [(one.framework, one.seed, one.accuracies) for one in large.runs]
    assert kept == [("chainer", 1, (0.7,)), ("pytorch", 1, (0.4,)), ("pytorch", 2, (0.5,))]
    assert load_accuracies("vgg11", tmp_path) == ()


def test_an_audit_s_tolerance_is_that_of_the_pair_and_of_the_step_s_range() -> None:
    known = AuditTolerances(
        "lenet",
        (2, 4),
        (
            PairTolerance(("chainer", "float64"), (0.1, 0.4)),
            PairTolerance(("float64", "pytorch"), (0.2, 0.3)),
        ),
    )
    assert known.per_step("pytorch", "float64", 5) == (0.2, 0.2, 0.3, 0.3, None)
    assert known.per_step("float64", "pytorch", 1) == (0.2,), "either order"
    assert known.per_step("pytorch", "chainer", 2) == (None, None)
    assert known.per_step(OUTSIDE, "float64", 5) == (0.2, 0.2, 0.4, 0.4, None), (
        "the widest of each step"
    )


@pytest.mark.parametrize(
    ("ranks", "normalisation", "samples"),
    [(1, "local", 128), (4, "local", 32), (3, "local", 43), (3, "synchronised", 128)],
)
def test_a_rank_normalises_over_its_share_unless_ranks_synchronise(
    ranks: int, normalisation: str, samples: int
) -> None:
    assert local_batch_size(load_workload("resnet18"), 128, ranks, normalisation) == samples
    assert local_batch_size(load_workload("lenet"), 128, ranks, normalisation) is None


def test_the_expected_epochs_count_what_missed_runs_trained() -> None:
    runs = tuple(
        ReferenceRun(str(seed), "pytorch", seed, epochs, reached, "")
        for seed, (epochs, reached) in enumerate([(4, True), (10, False), (6, True)])
    )
    point = ReferencePoint("lenet", 16, 0.01, 1, runs)
    assert point.expected_epochs == 10 and point.epochs == (4, float("inf"), 6)


def test_meters_are_left_out_by_a_minus_or_by_not_being_named() -> None:
    known = ("cpu", "rapl", "nvml")
    assert left_out("-rapl, -unknown", known) == {"rapl"}
    assert left_out("rapl,cpu", known) == {"nvml"}


@pytest.mark.parametrize(
    ("channel", "does"),
    [
        ("under_voltage", True),
        ("cooling.0.cpufreq-cpu0", True),
        ("cooling.3.soc1-throttle-alert", True),
        ("cooling.1.pwm-fan", False),
        ("cooling.2.hot-surface-alert", False),
        ("cooling.4.iwlwifi_1", False),
    ],
)
def test_fans_and_alerts_of_heat_are_no_throttling(channel: str, does: bool) -> None:
    assert is_throttling_channel(channel) is does


def test_a_weak_supply_is_not_cured_by_cooling() -> None:
    for channel in ("under_voltage", "cooling.0.throttle_oc2", "over_current", "cooling.1.oc1"):
        assert remedy(channel) == SUPPLY
    for channel in ("soft_temperature_limit", "cooling.0.soc1-throttle", "cooling.0.cpufreq-0"):
        assert remedy(channel) == COOLING_REMEDY


def test_a_total_has_every_channel_of_its_patterns_and_the_delay_of_its_source() -> None:
    rule = replace(
        load_power_rules()[0],
        sources=("one", "two"),
        channels=("A*", "B"),
        step=(0.5, 0.1),
        delay_s=(0.2, 3.0),
    )
    channels = [("two", "B"), ("two", "A2"), ("two", "A1"), ("two", "A1"), ("one", "A1")]
    (found,) = totals_of_channels([rule], channels)
    assert (found.source, found.channels, found.delay_s) == ("two", ("A1", "A2", "B"), 3.0)
    assert [found.step(name) for name in ("A2", "B", "C")] == [0.5, 0.1, None]
    first, second = totals_of_channels([rule], [*channels, ("one", "B")])
    assert (first.source, first.channels, second.source) == ("one", ("A1", "B"), "two")
    assert PowerTotal(rule, "three", ()).delay_s == 0.0
    (left,) = without_sources([rule], ("one",))
    assert (left.sources, left.delay_s) == (("two",), (3.0,))
    assert without_sources([rule], ("one", "two")) == ()
    assert rules_for([rule], ("two", "x")) == (rule,) and rules_for([rule], ("x",)) == ()


def test_a_sum_of_counters_has_that_of_every_gpu_whose_power_is_read() -> None:
    """A GPU older than Volta has no energy counter: its power counts for both."""
    names = ["gpu0.energy", "gpu0.power", "gpu1.power"]

    def found(*names: str) -> list[str]:
        totals = totals_of_channels(load_power_rules(), [("nvml", name) for name in names])
        return [total.rule.name for total in totals]

    assert found(*names) == ["GPU power"]
    assert found(*names, "gpu1.energy") == ["GPU energy counter", "GPU power"]


def test_a_bundle_is_judged_by_the_power_rules_of_its_time() -> None:
    today, before = load_power_rules(), power_rules_before_v03()
    assert rulebook_beside(today[:2]) == today and rulebook_beside([today[0], before[1]]) == before
    assert all(rule.still_factor == 0 and rule.is_before_v03 for rule in before)
    assert all(rule.still_factor > 0 and rule.min_coverage > 0 for rule in today)


def test_an_extension_without_its_package_says_what_to_do() -> None:
    for package in ("no_such_distribution.extension", "json.decoder"):
        with pytest.raises(SuiteError, match=f"{package} is registered, .*install its"):
            _folder(package)
