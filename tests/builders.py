"""Bundles made without any framework: what a good run would have written, in milliseconds."""

import hashlib
import json
import math
import random
import struct
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas

from reference_impls import contract
from reference_impls.schedules import SCHEDULES
from reference_impls.structure import STRUCTURES
from suite import __version__
from suite.bundle import frames, layout, manifest, replication_folder, schemas
from suite.bundle.data_record import DataRecord, write_data_record
from suite.bundle.node_records import NodeRecord, write_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.bundle.stall_folder import BatchSource
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework, load_frameworks
from suite.catalog.meter_choice import POWER_SCHEDULES
from suite.catalog.rounds import current_round
from suite.catalog.seeds import describe_implementation
from suite.catalog.workloads import GOLDEN, NARROW, WIDE, Workload, golden_name, load_workload
from suite.execution.meter_session import MeterRecord
from suite.execution.run_records import RunRecords
from suite.files.digest import FileDigest
from suite.files.json_file import write_json
from suite.files.redaction import machine_redactor
from suite.machine import system
from suite.metrics import replication_record, stall_analysis
from suite.metrics.event_counts import derive_counters
from suite.metrics.power_totals import write_power_rules
from suite.metrics.replication import REPLICATION, compare_runs
from suite.metrics.summary import derive_summary
from tests.made_once import made_once

BOOT = "00000000-0000-4000-8000-000000000000"
NO_MACHINE = Path("/no/machine")
MACHINE: dict[str, Any] = {
    "board": "Board & Sons <B>",
    "architecture": "x86_64",
    "cpu_model": "AMD Ryzen 5 5600",
    "cpu_cores": 2,
    "memory_size_bytes": 24 * 2**30,
    "kernel": "6.8.0-49-generic",
    "operating_system": "Debian GNU/Linux 12 (bookworm)",
    "python": "3.11.2",
    "links": ({"interface": "eth0", "kind": "wired", "speed_mbit_s": 1000, "reason": None},),
}
"""What bundles say of the machine that they were made on."""
START_NS = 1_000_000_000_000
START_MS = 1_800_000_000_000
AHEAD_NS, DRIFT = 7_000_000_000_000_000, 20e-6  # 20 ppm: a quartz clock
"""How far the second node's monotonic clock is ahead of the first's as a run begins, and by how
much more at its end."""
GRADIENT_BYTES, WIRE_SURPLUS = 4 * 61706, 1.03
READ_S = 2e-5
"""CPU time of a reading."""
BUILD_NS = 1_000_000
"""From init_start to init_stop."""
LOSS_SCATTER, LATE_SCATTER = 0.05, 0.2
FIRST_STEPS, ERROR_PER_LOSS = 10, 0.06
"""An epoch's losses are small enough for its accuracy; real models have 0.15 and more errors a
sample for each unit of loss."""
PART_SCATTER = 0.02
POWER_SCATTER = 0.01
RSS_BYTES = 2.0e8
CPU_SHARE = 0.45
"""Cores that the implementation keeps busy, of the one that is busy; the other half is the
system's."""


@dataclass(frozen=True)
class Scenario:
    """A run to be made up. Defaults: LeNet-5 on MNIST, closed division, target reached in the third
    epoch.

    ``step_s`` is a step's time, which scatters by ``jitter`` from epoch to epoch, the same for the
    same seed; its parts and its loss scatter from step to step. ``power_w`` is what ``power_meter``
    (shelly, um25c) reads five times a second, to a hundredth; None: there is none. ``throttled_s``
    is for how long, from its middle on, the firmware says that the run was throttled; None: nothing
    would say so. ``idle_w`` was read in the ten seconds before the run. ``counted``: a processor
    with hardware counters, and a disk whose reads are counted. ``batches`` and ``drop_cache`` are
    those of a stall analysis. ``nodes``, one or as many as ``ranks``: each has its own readings,
    the same ones, on its own clock, and sends its gradients in every step. ``later_s``: how much
    later than START the run began, by both clocks. ``learning_rate``: None for the workload's;
    LeNet-5 has a reference point at batch size 32 and rate 0.01. ``gpu_mhz``: clocks of a Jetson's
    GPU, read in turn.
    """

    name: str = "lenet-pytorch-20270115T080000Z-000001"
    framework: str = "pytorch"
    device: str = "generic"
    division: str = "closed"
    data: str = "mnist"
    seed: int = 1
    batch_size: int = 32
    accuracies: tuple[float, ...] = (0.97, 0.985, 0.9905)
    step_s: float = 0.0005
    evaluation_s: float = 0.1
    organization: str = "none"
    threads: int = 2
    power_w: float | None = None
    power_meter: str = "shelly"
    jitter: float = 0.0
    throttled_s: float | None = None
    workers: int = 0
    counted: bool = False
    batches: str = "read"
    drop_cache: bool = False
    ranks: int = 1
    idle_w: float | None = None
    nodes: int = 1
    later_s: int = 0
    learning_rate: float | None = None
    gpu_mhz: tuple[float, ...] = ()


RICH = Scenario(step_s=0.005, power_w=6.0, power_meter="um25c", idle_w=3.0, counted=True)
"""A run of which everything was measured that the rules look at."""


def make_bundle(path: Path, scenario: Scenario | None = None) -> Path:
    """Write a sealed bundle that complies with its division's rules; it is the same wherever it is
    written."""
    made = scenario or Scenario()
    return made_once(made, path, lambda place: _write_bundle(place, made))


def _write_bundle(path: Path, scenario: Scenario) -> Path:
    path.mkdir(parents=True)
    request = make_request(path, scenario)
    steps = _write_logs(path, request, scenario)
    frames.write_table(steps, path / layout.STEPS)
    readings = _readings(steps, scenario)
    frames.write_table(readings, path / layout.READINGS)
    if scenario.idle_w is not None:
        frames.write_table(_idle(steps, scenario), path / layout.BASELOAD)
    described = _describe(path, scenario)
    write_json(path / layout.SYSTEM, described)
    if scenario.nodes > 1:
        _write_nodes(path, scenario, asdict(described))
    (path / layout.OUTPUT).write_text("made up by tests\n")
    write_data_record(path, _data_record(scenario))
    write_power_rules(path, readings["source"].unique())
    write_json(
        path / layout.RUN,
        replace(make_record(request, scenario, "finished"), meters=_meters(readings)),
    )
    write_json(path / layout.COUNTERS, derive_counters(Bundle(path)))
    write_json(path / layout.SUMMARY, derive_summary(Bundle(path)).to_dict())
    manifest.seal(path)
    return path


def make_analysis(path: Path) -> Path:
    """Write a stall analysis that complies: three runs, cold, warm and synthetic, of a length
    apart, and the record about them."""
    for number, source in enumerate(BatchSource):
        batches, stamp = (
            "synthetic" if source is BatchSource.SYNTHETIC else "read",
            f"20270115T080000Z-00000{number}",
        )
        scenario = replace(
            RICH,
            division="open",
            batches=batches,
            drop_cache=source is BatchSource.COLD,
            name=f"lenet-pytorch-{stamp}",
            seed=1,
        )
        make_bundle(path / source.value, replace(scenario, step_s=0.005 - 0.00025 * number))
    stall_analysis.STALLS.write(path, stall_analysis.analyse_stalls(path))
    return path


ORIGINAL = replace(RICH, organization="acme", jitter=0.01)
"""The run that the good replication repeats."""


def make_replication(
    path: Path,
    original: Path | None = None,
    step_s: tuple[float, ...] = (0.005025, 0.005, 0.004975),
) -> Path:
    """Write a replication that complies: three fresh runs of "lab", later and with steps of these
    times, of a run of "acme" (default: one beside ``path``).
    """
    made = original or make_bundle(path.with_name(f"{path.name}-original"), ORIGINAL)
    for number, each_s in enumerate(step_s, start=1):
        name = f"lenet-pytorch-20270115T09000{number}Z-00000{number}"
        fresh = replace(
            ORIGINAL, name=name, organization="lab", step_s=each_s, later_s=3600 * number
        )
        make_bundle(replication_folder.run_folder(path, number), fresh)
    originals = (replication_record.measure_run(Bundle(made)),)
    runs = tuple(
        replication_record.measure_run(Bundle(run)) for run in replication_folder.fresh_runs(path)
    )
    found = replication_record.Replication(
        replication_record.SCHEMA,
        __version__,
        "lab",
        originals,
        runs,
        (),
        compare_runs(originals, runs, ()),
    )
    REPLICATION.write(path, found)
    return path


def _describe(path: Path, scenario: Scenario) -> system.SystemDescription:
    """The made-up machine: a kept output must be the same on any machine."""
    libraries = dict.fromkeys(("numpy", *load_framework(scenario.framework).packages[:1]), "1.0")
    found = system.describe_system(
        scenario.device,
        system.Software(scenario.framework, "1.0", libraries),
        path,
        NO_MACHINE,
        with_identity=False,
    )
    notes = {
        name: note
        for name, note in found.notes.items()
        if name not in (*MACHINE, "boot", "storage_medium")
    }
    notes["cpu_governor"] = "made up by tests"
    settings = replace(found.power_settings, cores_online=(0, 1))
    return replace(
        found,
        **MACHINE,
        power_settings=settings,
        boot=BOOT,
        cpu_governor=None,
        storage_medium="NVMe" if scenario.counted else "network",
        notes=notes,
    )


def _evidence(device: str) -> str:
    """What the harness would have found on the device."""
    profile = load_device(device)
    recorded = profile.recorded
    if recorded is None or profile.is_fallback:
        return f"{MACHINE['board']}: no profile matches its CPU model"
    names = [
        *recorded.compatible,
        *(name.partition(": ")[2] for name in recorded.dmi),
        *([recorded.cpu_model] if recorded.cpu_model else []),
    ]
    return f"recorded names: {', '.join(names)}"


def run_id(name: str, framework: str = "pytorch") -> str:
    """The id of a run that a scenario names: its date and last part if it has the form of an id,
    else the whole name behind a date."""
    *_, stamp, last = ("", "", *name.split("-"))
    is_stamped = len(stamp) == len("20270115T080000Z") and stamp.endswith("Z")
    return (
        f"lenet-{framework}-{stamp}-{last}"
        if is_stamped
        else f"lenet-{framework}-20270115T080000Z-{name}"
    )


def _data_record(scenario: Scenario) -> DataRecord:
    """The published files, read twenty seconds before the log begins."""
    files = tuple(
        FileDigest(file.name, file.size_bytes, str(file.sha256), str(file.md5))
        for file in load_data_set(scenario.data).files
    )
    return DataRecord(scenario.data, START_NS + (scenario.later_s - 20) * 10**9, files)


def make_request(path: Path, scenario: Scenario) -> contract.Request:
    """The request of the scenario's run."""
    workload = load_workload("lenet")
    sizes = {"mnist": (60000, 10000), "digits": (1438, 359)}[scenario.data]
    settings = workload.optimizer
    reached = (
        workload.target_accuracy is not None
        and max(scenario.accuracies) >= workload.target_accuracy
    )
    return contract.Request(
        contract_version=contract.CONTRACT_VERSION,
        workload="lenet",
        model=workload.model,
        framework=scenario.framework,
        division=scenario.division,
        organization=scenario.organization,
        platform=scenario.device,
        seed=scenario.seed,
        epochs=(
            workload.epochs
            if reached or scenario.division == "closed"
            else len(scenario.accuracies)
        ),
        steps=None,
        eval_every_epochs=1,
        target_accuracy=workload.target_accuracy,
        global_batch_size=scenario.batch_size,
        optimizer=contract.Optimizer(
            settings.name,
            scenario.learning_rate or settings.base_learning_rate,
            settings.momentum,
            settings.weight_decay,
            settings.schedule,
        ),
        initial_weights=workload.initial_weights,
        data=contract.DataSet(
            scenario.data, f"/data/{scenario.data}", "idx", 10, *sizes, True, False
        ),
        preprocessing=contract.Preprocessing(
            list(workload.preprocessing.mean), list(workload.preprocessing.std), "none"
        ),
        loading=contract.Loading(scenario.workers, 2),
        parallel=(
            contract.Parallel(scenario.ranks, scenario.nodes, "mpi", 2**22, True)
            if scenario.ranks > 1
            else contract.Parallel(1, 1, "none", 0, False)
        ),
        batches=scenario.batches,
        drop_cache_every_epoch=scenario.drop_cache,
        accelerator="cpu",
        threads=scenario.threads,
        cache_cleared=None,
        output_directory=str(path),
    )


def reference_differences(workload: Workload) -> list[dict[str, Any]]:
    """Of the reference's verdict the pinned numbers and the timed steps, without statistics: errors
    far below their tolerances."""
    steps = workload.verification.timed
    assert steps is not None
    worst = {"timed statistic": "", "timed update": "timed update/conv1.weight"}
    tolerances = workload.verification.tolerances.by_precision()[WIDE]
    compared = [(WIDE, golden_name(name), tolerances[name]) for name in GOLDEN]
    compared += [
        (NARROW, name, tolerance) for name, tolerance in steps.tolerances.by_quantity().items()
    ]
    return [
        {
            "precision": precision,
            "quantity": name,
            "error": tolerance / 1000 if worst.get(name, name) else 0.0,
            "tolerance": tolerance,
            "worst": worst.get(name, name),
            "problem": None,
            "passed": True,
        }
        for precision, name, tolerance in compared
    ]


def make_record(request: contract.Request, scenario: Scenario, status: str) -> RunRecord:
    """run.json."""
    described = describe_implementation(load_framework(scenario.framework))
    records = RunRecords(Path(request.output_directory), machine_redactor())
    return RunRecord(
        schema=layout.SCHEMA,
        run_id=run_id(scenario.name, scenario.framework),
        suite_version=__version__,
        command=(
            "suite",
            "run",
            *(("--workers", str(scenario.workers)) if scenario.workers else ()),
        ),
        started_time_ms=START_MS + 1000 * scenario.later_s,
        status=status,
        exit_code=0 if status == "finished" else None,
        message=None,
        device_evidence=_evidence(scenario.device),
        request=records.request_values(request),
        round=current_round().name,
        implementation={**described, "sha256": files_sha256(scenario.framework)},
    )


def files_sha256(framework: str) -> str:
    """The digest of its files in a version of which the round takes results: an edit of today's
    files changes no kept output."""
    names = [each.name for each in load_frameworks()]
    return current_round().implementations[names.index(framework)]


class _Writer:
    """Writes one rank's log with scripted clocks, and makes the steps that go with it."""

    def __init__(
        self, path: Path, request: contract.Request, scenario: Scenario, rank: int
    ) -> None:
        self._stream = (path / contract.log_name(rank)).open("w", encoding="utf-8")
        self.chain, self._now_ns = contract.FIRST_LINK, START_NS + 10**9 * scenario.later_s
        self._request, self._scenario, self._rank = request, scenario, rank
        self._done = 0
        self._told_ns: int | None = None
        self._boot = _boot_of_node(rank if scenario.nodes > 1 else 0)

    def begin(self) -> None:
        request = self._request
        optimizer, data = request.optimizer, request.data
        facts = {
            "submission_benchmark": request.workload,
            "submission_org": request.organization,
            "submission_division": request.division,
            "submission_status": "research",
            "submission_platform": request.platform,
            "framework": request.framework,
            "model": request.model,
            "data_set": data.name,
            "cache_clear": None,
            "seed": request.seed,
            "global_batch_size": request.global_batch_size,
            "opt_name": optimizer.name,
            "opt_base_learning_rate": optimizer.base_learning_rate,
            "opt_momentum": optimizer.momentum,
            "opt_weight_decay": optimizer.weight_decay,
            "opt_learning_rate_schedule": optimizer.schedule,
            "initial_weights": request.initial_weights,
            "collective": request.parallel.collective,
            "max_epochs": request.epochs,
            "target_accuracy": request.target_accuracy,
            "train_samples": data.train_samples,
            "eval_samples": data.eval_samples,
            "accelerator": request.accelerator,
        }
        for key, value in facts.items():
            self._event("POINT_IN_TIME", key, value)
        self._event("INTERVAL_START", "init_start")
        for key, value in {
            **contract.as_requested(self._request),
            "model_layers": {"layers": 5, "sha256": STRUCTURES["lenet5"], "dropout": 0.0},
            "arithmetic": {
                "product_bits": 23,
                "convolution_bits": 23,
                "overflows": False,
                "settings": {},
            },
            "parameters": 61706,
            "framework_version": "1.0",
            "framework_threads": request.threads,
            "ranks": request.parallel.ranks,
        }.items():
            self._event("POINT_IN_TIME", key, value)
        self._tell_nodes()
        self._told_ns = self._now_ns
        if request.parallel.ranks > 1:
            kinds = ("sources", "packages", "request", "data", "weights")
            self._event(
                "POINT_IN_TIME",
                "admission",
                {**dict.fromkeys(kinds, "0" * 64), "machine": f"{self._rank:016}"},
            )
        self._now_ns += BUILD_NS
        self._event("INTERVAL_END", "init_stop")
        self._event("INTERVAL_START", "run_start")

    def end(self) -> None:
        target = self._request.target_accuracy
        reached = target is not None and max(self._scenario.accuracies) >= target
        self._event("INTERVAL_END", "run_stop", status="success" if reached else "aborted")
        if self._rank == 0:
            self._event(
                "POINT_IN_TIME", "peak_rss_of_ranks", [round(RSS_BYTES)] * self._scenario.ranks
            )
        self._tell_nodes()

    def close(self) -> None:
        self._stream.close()

    def _tell_nodes(self) -> None:
        """On rank 0: whose node is whose, once, and how far every clock is ahead."""
        if self._scenario.nodes > 1 and self._rank == 0:
            if self._told_ns is None:
                self._event(
                    "POINT_IN_TIME",
                    "nodes_of_ranks",
                    [f"node{rank}" for rank in range(self._scenario.ranks)],
                )
                self._told_ns = self._now_ns
            others = [[self._ahead_ns(rank), 50_000] for rank in range(1, self._scenario.ranks)]
            self._event("POINT_IN_TIME", "clock_offsets_ns", [[0, 0], *others])

    def _ahead_ns(self, rank: int) -> int:
        """How far another node's monotonic clock is ahead now."""
        return rank * AHEAD_NS + (
            0 if self._told_ns is None else round(DRIFT * (self._now_ns - self._told_ns))
        )

    def _mono_ns(self) -> int:
        """This rank's own monotonic clock."""
        return self._now_ns + (
            self._ahead_ns(self._rank) if self._scenario.nodes > 1 and self._rank else 0
        )

    def train(self, epoch: int) -> list[contract.StepRecord]:
        request, scenario = self._request, self._scenario
        samples, batch = request.data.train_samples, request.global_batch_size
        self._event("INTERVAL_START", "epoch_start", epoch_num=epoch)
        rows = []
        step_s = scenario.step_s * (
            1 + scenario.jitter * (2 * random.Random(f"{scenario.seed} {epoch}").random() - 1)
        )
        chance = random.Random(f"{scenario.name} {scenario.seed} {epoch} {self._rank}")
        error, late = (
            1 - scenario.accuracies[epoch - 1],
            _course(self._done + 0.875 * samples / batch),
        )
        learned = max(0.01, min(1.0, error / (ERROR_PER_LOSS * late)))
        exposed = 0.02 if request.parallel.ranks > 1 else 0.0
        for index, first in enumerate(range(0, samples, batch)):
            shares = (
                share * (1 + chance.uniform(-1, 1) * PART_SCATTER)
                for share in (0.1, 0.05, 0.8, exposed)
            )
            parts = tuple(round(share * step_s, 9) for share in shares)
            size = len(range(self._rank, min(batch, samples - first), request.parallel.ranks))
            scatter = min(LATE_SCATTER, LOSS_SCATTER * (1 + 0.01 * (self._done + index)))
            level = learned if self._done + index >= FIRST_STEPS else 1.0
            loss = (
                level
                * _course(self._done + index)
                * math.exp(chance.gauss(0, scatter) - scatter**2 / 2)
            )
            loss = struct.unpack("f", struct.pack("f", loss))[0]  # frameworks compute in float32
            rows.append(
                contract.StepRecord(
                    epoch, self._done + index + 1, self._rank, size, self._mono_ns(), *parts, loss
                )
            )
            self._now_ns += round(step_s * 1e9)
        self._done += len(rows)
        self._event("INTERVAL_END", "epoch_stop", epoch_num=epoch, steps=len(rows))
        return rows

    def digest(self, epoch: int) -> None:
        """Parameters and velocities are every rank's; LeNet-5 has no statistics."""
        of_run = f"{self._scenario.name} {epoch}"
        states = {"parameter": of_run, "velocity": f"{of_run} v", "statistic": ""}
        value = {kind: hashlib.sha256(state.encode()).hexdigest() for kind, state in states.items()}
        optimizer, per_epoch = self._request.optimizer, self._done // epoch
        rates = [
            SCHEDULES[optimizer.schedule](
                optimizer.base_learning_rate, index, self._request.epochs * per_epoch
            )
            for index in range(self._done - per_epoch, self._done)
        ]
        self._event("INTERVAL_START", "uncounted_start", reason="state", epoch_num=epoch)
        self._event(
            "POINT_IN_TIME",
            "learning_rates",
            [rates[0], rates[-1], math.fsum(rates) / per_epoch],
            epoch_num=epoch,
        )
        self._event("POINT_IN_TIME", "state_digests", value, epoch_num=epoch)
        self._event("INTERVAL_END", "uncounted_stop", reason="state", epoch_num=epoch)

    def tell(self, heads: list[str], **when: int) -> None:
        self._event(
            "POINT_IN_TIME",
            "chain_heads",
            contract.heads_digest(heads) if self._rank else heads,
            **when,
        )

    def evaluate(self, epoch: int, correct: int) -> None:
        self._event("INTERVAL_START", "eval_start", epoch_num=epoch)
        self._now_ns += round(1e9 * self._scenario.evaluation_s)
        self._event(
            "POINT_IN_TIME",
            "eval_accuracy",
            correct / self._request.data.eval_samples,
            epoch_num=epoch,
            correct=correct,
        )
        self._event("INTERVAL_END", "eval_stop", epoch_num=epoch)

    def _event(self, event_type: str, key: str, value: object = None, **metadata: object) -> None:
        self._now_ns += 1000
        time_ms = START_MS + (self._now_ns - START_NS) // 1_000_000
        full = dict(metadata, mono_ns=self._mono_ns(), rank=self._rank, boot=self._boot)
        event = {
            "namespace": "edge",
            "time_ms": time_ms,
            "event_type": event_type,
            "key": key,
            "value": value,
            "metadata": full,
        }
        line, self.chain = contract.chained(self.chain, contract.TOKEN + json.dumps(event))
        self._stream.write(line + "\n")


def _boot_of_node(place: int) -> str:
    return BOOT[:-1] + f"{place:x}"


def _course(step: float) -> float:
    """The loss by steps done."""
    return 2.3 / (1 + 0.01 * step)


def _write_logs(path: Path, request: contract.Request, scenario: Scenario) -> pandas.DataFrame:
    """Every rank's log; returns their steps, rank by rank."""
    writers = [_Writer(path, request, scenario, rank) for rank in range(request.parallel.ranks)]
    rows: list[list[contract.StepRecord]] = [[] for _ in writers]
    for writer in writers:
        writer.begin()
    for epoch, accuracy in enumerate(scenario.accuracies, start=1):
        for writer, of_rank in zip(writers, rows, strict=True):
            of_rank += writer.train(epoch)
        heads = [writer.chain for writer in writers]
        for writer in writers:
            if len(writers) > 1:
                writer.tell(heads, epoch_num=epoch)
            writer.digest(epoch)
            writer.evaluate(epoch, round(accuracy * request.data.eval_samples))
    for writer in writers:
        writer.end()
    heads = [writer.chain for writer in writers]
    for writer in writers:
        if len(writers) > 1:
            writer.tell(heads)
        writer.close()
    frame = pandas.DataFrame(
        [row for of_rank in rows for row in of_rank], columns=list(contract.STEP_COLUMNS)
    )
    return frame.astype(schemas.STEP_TYPES)


def wire_bytes_per_s(scenario: Scenario) -> float:
    """What each of several nodes sends: LeNet-5's gradients in every step, and what is around
    them."""
    return WIRE_SURPLUS * GRADIENT_BYTES / scenario.step_s


def _readings(steps: pandas.DataFrame, scenario: Scenario) -> pandas.DataFrame:
    of_first = steps.loc[steps["rank"] == 0, "start_ns"]  # other nodes have other clocks
    first_ns, last_ns = int(of_first.min()), int(of_first.max())
    # no two runs are read at the same moments
    scatter = random.Random(f"{scenario.seed} {scenario.step_s}")
    times = [t_ns + scatter.randrange(1000) for t_ns in range(first_ns, last_ns, 500_000_000)]
    rows = [
        (t_ns, "memory", f"process_tree_{kind}", RSS_BYTES, "B")
        for t_ns in times
        for kind in ("rss", "pss")
    ]
    rows += [(t_ns, "cpu", "utilisation.total", 50.0, "%") for t_ns in times]
    rows += [
        (t_ns, source, channel, 0.0, "s")
        for t_ns in times
        for source, channel in (("load", "io.full"), ("wall-clock", "drift"))
    ]
    if scenario.counted:
        rows += [
            (t_ns, "cpu", f"utilisation.core{core}", 50.0, "%") for t_ns in times for core in (0, 1)
        ]
        rows += [
            (t_ns, "cpu", "process_tree", round((t_ns - first_ns) * 1e-9 * CPU_SHARE, 2), "s")
            for t_ns in times
        ]
        rows += [
            (t_ns, "disk", "read_bytes", 4096.0 * index, "B") for index, t_ns in enumerate(times)
        ]
        rows += [(t_ns, "cpu", "frequency.core1", 1.4e9, "Hz") for t_ns in times]
        rows += [
            (t_ns, "page-cache", "resident", float(t_ns > first_ns), "ratio")
            for t_ns in (first_ns - 10**8, *times)
        ]
    for index, t_ns in enumerate(times if scenario.gpu_mhz else ()):
        mhz = scenario.gpu_mhz[index % len(scenario.gpu_mhz)]
        rows += [
            (t_ns, "tegra", "gpu.frequency", mhz * 1e6, "Hz"),
            (t_ns, "tegra", "gpu.utilisation", 60.0 + index % 7, "%"),
        ]
    if scenario.power_w is not None:
        rows += _power(
            scenario, scenario.power_w, range(first_ns - 10**9, last_ns + 2 * 10**9, 200_000_000)
        )
    if scenario.nodes > 1:
        rows += [
            (
                t_ns,
                "network",
                "eth0.sent",
                (t_ns - first_ns + 10**9) * 1e-9 * wire_bytes_per_s(scenario),
                "B",
            )
            for t_ns in range(first_ns - 10**9, last_ns + 2 * 10**9, 500_000_000)
        ]
    if scenario.throttled_s is not None:
        middle_ns, held_ns = (first_ns + last_ns) // 2, scenario.throttled_s * 1e9
        rows += [
            (t_ns, "throttling", "throttled", float(0 <= t_ns - middle_ns < held_ns), "active")
            for t_ns in range(first_ns, last_ns, 10**8)
        ]
    if scenario.counted:
        rates = {
            "instructions": 4e9,
            "cycles": 2e9,
            "l1d_access": 1e9,
            "l1d_refill": 5e7,
            "branches": 4e8,
            "branch_mispredicts": 8e6,
            "page_faults": 1e3,
            "task_clock": CPU_SHARE * 1e9,
        }
        for t_ns in range(first_ns - 10**9, last_ns + 2 * 10**9, 10**8):
            rows += [
                (
                    t_ns,
                    "counters",
                    f"{name}.count",
                    round(rate * (t_ns - first_ns + 10**9) / 1e9),
                    "ns" if name == "task_clock" else "events",
                )
                for name, rate in rates.items()
            ]
    return pandas.DataFrame(rows, columns=list(frames.READING_TYPES)).astype(frames.READING_TYPES)


def _idle(steps: pandas.DataFrame, scenario: Scenario) -> pandas.DataFrame:
    first_ns = int(steps["start_ns"].iloc[0])
    assert scenario.idle_w is not None
    rows = _power(
        scenario, scenario.idle_w, range(first_ns - 15 * 10**9, first_ns - 5 * 10**9, 200_000_000)
    )
    return pandas.DataFrame(rows, columns=list(frames.READING_TYPES)).astype(frames.READING_TYPES)


def _power(
    scenario: Scenario, mean_w: float, times_ns: range
) -> list[tuple[int, str, str, float, str]]:
    """Readings that scatter around a mean, in milliwatts; every second one mirrors the one before,
    so that their mean is exact."""
    chance, deviation, rows = random.Random(f"{scenario.name} {scenario.seed} {mean_w}"), 0.0, []
    for index, t_ns in enumerate(times_ns):
        deviation = -deviation if index % 2 else round(chance.gauss(0, POWER_SCATTER) * mean_w, 3)
        rows.append((t_ns, scenario.power_meter, "power", mean_w + deviation, "W"))
    return rows


def _meters(readings: pandas.DataFrame) -> tuple[dict[str, Any], ...]:
    """What the recorder would have counted."""
    return tuple(asdict(_meter(str(name), rows)) for name, rows in readings.groupby("source"))


def _meter(name: str, rows: pandas.DataFrame) -> MeterRecord:
    gaps_s = rows.loc[rows["channel"] == rows["channel"].iloc[0], "t_ns"].diff().dropna() * 1e-9
    if gaps_s.empty:
        return MeterRecord(name, 0.5, True, "", len(rows))
    achieved_s = float(gaps_s.median())
    period_s, moments = POWER_SCHEDULES.get(name, (round(achieved_s, 3), "fixed"))
    found = {
        "cost_s": READ_S * len(rows),
        "achieved_period_s": achieved_s,
        "longest_gap_s": float(gaps_s.max()),
    }
    return MeterRecord(name, period_s, True, "", len(rows), moments=moments, **found)


def _read_late(t_ns: pandas.Series, place: int) -> pandas.Series:
    """The times, each up to a microsecond later: no two nodes are read at the same moments."""
    scatter = random.Random(place)
    return t_ns.map(
        {moment_ns: moment_ns + scatter.randrange(1000) for moment_ns in sorted(t_ns.unique())}
    )


def _system_of_node(described: dict[str, Any], place: int) -> dict[str, Any]:
    """As another node's recorder describes its machine: the framework's fields are the run's, not
    the node's."""
    of_framework = ("framework", "framework_version", "libraries")
    notes = {name: note for name, note in described["notes"].items() if name not in of_framework}
    return {
        **{name: value for name, value in described.items() if name not in of_framework},
        "boot": _boot_of_node(place),
        "notes": notes,
    }


def _write_nodes(path: Path, scenario: Scenario, described: dict[str, Any]) -> None:
    """nodes.json, and the other nodes' readings and baseload: the first one's, on clocks that are
    ahead and run faster."""
    log, readings, idle = Bundle(path).log(), Bundle(path).readings_frame(), path / layout.BASELOAD
    first_ns, last_ns = (event.mono_ns for event in log.all("clock_offsets_ns"))
    assert first_ns is not None and last_ns is not None
    drift_ns = (
        (DRIFT * (readings["t_ns"] - first_ns).clip(0, last_ns - first_ns)).round().astype("int64")
    )
    records = []
    for place in range(scenario.nodes):
        if place and idle.exists():
            before = frames.read_readings(idle)
            frames.write_table(
                before.assign(t_ns=_read_late(before["t_ns"], place) + place * AHEAD_NS),
                path / layout.node_baseloads(place)[0],
            )
        if place:
            frames.write_table(
                readings.assign(
                    t_ns=_read_late(readings["t_ns"], place) + place * AHEAD_NS + drift_ns
                ),
                path / layout.node_tables(place)[0],
            )
        link = {
            "interface": "eth0",
            "address": f"address{place}",
            "kind": "wired",
            "speed_mbit_s": 1000,
            "reason": None,
        }
        of_node = _system_of_node(described, place) if place else None
        records.append(
            NodeRecord(
                f"node{place}",
                f"node{place}",
                (place,),
                None,
                link,
                None,
                of_node,
                _meters(readings) if place else (),
            )
        )
    write_nodes(path, records)
