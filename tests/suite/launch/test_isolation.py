"""Isolation: what is started in namespaces sees nothing of the machine's processes and network, and
what cannot be isolated is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch import isolation
from suite.launch.containers import (
    IMAGE,
    container_command,
    paths_to_mount,
    refuse_other_python,
)
from suite.launch.environments import Environment
from suite.launch.isolation import (
    NAMESPACES,
    Isolation,
    describe_isolation,
    isolated_command,
    refuse_isolation,
)
from tests.interpreters import make_interpreter


def can_isolate() -> bool:
    try:
        refuse_isolation(Isolation.NAMESPACE)
    except SuiteError:
        return False
    return True


needs_namespaces = pytest.mark.skipif(
    not can_isolate(), reason="this user may not make namespaces here"
)


@pytest.mark.parametrize("kind", [None, Isolation.NONE])
def test_without_isolation_the_command_is_what_it_was(kind: Isolation | None) -> None:
    refuse_isolation(kind, ranks=4)
    assert isolated_command(kind, ["train", "--request"]) == ["train", "--request"]


@needs_namespaces
def test_every_namespace_is_another_than_the_machines() -> None:
    links = {name: "mnt" if name == "mount" else name for name in NAMESPACES}
    words = [
        "sh",
        "-c",
        " ".join(["echo", *(f"$(readlink /proc/self/ns/{link})" for link in links.values())]),
    ]
    inside = subprocess.run(
        isolated_command(Isolation.NAMESPACE, words), capture_output=True, text=True, check=True
    ).stdout.split()
    outside = [str(Path(f"/proc/self/ns/{link}").readlink()) for link in links.values()]
    assert len(inside) == len(outside) == 5 and not set(inside) & set(outside)


@needs_namespaces
def test_it_sees_its_own_processes_and_the_same_clock() -> None:
    words = [
        "python3",
        "-c",
        (
            "import os, time; print(os.getpid(), sum(name.isdigit() for name in"
            " os.listdir('/proc')), time.monotonic_ns())"
        ),
    ]
    before = json.loads(
        subprocess.run(
            [words[0], "-c", "import time; print(time.monotonic_ns())"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    pid, seen, clock_ns = subprocess.run(
        isolated_command(Isolation.NAMESPACE, words), capture_output=True, text=True, check=True
    ).stdout.split()
    assert (pid, seen) == ("1", "1") and 0 < int(clock_ns) - before < 60e9


@needs_namespaces
def test_an_exit_code_and_a_signal_come_through() -> None:
    assert (
        subprocess.run(isolated_command(Isolation.NAMESPACE, ["sh", "-c", "exit 7"])).returncode
        == 7
    )
    killed = subprocess.run(
        isolated_command(
            Isolation.NAMESPACE, ["python3", "-c", "import ctypes; ctypes.string_at(0)"]
        )
    ).returncode
    assert killed not in (0, 7)


@needs_namespaces
def test_the_record_names_program_and_namespaces() -> None:
    described = describe_isolation(Isolation.NAMESPACE)
    assert (
        described is not None
        and described["kind"] == "namespace"
        and "unshare" in str(described["program"])
    )
    assert (
        describe_isolation(Isolation.NONE) == {"kind": "none"} and describe_isolation(None) is None
    )


def test_several_ranks_are_refused() -> None:
    with pytest.raises(SuiteError, match="cuts off the network over which 2 ranks talk"):
        refuse_isolation(Isolation.NAMESPACE, ranks=2)


def test_an_engine_that_is_missing_is_named_with_what_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    for engine in (Isolation.PODMAN, Isolation.DOCKER):
        with pytest.raises(
            SuiteError,
            match=f"{engine.value} is not installed here.*--isolation namespace.*needs no engine",
        ):
            refuse_isolation(engine)
    monkeypatch.setattr(isolation.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(SuiteError, match=r"starts its containers outside.*--isolation podman"):
        refuse_isolation(Isolation.DOCKER)


def test_without_the_image_the_command_that_builds_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "podman"
    engine.write_text("#!/bin/sh\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SuiteError,
        match=f"no image {IMAGE} here; build it in a checkout with `sh tools/container.sh`",
    ):
        refuse_isolation(Isolation.PODMAN)


@pytest.mark.parametrize("kind", [Isolation.NAMESPACE, Isolation.PODMAN])
def test_who_is_not_root_is_told_the_command_for_root(
    kind: Isolation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("unshare", "podman"):
        (tmp_path / name).write_text('#!/bin/sh\n[ "$1" = image ]\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SuiteError, match=r"; type `sudo env SUITE_HOME=.*`, or use --isolation"):
        refuse_isolation(kind)


def test_a_container_reads_what_it_needs_and_writes_its_output_alone(tmp_path: Path) -> None:
    mounts = paths_to_mount(Path(sys.executable), tmp_path / "data", [tmp_path / "run"])
    words = container_command(["train"], repository_root(), mounts)
    volumes = [word.removeprefix("--volume=") for word in words if word.startswith("--volume=")]
    assert (
        f"{repository_root()}:{repository_root()}:ro" in volumes
        and f"{tmp_path / 'data'}:{tmp_path / 'data'}:ro" in volumes
    )
    assert [volume for volume in volumes if not volume.endswith(":ro")] == [
        f"{tmp_path / 'run'}:{tmp_path / 'run'}"
    ]
    assert "--network=none" in words and words[-2:] == [IMAGE, "train"]


HERE = {"version": "3.12.3", "numpy": "2.0", "torch": "2.6"}


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (HERE | {"more": "1"}, None),
        ({"version": "3.11.2"}, "is Python 3.11.2 without this machine's numpy, torch (here "),
        (HERE | {"torch": "2.5"}, "is Python 3.12.3 without this machine's torch (here "),
        (None, "does not start (here Python 3.12.3); use a Python outside /usr"),
    ],
    ids=["the same", "another version", "another package", "none"],
)
def test_a_container_that_would_train_with_another_python_is_refused(
    there: dict[str, str] | None,
    said: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is below /usr is the image's: the system's Python, or the one of a venv."""
    inside, engine = tmp_path / "inside", tmp_path / "podman"
    if there is not None:
        make_interpreter(inside, **there)
    engine.write_text(
        f'#!/bin/sh\n[ "$1" != image ] || exit 0\nwhile [ "$1" != {IMAGE} ]; do shift; done\n'
        f'[ "$2" != true ] || exit 0\nshift 2\nexec {inside} "$@"\n'
    )
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    python = make_interpreter(tmp_path / "python", **HERE)
    adopted = Environment("pytorch", python, {"torch": "2.6"})
    if said is None:
        refuse_other_python(adopted)
        return
    with pytest.raises(SuiteError) as refused:
        refuse_other_python(adopted)
    assert f"In a container {python} {said}" in str(refused.value)


def test_without_unshare_the_program_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SuiteError, match="needs the program unshare"):
        refuse_isolation(Isolation.NAMESPACE)


@pytest.mark.parametrize(
    ("user", "remedy"), [(0, ""), (1000, "type `sudo env SUITE_HOME=.*`, or ")]
)
def test_who_may_not_make_namespaces_is_told_what_works(
    user: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root in a container lacks the right, too."""
    program = tmp_path / "unshare"
    program.write_text("#!/bin/sh\necho not permitted >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(SuiteError, match=rf"\(not permitted\); {remedy}use --isolation none\.$"):
        refuse_isolation(Isolation.NAMESPACE)
