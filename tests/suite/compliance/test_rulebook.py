"""The generated tables equal the rules that are applied, and the worked examples are right."""

import re

import pytest

from suite.compliance import rulebook
from suite.compliance.registry import ALL, RULES
from suite.files.generated import places

TEXT = rulebook.path().read_text(encoding="utf-8")


def test_the_generated_tables_are_up_to_date() -> None:
    assert rulebook.render(TEXT) == TEXT, "rules/RULES.md is behind the code: run `make rules`"


def test_every_table_has_its_place() -> None:
    assert sorted(places(TEXT)) == sorted(rulebook.TABLES)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_every_rule_is_in_the_book_with_its_sentence(rule: object) -> None:
    assert f"| `{rule.id}` |" in TEXT  # type: ignore[attr-defined]
    assert rule.sentence in TEXT  # type: ignore[attr-defined]


def test_every_rule_named_in_the_text_exists() -> None:
    known = {rule.id for rule in ALL}
    prose = re.sub(r"<!-- generated.*?<!-- end -->", "", TEXT, flags=re.DOTALL)
    named = {name for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", prose)}
    assert named <= known
    assert len(named) >= 10


def test_an_outdated_table_is_rendered_anew() -> None:
    assert rulebook.render(TEXT.replace(RULES[0].sentence, "Anything goes.")) == TEXT


def test_the_worked_examples_are_right() -> None:
    examples = rulebook.examples(TEXT)
    assert len(examples) >= 2
    assert all(example.holds for example in examples)
    assert not rulebook.ScoreExample((1.0, 2.0), 1.5, 0.71 + 0.02).holds


@pytest.mark.parametrize(
    "heading",
    ["Purpose", "Divisions", "Workloads and targets", "What may be tuned", "Data and preprocessing", "Timing boundaries", "Runs and scoring", "Seeds",
     "Convergence", "Power", "Power modes, cooling and throttling", "Several nodes", "System description", "Availability",
     "Submission, review, objections, corrections, audit", "What the evidence shows", "Rounds"],
)  # fmt: skip
def test_the_rulebook_has_every_section_that_submitters_need(heading: str) -> None:
    assert f"\n## {heading}\n" in TEXT
