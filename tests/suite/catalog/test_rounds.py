"""Rounds pin what their results have in common."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite import __version__
from suite.bundle.layout import MANIFEST, RUN
from suite.catalog import rounds
from suite.catalog.data_sets import load_data_set
from suite.catalog.divisions import Division
from suite.catalog.rounds import current_round, load_round, load_rounds, pin_workload
from suite.catalog.workloads import folder as workloads_folder
from suite.catalog.workloads import load_workload, load_workloads
from suite.compliance.finding import Severity
from suite.compliance.registry import all_checks, find_rule, rules_of
from suite.compliance.rule import Check
from suite.compliance.rules.data import _may_be_incomplete
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.paths import repository_root
from suite.files.toml_file import read_toml
from tests.builders import Scenario, make_bundle
from tools import pin_round
from tools.pin_round import closed, keep_workloads, to_toml

FIRST = load_round("v0.1")


def test_the_current_round_is_open_and_admits_this_version_with_every_workload() -> None:
    assert current_round().closed is None
    assert __version__ in current_round().suite_versions
    assert current_round().workloads == tuple(map(pin_workload, load_workloads())), (
        "run `python -m tools.pin_round` if the open round shall have the change"
    )


@pytest.mark.parametrize("each", load_rounds()[:-1], ids=lambda each: each.name)
def test_every_earlier_round_is_closed_with_rules_that_exist(each: rounds.Round) -> None:
    assert each.closed and each.rules is not None and each.results
    known = {name for _, check in all_checks() for name in check.ids}
    assert {*each.rules.invalid, *each.rules.warning, *each.rules.note} <= known


def test_rounds_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = rounds.rounds_folder(tmp_path)
    folder.mkdir(parents=True)
    for name in ("v0.9", "v0.10", "v0.1"):
        (folder / f"{name}.toml").write_text(to_toml(replace(FIRST, name=name)))
    assert [each.name for each in load_rounds(tmp_path)] == ["v0.1", "v0.9", "v0.10"]


def test_closing_a_round_changes_no_bound_of_its_bundles() -> None:
    assert [each.is_before_v03 for each in load_rounds()] == [True, True, False]
    assert not replace(current_round(), closed="2026-12-31").is_before_v03
    asks_for_closed = {
        path.name
        for path in (repository_root() / "suite" / "compliance").rglob("*.py")
        if "round.closed" in path.read_text(encoding="utf-8")
    }
    assert asks_for_closed == {"preconditions.py"}, (
        "it says that nothing can be added; ask is_before_v03"
    )


@pytest.mark.parametrize("name", ["v0.2", "v0.3"])
def test_pictures_that_nobody_has_may_lack_from_the_third_round_on(name: str) -> None:
    context: Any = SimpleNamespace(division=Division.OPEN, round=load_round(name))
    assert _may_be_incomplete(context, load_data_set("gld23k")) is (name == "v0.3")


def test_an_open_round_has_every_rule_with_its_severity() -> None:
    left_out = set(current_round().rules_left_out)
    assert _checks(current_round()) == [
        (rule.id, check)
        for rule, check in all_checks()
        if left_out.isdisjoint((rule.id, *check.ids))
    ]


def _checks(judged_by: rounds.Round) -> list[tuple[str, Check[Any]]]:
    """The checks that a round applies, each with the id of its rule."""
    return [
        (rule.id, check)
        for rule in rules_of(judged_by, of_extensions=True)
        for check in rule.checks
    ]


def test_a_closed_round_keeps_its_rules_and_severities_when_the_code_has_others() -> None:
    assert FIRST.severity(["wall-clock"], "invalid") == "warning"
    assert FIRST.severity(["a-later-check"], "invalid") is None
    applied = {check.id: check.severity.value for _, check in _checks(FIRST)}
    assert applied == {
        **dict.fromkeys(FIRST.rules.invalid, "invalid"),  # type: ignore[union-attr]
        **dict.fromkeys(FIRST.rules.warning, "warning"),  # type: ignore[union-attr]
    }


def test_a_rule_that_is_left_out_of_an_open_round_does_not_apply() -> None:
    """By the id that it has, or by one that a check of it had."""
    for name in ("manifest", *find_rule("manifest").formerly):
        left_out = replace(current_round(), rules_left_out=(name,))
        assert name not in {each for _, check in _checks(left_out) for each in check.ids}


def test_a_rule_that_is_left_out_and_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(SuiteError, match=r"no rule 'manifets'; did you mean 'manifest'"):
        rules_of(replace(current_round(), rules_left_out=("manifets",)))


@pytest.mark.parametrize(
    "name", ["target_accuracy", "epochs", "optimizer", "tunable", "preprocessing", "data"]
)
def test_a_workload_that_differs_from_its_pin_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an open round, and in a closed one, whose own copy of the definition was edited."""
    lenet = load_workload("lenet")
    other = {
        "target_accuracy": 0.98,
        "epochs": 11,
        "data": "digits",
        "optimizer": replace(lenet.optimizer, momentum=0.8),
        "tunable": replace(lenet.tunable, batch_size=(1, 2)),
        "preprocessing": replace(lenet.preprocessing, mean=(0.0,)),
    }
    changed = replace(lenet, **{name: other[name]})  # type: ignore[arg-type]
    monkeypatch.setattr(rounds, "load_one", lambda *_: changed)
    for each in (FIRST, current_round()):
        with pytest.raises(
            SuiteError, match=rf"differs from the workload that rules/rounds/{each.name}"
        ):
            each.workload("lenet")


@pytest.mark.parametrize("each", load_rounds()[:-1], ids=lambda each: each.name)
def test_a_closed_round_keeps_every_workload_that_it_pins(each: rounds.Round) -> None:
    assert [pin_workload(each.workload(pinned.name)) for pinned in each.workloads] == [
        *each.workloads
    ]
    kept = rounds.kept_workloads(each.name)
    assert {file.stem for file in kept.iterdir()} == {pinned.name for pinned in each.workloads}
    with pytest.raises(SuiteError, match="There is no workload 'lenet5'"):
        each.workload("lenet5")


def test_closing_a_round_copies_its_workloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pin_round, "kept_workloads", lambda name: tmp_path / name)
    keep_workloads(current_round())
    for pinned in current_round().workloads:
        copy = tmp_path / current_round().name / f"{pinned.name}.toml"
        assert copy.read_bytes() == (workloads_folder() / copy.name).read_bytes()


def test_a_closed_round_is_not_pinned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pin_round", FIRST.name])
    with pytest.raises(SystemExit):
        pin_round.main()


def test_fields_that_do_not_change_what_is_trained_are_not_pinned() -> None:
    lenet = load_workload("lenet")
    assert pin_workload(replace(lenet, title="another", threads=3)) == pin_workload(lenet)


def test_an_unknown_round_is_named_with_the_nearest() -> None:
    with pytest.raises(SuiteError, match=r"There is no round 'v0\.11'; did you mean 'v0\.1'"):
        load_round("v0.11")


def test_closing_a_round_writes_its_rules_and_results(tmp_path: Path) -> None:
    for folder, of_round in (
        ("submissions/acme/lenet/pytorch/run_1", current_round().name),
        ("submissions/acme/lenet/pytorch/run_2", "v0.1"),
        ("examples/figure", current_round().name),
    ):
        file = make_bundle(tmp_path / folder, Scenario()) / RUN
        file.write_text(json.dumps({**json.loads(file.read_text()), "round": of_round}))
    drawn = replace(
        current_round(), nonce='12" é\\', locked=("0" * 64, "1" * 64), nominated=("1" * 64,)
    )
    pinned = closed(drawn, "2027-01-31", tmp_path)
    assert pinned.results == (sha256(tmp_path / "submissions/acme/lenet/pytorch/run_1" / MANIFEST),)
    assert pinned.examples == (sha256(tmp_path / "examples/figure" / MANIFEST),)
    (tmp_path / "round.toml").write_text(to_toml(pinned))
    assert read_toml(tmp_path / "round.toml", rounds.Round) == pinned
    assert pinned.rules is not None and pinned.severity(["wall-clock"], "") == "warning"
    assert _checks(pinned) == _checks(current_round())
    assert {check.severity for _, check in _checks(pinned)} == set(Severity)
