"""Packaging refuses what names a person or a network, and names it: file, key or line, and what it
looks like."""

import json
from pathlib import Path

import pytest

from suite.bundle.manifest import seal
from suite.errors import SuiteError
from suite.submission.package import PackageRequest, package_runs
from tests.faults.edits.editable_bundle import EditableBundle
from tests.suite.submission.conftest import make_runs

PERSON = "zebedeeq"

PLANTED = {
    "output.txt, line 2: a home folder": ("output.txt", 'File "/home/jane/train.py"'),
    "output.txt, line 2: an IP address": ("output.txt", "peer 192.168.1.20"),
    "output.txt, line 2: a MAC address": ("output.txt", "b8:27:eb:12:34:56"),
    "output.txt, line 2: an e-mail address or an account": ("output.txt", "jane@janes-pi"),
    "output.txt, line 2: a serial number": ("output.txt", "Serial: 10000000a1b2c3d4"),
    "output.txt, line 2: a host's name": ("output.txt", "janes-pi4.local"),
    "output.txt, line 2: a URL with a user name or a private host": (
        "output.txt",
        "http://plug/rpc",
    ),
    "run.json, device_evidence: a home folder": (
        "run.json",
        ("device_evidence", "/Users/jane/boards.txt"),
    ),
    "run.json, command.1: an IP address": (
        "run.json",
        ("command", ["suite", "http://192.168.7.7:8731", "run"]),
    ),
    "system.json, notes.board: an e-mail address or an account": (
        "system.json",
        ("notes", {"board": "ask jane@example.org"}),
    ),
    "system.json, links.0.interface: a MAC address": (
        "system.json",
        ("links", [{"interface": "enxb827eb123456"}]),
    ),
    "system.json, storage_medium: a URL with a user name or a private host": (
        "system.json",
        ("storage_medium", "smb://nas/jane"),
    ),
}


@pytest.mark.parametrize(("named", "planted"), PLANTED.items())
def test_packaging_refuses_and_names_what_slipped_through(
    named: str, planted: tuple[str, object], offer: PackageRequest, tmp_path: Path
) -> None:
    runs = make_runs(tmp_path / "runs", 1)
    name, what = planted
    path = runs[0] / name
    if isinstance(what, str):
        path.write_text(f"{path.read_text()}{what}\n")
    else:
        assert isinstance(what, tuple)
        path.write_text(json.dumps({**json.loads(path.read_text()), what[0]: what[1]}))
    (runs[0] / "MANIFEST.sha256").unlink()
    seal(runs[0])
    with pytest.raises(SuiteError) as refused:
        package_runs(runs, offer, tmp_path / "tree")
    assert f"lenet/pytorch/run_1/{named}" in str(refused.value)
    assert not list((tmp_path / "tree").glob("*/*"))


def test_packaging_refuses_this_users_name_but_not_the_organizations(
    offer: PackageRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = make_runs(tmp_path / "runs", 1)
    (runs[0] / "output.txt").write_text("by acme, and by Zebedeeq\n")
    (runs[0] / "MANIFEST.sha256").unlink()
    seal(runs[0])
    for user in ("acme", PERSON):
        monkeypatch.setenv("LOGNAME", user)
        if user == "acme":
            package_runs(runs, offer, tmp_path / "tree")
            continue
        with pytest.raises(SuiteError, match=r"line 1: the name of this user or host"):
            package_runs(runs, offer, tmp_path / "other")


@pytest.mark.parametrize("host", ["shelly", "rock-5b", "Ryzen"])
def test_packaging_takes_a_host_that_is_called_as_its_board_or_a_meter(
    host: str, offer: PackageRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of every run have these words, and they identify nobody."""
    (run,) = make_runs(tmp_path / "runs", 1)
    bundle = EditableBundle(run)
    bundle.run["meters"].append({"name": "shelly", "period_s": 1.0, "available": False})
    bundle.system |= {"compatible": ["radxa,rock-5b"], "cpu_model": "AMD Ryzen 5 5600"}
    bundle.save()
    monkeypatch.setattr("platform.node", lambda: host)
    assert package_runs([run], offer, tmp_path / "tree").is_dir()
