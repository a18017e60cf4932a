"""Begins an implementation as a copy of the example in its language: it trains and can be probed
before a line is changed."""

import enum
import shutil
from pathlib import Path

from suite.bundle.manifest import refuse_inside_run
from suite.catalog.frameworks import (
    IMPLEMENTATION_NAME,
    MANIFEST,
    load_frameworks,
    load_implementation,
)
from suite.errors import SuiteError
from suite.files.paths import repository_root


class Language(str, enum.Enum):
    """Languages of the examples."""

    C = "c"
    PYTHON = "python"


FOLDERS = {Language.C: "lenet_c", Language.PYTHON: "lenet_numpy"}


def example_folder(language: Language) -> Path:
    """The folder of the example."""
    return repository_root() / "examples" / FOLDERS[language]


def copy_example(name: str, language: Language, parent: Path) -> tuple[Path, ...]:
    """Copy the example into ``parent / name``, under that name; returns the files. Raises
    SuiteError for a name that is taken or not allowed."""
    if not IMPLEMENTATION_NAME.fullmatch(name):
        raise SuiteError(
            f"{name[:80]!r} cannot be the name of an implementation: use at most 40 lower-case"
            " letters, digits, '-' and '_', and begin with a letter. To choose another folder,"
            " use --output."
        )
    if name in {known.name for known in load_frameworks()}:
        raise SuiteError(f"{name!r} is the name of a reference implementation; choose another one.")
    target = parent / name
    refuse_inside_run(target)
    if target.exists():
        raise SuiteError(f"{target} exists; choose another name, or another folder with --output.")
    source = example_folder(language)
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("build", "__pycache__"))
        manifest = target / MANIFEST
        own = load_implementation(target)
        text = manifest.read_text(encoding="utf-8")
        for key, old, new in (("name", own.name, name), ("title", own.title, f"LeNet-5 of {name}")):
            text = text.replace(f'{key} = "{old}"', f'{key} = "{new}"')
        manifest.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        # copytree gathers the errors of files: of each its source, its target and the reason
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise SuiteError(
            f"{target} cannot be written: {reason}; choose another folder with --output."
        ) from error
    return tuple(sorted(path for path in target.rglob("*") if path.is_file()))
