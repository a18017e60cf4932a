"""An installed suite needs no checkout: the sdist is built, the wheel from the sdist, and the
commands of `make demo` run in an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.catalog.frameworks import load_framework
from suite.catalog.seeds import implementation_sha256
from suite.files.paths import repository_root, suite_home
from suite.launch import environments
from tests.conftest import environment_of
from tests.open_round import OPEN

ROOT = repository_root()
IN_THE_ARCHIVE = (
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "setup.py",
    "suite",
    "reporter",
    "reference_impls",
    "rules",
    "examples",
    "submissions",
)
BESIDE_THE_PACKAGES = ("rules", "reference_impls", "examples")


def built(builder: str, source: Path) -> Path:
    """What setuptools builds in ``source``, without a network: its folder ``dist`` has one file of
    each kind."""
    script = f"from setuptools import build_meta; print(build_meta.{builder}('dist'))"
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=source, capture_output=True, text=True, timeout=300
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return source / "dist" / answer.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "suite"
    source.mkdir()
    for name in (name for name in IN_THE_ARCHIVE if (ROOT / name).exists()):
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                source / name,
                ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
            )
        else:
            shutil.copyfile(ROOT / name, source / name)
    return built("build_sdist", source)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    return built("build_wheel", source)


@dataclass(frozen=True)
class Installed:
    """The suite in a virtual environment of its own; ``folder`` is where its commands run: empty at
    first, and no checkout."""

    environment: Path
    folder: Path
    home: Path

    def __call__(self, arguments: str) -> str:
        """The output of a command that ended with 0; nothing that it printed names the checkout."""
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        command = [str(self.environment / "bin" / "suite"), *arguments.split()]
        answer = subprocess.run(
            command,
            cwd=self.folder,
            env={**variables, "SUITE_HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert answer.returncode == 0, f"{arguments}: {answer.stdout} {answer.stderr}"
        assert str(ROOT) not in answer.stdout + answer.stderr
        return answer.stdout

    def python(self, script: str) -> str:
        """What a script prints in the environment's interpreter."""
        command = [str(self.environment / "bin" / "python"), "-c", script]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel. Its dependencies are those of the tests' environment,
    after its own packages.

    A line of a ``.pth`` file adds a folder without the ``.pth`` files in it, and thus without an
    editable installation of the checkout.
    """
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    (packages,) = folder.glob("lib/python*/site-packages")
    dependencies = [
        path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")
    ]
    (packages / "dependencies.pth").write_text(
        "".join(f"{path}\n" for path in dependencies), encoding="utf-8"
    )
    return folder


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    (tmp_path / "elsewhere").mkdir()
    return Installed(environment, tmp_path / "elsewhere", tmp_path / "home")


def tracked(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "build"} & {*path.parts}
    }


@pytest.mark.proof
def test_the_wheel_holds_every_module_and_everything_beside_the_packages_once(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert len(names) == len(set(names))
    in_folder = {
        name.removeprefix("suite/installed/")
        for name in names
        if name.startswith("suite/installed/")
    }
    programs = {
        name
        for name in tracked("extensions")
        if "/programs/" in name or (name.endswith("/__init__.py") and name.count("/") < 3)
    }
    assert in_folder == {
        name for folder in BESIDE_THE_PACKAGES for name in tracked(folder)
    } | programs | {"submissions/ALLOWED_SIGNERS"}
    packages = {name for name in names if not name.startswith("suite/installed/")}
    modules = {name for name in tracked("reference_impls") if name.endswith(".py")}
    # a link leads from the package to the folder
    of_extensions = {f"suite/{name}" for name in tracked("extensions")}
    assert packages == tracked("suite") | tracked("reporter") | modules | of_extensions


@pytest.mark.proof
def test_the_folder_of_an_implementation_has_no_package_of_the_harness(environment: Path) -> None:
    (folder,) = environment.glob("lib/python*/site-packages/suite/installed")
    assert {path.name for path in folder.iterdir()} == {
        "rules",
        "reference_impls",
        "examples",
        "extensions",
        "submissions",
    }


@pytest.mark.proof
def test_it_runs_the_demo_with_the_fake_framework(installed: Installed) -> None:
    assert installed.python("import suite; print(suite.__file__)").startswith(
        str(installed.environment)
    )
    for part, name in {
        "workloads": "lenet",
        "devices": "generic",
        "frameworks": "fake",
        "data-sets": "digits",
        "rounds": OPEN,
    }.items():
        assert name in {row["name"] for row in json.loads(installed(f"list {part} --json"))["rows"]}
    assert "suite predict" in installed("predict --help"), "a command of an extension"
    installed("data prepare digits")
    run_check_report(installed, "fake")


@pytest.mark.proof
@pytest.mark.pytorch
def test_it_runs_the_demo_with_the_pytorch_environment_that_is_there(installed: Installed) -> None:
    environment_of("pytorch")
    installed.home.mkdir()
    (installed.home / "envs").symlink_to(suite_home() / "envs")
    (created,) = installed("env create pytorch").splitlines()
    assert created.endswith(
        str(environments.find_environment(load_framework("pytorch")).interpreter)
    )
    installed("data prepare digits")
    run_check_report(installed, "pytorch")


def run_check_report(installed: Installed, framework: str) -> None:
    installed(
        f"run --division open --device auto --workload lenet --data digits --framework {framework}"
        " --epochs 2 --output run"
    )
    assert "complies with the open division" in installed("check run")
    installed("report run --output site")
    assert (installed.folder / "site" / "index.html").is_file()
    naming = [
        path
        for path in installed.folder.rglob("*")
        if path.is_file() and str(ROOT).encode() in path.read_bytes()
    ]
    assert naming == []


@pytest.mark.proof
def test_an_implementation_of_ones_own_trains_without_a_checkout(installed: Installed) -> None:
    """`suite implementation new` copies an example of the wheel; it trains on the digits and is
    checked."""
    installed("implementation new ours --language python")
    installed("data prepare digits")
    installed(
        "run --division open --workload lenet --implementation ours --data digits"
        " --device generic --epochs 1 --baseload 0 --output run"
    )
    assert "complies" in installed("check run")
    record = json.loads((installed.folder / "run/run.json").read_text())
    assert (record["request"]["framework"], record["implementation"]["language"]) == (
        "ours",
        "Python",
    )


@pytest.mark.proof
def test_an_implementation_has_the_digest_that_it_has_in_a_checkout(installed: Installed) -> None:
    script = (
        "from suite.catalog import frameworks, seeds;"
        " print(seeds.implementation_sha256(frameworks.load_framework('pytorch')))"
    )
    assert installed.python(script) == implementation_sha256(load_framework("pytorch"))


@pytest.mark.proof
def test_what_needs_a_checkout_says_so_in_one_sentence(installed: Installed) -> None:
    command = [installed.environment / "bin" / "suite", "new", "device", "my-board"]
    answer = subprocess.run(command, cwd=installed.folder, capture_output=True, text=True)
    assert (
        answer.returncode == 2
        and answer.stderr.startswith("error: A device is written into a checkout")
        and len(answer.stderr.splitlines()) == 1
    )


@pytest.mark.proof
def test_a_repository_around_the_environment_is_not_taken_for_the_suites(
    installed: Installed,
) -> None:
    """A project's own virtual environment is often in its repository."""
    around = installed.environment.parent
    subprocess.run(["git", "init", "--quiet", around], check=True)
    commit = [
        "git",
        "-C",
        around,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "theirs",
    ]
    subprocess.run(commit, check=True)
    assert (
        installed.python("from suite.submission.package import *; print(code_of(checkout()))")
        == "Code(address=None, commit=None, modified=None)"
    )
    script = (
        "from reference_impls import node; from suite.files import paths; root ="
        " str(paths.repository_root())"
    )
    assert (
        installed.python(f"{script}; print(node.git_state(root), node.suite_version(root))")
        == f"None {installed('--version').strip()}"
    )
