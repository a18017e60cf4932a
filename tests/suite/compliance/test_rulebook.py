"""The generated tables equal the rules that are applied, and the worked examples are right."""

import math
import re
import statistics

import pytest

from reference_impls.schedules import one_cycle
from suite.catalog.accuracies import ReferenceAccuracies, RunAccuracies
from suite.catalog.data_sets import load_data_sets
from suite.catalog.reference_points import frozen_points, load_points
from suite.catalog.rounds import load_round
from suite.catalog.scoring import load_scoring
from suite.catalog.workloads import load_workload
from suite.compliance import rulebook
from suite.compliance.registry import CORE, all_rules
from suite.files.generated import generated_places
from suite.metrics.comparisons import (
    run_statistics,
    score_interval,
    score_ratio,
    student_t_quantile,
)
from suite.metrics.convergence import LEVEL, compare_epochs
from suite.metrics.costs import TrainingCost
from suite.metrics.expected_epochs import ExpectedEpochs, RunEpochs, expected_epochs, scored_epochs
from suite.metrics.targets import target_from_runs

TEXT = rulebook.path().read_text(encoding="utf-8")
CHECKS = rulebook.checks_path().read_text(encoding="utf-8")
MAX_WORDS = 8000
"""Of what people read: half an hour."""


def test_the_generated_places_are_up_to_date() -> None:
    for text in (TEXT, CHECKS):
        assert rulebook.render(text) == text, "the rulebook is behind the code: run `make tables`"


def test_every_table_has_its_place() -> None:
    assert set(generated_places(TEXT + CHECKS)) == {*rulebook.TABLES, *rulebook.OF_TEXT}


def test_people_read_the_rulebook_in_half_an_hour() -> None:
    assert len(TEXT.split()) <= MAX_WORDS


def test_every_rule_is_in_the_appendix_with_its_sentence() -> None:
    assert [
        rule.id for rule in all_rules() if f"### {rule.id}\n\n{rule.sentence}\n" not in CHECKS
    ] == []


def test_every_subject_begins_at_a_module_of_rules() -> None:
    titles = [*rulebook.SUBJECTS.values(), rulebook.OF_EXTENSIONS]
    assert re.findall("^## (.*)\n\n### ", CHECKS, re.MULTILINE) == titles


def test_every_rule_named_in_the_text_exists() -> None:
    known = {name for rule in all_rules() for name in (rule.id, *(one.id for one in rule.checks))}
    prose = re.sub(r"<!-- generated.*?<!-- end -->", "", TEXT, flags=re.DOTALL)
    named = {name for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", prose)}
    assert named <= known
    assert len(named) >= 10


def test_an_outdated_table_is_rendered_anew() -> None:
    assert rulebook.render(CHECKS.replace(CORE[0].sentence, "Anything goes.")) == CHECKS


@pytest.mark.parametrize("name", [each.name for each in load_data_sets() if each.files])
def test_a_data_set_is_proved_by_the_digests_of_the_files_that_a_run_reads(name: str) -> None:
    (proof,) = re.findall(rf"^\| `{name}` \| .* \| (.*) \|$", TEXT, re.MULTILINE)
    assert proof == "SHA-256 of every file's content"


def test_only_one_place_says_how_many_runs_a_target_needs() -> None:
    chapter = TEXT.split("### How a target is set")[1].split("\n### Adaptations")[0]
    assert re.findall(r"(\w+) runs\s(?=in|on)", chapter) == ["six"]
    assert SCORING.targets.min_runs == 6


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
TARGET = rf"best accuracies {NUMBERS}: bound {NUMBER}, target at most {NUMBER} %"
RATES = rf"one_cycle, b {NUMBER}, S (\d+): (.*)"
SCORING = load_scoring()


def test_the_worked_scores_of_runs_are_right() -> None:
    for line in worked(RUN_SCORE):
        first, later, evaluation, epochs, score = map(float, line)
        assert TrainingCost(first, later, evaluation).total(epochs) == pytest.approx(
            score, abs=0.006
        )


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
        found = score_interval(
            run_statistics(numbers(runs), SCORING.session_floor**2), SCORING.level
        )
        assert [f"{value:.2f}" for value in (found.value, found.low, found.high)] == stated
    for runs, others, *stated, verdict in worked(RATIO):
        one, other = (
            run_statistics(numbers(each), SCORING.session_floor**2) for each in (runs, others)
        )
        ends = score_ratio(one, other, SCORING.pair_level, SCORING.epochs_level)
        assert [f"{value:.2f}" for value in (ends.ratio, ends.low, ends.high)] == stated
        assert ends.is_different == (verdict == "significant")


def test_a_reader_computes_the_worked_scores_and_ratios_by_the_text_alone() -> None:
    plain = re.sub(r"\s+", " ", TEXT)
    assert "Let v be the variance of the n values over n, and d = n - 1: Student's t has d" in plain
    assert "d (1 + f / v)² degrees of freedom, rounded down, 60 at most (Satterthwaite)" in plain
    assert "2 % each making f = 0.0008, and d = 2 (n - 1) with the smaller n" in plain
    for runs, *stated in worked(SCORE):
        (mean, v), count = log_mean_and_variance(runs), len(numbers(runs))
        assert by_the_text(mean, v, 0.0004, count - 1, 0.95) == stated
    for runs, others, *stated, _ in worked(RATIO):
        (one, of_one), (other, of_other) = map(log_mean_and_variance, (runs, others))
        freedom = 2 * (min(len(numbers(runs)), len(numbers(others))) - 1)
        assert by_the_text(one - other, of_one + of_other, 0.0008, freedom, 0.99) == stated
    assert ["1.06", "0.98", "1.15"] in [list(line[2:5]) for line in worked(RATIO)], "VGG-11"


def log_mean_and_variance(runs: str) -> tuple[float, float]:
    """Of the mean: the variance of the logarithms over their number."""
    logs = [math.log(score) for score in numbers(runs)]
    return statistics.mean(logs), statistics.variance(logs) / len(logs)


def by_the_text(mean: float, v: float, f: float, d: int, confidence: float) -> list[str]:
    freedom = min(60, math.floor(d * (1 + f / v) ** 2))
    margin = student_t_quantile(freedom, confidence) * math.sqrt(v + f)
    return [f"{math.exp(mean + away):.2f}" for away in (0, -margin, margin)]


def test_the_rulebook_says_which_entries_have_too_few_runs_to_be_refused() -> None:
    (stated,) = re.findall(
        r"With (\d+) runs it can be from (\d+) reference\s+runs on, with (\d+) from (\d+)\."
        r" Against (\d+), as in the points\s+of VGG-11 and the adaptation, (\d+) runs are never"
        r" refused: p is ([\d.]+) at least",
        TEXT,
    )
    few, enough, more, enough_for_more, references, runs = map(int, stated[:6])

    def least(reference: int, entry: int) -> float:
        return compare_epochs([1] * reference, [1] * entry).smallest_p

    for entry, reference in ((few, enough), (more, enough_for_more)):
        assert least(reference, entry) <= LEVEL < least(reference - 1, entry)
    assert f"{least(references, runs):.3f}" == stated[6] and least(references, runs) > LEVEL
    for workload in ("vgg11", "mobilenetv3-adapt"):
        assert {len(point.runs) for point in load_points(workload)} == {references}


def test_the_worked_target_is_right() -> None:
    for best, bound, target in worked(TARGET):
        runs = tuple(
            RunAccuracies("", "", 0, "", "", "", (accuracy, 1.0)) for accuracy in numbers(best)
        )
        found = target_from_runs(ReferenceAccuracies(16, 0.005, 2, runs))
        assert found.bound is not None and found.highest_target is not None
        assert (f"{found.bound:.4f}", f"{100 * found.highest_target:.1f}") == (bound, target)


def test_the_worked_learning_rates_are_right() -> None:
    for base, steps, stated in worked(RATES):
        for rate, step in re.findall(rf"{NUMBER} at step (\d+)", stated):
            assert one_cycle(float(base), int(step), int(steps)) == pytest.approx(float(rate))


def test_the_examples_of_tuning_are_right() -> None:
    (stated,) = re.findall(
        r"`(\w+)`\s+with batch size (\d+) and rate ([\d.]+) is closed; with batch size ([\d,]+) it"
        r" is open.*with (\d+) ranks, `\1`\s+may have (\d+) samples a rank",
        TEXT,
        re.DOTALL,
    )
    workload = load_workload(stated[0])
    closed, opened, ranks, share = (int(stated[i].replace(",", "")) for i in (1, 3, 4, 5))
    low, high = workload.closed_batch_sizes
    slowest, fastest = workload.tunable.base_learning_rate
    assert low <= closed <= high == ranks * share < opened
    assert slowest <= float(stated[2]) <= fastest


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
