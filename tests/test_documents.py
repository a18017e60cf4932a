"""The documents are true: links lead somewhere, commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from suite.files.paths import repository_root

ROOT = repository_root()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("submissions/*.md"), *ROOT.glob("rules/*.md")])
COMMANDS = sorted(set(re.findall(r"^suite ((?:(?:list|env|data) )?[a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE)))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readmes_commands_exist(command: str) -> None:
    words = command.split()
    help_text = subprocess.run([str(Path(sys.executable).with_name("suite")), *words, "--help"], capture_output=True, text=True)
    assert help_text.returncode == 0, help_text.stderr


def test_the_readme_names_the_two_commands_first() -> None:
    first_block = (ROOT / "README.md").read_text().split("```")[1]
    assert re.findall(r"^make \w+", first_block, re.MULTILINE) == ["make demo", "make test"]
