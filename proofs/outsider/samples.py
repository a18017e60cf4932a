"""The honest samples that lies and honest variations start from. Each is made once per process, in
a temporary folder."""

import atexit
import json
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from proofs.outsider.edits import (
    StallFolder,
    Submission,
    add_channel,
    another_run,
    digests_of,
    meter,
    rates_of,
    rebuild,
    shift,
    state,
)
from reference_impls import contract
from suite import __version__
from suite.bundle import layout
from suite.bundle.data_record import DATA
from suite.catalog.frameworks import load_framework
from suite.catalog.rounds import current_round
from suite.catalog.seeds import implementation_sha256
from suite.catalog.workloads import load_workload
from suite.files.paths import repository_root
from suite.files.redaction import DATA as DATA_ROOT
from suite.files.redaction import OUTPUT
from suite.metrics import stall_analysis
from suite.metrics.power_totals import write_power_rules
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package
from suite.verify.verdict import SCHEMA
from tests.builders import RICH, make_bundle, reference_differences
from tests.faults.edits.editable_bundle import EditableBundle

REFERENCE = repository_root() / "submissions" / "v0.1" / "reference"
ANY = "any"
STALL_S = {"cold": 0.004, "warm": 0.002, "synthetic": 0.0001}


def copy_of(name: str, folder: Path) -> Path:
    """A fresh copy of a sample below ``folder``; a submission has the two folders over it that name
    round and organization."""
    source = sample(name)
    places = source.parts[-2:] if name == "submission" else (name,)
    return Path(shutil.copytree(source, folder.joinpath(*places), symlinks=True))


def opened(name: str, path: Path) -> EditableBundle | Submission | StallFolder:
    """What a lie edits: the sample at ``path`` as plain objects."""
    if name == "submission":
        return Submission(path)
    return StallFolder(path) if name == "stall_folder" else EditableBundle(path)


@cache
def sample(name: str) -> Path:
    """A sample's folder, not to be edited."""
    return _MAKERS["rich" if name == ANY else name](_folder() / name)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="outsider-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _rich(folder: Path) -> Path:
    return make_bundle(folder, RICH)


def _two_ranks(folder: Path) -> Path:
    return make_bundle(folder, replace(RICH, ranks=2, nodes=2))


def _reference(folder: Path) -> Path:
    """A run of the reference submission, whose schema is 1."""
    return Path(shutil.copytree(REFERENCE / "lenet" / "pytorch" / "run_1", folder))


def _real(folder: Path) -> Path:
    """The same run in the present schema, so that it can be edited and saved."""
    bundle = EditableBundle(_reference(folder))
    bundle.run["schema"], bundle.run["round"], bundle.run["suite_version"] = (
        layout.SCHEMA,
        current_round().name,
        __version__,
    )
    bundle.request["contract_version"] = contract.CONTRACT_VERSION
    bundle.request["output_directory"], bundle.request["data"]["directory"] = (
        OUTPUT,
        f"{DATA_ROOT}/mnist",
    )
    write_power_rules(folder, bundle.readings["source"].unique())
    accelerator = {
        **bundle.event("eval_samples"),
        "key": "accelerator",
        "value": bundle.request["accelerator"],
    }
    accelerator["metadata"] = dict(accelerator["metadata"])
    bundle.events.insert(bundle.events.index(bundle.event("eval_samples")) + 1, accelerator)
    _log_trained(bundle)
    for stop in [event for event in bundle.events if event["key"] == "epoch_stop"]:
        _log_state(bundle, stop)
    # a meter that round v0.1 did not have
    add_channel(bundle, "load", "io.full", "s", lambda seconds: 0.0 * seconds)
    meter(bundle, "load").update(achieved_period_s=1.0, longest_gap_s=1.0)
    values = json.loads((sample("rich") / DATA).read_text())
    values["taken_ns"] = bundle.event("init_start")["metadata"]["mono_ns"] - 2 * 10**9
    (folder / DATA).write_text(json.dumps(values))
    bundle.save(recomputed=True)
    return folder


def _log_trained(bundle: EditableBundle) -> None:
    """What the training loop logs of the model since round v0.2."""
    parameters, request = bundle.event("parameters"), bundle.request
    trained = {
        "model_trained": request["model"],
        "optimizer_used": request["optimizer"]["name"],
        "precision": "float32",
    }
    place = bundle.events.index(parameters)
    bundle.events[place:place] = [
        {**parameters, "key": key, "value": value, "metadata": dict(parameters["metadata"])}
        for key, value in trained.items()
    ]


def _log_state(bundle: EditableBundle, stop: dict[str, Any]) -> None:
    """What the training loop logs after an epoch since round v0.2."""
    metadata = {name: value for name, value in stop["metadata"].items() if name != "steps"}
    epoch, steps = metadata["epoch_num"], stop["metadata"]["steps"]
    logged: tuple[tuple[str, str, object, dict[str, str]], ...] = (
        ("INTERVAL_START", "uncounted_start", None, {"reason": "state"}),
        ("POINT_IN_TIME", "learning_rates", rates_of(bundle.events, epoch, steps), {}),
        ("POINT_IN_TIME", "state_digests", digests_of("real", epoch, 0), {}),
        ("INTERVAL_END", "uncounted_stop", None, {"reason": "state"}),
    )
    place = bundle.events.index(stop) + 1
    bundle.events[place:place] = [
        {**stop, "event_type": kind, "key": key, "value": value, "metadata": {**metadata, **more}}
        for kind, key, value, more in logged
    ]


def _submission(folder: Path) -> Path:
    """Three runs of one machine, a quarter of an hour apart, packaged with the reference's verdict
    on the implementation."""
    runs = []
    for seed in (1, 2, 3):
        bundle = EditableBundle(Path(shutil.copytree(sample("rich"), folder / f"run{seed}")))
        state(bundle, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.04)
        rebuild(bundle, correct=[9784, 9836, 9865, 9886, 9894, 9914])
        another_run(bundle, seed=seed, later_s=(seed - 1) * 900.0)
        bundle.save(recomputed=True)
        runs.append(bundle.path)
    offer = PackageRequest(
        "acme",
        current_round().name,
        SystemAvailability.AVAILABLE,
        "",
        (_verdict(folder / "lenet-pytorch.json"),),
    )
    return package(runs, offer, folder)


def _verdict(path: Path) -> Path:
    """The reference's verdict on its implementation, of this version of the suite: round v0.1's has
    no pinned numbers and no timed steps."""
    values = json.loads((REFERENCE / "probes" / "lenet-pytorch.json").read_text())
    values["subjects"][0]["implementation_sha256"] = implementation_sha256(
        load_framework("pytorch")
    )
    values["subjects"][0]["differences"] += reference_differences(load_workload("lenet"))
    added = {
        "schema": SCHEMA,
        "suite_version": __version__,
        "accelerator": "cpu",
        "timed_batch_size": RICH.batch_size,
    }
    path.write_text(json.dumps({**values, **added}, indent=1))
    return path


def _stall_folder(folder: Path) -> Path:
    """Cold, warm and synthetic, ten minutes apart, and the record that `suite run --stall-analysis`
    would have written about them."""
    for number, (source, stall_s) in enumerate(STALL_S.items()):
        batches = "synthetic" if source == "synthetic" else "read"
        scenario = replace(
            RICH,
            division="open",
            batches=batches,
            drop_cache=source == "cold",
            name=f"{RICH.name[:-1]}{number + 1}",
        )
        bundle = EditableBundle(make_bundle(folder / source, scenario))
        rebuild(bundle, parts=(stall_s, 0.001, 0.016, 0.0, 0.001), noise=0.02, seed=number)
        shift(bundle, 600.0 * number)
        bundle.save(recomputed=True)
    stall_analysis.STALLS.write(folder, stall_analysis.analyse(folder))
    return folder


_MAKERS = {
    "rich": _rich,
    "two_ranks": _two_ranks,
    "real": _real,
    "reference": _reference,
    "submission": _submission,
    "stall_folder": _stall_folder,
}
SAMPLES = tuple(_MAKERS)
