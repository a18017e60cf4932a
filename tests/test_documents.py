"""The documents are true: links lead somewhere, commands exist."""

import json
import re
from pathlib import Path

import pytest

from suite.cli.quick import EPOCHS
from suite.files.paths import repository_root
from suite.metrics.projection import MIN_LATER_EPOCHS
from tests.conftest import Run
from tests.every_case import some

ROOT = repository_root()
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("submissions/*.md"),
        *ROOT.glob("rules/*.md"),
        *ROOT.glob("extensions/*/README.md"),
    ]
)
MAX_WORDS_OF_A_PAGE, MAX_WORDS_OF_USER_PAGES = 3_000, 55_000
COMMANDS = some(
    sorted(
        set(
            re.findall(
                r"^suite ((?:(?:list|env|data) )?[a-z-]+)",
                (ROOT / "README.md").read_text(),
                re.MULTILINE,
            )
        )
    ),
    5,
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


SOURCES = (
    "benchmarks|docs|examples|extensions|proofs|reference_impls|reporter|rules|suite|tests|tools"
)
NAMED_FILE = re.compile(rf"(?<![\w./-])(?:{SOURCES})/[\w./<>*-]*\w\.[a-z]+\b(?![.(])")
NAMED_MODULE = re.compile(rf"python -m ((?:{SOURCES})[\w.]*\w)")


def unknown_files(text: str) -> set[str]:
    """Files and modules of the checkout that a page names in code and that are not there:
    ``<name>`` and ``NAME`` stand for any."""
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S))
    named = [name for code in inline for name in NAMED_FILE.findall(code)]
    modules = [name.replace(".", "/") for name in NAMED_MODULE.findall(text)]
    return {
        name
        for name in [*named, *modules]
        if not any(ROOT.glob(re.sub(r"<[^>]*>|\bNAME\b", "*", name)))
        and not (ROOT / f"{name}.py").is_file()
    }


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if path.name != "CHANGELOG.md" and path.parent.name != "evidence"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_files_that_a_page_names_exist(document: Path) -> None:
    assert not unknown_files(document.read_text(encoding="utf-8"))


def test_a_file_that_is_gone_is_found() -> None:
    text = "`tests/gone.py`, `rules/<x>.md`, `proofs/NAME/result.json`; python -m tools.gone"
    assert unknown_files(text) == {"tests/gone.py", "tools/gone"}


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_anchors_lead_to_headings(document: Path) -> None:
    links = r"(?:\]\(|^\[[^\]]*\]: )([^)#\s]*)#([^)\s]+)"
    for target, anchor in re.findall(links, document.read_text(), re.MULTILINE):
        if "://" not in target and (not target or target.endswith(".md")):
            headings = anchors(document.parent / target if target else document)
            assert anchor in headings, f"{document.name}: {target}#{anchor}"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readmes_commands_exist(command: str, suite: Run) -> None:
    suite.done("--help", *command.split())


def test_the_readme_names_the_two_commands_first() -> None:
    first_block = (ROOT / "README.md").read_text().split("```")[1]
    assert re.findall(r"^make \w+", first_block, re.MULTILINE) == ["make demo", "make test"]


def test_the_readme_says_how_many_real_boards_are_behind_the_page() -> None:
    """Real: the record of the system names a board. The sentence changes with the first one."""
    systems = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("submissions/*/*/system.json")
    ]
    boards = {system["board"] for system in systems} - {None}
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert systems and ("Real boards behind the page today: none." in text) == (not boards)
    assert text.index("Real boards behind the page today") < text.index(
        "```", text.index("![A leaderboard page")
    )


def test_an_example_of_quick_looks_has_the_epochs_that_its_command_asks_for() -> None:
    """The option's, else the command's own number: up to it with --within."""
    text = (ROOT / "docs/ranking.md").read_text(encoding="utf-8")
    examples = re.findall(r"^    \$ suite quick(.*)\n    lenet: (\d+) epochs", text, re.MULTILINE)
    assert examples
    for options, trained in examples:
        asked = re.search(r"--epochs (\d+)", options)
        assert int(trained) == (int(asked.group(1)) if asked else EPOCHS) >= MIN_LATER_EPOCHS + 1, (
            options
        )


def test_the_killed_runs_of_the_last_proof_add_up() -> None:
    text = (ROOT / "proofs/resumptions/report.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| \w+ \| (\d+) \| (\d+) \| (\d+) \(([^)]*)\) \| (\d+) \|$", text, re.MULTILINE
    )
    assert rows
    for killed, before, resumed, often, same in rows:
        counts = [int(part.split()[0]) for part in often.split(", ")]
        assert (int(killed), sum(counts)) == (int(before) + int(resumed), int(resumed)) and int(
            same
        ) <= int(resumed)


def words(page: Path) -> int:
    """The number of words of a page, without generated parts."""
    text = page.read_text(encoding="utf-8")
    return len(re.sub(r"<!-- generated: .*?<!-- end -->", "", text, flags=re.DOTALL).split())


def test_pages_are_short_enough_to_be_read() -> None:
    """User pages are those above "to look up" in docs/README.md; its table makes docs/mistakes.md
    longer."""
    docs = ROOT / "docs"
    above = (docs / "README.md").read_text(encoding="utf-8").partition("| to look up |")[0]
    of_users = {docs / name for name in re.findall(r"\]\(([\w/-]+\.md)[)#]", above)}
    pages = {*docs.glob("*.md"), *docs.glob("tutorials/*.md")} - {docs / "mistakes.md"}
    assert not [page.name for page in pages if words(page) >= MAX_WORDS_OF_A_PAGE]
    assert len(of_users) > 30 and sum(map(words, of_users & pages)) <= MAX_WORDS_OF_USER_PAGES
