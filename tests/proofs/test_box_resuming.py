"""The box is resumable: parts are made once, an unfinished one again, and a check that held is not
repeated; no emulator runs here."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.box import __main__ as box
from proofs.box import place

Make = Callable[[], None]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that were made, in order; making one only notes its name."""
    monkeypatch.setenv("SUITE_HOME", str(tmp_path))
    names: list[str] = []

    def noting(name: str) -> Make:
        return lambda: names.append(name)

    monkeypatch.setattr(place, "PARTS", {name: noting(name) for name in place.PARTS})
    return names


def test_a_part_is_made_once(made: list[str]) -> None:
    place.make("root", "wheels")
    place.make("root", "wheels", "kernel")
    assert made == ["root", "wheels", "kernel"]


def test_a_part_that_failed_is_made_again_and_the_others_are_not(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing() -> None:
        raise subprocess.CalledProcessError(1, ["mmdebstrap", "--mode=root"])

    working = place.PARTS
    monkeypatch.setattr(place, "PARTS", {**working, "wheels": failing})
    with pytest.raises(SystemExit, match="the box's wheels could not be made: `mmdebstrap` failed"):
        place.make("root", "wheels")
    monkeypatch.setattr(place, "PARTS", working)
    place.make("root", "wheels")
    assert made == ["root", "wheels"]


def test_a_new_root_gets_new_wheels(made: list[str]) -> None:
    place.make("root", "wheels")
    (place.place() / ".root").unlink()
    place.make("root", "wheels")
    assert made == ["root", "wheels"] * 2


def test_other_wheels_in_the_lock_are_installed(
    made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.make("root", "wheels")
    monkeypatch.setattr(place, "MADE_FROM", {"wheels": ("pyproject.toml",)})
    place.make("root", "wheels")
    assert made == ["root", "wheels", "wheels"]


def test_a_check_that_held_is_not_repeated(
    made: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(name: str, kept: Path) -> box.Result:
        ran.append(name)
        return box.Result(name, f"{name} (emulated)\n  NO  counted\n", False, "1 s")

    monkeypatch.setattr(box, "_run", run)
    monkeypatch.setattr(box, "sources_digest", lambda: "0123456789abcdef" * 4)
    kept = place.place() / "held/energy-0123456789abcdef.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("energy (emulated)\n  yes 416 J\n  yes labels\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        box.main([])
    assert ended.value.code == 1
    assert ran == ["userspace", "counters", "profiles", "bringup"]
    printed = capsys.readouterr().out
    assert "  yes 416 J\n" in printed
    assert "energy     yes   2 of 2 claims, ran 20" in printed
    assert "counters   NO    0 of 1 claims, 1 s" in printed


def test_an_unknown_check_is_refused_with_the_names(made: list[str]) -> None:
    with pytest.raises(
        SystemExit,
        match="no check 'energie'; its checks are userspace, energy, counters, profiles, bringup",
    ):
        box.main(["energie"])
