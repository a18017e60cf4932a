"""The generated tables equal the rules that are applied, and the worked examples are right."""

import re

import pytest

from suite.catalog.reference_points import frozen_points
from suite.catalog.rounds import load_round
from suite.catalog.scoring import load_scoring
from suite.compliance import rulebook
from suite.compliance.registry import CORE, all_rules
from suite.files.generated import places
from suite.metrics.comparisons import interval, measured, ratio
from suite.metrics.costs import TrainingCost
from suite.metrics.expected_epochs import ExpectedEpochs, RunEpochs, expected_epochs, scored_epochs

TEXT = rulebook.path().read_text(encoding="utf-8")


def test_the_generated_tables_are_up_to_date() -> None:
    assert rulebook.render(TEXT) == TEXT, "rules/RULES.md is behind the code: run `make tables`"


def test_every_table_has_its_place() -> None:
    assert sorted(places(TEXT)) == sorted(rulebook.TABLES)


def test_every_rule_is_in_the_book_with_its_sentence() -> None:
    assert [
        rule.id
        for rule in all_rules()
        if f"| `{rule.id}` |" not in TEXT or rule.sentence not in TEXT
    ] == []


def test_every_rule_named_in_the_text_exists() -> None:
    known = {name for rule in all_rules() for name in (rule.id, *(one.id for one in rule.checks))}
    prose = re.sub(r"<!-- generated.*?<!-- end -->", "", TEXT, flags=re.DOTALL)
    named = {name for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", prose)}
    assert named <= known
    assert len(named) >= 10


def test_an_outdated_table_is_rendered_anew() -> None:
    assert rulebook.render(TEXT.replace(CORE[0].sentence, "Anything goes.")) == TEXT


def numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


def worked(pattern: str) -> list[tuple[str, ...]]:
    """The groups of the worked lines that match, of which there is at least one."""
    found = re.findall(rf"^    {pattern}$", TEXT, re.MULTILINE)
    assert found, pattern
    return [each if isinstance(each, tuple) else (each,) for each in found]


def test_every_worked_line_is_computed_again() -> None:
    """The four tests below match every indented line of the chapter."""
    chapter = TEXT.split("## Runs and scoring")[1].split("\n## ")[0]
    lines = re.findall(r"^    \S.*$", chapter, re.MULTILINE)
    patterns = (RUN_SCORE, REFERENCE, EPOCHS, SCORE, RATIO)
    assert len(lines) == sum(len(worked(pattern)) for pattern in patterns) >= 11


NUMBER, NUMBERS = r"([\d.]+)", r"([\d. ]+)"
RUN_SCORE = (
    rf"first {NUMBER} s, later {NUMBER} s, evaluation {NUMBER} s, N {NUMBER}: score {NUMBER} s"
)
REFERENCE = rf"reference at batch size {NUMBER}, rate {NUMBER}: N {NUMBER}"
EPOCHS = rf"epochs {NUMBERS} at batch size {NUMBER}, rate {NUMBER}: N {NUMBER}, p {NUMBER}"
SCORE = rf"scores {NUMBERS} s: {NUMBER} s, {NUMBER} to {NUMBER} s"
RATIO = (
    rf"scores {NUMBERS} s over {NUMBERS} s: ratio {NUMBER}, {NUMBER} to {NUMBER}, (not"
    r" significant|significant)"
)
SCORING = load_scoring()


def test_the_worked_scores_of_runs_are_right() -> None:
    for line in worked(RUN_SCORE):
        first, later, evaluation, epochs, score = map(float, line)
        assert TrainingCost(first, later, evaluation).at(epochs) == pytest.approx(score, abs=0.006)


def expected(batch_size: str, rate: str) -> ExpectedEpochs:
    found = expected_epochs(
        frozen_points(load_round("v0.1"), "lenet"),
        int(batch_size),
        float(rate),
        None,
        SCORING.rate_tolerance,
    )
    assert found is not None
    return found


def test_the_worked_epochs_are_right() -> None:
    for batch_size, rate, epochs in worked(REFERENCE):
        assert f"{expected(batch_size, rate).epochs:.4f}" == epochs
    for runs, batch_size, rate, epochs, p_more in worked(EPOCHS):
        found = scored_epochs(
            expected(batch_size, rate),
            [RunEpochs(int(run), True) for run in numbers(runs)],
            SCORING.epochs_level,
        )
        assert (f"{found.epochs:.4f}", f"{found.p_more:.3f}") == (epochs, p_more)


def test_the_worked_scores_and_ratios_are_right() -> None:
    for runs, *stated in worked(SCORE):
        found = interval(measured(numbers(runs), SCORING.session_floor**2), SCORING.level)
        assert [f"{value:.2f}" for value in (found.value, found.low, found.high)] == stated
    for runs, others, *stated, verdict in worked(RATIO):
        one, other = (measured(numbers(each), SCORING.session_floor**2) for each in (runs, others))
        ends = ratio(one, other, SCORING.pair_level, SCORING.epochs_level)
        assert [f"{value:.2f}" for value in (ends.ratio, ends.low, ends.high)] == stated
        assert ends.is_different == (verdict == "significant")


@pytest.mark.parametrize(
    "heading",
    [
        "Purpose",
        "Divisions",
        "Workloads and targets",
        "What may be tuned",
        "Data and preprocessing",
        "Timing boundaries",
        "Runs and scoring",
        "Seeds",
        "Convergence",
        "Power",
        "Power modes, cooling and throttling",
        "Several nodes",
        "System description",
        "Availability",
        "Submission, review, objections, corrections, audit",
        "What the evidence shows",
        "Rounds",
    ],
)
def test_the_rulebook_has_every_section_that_submitters_need(heading: str) -> None:
    assert f"\n## {heading}\n" in TEXT
