"""Imports go one way, and nothing heavy is loaded before it is needed: read from the code itself."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.files.paths import repository_root

ROOT = repository_root()
FRAMEWORKS = {"torch": "pytorch", "torchvision": "pytorch", "tensorflow": "tensorflow", "keras": "tensorflow", "chainer": "chainer"}
MODULES = sorted(path.relative_to(ROOT).as_posix() for room in ("suite", "reporter", "reference_impls") for path in (ROOT / room).rglob("*.py"))


def imports(name: str) -> Iterator[str]:
    """Every module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def starts(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_one_way(name: str) -> None:
    found = list(imports(name))
    if name.startswith("reference_impls/"):
        assert not [module for module in found if starts(module, "suite", "reporter")]
    if name.startswith(("suite/compliance/", "reporter/")):
        forbidden = ("suite.launch", "suite.measure", "suite.run", "suite.cli", "suite.environments")
        tables = "suite.measure.power"  # which channels make a total: data, and arithmetic on it
        assert not [module for module in found if starts(module, *forbidden) and not starts(module, tables)]
    if name.startswith("suite/") and not name.startswith("suite/cli/"):
        above = ("suite.cli", "suite.api") if name == "suite/api.py" else ("suite.cli", "suite.api", "reporter")
        assert not [module for module in found if starts(module, *above)]
    for module in found:
        owner = FRAMEWORKS.get(module.split(".")[0])
        variants = (f"reference_impls/{owner}/", f"reference_impls/{owner}_")  # pytorch_bf16 is a variant of pytorch
        assert owner is None or name.startswith(variants), f"{name} imports {module}"
    if name.startswith("reference_impls/") and name.count("/") == 2 and name.split("/")[1] in FRAMEWORKS.values():
        others = {f"reference_impls.{other}" for other in FRAMEWORKS.values()} - {f"reference_impls.{name.split('/')[1]}"}
        assert not [module for module in found if starts(module, *others)]


@pytest.mark.parametrize("name", ["contract.py", "loop.py", "schedules.py", "main.py", "data_stalls.py"])
def test_the_contract_needs_the_standard_library_only(name: str) -> None:
    modules = {module.split(".")[0] for module in imports(f"reference_impls/{name}")} - {"reference_impls"}
    assert modules <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("heavy", ["pandas", "pyarrow", "numpy", "sklearn", "psutil", "jinja2"])
def test_the_command_line_loads_nothing_heavy_for_help(heavy: str) -> None:
    script = f"import sys; import suite.cli.app; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0


@pytest.mark.parametrize("heavy", ["pandas", "pyarrow", "numpy", "scipy"])
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


def test_folders_are_where_the_architecture_says() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for line in text.split("## The house")[1].split("Imports go one way")[0].splitlines():
        for word in line.split("  ")[2:4]:
            if word.endswith("/") and len(word.split()) == 1:
                assert any(Path(ROOT, *prefix, word).is_dir() for prefix in ((), ("suite",), ("reference_impls",), ("reporter",))), word
