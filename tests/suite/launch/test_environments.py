"""Framework environments: made whole or not at all, shared by requirements, or an interpreter that
is there already."""

import dataclasses
import errno
import fcntl
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.catalog.frameworks import Framework, load_framework, load_frameworks, requirements_file
from suite.errors import SuiteError
from suite.launch import environments, recipe
from tests.interpreters import make_interpreter

LITTLE = Framework("fake", "Little", "reference_impls.fake", "json", needs_environment=True)


def silent(line: str) -> None:
    pass


@pytest.mark.parametrize("framework", load_frameworks(), ids=lambda framework: framework.name)
def test_a_framework_is_whole(framework: Framework) -> None:
    folder = requirements_file(framework).parent
    assert (folder / "__main__.py").is_file()
    assert framework.module == f"reference_impls.{framework.name}"
    assert requirements_file(framework).is_file() == framework.needs_environment


def test_an_environment_that_is_missing_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="suite env create chainer"):
        environments.find_environment(load_framework("chainer"), tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "is not valid JSON"), ('{"framework": "fake"}', "the key 'interpreter' is missing")],
)
@pytest.mark.parametrize(
    ("needed", "again"),
    [(True, "fake --force"), (False, "fake --interpreter PATH")],
)
def test_a_damaged_record_names_the_command_that_replaces_it(
    content: str, words: str, needed: bool, again: str, tmp_path: Path
) -> None:
    """Power was cut while an earlier version wrote it."""
    framework = dataclasses.replace(LITTLE, needs_environment=needed)
    record = environments.environment_folder(framework, tmp_path) / environments.RECORD
    record.parent.mkdir(parents=True)
    record.write_text(content)
    with pytest.raises(SuiteError) as caught:
        environments.find_environment(framework, tmp_path)
    assert f"{record}" in str(caught.value) and words in str(caught.value)
    assert str(caught.value).endswith(f"; create it again with `suite env create {again}`.")


def test_a_home_that_cannot_be_written_is_refused_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mkdir(path: Path, **_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    for make in (
        lambda: environments.create_environment(LITTLE, silent, home=tmp_path / "home"),
        lambda: environments.adopt_interpreter(LITTLE, Path(sys.executable), tmp_path / "home"),
    ):
        with pytest.raises(SuiteError, match="Read-only file system; choose another folder with"):
            make()


def test_an_interpreter_that_is_there_can_be_used(tmp_path: Path) -> None:
    adopted = environments.adopt_interpreter(LITTLE, Path(sys.executable), tmp_path)
    assert environments.find_environment(LITTLE, tmp_path) == adopted
    assert "pandas" in adopted.packages


def test_packages_are_those_that_the_interpreter_has_now(tmp_path: Path) -> None:
    python = make_interpreter(tmp_path / "python", torch="2.5.0")
    environments.adopt_interpreter(LITTLE, python, tmp_path)
    make_interpreter(python, torch="2.6.0")
    adopted = environments.find_environment(LITTLE, tmp_path)
    found = environments.as_it_is(adopted)
    assert found.packages == {"torch": "2.6.0"}
    assert environments.as_it_is(found) is found, "not asked again in the same run"
    harness = environments.Environment("fake", Path(sys.executable), {})
    assert environments.as_it_is(harness).packages == {}


def test_an_interpreter_without_the_framework_is_refused(tmp_path: Path) -> None:
    lacking = dataclasses.replace(LITTLE, import_name="a_framework_that_is_not_there")
    with pytest.raises(SuiteError, match="cannot `import a_framework_that_is_not_there`"):
        environments.adopt_interpreter(lacking, Path(sys.executable), tmp_path)
    with pytest.raises(SuiteError, match="not an interpreter"):
        environments.adopt_interpreter(LITTLE, tmp_path / "python", tmp_path)


def test_a_module_that_only_the_shells_variables_find_is_not_the_interpreters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster's `module load` sets PYTHONPATH; a training drops it."""
    (tmp_path / "loaded_module.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lacking = dataclasses.replace(LITTLE, import_name="loaded_module")
    with pytest.raises(SuiteError, match="cannot `import loaded_module`"):
        environments.adoptable_environment(lacking, Path(sys.executable))


@pytest.mark.parametrize(
    ("packages", "others"),
    [
        ({"torch": "2.13.0+cu130", "torchvision": "0.28.0"}, []),
        (
            {"torch": "1.10.0", "torchvision": "0.11.1"},
            [("torch", "2.13.0", "1.10.0"), ("torchvision", "0.28.0", "0.11.1")],
        ),
        ({"torch": "2.13.0"}, [("torchvision", "0.28.0", None)]),
    ],
)
def test_other_versions_than_the_requirements_are_named(
    packages: dict[str, str],
    others: list[tuple[str, str, str | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        environments, "current_platform", lambda: recipe.Platform("x86_64", (3, 11), has_gpu=True)
    )
    found = environments.other_versions(
        load_framework("pytorch"),
        environments.Environment("pytorch", Path(sys.executable), packages),
    )
    assert [(one.package, one.required, one.found) for one in found] == others


@pytest.mark.proof
def test_a_failed_installation_leaves_its_log_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("--no-index\na-package-that-is-not-there==1\n")
    monkeypatch.setattr(recipe, "requirements_file", lambda framework: requirements)
    with pytest.raises(SuiteError, match="could not be created") as caught:
        environments.create_environment(LITTLE, silent, home=tmp_path)
    (log,) = (tmp_path / "envs").iterdir()
    assert log.suffix == ".log" and str(log) in str(caught.value)


@pytest.mark.parametrize("failure", [SuiteError("no network"), KeyboardInterrupt()])
def test_an_environment_stays_until_the_one_that_replaces_it_is_whole(
    failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise failure

    before = environments.adopt_interpreter(LITTLE, Path(sys.executable), tmp_path)
    monkeypatch.setattr(environments, "_run_logged", fail)
    with pytest.raises(type(failure)):
        environments.create_environment(LITTLE, silent, home=tmp_path, force=True)
    assert environments.find_environment(LITTLE, tmp_path) == before
    monkeypatch.setattr(environments, "_run_logged", lambda *_: None)
    after = dataclasses.replace(before, packages={"little": "2"})
    monkeypatch.setattr(environments, "_examined", lambda *_: after)
    environments.create_environment(LITTLE, silent, home=tmp_path, force=True)
    assert environments.find_environment(LITTLE, tmp_path) == after
    assert len(list((tmp_path / "envs").iterdir())) == 2  # the environment and its log


def test_another_python_than_that_of_the_environment_needs_force(tmp_path: Path) -> None:
    python = Path(sys.executable)
    made = environments.adopt_interpreter(LITTLE, python, tmp_path)
    assert environments.create_environment(LITTLE, silent, python.resolve(), tmp_path) == made
    said = "Little already runs in .*, another Python than /bin/true; add --force to build a new"
    with pytest.raises(SuiteError, match=said):
        environments.create_environment(LITTLE, silent, Path("/bin/true"), tmp_path)


def test_of_two_commands_that_create_one_environment_the_second_uses_what_the_first_made(
    tmp_path: Path,
) -> None:
    told = []

    def tell(line: str) -> None:
        told.append(line)
        if line.startswith("another command creates "):
            environments.adopt_interpreter(LITTLE, Path(sys.executable), tmp_path)
            first.close()

    place = environments.environment_folder(LITTLE, tmp_path)
    place.parent.mkdir()
    with place.with_suffix(".log").open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        made = environments.create_environment(LITTLE, tell, home=tmp_path)
    assert made.interpreter == Path(sys.executable)
    assert told[1:] == [f"another command creates {place}; this one waits for its end"]


def test_a_failed_installation_says_pips_error_and_not_its_advertisement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\n[ "$1" != -c ] || { echo 3 11; exit; }\necho "ERROR: No space left on device"\n'
        '[ "$PIP_DISABLE_PIP_VERSION_CHECK" = 1 ] || echo "[notice] To update, run: pip install"\n'
        '[ -z "$PYTHONPATH" ] || echo "Requirement already satisfied"\n'
        "exit 1\n"
    )
    python.chmod(0o755)
    with pytest.raises(SuiteError, match=r"\(ERROR: No space left on device\)"):
        environments.create_environment(LITTLE, silent, python, tmp_path)


def test_a_python_that_is_too_new_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    old = dataclasses.replace(LITTLE, highest_python="3.6")
    with pytest.raises(SuiteError, match=r"--python PATH.*uv python install 3\.6"):
        environments.create_environment(old, silent, home=tmp_path)
    assert not (tmp_path / "envs").exists() or not list((tmp_path / "envs").iterdir())


def test_an_environment_that_the_disk_has_no_room_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = recipe.Lock(tmp_path, (), 10, 3_000_000)
    plan = dataclasses.replace(environments.plan_environment(LITTLE, None), lock=lock)
    monkeypatch.setattr(environments, "plan_environment", lambda *_: plan)

    def create_with(free_bytes: int) -> None:
        usage = SimpleNamespace(free=free_bytes)
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
        environments.create_environment(LITTLE, silent, home=tmp_path)

    with pytest.raises(SuiteError, match=r"needs 3 MB in .* has 2 MB left"):
        create_with(2_000_000)

    def begin(*_: object, **__: object) -> None:
        raise InterruptedError

    monkeypatch.setattr("shutil.rmtree", begin)
    with pytest.raises(InterruptedError):
        create_with(3_000_000)


def test_other_requirements_make_another_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = environments.environment_folder(LITTLE, tmp_path)
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("something-else\n")
    monkeypatch.setattr(recipe, "requirements_file", lambda framework: requirements)
    assert environments.environment_folder(LITTLE, tmp_path) != before
