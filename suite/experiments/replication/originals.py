"""The original runs: the bundles of one entry, and the options that make them again on this
machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle.layout import MANIFEST, RUN, WITHDRAWN
from suite.bundle.manifest import file_digests
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.divisions import Division
from suite.catalog.frameworks import is_own
from suite.catalog.precisions import Precision
from suite.catalog.timings import Timing
from suite.catalog.workloads import load_workload
from suite.compliance.checker import find_bundles
from suite.errors import FileError, SuiteError
from suite.execution.request import Accelerator, Collective, Normalisation, RunOptions, Shares, Wire
from suite.launch.placement import Placement
from suite.metrics.replication_record import common_settings, measure_run
from suite.submission.entry_keys import is_split, split_keys

MAX_ORIGINALS = 100


@dataclass(frozen=True)
class Original:
    """A sealed bundle and its request."""

    bundle: Bundle
    request: contract.Request

    @property
    def settings(self) -> dict[str, Any]:
        """What a fresh run must have in common with it."""
        return common_settings(self.bundle.run().request)


def find_originals(path: Path) -> tuple[Original, ...]:
    """The bundle at ``path``, or all bundles below it, which must be of one entry but for those
    that only show its split.

    Raises SuiteError for bundles that differ in more than the seed, that have one seed twice, that
    are resumed runs or have no step records, or whose files are not those that were sealed.
    """
    given = [_original(bundle) for bundle in find_bundles(path)]
    keys = split_keys(each.bundle.run().request for each in given)
    found = tuple(each for each in given if not is_split(each.bundle.run().request, keys))
    if len(found) > MAX_ORIGINALS:
        raise SuiteError(
            f"{path} holds {len(found)} runs; the limit is {MAX_ORIGINALS}. Give a folder with"
            " fewer runs of one entry, or one run."
        )
    for other in found[1:]:
        one, two = found[0].settings, other.settings
        different = sorted(name for name in {*one, *two} if one.get(name) != two.get(name))
        if different:
            raise SuiteError(
                f"{other.bundle.path} belongs to another entry than {found[0].bundle.path}: it"
                f" differs in {', '.join(different)}; give one run, or a folder into which you"
                " copied the runs of one entry."
            )
    seeds = [original.request.seed for original in found]
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        raise SuiteError(
            f"{path} holds two runs of seed {twice}; give the folder of one entry, or one run."
        )
    for original in found:
        measure_run(original.bundle)  # refused before the hours of the fresh runs
    return found


def _original(path: Path) -> Original:
    bundle = Bundle(path)
    bundle.expect_sealed("only a run that `suite run` finished can be reproduced")
    listed = set(bundle.manifest())
    for name, digest in file_digests(path).items():
        if name != WITHDRAWN and f"{digest}  {name}" not in listed:
            raise FileError(path / name, f"does not match {MANIFEST}; `suite check` says more")
    run = bundle.run()
    if run.resumed is not None:
        raise SuiteError(
            f"{path} is a resumed run, whose first steps do not follow from its seed; reproduce a"
            " run that began with its initial weights."
        )
    return Original(bundle, read_request(run, f"{path / RUN}"))


def options_of(
    original: Original, organization: str, data: Path | None, implementation: Path | None
) -> RunOptions:
    """The options that make the run again here; raises SuiteError where this machine alone
    cannot."""
    request = original.request
    if request.parallel.nodes > 1:
        raise SuiteError(
            "The run was made on several nodes; `suite reproduce` makes runs on this machine only."
        )
    inside = is_own(request.framework)
    if not inside and implementation is None:
        raise SuiteError(
            f"The run was made by {request.framework[:80]!r}, which is not in the checkout; give"
            " its folder with --implementation DIR."
        )
    if inside and implementation is not None:
        raise SuiteError(
            f"The run was made by {request.framework!r}, which is in the checkout; leave"
            " --implementation out."
        )
    parts = {each.parameters: each.name for each in load_workload(request.workload).other_trains}
    return RunOptions(
        division=Division(request.division),
        device="auto",
        workload=request.workload,
        framework=request.framework,
        data=_data(request, data),
        seed=request.seed,
        epochs=request.epochs,
        steps=request.steps,
        no_target=request.target_accuracy is None,
        trains=parts.get(tuple(request.trains.parameters)) if request.trains else None,
        batch_size=request.global_batch_size,
        learning_rate=float(request.optimizer.base_learning_rate),
        threads=request.threads,
        accelerator=Accelerator(request.accelerator),
        workers=request.loading.workers,
        prefetch=request.loading.prefetch,
        organization=organization,
        placement=Placement(ranks_per_node=request.parallel.ranks),
        collective=(
            Collective(request.parallel.collective)
            if request.parallel.ranks > 1
            else Collective.MPI
        ),
        normalisation=Normalisation(request.parallel.normalisation),
        wire=Wire(request.parallel.wire),
        shares=Shares(request.parallel.shares),
        accumulate=request.accumulation,
        # where none is named, the framework's own: variants computed in theirs before
        precision=None if request.precision == contract.FLOAT32 else Precision(request.precision),
        timing=Timing(request.timing),
        implementation=None if implementation is None else str(implementation),
    )


def _data(request: contract.Request, folder: Path | None) -> str | None:
    """What ``--data`` of the run is here."""
    is_usual = request.data.name == load_workload(request.workload).data
    if folder is not None:
        return str(folder) if is_usual else f"{request.data.name}={folder}"
    if request.data.synthetic is True:
        return "synthetic"
    return None if is_usual else request.data.name


def originals_in_turn(originals: Sequence[Original], runs: int) -> tuple[Original, ...]:
    """The original that each fresh run repeats: all of them in turn, so that a machine that becomes
    slower does so for all alike."""
    return tuple(originals[number % len(originals)] for number in range(runs))
