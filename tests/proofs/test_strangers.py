"""A campaign of mistakes that was broken off goes on where it was; a part of it keeps nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from proofs.jax_example.mistakes import EXAMPLE, MISTAKES
from proofs.mistakes.mistake import Mistake
from proofs.strangers import __main__ as strangers
from proofs.strangers.__main__ import Outcome, table
from suite.files.paths import repository_root

NOBODY: Any = None


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names in the order in which they were tried, the honest one's too; the third try is
    interrupted."""
    names: list[str] = []

    def outcome(one: Mistake, implementation: object) -> Outcome:
        names.append(one.name)
        if len(names) == 3:
            raise KeyboardInterrupt
        return Outcome() if one.name == "none" else Outcome(("timed losses",))

    monkeypatch.setattr(strangers, "outcome", outcome)
    monkeypatch.setattr(strangers, "clean", lambda workload, batch_size: None)
    return names


def test_a_campaign_goes_on_and_a_part_keeps_nothing(
    tried: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(repository_root() / EXAMPLE, tmp_path / EXAMPLE)
    mistakes, kept = [one for one in MISTAKES if one.workload == "lenet"], tmp_path / "kept"
    names = ["none", *(one.name for one in mistakes)]
    with pytest.raises(KeyboardInterrupt):
        table(mistakes, NOBODY, tmp_path, (), kept)
    assert tried == names[:3] and len(list(kept.iterdir())) == 2
    assert table(mistakes, NOBODY, tmp_path, (), kept) == 0
    assert tried[3:] == names[2:] and not kept.exists()
    assert capsys.readouterr().out.count("| none | lenet | — | — | ") == 2
    assert table(mistakes, NOBODY, tmp_path, ("half the rate",), kept) == 0
    assert tried[-2:] == ["none", "jax: half the rate, lenet"] and not kept.exists()
