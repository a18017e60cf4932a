"""An honest start that is refused for its gradients is a false alarm: the proof fails."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from proofs import figures
from proofs.honest_starts import __main__ as campaign
from reference_impls import agreement

REFUSED = "rank 1 on node1: " + agreement._sentence(
    ["node1"], agreement.Distance(0.3, "conv1.weight", [0]), 0.2
)


@pytest.mark.parametrize(
    ("message", "code", "handed_over"),
    [
        (REFUSED, 1, {"starts_until_then": 1, "false_alarms": 1}),
        ("the disk is full", 2, None),
        (None, 2, None),  # it was interrupted
    ],
)
def test_a_false_alarm_is_handed_over(
    message: str | None,
    code: int,
    handed_over: dict[str, int] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, kept = tmp_path / "chainer_1", tmp_path / "figures.json"
    run.mkdir()
    (run / "run.json").write_text(json.dumps({"status": "failed", "message": message}))
    monkeypatch.setenv(figures.PLACE, str(kept))
    monkeypatch.setattr(campaign, "find_proof", lambda name: SimpleNamespace(kept=tmp_path))
    ended = subprocess.CompletedProcess[str]([], 2)
    monkeypatch.setattr(campaign, "subprocess", SimpleNamespace(run=lambda *_, **__: ended))
    assert campaign.main(["2"]) == code
    assert (json.loads(kept.read_text()) if kept.exists() else None) == handed_over
