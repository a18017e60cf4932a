"""docs/architecture.md is true: the import table holds, there is no circle, and nothing heavy is
loaded before it is needed."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from tools.imports import imports, module_name

ROOT = repository_root()
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOPS = ("suite", "extensions", "reporter", "reference_impls")
FRAMEWORKS = {
    "torch": "pytorch",
    "torchvision": "pytorch",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "chainer": "chainer",
}
EVERYBODY = {"suite", "suite.extensions", "suite.errors", "suite.files", "reference_impls"}
WHOLE = {"suite", "suite.extensions", "reporter", "reference_impls"}
MAX_ENTRIES = 20


MODULES = {
    module_name(path, ROOT): path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))
}


def names_imported(path: Path) -> Iterator[str]:
    """Every module name in an import statement, anywhere in the file."""
    return (name for each in imports(path) for name in each.names)


@pytest.fixture(scope="module", autouse=True)
def _sources() -> None:
    """Parse every module once."""
    graph()


@cache
def graph() -> dict[str, set[str]]:
    """The project's modules, each with the project modules that it imports."""
    return {
        name: {target for target in names_imported(path) if target in MODULES} - {name}
        for name, path in MODULES.items()
    }


def room(module: str) -> str:
    """Its folder; of an extension's module the part, alike for all extensions."""
    parts = module.split(".")
    if parts[:2] == ["suite", "extensions"]:
        return ".".join((*parts[:2], *parts[3:4]))
    return parts[0] if parts[0] == "reference_impls" or len(parts) == 1 else ".".join(parts[:2])


def extension(module: str) -> str | None:
    """The extension that a module belongs to."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["suite", "extensions"] and len(parts) > 2 else None


def table() -> dict[str, set[str]]:
    """The import table of the page: each room with those that it may import."""
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| (.*?) ?\|$",
        PAGE.split("## Who may import whom")[1].split("##")[0],
        re.MULTILINE,
    )
    rooms = {name for name, _ in rows}
    special = {"every room": rooms, "every room but `suite.cli`": rooms - {"suite.cli"}}
    return {
        name: EVERYBODY | special.get(cell, set(re.findall(r"`([a-z_.]+)`", cell)))
        for name, cell in rows
    }


def reachable(module: str) -> set[str]:
    seen, waiting = set(), [module]
    while waiting:
        for target in graph()[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def test_the_table_names_every_room() -> None:
    rooms = {room(module) for module in MODULES} - WHOLE
    assert set(table()) == rooms


def test_imports_follow_the_table() -> None:
    rooms = {name: room(name) for name in MODULES if room(name) not in WHOLE - {"reference_impls"}}
    allowed = {
        own: {own} if own == "reference_impls" else table()[own] | {own}
        for own in set(rooms.values())
    }
    wrong = [
        f"{name} imports {target}"
        for name, own in rooms.items()
        for target in graph()[name]
        if room(target) not in allowed[own]
    ]
    assert not wrong


def test_an_extension_is_imported_by_none_but_itself() -> None:
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        for target in graph()[name]
        if extension(target) not in (None, extension(name))
    ]
    assert not wrong


READERS = (
    "suite.bundle",
    "suite.metrics",
    "suite.submission",
    "suite.compliance",
    *sorted({room(name) for name in MODULES if name.startswith("reporter.")}),
    *(f"suite.extensions.{part}" for part in ("record", "rules", "figures", "page")),
)


@pytest.mark.parametrize("own", READERS)
def test_what_reads_bundles_reaches_neither_execution_nor_instruments(own: str) -> None:
    forbidden = {
        "suite.execution",
        "suite.meters",
        "suite.machine",
        "suite.launch",
        "suite.cli",
        "suite.api",
        "suite.experiments",
    }
    for module in (module for module in MODULES if room(module) == own):
        assert not {target for target in reachable(module) if room(target) in forbidden}, module


def test_only_api_command_line_and_experiments_reach_execution() -> None:
    reach = {
        room(module)
        for module in MODULES
        if any(room(target) == "suite.execution" for target in graph()[module])
    }
    of_extensions = {f"suite.extensions.{part}" for part in ("api", "command", "measuring")}
    core = {"suite.execution", "suite.api", "suite.cli", "suite.experiments"}
    assert reach <= core | of_extensions


def test_there_is_no_import_circle() -> None:
    circles = [module for module in MODULES if module in reachable(module)]
    assert circles == []


def test_suite_has_few_entries() -> None:
    entries = [
        entry.name
        for entry in (ROOT / "suite").iterdir()
        if entry.name not in ("__init__.py", "__pycache__")
    ]
    assert len(entries) <= MAX_ENTRIES, entries


def test_a_framework_is_imported_only_in_its_own_folder() -> None:
    for name in (module for module in MODULES if module.startswith("reference_impls")):
        path = MODULES[name].relative_to(ROOT).as_posix()
        for module in names_imported(MODULES[name]):
            owner = FRAMEWORKS.get(module.split(".")[0])
            # pytorch_bf16 is a variant of pytorch
            variants = (f"reference_impls/{owner}/", f"reference_impls/{owner}_")
            assert owner is None or path.startswith(variants), f"{path} imports {module}"
        if path.count("/") == 2 and path.split("/")[1] in FRAMEWORKS.values():
            others = tuple(
                f"reference_impls.{other}"
                for other in FRAMEWORKS.values()
                if other != path.split("/")[1]
            )
            assert not [
                target
                for target in graph()[name]
                if f"{target}.".startswith(tuple(f"{other}." for other in others))
            ], path


def test_no_other_code_imports_a_framework() -> None:
    for name, path in MODULES.items():
        if not name.startswith("reference_impls") and room(name) != "suite.extensions.programs":
            assert not [
                module for module in names_imported(path) if module.split(".")[0] in FRAMEWORKS
            ], name


def test_an_import_inside_a_function_gives_its_reason() -> None:
    """A comment on the line of every function-local import, or above it: which start-up time, or
    which optional package."""
    named = [
        (name, each)
        for name, path in MODULES.items()
        if name.startswith(("suite.", "reporter."))
        for each in imports(path)
    ]
    silent = [
        f"{name}:{each.line}"
        for name, each in named
        if each.is_local and not any("#" in line for line in each.written)
    ]
    assert not silent


@pytest.mark.parametrize(
    "name", ["contract.py", "loop.py", "schedules.py", "main.py", "data_stalls.py"]
)
def test_the_contract_needs_the_standard_library_only(name: str) -> None:
    modules = {
        module.split(".")[0] for module in names_imported(ROOT / "reference_impls" / name)
    } - {"reference_impls"}
    assert modules <= set(sys.stdlib_module_names)


def loaded_by(script: str) -> set[str]:
    """Modules that a script leaves loaded, in a process of its own."""
    told = f"{script}\nimport sys\nprint('loaded:', *sys.modules)"
    answer = subprocess.run([sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    return set(answer.stdout.rpartition("loaded: ")[2].split())


def test_the_command_line_loads_nothing_heavy_for_help(starts_programs: None) -> None:
    assert not loaded_by("import suite.cli.app") & {
        "pandas",
        "pyarrow",
        "numpy",
        "sklearn",
        "psutil",
        "jinja2",
    }


def test_explaining_a_rule_loads_nothing_heavy(starts_programs: None) -> None:
    assert not loaded_by("import suite.compliance.registry") & {"pandas", "pyarrow", "scipy"}


def test_judging_a_bundle_loads_nothing_that_it_does_not_need(starts_programs: None) -> None:
    bundle = next(iter(sorted((ROOT / "submissions").rglob("run_1"))))
    loaded = loaded_by(
        f"from suite.cli.app import app; app(['check', {str(bundle)!r}], standalone_mode=False)"
    )
    assert not loaded & {"pandas", "scipy", "sklearn", "jinja2", "pyarrow.compute"}
