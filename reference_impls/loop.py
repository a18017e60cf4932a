"""The only training loop: fetch, copy, step, time stamps, evaluate. Standard library only.

Every duration of the suite is taken here, on the monotonic clock, after the device has finished
(the protocol promises it). In asynchronous timing the loop waits for the device at the end of an
epoch or evaluation only, and splits no step. Nothing is written between an epoch's first fetch and
its last step but the number of steps, to memory.
"""

import math
import os
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from reference_impls import contract
from reference_impls.adaptation import Adaptation
from reference_impls.admission import (
    compare_processes,
    compare_training,
    data_stamps,
    refuse_apart,
    refuse_changed_data,
)
from reference_impls.communication import World
from reference_impls.contract import (
    SECONDS_PER_NS,
    Implementation,
    LogWriter,
    Pipeline,
    Request,
    StepRecord,
    monotonic_ns,
)
from reference_impls.data_stalls import as_requested
from reference_impls.definitions import log_facts
from reference_impls.links import goodputs
from reference_impls.records import Records
from reference_impls.shares import Share, share_by_speed
from reference_impls.shown_steps import ShownSteps
from reference_impls.state_file import Progress, broadcast_state, state_name, write_state
from reference_impls.training_state import KINDS, State, digests, has_statistics, shapes, sizes
from reference_impls.updates import learning_rate, learning_rates, places, steps_per_epoch


class Built(NamedTuple):
    """A framework's model on its device, its pipeline, and values for the log."""

    implementation: Implementation
    pipeline: Pipeline
    facts: Dict[str, Any]  # logged before the run: versions, thread counts, parameter count
    old_task: Optional[Pipeline] = None  # of the request's data of that name


class States(NamedTuple):
    """Training states on storage (reference_impls.state_file): the folder that keeps every epoch's,
    and the one to continue from."""

    folder: Optional[str] = None
    start: Optional[str] = None


FROM_THE_BEGINNING = States()


def run(
    request: Request,
    world: World,
    build: Callable[[Request, World], Built],
    states: States = FROM_THE_BEGINNING,
) -> None:
    """Train as requested and write the log and the step records into ``request.output_directory``.

    ``build`` makes model and pipeline; it runs inside ``init_start``/``init_stop`` and must not
    touch the training data. For the analysis of data stalls the pipeline is wrapped
    (reference_impls.data_stalls). An epoch that a step limit cuts short is not evaluated. The
    harness has begun rank 0's log with the facts of the request where that rank runs on its
    machine; a log that was not begun gets them here. Every rank runs this, on its share of each
    mini-batch. From ``states.start`` it goes on as the run did from which that state is: with the
    evaluation after the state's epoch.
    """
    records = Records(world, request.output_directory)
    log = records.log
    if not log.is_begun:
        log_facts(log, request)
    log.start("init_start")
    compared = compare_processes(request, world)
    before = contract.resident_bytes()
    built = build(request, world)
    if request.recomputation is not None and built.implementation.recomputed() is None:
        raise contract.ContractError(
            "{} does not support recomputation; leave --memory-budget out.".format(
                request.framework
            )
        )
    if request.timing == contract.ASYNCHRONOUS:
        if world.size > 1 or request.recomputation is not None:
            raise contract.ContractError(
                "several ranks, and runs with recomputation, wait for the device in every step;"
                " leave --timing out."
            )
        built.implementation.defer()
    pipeline = as_requested(request, built.pipeline, Share(world.rank, world.size).of)
    adaptation = Adaptation(
        request,
        built.implementation,
        log,
        partial(_count_correct, request, world, built, built.old_task),
    )
    adaptation.begin(world, built.facts)
    progress = (
        Progress(0, 0)
        if states.start is None
        else _restore(request, world, built.implementation, states.start)
    )
    if progress.epoch:
        log.point(
            "state_restored",
            digests(built.implementation.training_state()),
            epoch_num=progress.epoch,
        )
    for key in sorted(built.facts):
        log.point(key, built.facts[key])
    if request.accumulation > 1:
        log.point("gradient_accumulation_steps", request.accumulation)
    _log_world(log, world)
    stamps = data_stamps(world, built.pipeline)
    agreement = None  # type: Any
    if world.size > 1:
        from reference_impls.agreement import Agreement  # one rank needs no NumPy

        agreement = Agreement(request, world, built.implementation)
        log.point(
            "admission",
            dict(
                compared, **compare_training(request, world, built.implementation, built.pipeline)
            ),
        )
        _log_span(request, world, log, built.implementation)
        drops = request.cache_cleared is not False
        log.point("gradient_agreement", agreement.before_training(built.pipeline, drops))
        if request.parallel.shares == contract.SPEED:
            log.point(
                "shares_of_ranks",
                share_by_speed(request, world, built.implementation, built.pipeline),
            )
    log.stop("init_stop")
    log.start("run_start")
    training = _Training(request, world, built, pipeline, records, states.folder, agreement)
    status = training.status(progress)
    refuse_changed_data(world, stamps)
    log.stop("run_stop", status=status)
    adaptation.end()
    after = contract.resident_bytes()
    peaks = world.gather(contract.peak_rss_bytes())
    if world.rank == 0:
        log.point("peak_rss_of_ranks", peaks)
        log.point(
            "memory_parts",
            dict(
                memory_parts(before, after, training.state_bytes),
                cgroup_peak=contract.cgroup_peak_bytes(),
            ),
        )
    if request.recomputation is not None:
        log.point("recomputation", built.implementation.recomputed())
    if world.size > 1:
        _log_clocks(log, world)
        _log_heads(log, world)
    records.close()


def memory_parts(
    before: Dict[str, int], after: Dict[str, int], state_bytes: Dict[str, int]
) -> Dict[str, Optional[int]]:
    """Where the memory of rank 0 was, bytes: resident before the model was built, files mapped from
    then on, and the training state by kind.

    None where it is unknown. A GPU's memory is none of it, but the state may be there.
    """
    parts = {"framework": before.get("VmRSS"), "mapped": None}  # type: Dict[str, Optional[int]]
    if "RssFile" in before and "RssFile" in after:
        parts["mapped"] = max(0, after["RssFile"] - before["RssFile"])
    parts.update({kind: state_bytes.get(kind) for kind in KINDS})
    return parts


def _log_span(
    request: Request, world: World, log: LogWriter, implementation: Implementation
) -> None:
    """Log over how many samples this rank normalises, where the model has batch normalisation."""
    if has_statistics(implementation.training_state()):
        log.point("model_bn_span", contract.normalisation_span(request, world.rank))
    elif request.parallel.normalisation == contract.SYNCHRONISED:
        raise contract.ContractError(
            "{} has no batch normalisation to synchronise; leave --normalisation out.".format(
                request.model
            )
        )


def _restore(request: Request, world: World, implementation: Implementation, path: str) -> Progress:
    """Continue from a state of the requested training, at the end of an epoch: every rank from rank
    0's, whatever the number of ranks was.

    After an epoch all ranks' states are equal: statistics are averaged, or synchronised in every
    step.
    """
    state, progress = broadcast_state(world, path)
    if shapes(state) != shapes(implementation.training_state()):
        raise contract.ContractError("{} is the training state of another model.".format(path))
    if progress.epoch < 1 or progress.step != progress.epoch * steps_per_epoch(request):
        expected = "a whole number of epochs of {} steps".format(steps_per_epoch(request))
        raise contract.ContractError(
            "{} was taken after {} steps, not {}.".format(path, progress.step, expected)
        )
    implementation.restore(state)
    return progress


def _log_world(log: LogWriter, world: World) -> None:
    """Log the nodes of all ranks, their clock offsets and what their links carry; ends with a
    barrier."""
    log.point("ranks", world.size)
    if world.size > 1:
        if world.rank == 0:
            log.point("nodes_of_ranks", node_labels(world.nodes))
        _log_clocks(log, world)
        carried = goodputs(world)
        if carried:
            log.point("goodput_bytes_per_s", carried)
        world.allgather(None)


def node_labels(names: List[str]) -> List[str]:
    """A label for every host name: node0 for rank 0's, then node1, … as the ranks go on. Records of
    a run name no host."""
    labels = {}  # type: Dict[str, str]
    return [labels.setdefault(name, "node{}".format(len(labels))) for name in names]


def _log_clocks(log: LogWriter, world: World) -> None:
    """Rank 0 logs the clock offsets, before and after the run: their difference is the drift."""
    offsets = world.clock_offsets()
    if world.rank == 0:
        log.point("clock_offsets_ns", [list(offset) for offset in offsets])


def _log_heads(log: LogWriter, world: World, **metadata: Any) -> None:
    """Log all ranks' chain values: rank 0 logs each, the other ranks the digest of all of them, so
    that no log grows with the number of ranks."""
    heads = world.gather(log.chain)
    digest = world.bcast(contract.heads_digest(heads) if world.rank == 0 else None)
    log.point("chain_heads", heads if world.rank == 0 else digest, **metadata)


class _Training:
    """The epochs of a run, on one rank."""

    def __init__(
        self,
        request: Request,
        world: World,
        built: Built,
        pipeline: Pipeline,
        records: Records,
        folder: Optional[str],
        agreement: Any,
    ) -> None:
        self._agreement = agreement
        self._request, self._world, self._pipeline, self._records = (
            request,
            world,
            pipeline,
            records,
        )
        self._built, self._implementation = built, built.implementation
        self._log, self._folder = records.log, folder
        self._is_deferred = request.timing == contract.ASYNCHRONOUS
        self.state_bytes = {}  # type: Dict[str, int]
        self._shown = ShownSteps()

    def status(self, progress: Progress) -> str:
        """Train on from ``progress`` until the target is reached, or to the request's last epoch or
        step."""
        epoch, done = progress
        status = self._status_after(epoch, done) if epoch else None
        while status is None:
            epoch += 1
            done += self._epoch(epoch, done)
            status = self._status_after(epoch, done)
        return status

    def _status_after(self, epoch: int, done: int) -> Optional[str]:
        """Evaluate after an epoch if that is due; returns the run's status if it ends here."""
        request = self._request
        last = epoch == request.epochs or done == request.steps
        is_whole = done == epoch * steps_per_epoch(request)
        if is_whole and (last or epoch % request.eval_every_epochs == 0):
            accuracy = self._evaluate(epoch)
            if request.target_accuracy is not None and accuracy >= request.target_accuracy:
                return "success"
        if not last:
            return None
        return "aborted" if request.target_accuracy is not None else "success"

    def _epoch(self, epoch: int, done: int) -> int:
        """Run one epoch; rank 0's records are on the storage medium before ``epoch_stop`` is
        logged, the others' right after."""
        left = None if self._request.steps is None else self._request.steps - done
        self._log.start("epoch_start", epoch_num=epoch)
        records, stopped_ns = self._steps(epoch, done, left)
        self._records.steps.write(records)
        _refuse_divergence(records)
        self._log.stop("epoch_stop", epoch_num=epoch, steps=len(records), mono_ns=stopped_ns)
        if self._world.size > 1:
            _log_heads(self._log, self._world, epoch_num=epoch)
            self._log.point(
                "bucket_times",
                [time._asdict() for time in self._implementation.bucket_times()],
                epoch_num=epoch,
            )
            # synchronised ranks have equal statistics, and their digests prove it; a mean of
            # frozen ones may round
            if self._request.has_own_statistics:
                self._implementation.average_statistics(self._world.mean)
        self._log_state(Progress(epoch, done + len(records)), len(records))
        if self._agreement is not None:
            self._compare_gradients(epoch, (stopped_ns - records[0].start_ns) * SECONDS_PER_NS)
        self._records.gather()
        return len(records)

    def _log_state(self, progress: Progress, steps: int) -> None:
        """Log the epoch's learning rates and the training state's digests, and keep it where that
        is requested: evidence is in no counted time."""
        self._log.start("uncounted_start", reason="state", epoch_num=progress.epoch)
        self._log.point(
            "learning_rates",
            learning_rates(self._request, progress.step - steps, steps),
            epoch_num=progress.epoch,
        )
        state = self._implementation.training_state()
        if state:
            self.state_bytes = sizes(dict(filter(self._is_held, state.items())))
            found = digests(state)
            self._log.point("state_digests", found, epoch_num=progress.epoch)
            refuse_apart(self._world, found, progress.epoch)
            if self._folder is not None:
                self._keep(self._folder, state, progress)
        self._log.stop("uncounted_stop", reason="state", epoch_num=progress.epoch)

    def _compare_gradients(self, epoch: int, took_s: float) -> None:
        """Log how far the ranks' gradients are apart, where the comparison costs little."""
        found = self._agreement.after_epoch(took_s)
        if found is not None:
            self._log.point("gradient_agreement", found, epoch_num=epoch)

    def _is_held(self, item: Tuple[str, Any]) -> bool:
        """Whether an array of the state is in memory: what is frozen has no velocity there, and
        zeros in the state."""
        kind, _, name = item[0].partition("/")
        trains = self._request.trains
        return kind != "velocity" or trains is None or trains.is_trained(name)

    def _keep(self, folder: str, state: State, progress: Progress) -> None:
        """Write rank 0's state, and the other ranks' statistics under their names, which the format
        of kept states has (state_file)."""
        others = self._world.gather(
            {name: state[name] for name in state if name.startswith("statistic/")}
            if self._world.rank
            else {}
        )
        if self._world.rank == 0:
            of_others = {
                "rank{}/{}".format(rank, name): value
                for rank, of_rank in enumerate(others)
                for name, value in of_rank.items()
            }
            write_state(
                os.path.join(folder, state_name(progress.epoch)), dict(state, **of_others), progress
            )

    def _steps(self, epoch: int, done: int, left: Optional[int]) -> Tuple[List[StepRecord], int]:
        """The measured region: nothing but fetch, copy and step, and the clock between them; in
        asynchronous timing also reading the losses.

        Returns the records and the time of the last step's end. Starting the pipeline (its workers,
        for example) is part of the first fetch; finding it exhausted (workers end then) is after
        the last step and part of no time, and so is announcing the end.
        """
        request, rank = self._request, self._world.rank
        whole, of_updates = steps_per_epoch(request), places(request, left)
        to_device, step, accumulate = (
            self._implementation.to_device,
            self._implementation.step,
            self._implementation.accumulate,
        )
        records = []  # type: List[StepRecord]
        start_ns = stepped_ns = monotonic_ns()
        batches = iter(self._pipeline.training(epoch))
        batch = next(batches, None)
        while batch is not None:
            fetched_ns = monotonic_ns()
            on_device = to_device(batch)
            copied_ns = monotonic_ns()
            index, samples = done + len(records), len(batch.labels)
            update = next(of_updates)
            if update.is_last:
                loss, communication_s = step(
                    on_device, learning_rate(request, index), samples / update.samples
                )
            else:
                loss, communication_s = accumulate(on_device, samples / update.samples), 0.0
            stepped_ns = monotonic_ns()
            fetch_stall_s, copy_s = (
                (fetched_ns - start_ns) * SECONDS_PER_NS,
                (copied_ns - fetched_ns) * SECONDS_PER_NS,
            )
            compute_s = (stepped_ns - copied_ns) * SECONDS_PER_NS - communication_s
            records.append(
                StepRecord(
                    epoch,
                    index + 1,
                    rank,
                    samples,
                    start_ns,
                    fetch_stall_s,
                    copy_s,
                    compute_s,
                    communication_s,
                    loss,
                )
            )
            if rank == 0:
                self._shown.show(index + 1)
            if len(records) == whole and not self._is_deferred:
                self._records.steps.announce(records[0])
            # the device is not kept waiting while workers end
            if len(records) == (min(left or whole, whole) if self._is_deferred else left):
                break
            start_ns = monotonic_ns()
            batch = next(batches, None)
        return self._read(records) if self._is_deferred else (records, stepped_ns)

    def _read(self, records: List[StepRecord]) -> Tuple[List[StepRecord], int]:
        """Wait for the device: the records of submitted steps with their losses, without the parts,
        of which only submitting was timed."""
        losses = self._implementation.read([record.loss for record in records])
        stopped_ns = monotonic_ns()
        unknown = {
            "copy_s": contract.NOT_TAKEN,
            "compute_s": contract.NOT_TAKEN,
            "communication_s": contract.NOT_TAKEN,
        }
        whole = [record._replace(loss=loss, **unknown) for record, loss in zip(records, losses)]
        if len(whole) == steps_per_epoch(self._request):
            self._records.steps.announce(whole[0])
        return whole, stopped_ns

    def _evaluate(self, epoch: int) -> float:
        """Evaluate, and log the accuracy."""
        self._log.start("eval_start", epoch_num=epoch)
        correct = _count_correct(self._request, self._world, self._built, self._pipeline)
        accuracy = correct / self._request.data.eval_samples
        self._log.point("eval_accuracy", accuracy, epoch_num=epoch, correct=correct)
        self._log.stop("eval_stop", epoch_num=epoch)
        return accuracy


def _count_correct(request: Request, world: World, built: Built, pipeline: Pipeline) -> int:
    """Correct samples of an evaluation: every rank counts on its share, and all ranks receive the
    sum, so that all take the same decision."""
    implementation = built.implementation
    counts = [
        implementation.count_correct(implementation.to_device(batch))
        for batch in pipeline.evaluation()
    ]
    local = sum(implementation.read(counts) if request.timing == contract.ASYNCHRONOUS else counts)
    return sum(world.allgather(local))


def _refuse_divergence(records: List[StepRecord]) -> None:
    for record in records:
        if not math.isfinite(record.loss):
            raise contract.ContractError(
                "the loss became {} at step {} (epoch {}); use a smaller learning rate or batch"
                " size.".format(record.loss, record.step, record.epoch)
            )
