"""Isolation: what is started in namespaces sees nothing of the machine's processes and network, and what cannot be isolated is refused."""

import json
import subprocess
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.launch import isolation
from suite.launch.isolation import NAMESPACES, Isolation, describe_isolation, isolated, refuse_isolation


def can_isolate() -> bool:
    try:
        refuse_isolation(Isolation.NAMESPACE)
    except SuiteError:
        return False
    return True


needs_namespaces = pytest.mark.skipif(not can_isolate(), reason="this user may not make namespaces here")


@pytest.mark.parametrize("kind", [None, Isolation.NONE])
def test_without_isolation_the_command_is_what_it_was(kind: Isolation | None) -> None:
    refuse_isolation(kind, ranks=4)
    assert isolated(kind, ["train", "--request"]) == ["train", "--request"]


@needs_namespaces
def test_every_namespace_is_another_than_the_machines() -> None:
    links = {name: "mnt" if name == "mount" else name for name in NAMESPACES}
    words = ["sh", "-c", " ".join(["echo", *(f"$(readlink /proc/self/ns/{link})" for link in links.values())])]
    inside = subprocess.run(isolated(Isolation.NAMESPACE, words), capture_output=True, text=True, check=True).stdout.split()
    outside = [str(Path(f"/proc/self/ns/{link}").readlink()) for link in links.values()]
    assert len(inside) == len(outside) == 5 and not set(inside) & set(outside)


@needs_namespaces
def test_it_sees_its_own_processes_and_the_same_clock() -> None:
    words = ["python3", "-c", "import os, time; print(os.getpid(), sum(name.isdigit() for name in os.listdir('/proc')), time.monotonic_ns())"]
    before = json.loads(
        subprocess.run([words[0], "-c", "import time; print(time.monotonic_ns())"], capture_output=True, text=True, check=True).stdout
    )
    pid, seen, clock_ns = subprocess.run(isolated(Isolation.NAMESPACE, words), capture_output=True, text=True, check=True).stdout.split()
    assert (pid, seen) == ("1", "1") and 0 < int(clock_ns) - before < 60e9


@needs_namespaces
def test_an_exit_code_and_a_signal_come_through() -> None:
    assert subprocess.run(isolated(Isolation.NAMESPACE, ["sh", "-c", "exit 7"])).returncode == 7
    killed = subprocess.run(isolated(Isolation.NAMESPACE, ["python3", "-c", "import ctypes; ctypes.string_at(0)"])).returncode
    assert killed not in (0, 7)


@needs_namespaces
def test_the_record_names_program_and_namespaces() -> None:
    described = describe_isolation(Isolation.NAMESPACE)
    assert described is not None and described["kind"] == "namespace" and "unshare" in str(described["program"])
    assert describe_isolation(Isolation.NONE) == {"kind": "none"} and describe_isolation(None) is None


def test_several_ranks_are_refused() -> None:
    with pytest.raises(SuiteError, match="2 ranks talk over the machine's network"):
        refuse_isolation(Isolation.NAMESPACE, ranks=2)


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_an_engine_that_is_missing_is_named_with_what_works(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    with pytest.raises(SuiteError, match=f"{engine} is not installed here .*--isolation namespace needs no engine"):
        refuse_isolation(Isolation(engine))
    monkeypatch.setattr(isolation.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(SuiteError, match="where no meter would find them"):
        refuse_isolation(Isolation(engine))


def test_without_unshare_the_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SuiteError, match="needs the program unshare"):
        refuse_isolation(Isolation.NAMESPACE)
