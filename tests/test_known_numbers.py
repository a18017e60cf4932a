"""A number of things that the program counts is right wherever a page, a help or the Makefile
states it; numbers in a sentence that links to a proof's result are those of the result."""

import json
import re
from collections.abc import Iterator, Mapping

import pytest

from proofs.proof import all_proofs
from proofs.result import RECORD
from reporter.papers.presets import PRESETS
from suite.catalog.data_sets import load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.frameworks import load_frameworks
from suite.catalog.rounds import load_rounds
from suite.catalog.workloads import load_workloads
from suite.cli.app import command_help
from suite.compliance.registry import all_checks, all_rules
from suite.files.paths import repository_root
from suite.meters.registry import meter_classes

ROOT = repository_root()
ONES = "two three four five six seven eight nine"
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: number for number, word in enumerate(ONES.split(), start=2)}
"""Only after "all" a number of all there are: two devices may be any two."""
LARGE = {
    **{word: number for number, word in enumerate(TEENS.split(), start=10)},
    **{word: 10 * number for number, word in enumerate(TENS.split(), start=2)},
}
WORDS = SMALL | LARGE
WORKLOADS, FRAMEWORKS = load_workloads(), load_frameworks()
PINNED = {
    each.name: sum(map(len, (each.rules.invalid, each.rules.warning, each.rules.note)))
    for each in load_rounds()
    if each.rules is not None
}
"""Numbers of the checks of closed rounds: only a sentence that names the round may state one."""


def proved(name: str, figure: str) -> int:
    text = (ROOT / "proofs" / name / RECORD).read_text(encoding="utf-8")
    return int(json.loads(text)["figures"][figure])


KNOWN: Mapping[str, set[int]] = {
    "rules": {len(all_rules())},
    "checks": {len(all_checks())},
    "workloads": {len(WORKLOADS), sum(each.start is None for each in WORKLOADS)},
    "devices": {len(load_devices())},
    "profiles": {len(load_devices())},
    "frameworks": {
        len(FRAMEWORKS),
        sum(each.needs_environment and each.environment_of is None for each in FRAMEWORKS),
    },
    "data sets": {len(load_data_sets())},
    "figures": {len(PRESETS)},
    "commands": {len(command_help())},
    "meters": {len(meter_classes())},
    "proofs": {len(all_proofs())},
    "mistakes": {proved("mistakes", "mistakes")},
    "faults": {proved("host_faults", "faults")},
    "situations": {proved("host_situations", "situations")},
    "mutations": {proved("mutation", "mutations")},
    "forgeries": {proved("forgeries", "forgeries")},
    "tests": set(),  # a page does not state them: every change would
}
NOUN = "|".join(KNOWN)
STATED = re.compile(
    rf"\b(?:(?<![-.])(?P<digits>\d[\d,]*)|all (?:the )?(?P<small>{'|'.join(SMALL)})"
    rf"|(?P<large>{'|'.join(LARGE)}))(?: (?!of |and )[a-z]+)? (?P<noun>{NOUN})\b"
    rf"|\b(?P<heading>{NOUN})(?::| \|) (?P<count>\d[\d,]*|{'|'.join(WORDS)})\b(?![.-]\d| [a-z])",
    re.IGNORECASE,
)
PIECES = re.compile(r"\n\s*\n|\n(?=\s*[|#-])|(?<=[.;!?])\s+")
"""Between sentences, list items and rows."""
EVIDENCE = re.compile(r"\]\([^)]*evidence/(?!README)([\w-]+)\.md\)")
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*\b(?:\.\d+)?(?:e-?\d+)?(?!\w)")
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
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in PLACES
    if path.is_file() and path.name != "CHANGELOG.md"
}


def pieces(text: str) -> Iterator[str]:
    """Sentences, list items and rows, each in one line."""
    return (" ".join(piece.split()) for piece in PIECES.split(text))


def wrong(text: str) -> list[str]:
    """Statements of numbers that the program does not count so."""
    return [
        found[0]
        for piece in pieces(text)
        for found in STATED.finditer(piece)
        if number(found) not in known((found["noun"] or found["heading"]).lower(), piece)
    ]


def number(found: re.Match[str]) -> int:
    stated = next(filter(None, found.group("digits", "small", "large", "count"))).lower()
    return WORDS.get(stated) or int(stated.replace(",", ""))


def known(noun: str, piece: str) -> set[int]:
    of_rounds = {count for name, count in PINNED.items() if re.search(rf"{name}\b", piece)}
    return KNOWN[noun] | (of_rounds if noun == "checks" else set())


def not_in_evidence(text: str) -> Iterator[str]:
    """Numbers beside a link to a proof's result that the result does not have."""
    for piece in (cell for line in pieces(text) for cell in line.split(" | ")):
        if names := EVIDENCE.findall(piece):
            shown = "".join(
                (ROOT / f"docs/evidence/{name}.md").read_text("utf-8") for name in names
            )
            there = [float(each.replace(",", "")) for each in NUMBER.findall(shown)]
            for each in NUMBER.findall(re.sub(r"\]\([^)]*\)|`[^`]*`", "", piece)):
                if not any(rounded(exact, each) for exact in there):
                    yield f"{each} is not in docs/evidence/{', '.join(names)}.md: {piece}"


def rounded(exact: float, stated: str) -> bool:
    """Whether a number was rounded to what a page states."""
    mantissa, _, exponent = stated.replace(",", "").partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(exact - float(f"{mantissa}e{exponent or 0}")) <= half * 1.001


@pytest.mark.parametrize(
    "line",
    [
        "All 9,999 rules",
        "in all seven frameworks",
        "17 listed mistakes",
        "Rules: 300",
        "| rules | 300 |",
        "Thirty rules",
        "all twelve workloads",
        "200 tests",
        "9 data sets",
        f"by {PINNED['v0.1']} checks",
        f"Round v0.1 is old. It has {PINNED['v0.1']} checks.",
    ],
)
def test_a_wrong_number_is_found(line: str) -> None:
    assert wrong(line)


@pytest.mark.parametrize(
    "line",
    [
        f"Rules: {len(all_rules())}; two devices; {PINNED['v0.1']} checks of v0.1",
        f"| `v0.1/reference` | {PINNED['v0.1']} checks |",
    ],
)
def test_a_right_number_passes(line: str) -> None:
    assert not wrong(line)


def test_stated_numbers_are_those_of_the_program() -> None:
    assert not {place: found for place, text in TEXTS.items() if (found := wrong(text))}


def test_a_number_beside_a_proof_is_in_its_result() -> None:
    link = "([all](evidence/mutation.md))"
    mutations = f"{proved('mutation', 'mutations'):,}"
    assert not list(not_in_evidence(f"Of {mutations}, 95 more. {mutations} {link}"))
    assert len(list(not_in_evidence(f"1,564 mutations {link}"))) == 1
    assert not [found for text in TEXTS.values() for found in not_in_evidence(text)]
