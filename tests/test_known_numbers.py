"""A number of things that the program counts is right wherever a page, a help or the Makefile
states it; what was counted on a day is in docs/evidence/."""

import json
import re

import pytest

from proofs.proof import all_proofs
from proofs.result import RECORD
from suite.catalog.devices import load_devices
from suite.catalog.frameworks import load_frameworks
from suite.catalog.rounds import load_rounds
from suite.catalog.workloads import load_workloads
from suite.compliance.registry import all_checks, all_rules
from suite.files.paths import repository_root
from suite.meters.registry import meter_classes

ROOT = repository_root()
WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
WORKLOADS, FRAMEWORKS = load_workloads(), load_frameworks()
PINNED = {
    sum(map(len, (each.rules.invalid, each.rules.warning, each.rules.note)))
    for each in load_rounds()
    if each.rules is not None
}
"""Numbers of the checks of closed rounds."""


def proved(name: str, figure: str) -> int:
    text = (ROOT / "proofs" / name / RECORD).read_text(encoding="utf-8")
    return int(json.loads(text)["figures"][figure])


KNOWN = {
    "rules": {len(all_rules())},
    "checks": {len(all_checks()), *PINNED},
    "workloads": {len(WORKLOADS), sum(each.start is None for each in WORKLOADS)},
    "devices": {len(load_devices())},
    "profiles": {len(load_devices())},
    "frameworks": {
        len(FRAMEWORKS),
        sum(each.needs_environment and each.environment_of is None for each in FRAMEWORKS),
    },
    "meters": {len(meter_classes())},
    "proofs": {len(all_proofs())},
    "mistakes": {proved("mistakes", "mistakes")},
    "faults": {proved("host_faults", "faults")},
}
STATED = re.compile(
    rf"\b(?:(\d[\d,]*)|all (?:the )?({'|'.join(WORDS)}))"
    rf"(?: (?!of |and )[a-z]+)? ({'|'.join(KNOWN)})\b"
)
PLACES = [
    ROOT / "Makefile",
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/tutorials/*.md"),
    *ROOT.glob("submissions/*.md"),
    *ROOT.glob("extensions/*/*.md"),
    *ROOT.glob("rules/RULES.md"),
    *ROOT.glob("suite/cli/*"),
]


def wrong(text: str) -> list[str]:
    """Statements of numbers that the program does not count so."""
    return [
        found[0]
        for found in STATED.finditer(text)
        if int((found[1] or str(WORDS[found[2] or "two"])).replace(",", "")) not in KNOWN[found[3]]
    ]


@pytest.mark.parametrize(
    "line", ["All 9,999 rules", "in all seven frameworks", "17 listed mistakes"]
)
def test_a_wrong_number_is_found(line: str) -> None:
    assert wrong(line)


def test_stated_numbers_are_those_of_the_program() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): numbers
        for path in PLACES
        if path.is_file()
        and path.name != "CHANGELOG.md"
        and (numbers := wrong(" ".join(path.read_text(encoding="utf-8").split())))
    }
    assert not found
