"""The documentation site: its pages are those of the repository, its reference is the program's
own, and what is wrong with a built page is found."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from suite.cli.app import command_help, load_command
from suite.files.paths import repository_root
from tools.documentation.commands import command_reference
from tools.documentation.pages import HOME, NAVIGATION, listed, on_site, site_name, write_source
from tools.documentation.problems import problems

ROOT = repository_root()


def test_every_page_of_docs_is_in_the_navigation_once() -> None:
    names = list(listed())
    assert len(names) == len(set(names))
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages - {HOME} == {name for name in names if name.startswith("docs/")}


def test_the_page_of_benchmarks_is_in_the_navigation_once_a_full_run_wrote_it(
    tmp_path: Path,
) -> None:
    program, page = Path("tools/documentation/pages.py"), "docs/benchmarks.md"
    copy = tmp_path / program
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / program, copy)
    assert page not in runpy.run_path(str(copy))["NAVIGATION"]["Evidence"]
    (tmp_path / "docs").mkdir()
    (tmp_path / page).touch()
    assert page in runpy.run_path(str(copy))["NAVIGATION"]["Evidence"]


def test_every_link_between_pages_leads_to_a_page(tmp_path: Path) -> None:
    write_source(tmp_path, ROOT)
    pages = list(tmp_path.rglob("*.md"))
    assert len(pages) == 1 + sum(map(len, NAVIGATION.values()))
    for page in pages:
        targets = re.findall(
            r"\]\(([^)#\s]+)[^)]*\)",
            re.sub(
                r"^```.*?^```$",
                "",
                page.read_text(encoding="utf-8"),
                flags=re.MULTILINE | re.DOTALL,
            ),
        )
        for target in (target for target in targets if "://" not in target):
            assert (page.parent / target).is_file(), f"{page.relative_to(tmp_path)}: {target}"


def test_links_become_those_of_the_site_and_code_stays() -> None:
    text = (
        "[a](../rules/RULES.md#seeds) [b](../examples/lenet_c) ![c](leaderboard.png)"
        " [d](https://example.org)\n```sh\n[e](../examples/lenet_c)\n```\n"
    )
    expected = (
        "[a](rules/RULES.md#seeds) b ![c](leaderboard.png)"
        " [d](https://example.org)\n```sh\n[e](../examples/lenet_c)\n```\n"
    )
    assert on_site(text, "docs/data.md") == expected
    assert on_site("[home](../README.md)", "docs/tutorials/owner.md") == "[home](../index.md)"
    assert (site_name(HOME), site_name("docs/tutorials/owner.md"), site_name("rules/RULES.md")) == (
        "index.md",
        "tutorials/owner.md",
        "rules/RULES.md",
    )


def test_the_reference_has_every_command_and_option() -> None:
    text = command_reference()
    for name in command_help():
        command = load_command(name)
        for path, each in {
            name: command,
            **{
                f"{name} {child}": found
                for child, found in getattr(command, "commands", {}).items()
            },
        }.items():
            if each.hidden:
                continue
            section = text.split(f"\n## suite {path}\n")[1].split("\n## ")[0]
            options = (
                []
                if hasattr(each, "commands")
                else [option for parameter in each.params for option in parameter.opts]
            )
            assert [
                option for option in options if option.startswith("-") and option not in section
            ] == [], path


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="other.html">x</a>', ["leads to no file"]),
        ('<a href="index.html#there">x</a>', ["leads to no anchor"]),
        ('<a href="/index.html">x</a>', ["leads to no file"]),
        ('<script src="https://example.org/x.js"></script>', ["is requested from another host"]),
        ('<link rel="stylesheet" href="//example.org/x.css">', ["is requested from another host"]),
        ('<img src="missing.png">', ["leads to no file"]),
        (
            '<p style="background: url(https://example.org/x.png)">',
            ["is requested from another host"],
        ),
        (
            (
                '<a href="#here" id="here">x</a> <a href="https://example.org">y</a> <img'
                ' src="data:image/png;base64,AA">'
            ),
            [],
        ),
    ],
)
def test_what_is_wrong_with_a_page_is_found(body: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>")
    (tmp_path / "style.css").write_text("a { color: red }")
    said = list(problems(tmp_path))
    assert len(said) == len(found) and all(
        what in sentence for what, sentence in zip(found, said, strict=True)
    )


def test_a_style_sheet_that_fetches_a_font_is_found(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text(
        "@import 'https://fonts.example.org/a.css'; a { background: url('local.png') }"
    )
    assert list(problems(tmp_path)) == [
        "style.css: https://fonts.example.org/a.css is requested from another host"
    ]


@pytest.mark.proof
def test_the_site_is_built_without_warnings_and_problems() -> None:
    subprocess.run(["make", "site"], cwd=ROOT, check=True)
    assert (ROOT / "build" / "documentation" / "tutorials" / "owner.html").is_file()
