"""Bundles, a submission and a study with hostile strings in every free-text field."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.metrics import stall_analysis
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.builders import Scenario, make_bundle
from tests.reporter.conftest import edit_json

HOSTILE: Mapping[str, str] = {
    "several": "</title></style></svg><script>document.title='owned'</script>\"onmouseover='x' x=",
    "script": "<script>document.title='owned'</script>",
    "attribute": '"onmouseover=\'document.title="owned"\' x=',
    "title": "</title><b>",
    "style": "</style></svg><img src=x onerror=\"document.title='owned'\">",
    "right-to-left": "\u202egpj.exe\u2066\u200f",
    "template": "{{ 7 * 7 }}{% for %}",
    "long": "w" * 10_000,
    "entity": "&amp;&lt;script&gt;\x00",
    "link": "javascript:document.title='owned'",
    "surrogate": "\ud800 lone surrogate",
    "comment": "-->]]><!--",
    "lines": "a\nb\r\n\u2028c",
}

MAX_NAME_LENGTH = 200
"""Limit of a request; a bundle with a longer name is broken and has no page."""


def make_hostile(folder: Path, text: str) -> Path:
    """A run, a submission, a study and a folder that cannot be read, with ``text`` in every
    free-text field; all sealed."""
    _spoil(make_bundle(folder / "run", Scenario(name="lenet-spoiled", jitter=0.05)), text)
    _spoil(
        make_bundle(folder / "withdrawn" / "run", Scenario(name="lenet-withdrawn", seed=2)), text
    )
    (folder / "withdrawn" / "WITHDRAWN").write_text(_writable(text))
    _submission(folder, text)
    _study(folder / "study", text)
    name = _writable(text).replace("/", "∕").replace("\0", "0")[:80]
    (folder / name).mkdir()
    (folder / name / "run.json").write_text(json.dumps({text: text}))
    return folder


def _spoil(bundle: Path, text: str) -> None:
    texts = {
        name: text
        for name in (
            "cpu_model",
            "framework_version",
            "power_mode",
            "storage_medium",
            "board",
            "kernel",
            "governor",
        )
    }
    edit_json(
        bundle,
        "system.json",
        lambda system: system.update(
            texts, libraries={text: text}, notes={"memory": text, text: text}
        ),
    )
    meters = [{"name": text, "available": False, "reason": text}]
    recorded: dict[str, Any] = {
        "command": ["suite", text],
        "device_evidence": text,
        "meters": meters,
        "suite_version": text,
        "message": text,
    }
    edit_json(bundle, "run.json", lambda run: run.update(recorded))
    name = text[:MAX_NAME_LENGTH]
    request = {"organization": name, "framework": name, "platform": name, "accelerator": name}
    edit_json(bundle, "run.json", lambda run: run["request"].update(request))  # type: ignore[attr-defined]
    (bundle / "output.txt").write_text(_writable(text))
    edit_json(bundle, "summary.json", lambda summary: _spoil_figures(summary, text))


def _spoil_figures(summary: dict[str, Any], text: str) -> None:
    summary["figures"]["energy_j"].update(reason=text, method=text, source=text, unit=text)
    summary["figures"][text] = summary["figures"]["copy_s"]
    event = {"channel": text, "start_s": 1.0, "count": 1}
    lost = {**event, "held_s": 1.0, "share": 10**400}
    summary["disturbances"] = {
        "throttling": [event, {**event, "count": 10**400}],
        "links": [lost, {**lost, "share": 10**308}, {**lost, "count": 10**400}],
    }


def _submission(folder: Path, text: str) -> None:
    for seed in (1, 2, 3):
        make_bundle(folder / "made" / str(seed), Scenario(name=f"lenet-offered-{seed}", seed=seed))
    offer = PackageRequest("pies-ltd", None, SystemAvailability.PREVIEW, "", ())
    path = package_runs([folder / "made" / str(seed) for seed in (1, 2, 3)], offer, folder / "tree")
    shutil.rmtree(folder / "made")
    declaration = json.loads((path / "declaration.json").read_text())
    declaration |= {
        "notes": text[:4000],
        "suite_version": text,
        "code": {"address": text, "commit": text, "modified": None},
    }
    (path / "declaration.json").write_text(json.dumps(declaration))
    system = json.loads((path / "system.json").read_text())
    (path / "system.json").write_text(
        json.dumps({**system, "board": text, "cpu_model": text, text: text})
    )


def _study(folder: Path, text: str) -> None:
    for source in ("cold", "warm", "synthetic"):
        batches = "synthetic" if source == "synthetic" else "read"
        scenario = Scenario(
            name=f"analysed-{source}", division="open", batches=batches, drop_cache=source == "cold"
        )
        bundle = make_bundle(folder / source, scenario)
        edit_json(
            bundle,
            "run.json",
            lambda run: run["request"].update(
                framework=text[:MAX_NAME_LENGTH], platform=text[:MAX_NAME_LENGTH]
            ),
        )  # type: ignore[attr-defined]
    stall_analysis.STALLS.write(folder, stall_analysis.analyse_stalls(folder))


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
