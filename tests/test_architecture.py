"""docs/architecture.md is true: the import table holds, there is no circle, and nothing heavy is loaded before it is needed."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from suite.files.paths import repository_root

ROOT = repository_root()
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOPS = ("suite", "reporter", "reference_impls")
FRAMEWORKS = {"torch": "pytorch", "torchvision": "pytorch", "tensorflow": "tensorflow", "keras": "tensorflow", "chainer": "chainer"}
EVERYBODY = {"suite", "suite.errors", "suite.files", "reference_impls"}
MAX_ENTRIES = 21


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}


def names_imported(path: Path) -> Iterator[str]:
    """Every module name in an import statement, anywhere in the file; for ``from a import b`` both ``a`` and ``a.b``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def graph() -> dict[str, set[str]]:
    """The project's modules, each with the project modules that it imports."""
    return {name: {target for target in names_imported(path) if target in MODULES} - {name} for name, path in MODULES.items()}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[0] if parts[0] == "reference_impls" or len(parts) == 1 else ".".join(parts[:2])


def table() -> dict[str, set[str]]:
    """The import table of the page: each room with those that it may import."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.*?) ?\|$", PAGE.split("## Who may import whom")[1].split("##")[0], re.MULTILINE)
    rooms = {name for name, _ in rows}
    special = {"every room": rooms, "every room but `suite.cli`": rooms - {"suite.cli"}}
    return {name: EVERYBODY | special.get(cell, set(re.findall(r"`([a-z_.]+)`", cell))) for name, cell in rows}


def reachable(module: str) -> set[str]:
    seen, waiting = set(), [module]
    while waiting:
        for target in graph()[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def test_the_table_names_every_room() -> None:
    rooms = {room(module) for module in MODULES} - {"suite", "reporter", "reference_impls"}
    assert set(table()) == rooms


@pytest.mark.parametrize("name", sorted(set(MODULES)))
def test_imports_follow_the_table(name: str) -> None:
    own = room(name)
    if own in ("suite", "reporter"):
        return
    allowed = {"reference_impls"} if own == "reference_impls" else table()[own] | {own}
    assert not {target for target in graph()[name] if room(target) not in allowed}


READERS = (
    "suite.bundle",
    "suite.metrics",
    "suite.submission",
    "suite.compliance",
    *sorted({room(name) for name in MODULES if name.startswith("reporter.")}),
)


@pytest.mark.parametrize("own", READERS)
def test_what_reads_bundles_reaches_neither_execution_nor_instruments(own: str) -> None:
    forbidden = {"suite.execution", "suite.meters", "suite.machine", "suite.launch", "suite.cli", "suite.api", "suite.experiments"}
    for module in (module for module in MODULES if room(module) == own):
        assert not {target for target in reachable(module) if room(target) in forbidden}, module


def test_only_api_command_line_and_experiments_reach_execution() -> None:
    reach = {room(module) for module in MODULES if any(room(target) == "suite.execution" for target in graph()[module])}
    assert reach <= {"suite.execution", "suite.api", "suite.cli", "suite.experiments"}


def test_there_is_no_import_circle() -> None:
    circles = [module for module in MODULES if module in reachable(module)]
    assert circles == []


def test_suite_has_few_entries() -> None:
    entries = [entry.name for entry in (ROOT / "suite").iterdir() if entry.name not in ("__init__.py", "__pycache__")]
    assert len(entries) <= MAX_ENTRIES, entries


@pytest.mark.parametrize("name", sorted(module for module in MODULES if module.startswith("reference_impls")))
def test_a_framework_is_imported_only_in_its_own_folder(name: str) -> None:
    path = MODULES[name].relative_to(ROOT).as_posix()
    for module in names_imported(MODULES[name]):
        owner = FRAMEWORKS.get(module.split(".")[0])
        variants = (f"reference_impls/{owner}/", f"reference_impls/{owner}_")  # pytorch_bf16 is a variant of pytorch
        assert owner is None or path.startswith(variants), f"{path} imports {module}"
    if path.count("/") == 2 and path.split("/")[1] in FRAMEWORKS.values():
        others = {f"reference_impls.{other}" for other in FRAMEWORKS.values()} - {f"reference_impls.{path.split('/')[1]}"}
        assert not [target for target in graph()[name] if any(target == other or target.startswith(f"{other}.") for other in others)]


def test_no_other_code_imports_a_framework() -> None:
    for name, path in MODULES.items():
        if not name.startswith("reference_impls"):
            assert not [module for module in names_imported(path) if module.split(".")[0] in FRAMEWORKS], name


@pytest.mark.parametrize("name", sorted(module for module in MODULES if module.startswith(("suite.", "reporter."))))
def test_an_import_inside_a_function_gives_its_reason(name: str) -> None:
    """A comment on the line of every function-local import: which start-up time, or which optional package."""
    text = MODULES[name].read_text(encoding="utf-8")
    lines = text.splitlines()
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                written = lines[node.lineno - 1 : node.end_lineno]
                assert any("#" in line for line in written), f"{name}:{node.lineno}: {written[0].strip()}"


@pytest.mark.parametrize("name", ["contract.py", "loop.py", "schedules.py", "main.py", "data_stalls.py"])
def test_the_contract_needs_the_standard_library_only(name: str) -> None:
    modules = {module.split(".")[0] for module in names_imported(ROOT / "reference_impls" / name)} - {"reference_impls"}
    assert modules <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("heavy", ["pandas", "pyarrow", "numpy", "sklearn", "psutil", "jinja2"])
def test_the_command_line_loads_nothing_heavy_for_help(heavy: str) -> None:
    script = f"import sys; import suite.cli.app; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("heavy", ["pandas", "pyarrow", "scipy"])
def test_explaining_a_rule_loads_nothing_heavy(heavy: str) -> None:
    script = f"import sys; import suite.compliance.registry; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("heavy", ["pandas", "scipy", "sklearn", "jinja2", "pyarrow.compute"])
def test_judging_a_bundle_loads_nothing_that_it_does_not_need(heavy: str) -> None:
    bundle = next(iter(sorted((ROOT / "submissions").rglob("run_1"))))
    script = f"import sys; from suite.cli.app import app; app(['check', {str(bundle)!r}], standalone_mode=False); sys.exit({heavy!r} in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "complies with the" in answer.stdout
