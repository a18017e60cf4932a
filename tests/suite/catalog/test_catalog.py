"""Workloads, devices and the TOML they are written in."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from reference_impls.schedules import SCHEDULES
from reference_impls.state_file import StateFile
from reference_impls.training_state import digest
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import GENERIC, Device, load_device, load_devices
from suite.catalog.workloads import OldTask, Workload, load_workload, load_workloads
from suite.datasets.prepare import generate_data_set
from suite.errors import SuiteError
from suite.files.toml_file import read_toml

MAX_CHECKPOINT_BYTES = 9_000_000
"""Of a file in the repository."""


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Outer:
    name: str
    ratio: float
    inner: Inner
    many: tuple[Inner, ...] = ()
    maybe: int | None = None


def read(path: Path, text: str) -> Outer:
    file = path / "outer.toml"
    file.write_text(text)
    return read_toml(file, Outer)


GOOD = 'name = "x"\nratio = 2\n[inner]\nsize = 1\n'


def test_a_file_becomes_a_dataclass(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD + "[[many]]\nsize = 3\n") == Outer(
        "x", 2.0, Inner(1), (Inner(3),), None
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("ratio", "ration"), "no key 'ration'; did you mean 'ratio'"),
        (GOOD.replace("ratio = 2\n", ""), "'ratio' is missing"),
        (GOOD.replace("size = 1", 'size = "1"'), "inner.size: expected a whole number, found '1'"),
        (GOOD.replace("size = 1", "size = true"), "inner.size: expected a whole number"),
        (GOOD.replace('"x"', "3"), "name: expected a string"),
        ("name = ", "not valid TOML"),
        (GOOD + "[[many]]\nsiez = 3\n", r"many\[0\].there is no key 'siez'"),
    ],
)
def test_what_does_not_fit_is_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=words) as caught:
        read(tmp_path, text)
    assert "outer.toml" in str(caught.value)


@pytest.mark.parametrize("workload", load_workloads(), ids=lambda workload: workload.name)
def test_a_workload_is_whole(workload: Workload) -> None:
    for name in (workload.data, *(other.data for other in workload.other_data)):
        load_data_set(name)
    assert workload.optimizer.schedule in SCHEDULES
    lowest, highest = workload.tunable.batch_size
    assert lowest <= workload.batch_size <= highest
    slowest, fastest = workload.tunable.base_learning_rate
    assert slowest <= workload.optimizer.base_learning_rate <= fastest
    tasks = (OldTask(workload.data, workload.preprocessing.side), workload.old_task)
    for task in filter(None, tasks):
        assert task.side is None or load_data_set(task.data).layout != "idx"  # which scales nothing


@pytest.mark.parametrize(
    "workload",
    [each for each in load_workloads() if each.start],
    ids=lambda workload: workload.name,
)
def test_a_checkpoint_is_the_state_that_its_workload_pins(workload: Workload) -> None:
    start, part = workload.start, workload.requested_start
    assert start is not None and part is not None
    assert start.path.stat().st_size <= MAX_CHECKPOINT_BYTES
    state = StateFile(str(start.path)).of_rank(0)
    fresh = {name for name in state if part.is_fresh(name.removeprefix("parameter/"))}
    assert fresh and digest(state, set(state) - fresh) == start.sha256


def test_lenets_multiply_adds_are_what_its_layers_add_up_to() -> None:
    layers = 6 * 28 * 28 * 25 + 16 * 10 * 10 * 6 * 25 + 400 * 120 + 120 * 84 + 84 * 10
    assert load_workload("lenet").forward_macs == layers


@pytest.mark.parametrize(
    ("device", "planned"),
    [
        ("raspberry-pi-3", ("lenet",)),
        ("nano-2gb", ("lenet", "mobilenetv3-adapt", "vgg11")),
        ("orin", ("lenet", "mobilenetv3-adapt", "mobilenetv3", "vgg11")),
        (GENERIC, ("lenet", "mobilenetv3-adapt", "mobilenetv3", "vgg11")),
    ],
)
def test_a_board_trains_what_fits_its_memory_and_has_ranks(
    device: str, planned: tuple[str, ...]
) -> None:
    """And the characterisation; a provisional target's workload has to be named."""
    assert load_device(device).closed_workloads == planned


def test_a_board_may_enter_every_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rule refuses a closed run of a workload that has to be named."""
    from suite.catalog.divisions import Division
    from suite.compliance.checker import check_request
    from suite.execution.request import RunOptions
    from suite.execution.resolve import resolve_options
    from suite.machine import identify

    monkeypatch.setenv("SUITE_HOME", str(tmp_path))
    monkeypatch.setattr(identify, "device_tree_compatible", lambda root: ("nvidia,p3701-0000",))
    others = {each.name for each in load_workloads()} - {*load_device("orin").closed_workloads}
    assert others == {"lenet-adapt", "resnet18", "resnet50"}
    for name in others:
        options = RunOptions(Division.CLOSED, "orin", name, "pytorch")
        request = resolve_options(options, as_published=True)
        assert request.training.platform == "orin"
        assert check_request(request.training, request.workload) == ()


@pytest.mark.parametrize("device", load_devices(), ids=lambda device: device.name)
def test_a_device_has_an_identity_and_a_recorded_machine(device: Device) -> None:
    identity, recorded = device.identity, device.recorded
    if device.is_fallback:  # its recorded machine is one that no other profile recognises
        assert device.name == GENERIC and not (
            identity.compatible or identity.dmi or identity.cpu_model
        )
        return
    file = f"rules/devices/{device.name}.toml"
    assert identity.compatible or identity.dmi or identity.cpu_model, (
        f"fill in [identity] of {file}: compatible, dmi or cpu_model"
    )
    assert recorded is not None, (
        f"fill in [recorded] of {file}: memory_gb, and compatible, dmi or cpu_model as one such"
        " machine reports them"
    )
    assert device.memory is None or recorded.memory_gb in device.memory.sizes_gb, (
        f"{file}: recorded.memory_gb is not in memory.sizes_gb"
    )


def test_one_profile_is_the_fallback() -> None:
    assert [device.name for device in load_devices() if device.is_fallback] == [GENERIC]


def test_the_paper_s_figures_of_the_orin() -> None:
    """Table 1 and Table 4 of Prashanthi et al., POMACS 2022."""
    orin = load_device("orin")
    assert orin.cpu is not None and orin.gpu is not None and orin.memory is not None
    assert (orin.cpu.architecture, orin.cpu.cores, orin.cpu.max_frequency_mhz) == (
        "Cortex-A78AE",
        12,
        2200,
    )
    assert (
        orin.gpu.architecture,
        orin.gpu.cuda_cores,
        orin.gpu.tensor_cores,
        orin.gpu.max_frequency_mhz,
    ) == ("Ampere", 2048, 64, 1300)
    assert 32 in orin.memory.sizes_gb and orin.memory.max_frequency_mhz == 3200
    maxn = next(mode for mode in orin.power_modes if mode.name == "MAXN")
    assert (
        maxn.cpu_cores,
        maxn.cpu_frequency_mhz,
        maxn.gpu_frequency_mhz,
        maxn.memory_frequency_mhz,
    ) == (12, 2200, 1300, 3200)


@pytest.mark.proof
def test_on_an_orin_every_closed_workload_of_its_profile_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command of the README, on a machine whose device tree is an Orin's: three runs of each
    workload."""
    import json

    from suite.catalog.divisions import Division
    from suite.cli.run import run
    from suite.machine import identify

    monkeypatch.setenv("SUITE_HOME", str(tmp_path))
    for name in {load_workload(workload).data for workload in load_device("orin").closed_workloads}:
        generate_data_set(name, 203, 1)
    monkeypatch.setattr(identify, "device_tree_compatible", lambda root: ("nvidia,p3701-0000",))
    run(division=Division.OPEN, device="orin", data="synthetic", dry_run=True)
    requests = json.loads(capsys.readouterr().out)["rows"]
    assert Counter(request["request"]["workload"] for request in requests) == dict.fromkeys(
        load_device("orin").closed_workloads, 3
    )
    assert {request["request"]["platform"] for request in requests} == {"orin"}
    assert {request["request"]["accelerator"] for request in requests} == {"cuda"}


def test_tolerances_are_wider_on_a_gpu_only_where_a_kernel_for_it_is_less_exact() -> None:
    wider = {workload.name for workload in load_workloads() if differs_on_a_gpu(workload)}
    assert wider == {"mobilenetv3", "mobilenetv3-adapt"}
    tolerances = load_workload("mobilenetv3").verification.tolerances
    cpu, gpu = tolerances.by_precision()["float64"], tolerances.by_precision("cuda")["float64"]
    assert {name for name in cpu if cpu[name] < gpu[name]} == {
        "logits",
        "loss",
        "gradient",
    } and cpu.keys() == gpu.keys()


def differs_on_a_gpu(workload: Workload) -> bool:
    tolerances = workload.verification.tolerances
    return tolerances.by_precision() != tolerances.by_precision("cuda")
