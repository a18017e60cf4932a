"""The scripts that set up what tests and proofs need: each obstacle is one sentence."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.frameworks import load_framework
from suite.files.paths import repository_root
from suite.launch.recipe import GPU_FILES, current_platform, lock_path, read_lock
from tests.conftest import interruptible
from tools import test_run

ROOT = repository_root()


def script(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a script of tools/ says with these variables alone."""
    return subprocess.run(
        ["sh", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHON": sys.executable} | variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.usefixtures("starts_programs")
def test_an_environment_of_another_lock_does_not_count(tmp_path: Path) -> None:
    for name in ("pytorch", "chainer"):
        folder = tmp_path / "envs" / f"{name}-1"
        (folder / "installed").mkdir(parents=True)
        (folder / "environment.json").touch()
    (folder.parent / "pytorch-1" / "installed" / "hashed.txt").write_text("numpy==1 --hash=a")
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")  # a user, who installs nothing
    (tmp_path / "id").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = script("tools/test_setup.sh", str(tmp_path), SUITE_HOME=str(tmp_path), PATH=path)
    assert "environment of pytorch" in said.stdout and "environment of chainer" not in said.stdout
    assert "MB to download, 900 MB on disk" in said.stdout


@pytest.mark.usefixtures("starts_programs")
@pytest.mark.parametrize("file", GPU_FILES)
def test_the_size_of_an_environment_is_that_for_the_machines_gpu(file: str, tmp_path: Path) -> None:
    lock = lock_path(load_framework("pytorch"), replace(current_platform(), has_gpu=True))
    if not lock.is_file():
        pytest.skip(f"there is no {lock.name}")
    (tmp_path / "driver").touch()
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")  # a user, who installs nothing
    (tmp_path / "id").chmod(0o755)
    text = (ROOT / "tools/test_setup.sh").read_text().replace(f"/{file}", f"{tmp_path}/driver")
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = script("-c", text, "sh", str(tmp_path), SUITE_HOME=str(tmp_path), PATH=path)
    (line,) = [line for line in said.stdout.splitlines() if "environment of pytorch " in line]
    assert f": {read_lock(lock).download_bytes // 10**6} MB to download" in line


@pytest.mark.usefixtures("starts_programs")
@pytest.mark.parametrize(("extras", "size"), [("report,digits", "600 MB"), ("test,lint", "900 MB")])
def test_the_size_of_the_suite_itself_is_said(extras: str, size: str) -> None:
    assert f"{size} on disk" in script("tools/bootstrap.sh", EXTRAS=extras).stdout


@pytest.mark.usefixtures("starts_programs")
def test_without_a_home_there_is_a_sentence() -> None:
    said = script("tools/test_setup.sh", ".venv")
    assert said.returncode == 2 and said.stderr.startswith("error: HOME is not set")


@pytest.mark.usefixtures("starts_programs")
def test_an_interrupted_set_up_is_one_sentence(tmp_path: Path) -> None:
    """``python`` stands for pip: it says that it has begun, and prints a traceback when it is
    interrupted."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'[ "$1 $last" = "-m made" ] || exec {sys.executable} "$@"\n'
        f"exec {sys.executable} -c \"open('{begun}', 'w').close(); import time; time.sleep(600)\""
    )
    python.chmod(0o755)
    process = subprocess.Popen(
        ["sh", "tools/bootstrap.sh", "made"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": str(python)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    begun.read_text()
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1].splitlines() == [
        b"Interrupted before made was complete; type the same command to continue."
    ]


@pytest.mark.usefixtures("starts_programs")
def test_a_32_bit_python_is_refused_before_anything_is_downloaded(tmp_path: Path) -> None:
    """``python`` stands for one, and for a venv that would be made."""
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *maxsize*) exit 1 ;; "-m venv"*) exit 7 ;; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    said = script("tools/bootstrap.sh", str(tmp_path / "made"), PYTHON=str(python), EXTRAS="none")
    assert said.returncode == 2 and not (tmp_path / "made").exists()
    assert said.stderr == (
        f"error: the suite has no packages for the 32-bit Python '{python}'; install the 64-bit"
        " image of the board's system (a 64-bit kernel alone is not enough)\n"
    )


@pytest.mark.parametrize(("ci", "phases", "code"), [("", ["a phase"], 0), ("true", [], 1)])
def test_an_environment_that_cannot_be_created_ends_the_tests_in_ci_alone(
    ci: str, phases: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere the tests that need it are skipped: Chainer has no packages for Python 3.12."""
    began: list[str] = []

    def passes(phase: test_run.Phase, title: str) -> bool:
        began.append(phase.name)
        return True

    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(test_run, "PLANS", {"test": (test_run.Phase("a phase", ()),)})
    monkeypatch.setattr(test_run, "_passes", passes)
    monkeypatch.setattr("tools.framework_environments.main", lambda: 1)
    for name in ("adopt_orphans", "end_everything"):
        monkeypatch.setattr(test_run, name, lambda: None)
    assert (test_run.main(["test"]), began) == (code, phases)
