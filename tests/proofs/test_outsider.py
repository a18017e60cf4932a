"""The outsider's list: its size and form, honest samples, and for each class the first lie of each
level, applied to its sample."""

from collections import Counter
from pathlib import Path

import pytest

from proofs.outsider.__main__ import (
    LEVELS,
    NOT_APPLIED,
    REFUSED,
    classes,
    evidence_table,
    places,
    report,
    table,
    try_all,
    unsealed_report,
)
from proofs.outsider.honest import HONEST
from proofs.outsider.lies import ALL, LIES
from proofs.outsider.other_evidence import audit_verdict, witness_rules, witnessed_lie
from proofs.outsider.samples import SAMPLES, copy_of
from proofs.outsider.third_list.trial import EDITS, REFERENCE
from proofs.outsider.trial import (
    HONEST_CLASS,
    Outcome,
    apply,
    findings,
    lie_at,
    try_out,
    unsealed_lie,
    unsealed_rules,
)
from reporter.data.workers import map_tasks
from suite.bundle.layout import MANIFEST
from suite.bundle.manifest import file_digests
from suite.compliance.paths import CheckResult, check_paths
from tests.every_case import some
from tests.open_round import OPEN
from tests.relabelled import relabelled

MIN_SEALED, MIN_OF_CLASS, MIN_HONEST = 120, 10, 30
FIRST = [
    pytest.param(lie, id=f"{name.split()[0]}-{level}")
    for name, lies in ALL.items()
    for level in LEVELS
    for lie in [next((lie for lie in lies if lie.level == level), None)]
    if lie is not None
]


def test_names_are_unique() -> None:
    counts = Counter(entry.name for entry in [*LIES, *HONEST])
    assert [name for name, count in counts.items() if count > 1] == []


def test_the_list_is_long_enough() -> None:
    assert sum(lie.sealed for lie in LIES) >= MIN_SEALED
    assert min(len(lies) for lies in ALL.values()) >= MIN_OF_CLASS
    assert len(HONEST) >= MIN_HONEST


def test_every_entry_has_a_known_level_and_sample() -> None:
    assert {lie.level for lie in LIES} == set(LEVELS)
    assert {entry.needs for entry in [*LIES, *HONEST]} <= set(SAMPLES)
    assert all(lie.gain or lie.level == "error" for lie in LIES)


@pytest.mark.parametrize(
    "sample", some(["rich", "two_ranks", "real", "reference", "submission"], 4)
)
def test_a_sample_has_no_finding(sample: str, tmp_path: Path) -> None:
    fired, message = findings(copy_of(sample, tmp_path))
    assert (message, [sorted(rules) for rules in fired.values()]) == ("", [[], []])


@pytest.mark.parametrize("lie", some(FIRST, 6))
def test_a_lie_changes_the_files(lie, tmp_path: Path) -> None:
    assert apply(lie, tmp_path).is_dir()  # raises if nothing was changed


def test_a_lie_that_is_not_sealed_again_is_refused_by_the_manifest() -> None:
    lie = next(lie for lie in LIES if lie.name == "More samples are correct than were evaluated")
    assert "manifest" in (unsealed_rules(lie) or ())


def test_a_lie_about_the_manifest_alone_is_undone_by_the_sample_s_manifest() -> None:
    assert unsealed_rules(next(lie for lie in LIES if lie.name == "The manifest is empty")) is None


def test_lies_are_given_to_other_processes_by_their_place() -> None:
    first = places(["1 data"], LEVELS)[:2]
    for count in (unsealed_lie, witnessed_lie):
        found = list(map_tasks(count, first))
        assert [name for name, _ in found] == [lie_at(place).name for place in first]
        assert all(rules for _, rules in found)


def test_lies_that_are_accepted_unsealed_are_named() -> None:
    assert unsealed_report({"one": ("manifest",), "two": ()}).splitlines() == [
        "not sealed again, 2 lies that change a sealed file: 1 refused",
        "  accepted: two",
    ]


def test_a_lie_is_refused_with_the_rule_that_found_it() -> None:
    lies = ALL["4 accuracies and target"]
    number = next(
        number
        for number, lie in enumerate(lies)
        if lie.name == "More samples are correct than were evaluated"
    )
    outcome = try_out(("4 accuracies and target", number))
    assert (outcome.column, outcome.rules) == (REFUSED, ("accuracy-counts",))


def test_a_lie_that_raises_is_counted_as_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    (lie, *_), name = ALL["1 data"], "1 data"
    monkeypatch.setitem(
        ALL,
        name,
        [
            type(lie)(
                lie.name, lie.level, lie.gain, lie.contradicts, lambda bundle: bundle.event("none")
            )
        ],
    )
    outcome = try_out((name, 0))
    assert (outcome.column, outcome.message) == (NOT_APPLIED, "IndexError: list index out of range")


def test_the_report_counts_lies_and_names_refused_honest_variations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lies, name = ALL["4 accuracies and target"], "4 accuracies and target"
    monkeypatch.setitem(ALL, name, lies[:2])
    monkeypatch.setattr("proofs.outsider.trial.HONEST", HONEST[:2])
    outcomes = try_all([name, HONEST_CLASS], print)
    assert [len(outcomes), table(outcomes).splitlines()[-1].split(" | ")[:3]] == [
        4,
        ["| all", "all", "2"],
    ]
    assert "honest variations refused: 0 of 2" in report(outcomes)


def test_a_class_is_chosen_by_its_number() -> None:
    assert classes(4) == ["4 accuracies and target"]
    assert classes(None) == [*ALL, HONEST_CLASS]


def test_an_edit_of_a_witnessed_run_is_refused_by_the_witness_record() -> None:
    lie = next(lie for lie in ALL["4 accuracies and target"] if lie.level == "edited record")
    assert witness_rules(lie) == ("witness-stamps",)


def test_a_lie_about_a_submission_is_not_audited_as_one_run() -> None:
    lie = next(lie for lie in LIES if lie.needs == "submission")
    assert audit_verdict(lie) == "is not about one run"


def test_the_evidence_counts_what_check_audit_and_witness_find_and_what_none_of_them_does() -> None:
    def outcome(name: str, column: str) -> Outcome:
        return Outcome("1 data", "edited record", name, "rich", True, "", column, (), (), "")

    lies = [
        outcome("a", REFUSED),
        outcome("b", "accepted"),
        outcome("c", "accepted"),
        outcome("d", "accepted"),
    ]
    audits = {"a": "agrees", "b": "contradicts", "c": "agrees", "d": "is not about one run"}
    rows = evidence_table(
        lies, audits, {"a": ("witness-stamps",), "b": (), "c": ("witness-stamps",), "d": None}
    ).splitlines()
    assert rows[-1] == "| all | edited record | 4 | 1 | 1 of 3 | 2 of 3 | 2 | 1 |"


@pytest.fixture(scope="module")
def of_open_round(tmp_path_factory: pytest.TempPathFactory) -> CheckResult:
    """Of the reference submission of the third list, relabelled and not edited."""
    folder = tmp_path_factory.mktemp("relabelled")
    return check_paths([relabelled(REFERENCE, folder / OPEN / "reference")])


def test_a_submission_of_a_closed_round_complies_when_it_is_relabelled_to_the_open_one(
    of_open_round: CheckResult,
) -> None:
    assert (of_open_round.broken, [*of_open_round.all_findings()]) == ((), [])
    (submission,) = of_open_round.submissions
    assert {verdict.round for verdict in submission.bundles} == {OPEN}


def test_a_bundle_of_the_open_round_keeps_its_bytes(good_bundle: Path, tmp_path: Path) -> None:
    source = relabelled(good_bundle, tmp_path / "source")  # by today's files
    copy = relabelled(source, tmp_path / "copy")
    assert file_digests(copy) == file_digests(source)
    assert (copy / MANIFEST).read_bytes() == (source / MANIFEST).read_bytes()


def test_the_third_list_has_thirty_edits_with_names_of_their_own() -> None:
    assert len({edit.name for edit in EDITS}) == len(EDITS) == 30
    assert {edit.level for edit in EDITS} <= set(LEVELS)
