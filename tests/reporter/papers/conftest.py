"""Runs for every preset: settings that differ in workers, batch, storage, power mode, clocks,
nodes, instruments; some with long names."""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import reporter
from reporter.data.frames import Frames
from suite.bundle import layout, manifest
from tests.builders import Scenario, make_bundle
from tests.every_case import some
from tests.made_once import shared

MODES = {
    "MAXN": (8, 2265, 1377, 2133, 9.0),
    "MODE_30W_ALL": (8, 1200, 900, 1600, 6.5),
    "MODE_30W_6CORE": (6, 1450, 900, 1600, 6.0),
    "MODE_30W_4CORE": (4, 1780, 900, 1333, 5.8),
    "MODE_15W": (4, 1200, 670, 1333, 4.5),
    "MODE_10W": (2, 1200, 520, 1066, 3.6),
    "CUSTOM_K": (4, 1036, 420, 2133, 3.9),
    "CUSTOM_M": (8, 2265, 420, 2133, 5.5),
}
"""Cores, CPU, GPU and memory clock (MHz), mean power (W)."""

LONG = (
    "Intel Celeron J4125 (Gemini Lake Refresh, stepping 8) @ 2.0 GHz with a very long name that no"
    " figure can hold <b>&amp;"
)
SPEEDS = {"pytorch": 0.050, "tensorflow": 0.060, "chainer": 0.090}
COMPARED = 6 * len(SPEEDS)
"""Settings that frameworks are compared in: the first ones."""


@dataclass(frozen=True)
class Made:
    """A bundle to be made: a scenario and changes of its system.json."""

    scenario: Scenario
    system: dict[str, Any] = field(default_factory=dict)


def bundles() -> list[Made]:
    """Every bundle, without its seeds."""
    few = Scenario(
        batch_size=2048, division="open", accuracies=(0.6, 0.9, 0.985, 0.991), jitter=0.06
    )
    made = []
    for framework, step_s in SPEEDS.items():
        each = replace(few, framework=framework, step_s=step_s)
        made += [
            Made(
                replace(
                    each,
                    workers=workers,
                    step_s=step_s * (1 - 0.06 * workers),
                    power_w=4.0 + workers / 2,
                    idle_w=2.5,
                )
            )
            for workers in (0, 1, 4)
        ]
        made += [
            Made(replace(each, batch_size=size, step_s=step_s * (size / 2048) ** 0.85))
            for size in (1024, 4096)
        ]
        made.append(Made(replace(each, threads=1, counted=True, step_s=step_s * 1.1)))
    for medium, step_s in (("SD card", 0.1), ("NVMe SSD", 0.055), ("USB HDD", 0.13)):
        made.append(
            Made(
                replace(few, threads=3, step_s=step_s, power_w=4.0, counted=True),
                {"storage_medium": medium},
            )
        )
    for mode, (cores, cpu, gpu, memory, power_w) in MODES.items():
        step_s = 0.02 + 60.0 / (cores**0.4 * cpu) + 10.0 / gpu
        clocks = (gpu * 1.0, gpu * 0.8, gpu * 0.6)
        free = replace(few, threads=4, step_s=step_s, power_w=power_w, idle_w=2.0, gpu_mhz=clocks)
        made.append(Made(free, in_mode(mode, cores, cpu, gpu, memory)))
    locked = replace(few, threads=4, step_s=0.0665, power_w=9.3, idle_w=2.4, gpu_mhz=(1377.0,))
    made.append(Made(locked, in_mode("MAXN", 8, 2265, 1377, 2133, locked=True)))
    made.append(
        Made(
            replace(few, threads=5, step_s=0.09, power_w=7.0, idle_w=3.0, power_meter="um25c"),
            {"cpu_model": LONG},
        )
    )
    for ranks, step_s in ((1, 0.1), (2, 0.056), (4, 0.034)):
        made.append(Made(replace(few, threads=6, ranks=ranks, nodes=ranks, step_s=step_s)))
    return made


def in_mode(
    name: str, cores: int, cpu: int, gpu: int, memory: int, locked: bool = False
) -> dict[str, Any]:
    """Changes of system.json for a power mode."""
    label = (
        f"{name}: {cores} cores up to {cpu} MHz, GPU up to {gpu}"
        f" MHz{', clocks locked' if locked else ''}"
    )
    clocks = [
        {"kind": kind, "name": kind, "max_hz": int(mhz * 1e6)}
        for kind, mhz in (("cpu", cpu), ("gpu", gpu), ("memory", memory))
    ]
    settings = {
        "source": "nvpmodel",
        "mode": name,
        "clocks_locked": locked,
        "cores_online": list(range(cores)),
        "clocks": clocks,
    }
    return {"power_mode": label, "power_settings": settings}


def make_runs(folder: Path) -> Path:
    """The bundles, in a folder: two seeds of the settings that are compared; in a proof of all."""
    for number, made in enumerate(bundles()):
        for seed in some((1, 2), 2 if number < COMPARED else 1):
            name = f"{number:03d}-{seed}"
            scenario = replace(
                made.scenario,
                name=name,
                seed=seed,
                later_s=1000 * (2 * number + seed),
                step_s=made.scenario.step_s * (1 + 0.04 * (seed - 1.5)),
            )
            make_bundle(folder / name, scenario)
            digest = f"{number % 3 + seed:02x}5ea1" * 8
            edit_system(folder / name, {"board_digest": digest, **made.system})
    return folder


def edit_system(folder: Path, changes: dict[str, Any]) -> None:
    """Change system.json and seal the bundle again."""
    path = folder / layout.SYSTEM
    described = json.loads(path.read_text())
    described.update(changes)
    described["notes"] = {
        name: note for name, note in described["notes"].items() if name not in changes
    }
    path.write_text(json.dumps(described))
    (folder / layout.MANIFEST).unlink()
    manifest.seal(folder)


@pytest.fixture(scope="session")
def paper_runs(make_linpack: Callable[..., Path]) -> Path:
    """A folder with runs for every preset; tests must not change it."""
    return shared(
        "runs for every preset", lambda folder: make_linpack(make_runs(folder) / "linpack")
    )


@pytest.fixture(scope="session")
def paper_frames(paper_runs: Path) -> Frames:
    """Their frames."""

    def make(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "frames").write_bytes(pickle.dumps(reporter.load([paper_runs]).accepted()))

    made = shared("frames of the runs for every preset", make)
    frames: Frames = pickle.loads((made / "frames").read_bytes())  # noqa: S301  written above
    return frames
