"""The honest samples that lies and honest variations start from. Each is made once per process, in
a temporary folder."""

import atexit
import json
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from proofs.outsider.edits import (
    StallFolder,
    Submission,
    another_run,
    rebuild,
    shift,
    state,
)
from suite import __version__
from suite.catalog.rounds import current_round
from suite.catalog.workloads import load_workload
from suite.files.paths import repository_root
from suite.metrics import stall_analysis
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from suite.verify.verdict import SCHEMA
from tests.builders import RICH, files_sha256, make_bundle, reference_differences
from tests.faults.edits.editable_bundle import EditableBundle

REFERENCE, NEWER_REFERENCE = (
    repository_root() / "submissions" / name / "reference" for name in ("v0.1", "v0.2")
)
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
    """A run of the last round's reference submission, moved to this round."""
    bundle = EditableBundle(
        Path(shutil.copytree(NEWER_REFERENCE / "lenet" / "pytorch" / "run_1", folder))
    )
    bundle.run["round"], bundle.run["suite_version"] = current_round().name, __version__
    bundle.save(recomputed=True)
    return folder


def _submission(folder: Path) -> Path:
    """Three runs of one machine, a quarter of an hour apart, packaged with the reference's verdict
    on the implementation."""
    runs = []
    for seed in (1, 2, 3):
        bundle = EditableBundle(Path(shutil.copytree(sample("rich"), folder / f"run{seed}")))
        state(bundle, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.01)
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
    return package_runs(runs, offer, folder)


def _verdict(path: Path) -> Path:
    """The reference's verdict on its implementation, of this version of the suite: round v0.1's has
    no pinned numbers and no timed steps."""
    values = json.loads((REFERENCE / "probes" / "lenet-pytorch.json").read_text())
    values["subjects"][0]["implementation_sha256"] = files_sha256("pytorch")
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
    stall_analysis.STALLS.write(folder, stall_analysis.analyse_stalls(folder))
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
