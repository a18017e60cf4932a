"""Tries the lies on real runs, relabelled to the open round, and the honest variations: `python -m
proofs.outsider.second_list.trial SAMPLES --json FILE`.

SAMPLES is a folder of real runs, made by ``honest_runs.sh`` and named as in ``NAMES``.
"""

import argparse
import importlib
import json
import pkgutil
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proofs.outsider.second_list import lies
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import LIES, Lie
from suite import api
from tests.open_round import OPEN
from tests.relabelled import relabelled

NAMES = {
    "closed": "closed-power",
    "other": "closed-1",
    "witnessed": "closed-0",
    "missed": "closed-2",
    "closed-two-ranks": "closed-ranks-pytorch",
    "open-pytorch": "open-pytorch",
    "open-tf": "open-tf",
    "open-chainer": "open-chainer",
    "ranks": "open-ranks",
    "native": "h-native",
    "power": "closed-power",
    "power-other": "closed-power-w",
    "wall-meter": "h-watt",
    "threads": "h-threads-2",
    "workers": "h-workers",
    "bf16": "h-bf16",
    "submission": "submission/second",
}


def load() -> list[Lie]:
    """Every lie of every module."""
    for module in pkgutil.iter_modules(lies.__path__):
        importlib.import_module(f"{lies.__name__}.{module.name}")
    return LIES


def tried(
    entry: Lie, samples: Path, keep: Path | None = None, sample: str | None = None
) -> dict[str, Any]:
    """Apply one lie to a fresh copy and check it. ``sample`` replaces the entry's own."""
    name = NAMES[sample or entry.sample]
    with tempfile.TemporaryDirectory() as folder:
        target = (
            Path(folder)
            / (f"case/{OPEN}" if name.startswith("submission") else "case")
            / Path(name).name
        )
        relabelled(samples / name, target)
        other = NAMES["power-other" if entry.sample == "power" else "other"]
        relabelled(samples / other, target.parent / "other")
        if (samples / "audit.json").exists():
            shutil.copy(samples / "audit.json", target.parent / "audit.json")
        result: dict[str, Any] = {
            "subject": entry.subject,
            "name": entry.name,
            "level": entry.level,
            "contradicted": entry.contradicted,
            "text": entry.text,
        }
        try:
            _apply(entry, target)
        except Exception:  # noqa: BLE001 - a lie that fails is a result
            return {**result, "outcome": "not applied", "error": traceback.format_exc(limit=-3)}
        result.update(judged(target))
        if keep is not None:
            shutil.rmtree(keep / entry.name, ignore_errors=True)
            shutil.copytree(target, keep / entry.name, symlinks=True)
    return result


def _apply(entry: Lie, target: Path) -> None:
    if not entry.reseal:
        entry.edit(target)
        return
    copy = ForgedCopy(target)
    entry.edit(copy)
    copy.save()


def judged(target: Path) -> dict[str, Any]:
    """What `suite check` says of a bundle or submission."""
    begun = time.monotonic()
    try:
        verdict = api.check([target])
    except Exception as error:  # noqa: BLE001 - a crash of the checker is a result
        refused = type(error).__module__.startswith("suite.")
        return {
            "outcome": "could not be checked" if refused else "crash",
            "error": f"{type(error).__name__}: {error}",
        }
    findings = [_plain(finding) for one in _verdicts(verdict) for finding in one.findings]
    rules = {
        severity: sorted({one["rule"] for one in findings if one["severity"] == severity})
        for severity in ("invalid", "warning", "note")
    }
    outcome = (
        "accepted" if verdict.complies else "could not be checked" if verdict.broken else "refused"
    )
    return {
        "outcome": outcome,
        **rules,
        "findings": findings,
        "seconds": round(time.monotonic() - begun, 2),
    }


def _verdicts(verdict: Any) -> list[Any]:
    """Verdicts of bundles and of submissions with their runs."""
    return [
        *verdict.bundles,
        *verdict.submissions,
        *(run for one in verdict.submissions for run in getattr(one, "bundles", ())),
    ]


def _plain(finding: Any) -> dict[str, str]:
    return {
        name: str(getattr(finding, name, None)) for name in ("rule", "expected", "observed", "fix")
    } | {"severity": finding.severity.value}


def _each(
    samples: Path, chosen: Callable[[Lie], bool], keep: Path | None, sample: str | None
) -> list[dict[str, Any]]:
    results = []
    for entry in filter(chosen, load()):
        result = tried(entry, samples, keep, sample)
        results.append(result)
        print(
            f"{result['outcome']:22}{entry.subject:26}{entry.level:16}{entry.name:44}{' '.join(result.get('invalid', []))[:90]}",  # noqa: E501
            flush=True,
        )
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the forged copies")
    parser.add_argument("--only", default="", help="part of a name or class")
    parser.add_argument("--sample", help="apply to this sample instead")
    options = parser.parse_args()
    outcome = _each(
        options.samples,
        lambda one: options.only in one.name or options.only in one.subject,
        options.keep,
        options.sample,
    )
    if options.json:
        options.json.write_text(json.dumps(outcome, indent=1), "utf-8")
