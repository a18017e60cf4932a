"""Generated leaderboards of any size: several devices, power modes, instruments and frameworks,
from the rows of a few bundles.

The rows of real bundles are copied under other names and their figures scaled, so that scores,
ranks and tiers are computed as always.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import reporter
from reporter.board.making import make_boards
from reporter.data.bundle_rows import BundleRows
from reporter.data.entries import entry_id
from reporter.data.frames import SETTINGS, Frames, Row, records
from reporter.data.framework_names import framework_name
from reporter.data.load import Placed, make_frames
from reporter.pages import page_kinds, templates
from reporter.pages.shared import Page, make_contents
from reporter.site import STATIC
from suite.catalog.rounds import judging_round
from tests.builders import Scenario, make_bundle
from tests.open_round import OPEN

WALL, BOARD_INPUT, RAILS, ESTIMATE = (
    ("wall meter", "wall"),
    ("wall meter", "board"),
    ("on-board sensor", "module"),
    ("estimate", "chip"),
)
NO_SENSOR = "no power sensor was read"
NOISE = 0.02
FRAMEWORKS = {"pytorch": 1.0, "tensorflow": 1.2, "chainer": 4.2}
"""Time of a training, relative to PyTorch's."""


@dataclass(frozen=True)
class Machine:
    """A device in one power mode: ``seconds`` of a training in PyTorch and mean ``watts`` by an
    ``instrument``, None without one."""

    device: str
    seconds: float
    watts: float
    instrument: tuple[str, str] | None = None
    mode: str | None = None
    cpu_model: str | None = None
    nodes: int = 1
    accelerator: str = "cpu"
    frameworks: tuple[str, ...] = ("pytorch", "tensorflow", "chainer")


MACHINES = (
    Machine(
        "agx-thor", 520, 92, RAILS, "MAXN", accelerator="cuda", frameworks=("pytorch", "tensorflow")
    ),
    Machine("orin", 830, 44, WALL, "MAXN", accelerator="cuda"),
    Machine("orin", 1040, 27, WALL, "MODE_50W", accelerator="cuda"),
    Machine(
        "orin", 1420, 27, WALL, "MODE_30W", accelerator="cuda", frameworks=("pytorch", "tensorflow")
    ),
    Machine(
        "orin-nx",
        1800,
        22,
        RAILS,
        "MAXN_SUPER",
        accelerator="cuda",
        frameworks=("pytorch", "tensorflow"),
    ),
    Machine("orin-nx", 1920, 13.5, RAILS, "MODE_25W", accelerator="cuda"),
    Machine("orin-nano", 2280, 17, BOARD_INPUT, "MAXN_SUPER", accelerator="cuda"),
    Machine(
        "xavier-nx",
        3800,
        16,
        RAILS,
        "MODE_20W_6CORE",
        accelerator="cuda",
        frameworks=("pytorch", "tensorflow"),
    ),
    Machine("n100", 19000, 19, WALL, cpu_model="Intel(R) N100"),
    Machine("raspberry-pi-5", 22000, 38, WALL, nodes=4, frameworks=("pytorch", "tensorflow")),
    Machine("rk3588", 37000, 13, BOARD_INPUT, frameworks=("pytorch", "tensorflow")),
    Machine("raspberry-pi-5", 79000, 10.4, BOARD_INPUT),
    Machine("raspberry-pi-4", 261000, 6.8, BOARD_INPUT, frameworks=("pytorch", "tensorflow")),
    Machine(
        "generic",
        4100,
        61,
        ESTIMATE,
        cpu_model="AMD Ryzen 7 7840U w/ Radeon 780M Graphics",
        frameworks=("pytorch", "tensorflow"),
    ),
)
"""34 entries: 14 machines and modes in up to three frameworks."""

WORKLOADS = {
    "lenet": ("mnist", 1.0),
    "resnet18": ("cifar10", 16.0),
    "vgg11": ("cifar10", 6.0),
    "mobilenetv3": ("photographs", 55.0),
}
"""Data set, and time of a training relative to LeNet-5's. Only LeNet-5 has reference points; the
others have no scores."""


@dataclass(frozen=True)
class Template:
    """The rows of a bundle that entries are copied from."""

    run: Row
    figures: Sequence[Row]
    epochs: Sequence[Row]
    verdict: Any

    @property
    def seconds(self) -> float:
        """Time to target."""
        return float(
            next(row["value"] for row in self.figures if row["figure"] == "time_to_target_s")
        )


def make_template(folder: Path) -> Template:
    """From one bundle with a power meter, made below ``folder``."""
    make_bundle(folder, Scenario(name="template-1", power_w=5.0, counted=True, learning_rate=0.01))
    frames = reporter.load([folder])
    (run,) = records(frames.runs)
    return Template(
        run,
        list(records(frames.figures)),
        list(records(frames.epochs)),
        frames.verdicts[run["run_id"]],
    )


def many_entries(
    template: Template,
    count: int,
    workloads: Sequence[str] = ("lenet",),
    names: Mapping[str, str] | None = None,
) -> Frames:
    """Frames of ``count`` entries with three runs each on the board of every workload; ``names``
    are added to texts of all entries."""
    placed = [
        each
        for workload in workloads
        for number in range(count)
        for each in _entry(template, number, count, workload, names or {})
    ]
    return make_frames(sorted(placed, key=lambda one: str(one.run["run_id"])), [])


def render(frames: Frames, folder: Path) -> Path:
    """Write the site without the pages of entries and runs, which takes most of the time."""
    contents = make_contents(frames, tuple(make_boards(frames)))
    pages = [Page(file.name, file) for file in STATIC.iterdir()]
    for page in (
        *pages,
        *(page for kind in page_kinds() for page in kind.make(contents, templates())),
    ):
        (folder / page.place).parent.mkdir(parents=True, exist_ok=True)
        content = page.content.read_bytes() if isinstance(page.content, Path) else page.content
        (folder / page.place).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _plan() -> Iterator[tuple[Machine, str]]:
    return ((machine, framework) for machine in MACHINES for framework in machine.frameworks)


def _entry(
    template: Template, number: int, count: int, workload: str, names: Mapping[str, str]
) -> Iterator[Placed]:
    plan = list(_plan())
    machine, framework = plan[number % len(plan)] if count > 1 else plan[1]
    data, factor = WORKLOADS[workload]
    trained = judging_round(OPEN).workload(workload)
    round_about = number // len(plan)
    seconds = (
        machine.seconds
        * FRAMEWORKS[framework]
        * factor
        * (1 + 0.013 * round_about)
        / template.seconds
    )
    identity = {
        "workload": workload,
        "data": data,
        "own_data": True,
        "model_trained": trained.model,
        "parameters": trained.parameters,
        "device": machine.device,
        "framework": framework,
        "framework_version": "1.0",
        "implementation_name": framework_name(framework),
        "power_mode": machine.mode,
        "cpu_model": machine.cpu_model or "Cortex",
        "nodes": machine.nodes,
        "ranks": machine.nodes,
        "collective": "mpi" if machine.nodes > 1 else "none",
        "accelerator": machine.accelerator,
        "timing": (
            "asynchronous"
            if machine.accelerator != "cpu" and machine.nodes == 1
            else "synchronised"
        ),
        "organization": f"organization {round_about}" if round_about else "none",
    }
    identity |= {name: f"{identity[name]} {text}" for name, text in names.items()}
    runs = 2 if number == 5 else 3
    for seed in range(1, runs + 1):
        name = f"{workload}-{framework}-20270115T080000Z-{number:04d}{seed:02d}"
        run = {
            **template.run,
            **identity,
            "run_id": name,
            "seed": seed,
            "state": "accepted",
            SETTINGS: None,
        }
        run["entry_id"] = entry_id(run)
        chance = random.Random(name)
        time, power = (
            seconds * (1 + NOISE * chance.uniform(-1, 1)),
            machine.watts / 5.0 * (1 + NOISE * chance.uniform(-1, 1)),
        )
        memory = (
            (1 + number % 5 / 3)
            * (2 if framework == "tensorflow" else 1)
            * (1 + NOISE * chance.uniform(-1, 1))
        )
        figures = [
            _scaled(row, name, time, power, memory, machine.instrument) for row in template.figures
        ]
        epochs = [
            {**row, "run_id": name} | {each: row[each] * time for each in row if each[-2:] == "_s"}
            for row in template.epochs
        ]
        rows = BundleRows(
            run, figures, epochs, template.verdict, is_generated=False, is_studied=False
        )
        yield Placed(run, replace(rows, verdict=template.verdict), None)


def _scaled(
    row: Row, run: str, time: float, power: float, memory: float, instrument: tuple[str, str] | None
) -> Row:
    factors = {"s": time, "J": time * power, "W": power, "samples/s": 1 / time, "B": memory * 2.0}
    factor = factors.get(str(row["unit"]), 1.0)
    ends = ("value", "low", "high", "spread")
    scaled = {
        **row,
        "run_id": run,
        **{name: row[name] * factor for name in ends if row[name] is not None},
    }
    if row["tier"] is None:
        return scaled
    if instrument is None:
        return {
            **scaled,
            "value": None,
            "low": None,
            "high": None,
            "spread": None,
            "tier": None,
            "covers": None,
            "reason": NO_SENSOR,
        }
    error = (
        {}
        if instrument in (RAILS, ESTIMATE) or row["value"] is None
        else {"low": 0.99 * scaled["value"], "high": 1.01 * scaled["value"]}
    )
    return {**scaled, **error, "tier": instrument[0], "covers": instrument[1]}
