"""Settings of several ranks: each tells entries apart, and is shown: numbers on the wire,
normalisation, accumulation, and a run that was resumed."""

from collections.abc import Callable
from pathlib import Path

import pytest

import reporter
from reporter.board.columns import FACETS
from reporter.data.frames import Row
from reporter.data.machine_names import machine_title, short_title, system_name
from reporter.site import build_site
from suite.bundle import manifest
from suite.bundle.layout import SYSTEM
from suite.bundle.node_records import NODES
from suite.files.json_file import read_json, write_json
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, in_turn
from tests.faults.edits.file_edits import set_run
from tests.faults.edits.log_edits import request_also, set_everywhere

RESUMED = {
    "run_id": "lenet-pytorch-20270115T070000Z-000000",
    "epoch": 2,
    "state": {"parameter": "a", "velocity": "b", "statistic": "c"},
    "ranks": 3,
    "nodes": 3,
    "reason": "rank 2 on node node2 was ended by signal 9",
    "ended_time_ms": 2,
    "began_time_ms": 1,
    "began_mono_ns": 1,
    "boot": None,
    "uncounted_s": 0.0,
}


@pytest.fixture
def edited(good_bundle_of: Callable[[int], Path]) -> Callable[[Edit], Path]:
    """A good bundle of two ranks, edited."""

    def make(edit: Edit) -> Path:
        bundle = EditableBundle(good_bundle_of(2))
        in_turn(set_everywhere("division", "open"), edit)(bundle)
        bundle.save(True)
        return bundle.path

    return make


def row(path: Path) -> Row:
    (found,) = reporter.load([path]).runs.to_dict("records")
    return {str(name): value for name, value in found.items()}


@pytest.mark.parametrize(
    ("edit", "column", "shown"),
    [
        (set_everywhere("parallel.wire", "float16"), "collective", "mpi in float16"),
        (set_everywhere("parallel.wire", "bfloat16"), "collective", "mpi in bfloat16"),
        (set_everywhere("parallel.collective", "native"), "collective", "native"),
        (set_everywhere("parallel.normalisation", "synchronised"), "normalisation", "synchronised"),
        (request_also("parallel.shares", "speed"), "shares", "speed"),
        (request_also("accumulation", 4), "accumulation", 4),
        (request_also("timing", "asynchronous"), "timing", "asynchronous"),
        (set_everywhere("loading.prefetch", 8), "prefetch", 8),
        (set_run("resumed", RESUMED), "resumed", 2),
    ],
)
def test_a_setting_is_part_of_the_entry(
    edited: Callable[[Edit], Path],
    good_bundle_of: Callable[[int], Path],
    tmp_path: Path,
    edit: Edit,
    column: str,
    shown: object,
) -> None:
    plain = row(edited(lambda bundle: None))
    (tmp_path / "bundle-2").rename(tmp_path / "plain")
    other = row(edited(edit))
    assert other[column] == shown != plain[column]
    assert other["entry_id"] != plain["entry_id"]
    differing = {name for name in plain if str(plain[name]) != str(other[name])} - {
        "entry_id",
        "place",
        "path",
        "state",
        "reason",
    }
    assert differing == {column}


@pytest.mark.parametrize(("collective", "is_timed"), [("mpi", True), ("native", False)])
def test_an_exchange_within_the_backward_pass_is_unknown_in_every_epoch(
    edited: Callable[[Edit], Path], collective: str, is_timed: bool
) -> None:
    path = edited(set_everywhere("parallel.collective", collective))
    epochs = reporter.load([path]).epochs
    assert len(epochs) and (epochs["communication_s"].notna() == is_timed).all()


def test_what_ranks_send_and_normalise_are_columns_of_the_board() -> None:
    settings = {"collective", "normalisation", "shares", "accumulation"}
    assert settings <= {facet.name for facet in FACETS}


def test_the_page_of_a_resumed_run_says_what_it_continues(
    edited: Callable[[Edit], Path], tmp_path: Path
) -> None:
    path = edited(set_run("resumed", RESUMED))
    (page,) = (build_site([path], tmp_path / "site").parent / "runs").glob("*/index.html")
    said = page.read_text(encoding="utf-8")
    assert (
        "This run continues run lenet-pytorch-20270115T070000Z-000000 after epoch 2. The earlier"
        " run trained with 3 ranks on 3 nodes and ended early: rank 2 on node" in said
    )


def test_the_page_has_the_command_with_agent_and_silence(
    edited: Callable[[Edit], Path], tmp_path: Path
) -> None:
    command = [
        "suite",
        "run",
        "--division",
        "open",
        "--workload",
        "lenet",
        "--launch-agent",
        "srun",
        "--silence",
        "60",
    ]
    path = edited(set_run("command", command))
    (page,) = (build_site([path], tmp_path / "site").parent / "runs").glob("*/index.html")
    assert "--launch-agent srun --silence 60" in page.read_text(encoding="utf-8")


def test_a_node_that_is_another_machine_makes_another_entry_and_is_named(tmp_path: Path) -> None:
    """Four nodes alike have the id that they always had; a revision of a board is no other one."""
    for name, changes in (
        ("alike", {"board": "Raspberry Pi 5 Model B Rev 1.1"}),
        ("mixed", {"board": "Raspberry Pi 4 Model B Rev 1.4", "cpu_model": "Cortex-A72"}),
    ):
        run = make_bundle(tmp_path / name, Scenario(name=name, ranks=2, nodes=2))
        system, nodes = read_json(run / SYSTEM), read_json(run / NODES)
        write_json(run / SYSTEM, system | {"board": "Raspberry Pi 5 Model B Rev 1.0"})
        nodes["nodes"][1]["system"] |= changes
        write_json(run / NODES, nodes)
        manifest.seal(run)
    alike, mixed = reporter.load([tmp_path]).runs.sort_values("run_id").to_dict("records")
    assert alike["node_machines"] == "alike" and alike["entry_id"] != mixed["entry_id"]
    assert mixed["node_machines"].startswith("1 x Raspberry Pi 4 Model B Cortex-A72")
    assert machine_title(mixed) == f"{machine_title(alike)} with {mixed['node_machines']}"
    assert system_name(alike) == f"2 × {short_title(alike)}"
    assert system_name(mixed) == f"2 nodes: {short_title(mixed)}"
