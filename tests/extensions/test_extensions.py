"""The contract of extensions: what each declares is there, and nothing notices that one is gone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.data.studies import study_kinds
from suite import api
from suite.catalog.extensions import Extension, ExtensionPart, extensions
from suite.cli.app import command_help, load_command
from suite.compliance.folders import folder_kinds
from suite.compliance.registry import all_modules
from suite.errors import SuiteError
from suite.files.paths import repository_root
from tests.every_case import some
from tools.imports import module_name

ROOT = repository_root()
COPIED = ("suite", "extensions", "reporter", "reference_impls", "rules")
BUNDLE = "submissions/v0.2/reference/lenet/pytorch/run_1"
ENDED = "--ended--"
COMMANDS = (
    ("--help",),
    ("list", "figures"),
    ("list", "rules"),
    ("paper", "list"),
    ("check", BUNDLE),
)
IMPORT_AND_ASK = f"""
import importlib, json, sys
from suite.cli.start import main
modules, commands = json.loads(sys.argv[1])
for name in modules:
    importlib.import_module(name)
for words in commands:
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, (words, ended.code)
    print({ENDED!r})
"""
"""Every module and command in one process: its start is most of the time."""
ACMES_RULE = """
from suite.compliance.rule import Rule
RULES = (Rule("acme-figures", "A figure is Acme's.", "Others are not.", "draw it again", ()),)
"""
"""In a module of the package ``rules``, which has it from there."""
each = pytest.mark.parametrize("extension", extensions(), ids=lambda extension: extension.name)


def test_every_folder_is_an_extension() -> None:
    folders = {path.name for path in (ROOT / "extensions").iterdir() if path.is_dir()}
    assert {one.name for one in extensions()} == folders - {"__pycache__"}


@each
def test_what_an_extension_declares_is_there(extension: Extension) -> None:
    folder = Path(extension.folder)
    assert extension.title and (folder / "README.md").read_text().startswith("# ")
    for listed in extension.commands:
        assert command_help()[listed.name] == listed.help and load_command(listed.name)
    for name in extension.functions:
        assert getattr(api, name) and name in dir(api)
    names = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert names - {"__init__", "__pycache__", "templates"} <= set(vars(ExtensionPart).values())


@each
def test_its_record_is_checked_and_shown(extension: Extension) -> None:
    checked = {kind.title for kind in folder_kinds()}
    assert (extension.title in checked) is extension.has(ExtensionPart.RULES)
    assert extension.has(ExtensionPart.RULES) is (
        extension.name in {one.name for one in all_modules()}
    )
    if extension.record is not None and extension.has(ExtensionPart.PAGE):
        assert extension.record in {kind.record for kind in study_kinds().values()}


def run(folder: Path, *words: str) -> str:
    """What a program of the copy prints; it must end well."""
    answer = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.usefixtures("starts_programs")
@pytest.mark.parametrize("extension", some(extensions()), ids=lambda extension: extension.name)
def test_nothing_notices_that_an_extension_is_gone(extension: Extension, tmp_path: Path) -> None:
    for name in (*COPIED, BUNDLE):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)  # with what was compiled
    shutil.rmtree(tmp_path / "extensions" / extension.name)
    paths = [
        path
        for top in ("suite", "extensions", "reporter")
        for path in (tmp_path / top).rglob("*.py")
    ]
    modules = [
        name
        for name in (module_name(path, tmp_path) for path in paths)
        if ".programs" not in name and not name.endswith("__main__")
    ]
    told = run(tmp_path, "-c", IMPORT_AND_ASK, json.dumps([modules, COMMANDS]))
    shown, figures, rules, _, checked = told.split(ENDED)[:-1]
    assert " check " in shown
    assert not [one.name for one in extension.commands if f" {one.name} " in shown]
    # the figure of branch mispredictions is another's
    assert not re.search(rf"\b{extension.name}\b", figures)
    assert "manifest" in rules and ": complies" in checked


def test_an_extension_of_another_distribution_uses_the_same_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "acme_figures"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "extension.toml").write_text('title = "what Acme adds"\n')
    (package / "figures.py").write_text("SEEN = True\n")
    (package / "rules").mkdir()
    (package / "rules" / "own.py").write_text(ACMES_RULE)
    (package / "rules" / "__init__.py").write_text("from acme_figures.rules.own import RULES\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry = type("Entry", (), {"name": "acme", "value": "acme_figures"})()
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    extensions.cache_clear()
    try:
        found = next(one for one in extensions() if one.name == "acme_figures")
        figures = found.part(ExtensionPart.FIGURES)
        assert figures is not None and figures.SEEN and found.part(ExtensionPart.PAGE) is None
        assert [one.name for one in all_modules.__wrapped__()].count("acme_figures") == 1
        entry.value = "acme_gone"
        extensions.cache_clear()
        with pytest.raises(SuiteError, match="acme_gone is registered"):
            extensions()
    finally:
        monkeypatch.undo()
        extensions.cache_clear()
