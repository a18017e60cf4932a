"""What `suite run` prints of energies: the interval, why there is none, and the totals that do not
count."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.cli.results import show_result


def show(path: Path, low: float | None, energies: list[dict[str, object]]) -> None:
    """Print a bundle whose summary has this energy, and the other totals."""
    summary = json.loads((path / "summary.json").read_text())
    high = None if low is None else 210.0
    summary["figures"]["energy_j"] |= {
        "value": 200.0,
        "reason": None,
        "low": low,
        "high": high,
        "uncertainty": {"possibly_aliased": low is None},
    }
    (path / "summary.json").write_text(json.dumps({**summary, "energies": energies}))
    show_result(SimpleNamespace(path=path, status="finished"), json=False)  # type: ignore[arg-type]


def test_an_energy_is_shown_with_its_interval_and_the_totals_beside_it(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = {
        "source": "ina3221",
        "rule": "VDD_IN",
        "covers": "module",
        "counts": True,
        "energy_j": 200.0,
        "difference_ratio": None,
        "reason": None,
    }
    other = {
        **counts,
        "source": "tegrastats",
        "counts": False,
        "energy_j": 206.0,
        "difference_ratio": 0.03,
    }
    silent = {
        **counts,
        "source": "jtop",
        "counts": False,
        "energy_j": None,
        "reason": "2 plausible readings",
    }
    show(good_bundle, 190.0, [counts, other, silent])
    printed = capsys.readouterr().out
    assert "200 J (95 %: 190 to 210 J)" in printed
    assert "cross-check        tegrastats, VDD_IN (module): 206 J (+3.0%)" in printed
    assert "cross-check        jtop, VDD_IN (module): unknown: 2 plausible readings" in printed
    assert "ina3221" not in printed


def test_an_energy_read_on_a_fixed_clock_says_why_it_has_no_interval(
    good_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(good_bundle, None, [])
    assert "200 J (no interval: read on a fixed clock, possibly aliased)" in capsys.readouterr().out
