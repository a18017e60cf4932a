"""The only training loop: fetch, copy, step, time stamps, evaluate. Standard library only.

Every duration of the suite is taken here, on the monotonic clock, after the device has finished (the protocol promises
it). Nothing is written between an epoch's first fetch and its last step.
"""

import math
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from reference_impls import contract
from reference_impls.communication import World
from reference_impls.contract import SECONDS_PER_NS, Implementation, LogWriter, Pipeline, Request, StepRecord, monotonic_ns
from reference_impls.data_stalls import as_requested
from reference_impls.records import Records
from reference_impls.schedules import SCHEDULES
from reference_impls.training_state import digests


class Built(NamedTuple):
    """A framework's model on its device, its pipeline, and values for the log."""

    implementation: Implementation
    pipeline: Pipeline
    facts: Dict[str, Any]  # logged before the run: versions, thread counts, parameter count


def run(request: Request, world: World, build: Callable[[Request, World], Built]) -> None:
    """Train as requested and write the log and the step records into ``request.output_directory``.

    ``build`` makes model and pipeline; it runs inside ``init_start``/``init_stop`` and must not touch the training data.
    For the analysis of data stalls the pipeline is wrapped (reference_impls.data_stalls). An epoch that a step limit cuts short is not evaluated.
    Every rank runs this, on its share of each mini-batch.
    """
    records = Records(world, request.output_directory)
    log = records.log
    _log_request(log, request)
    log.start("init_start")
    built = build(request, world)
    pipeline = as_requested(request, built.pipeline)
    for key in sorted(built.facts):
        log.point(key, built.facts[key])
    _log_world(log, world)
    log.stop("init_stop")
    log.start("run_start")
    status = _Training(request, world, built, pipeline, records).status()
    log.stop("run_stop", status=status)
    log.point("peak_rss_of_ranks", world.allgather(contract.peak_rss_bytes()))
    if world.size > 1:
        _log_clocks(log, world)
        log.point("chain_heads", world.allgather(log.chain))
    records.close()


def _log_world(log: LogWriter, world: World) -> None:
    """Log the nodes of all ranks and their clock offsets; ends with a barrier."""
    log.point("ranks", world.size)
    if world.size > 1:
        log.point("nodes_of_ranks", world.allgather(world.node))
        _log_clocks(log, world)
        world.allgather(None)


def _log_clocks(log: LogWriter, world: World) -> None:
    """Rank 0 logs the clock offsets, before and after the run: their difference is the drift."""
    offsets = world.clock_offsets()
    if world.rank == 0:
        log.point("clock_offsets_ns", [list(offset) for offset in offsets])


def _log_request(log: LogWriter, request: Request) -> None:
    optimizer, data = request.optimizer, request.data
    for key, value in [
        ("submission_benchmark", request.workload),
        ("submission_org", request.organization),
        ("submission_division", request.division),
        ("submission_status", "research"),
        ("submission_platform", request.platform),
        ("framework", request.framework),
        ("model", request.model),
        ("data_set", data.name),
        ("cache_clear", request.cache_cleared),
        ("seed", request.seed),
        ("global_batch_size", request.global_batch_size),
        ("opt_name", optimizer.name),
        ("opt_base_learning_rate", optimizer.base_learning_rate),
        ("opt_momentum", optimizer.momentum),
        ("opt_weight_decay", optimizer.weight_decay),
        ("opt_learning_rate_schedule", optimizer.schedule),
        ("initial_weights", request.initial_weights),
        ("collective", request.parallel.collective),
        ("max_epochs", request.epochs),
        ("target_accuracy", request.target_accuracy),
        ("train_samples", data.train_samples),
        ("eval_samples", data.eval_samples),
        ("accelerator", request.accelerator),
    ]:
        log.point(key, value)


class _Training:
    """The epochs of a run, on one rank."""

    def __init__(self, request: Request, world: World, built: Built, pipeline: Pipeline, records: Records) -> None:
        self._request, self._world, self._pipeline, self._records = request, world, pipeline, records
        self._implementation, self._log = built.implementation, records.log

    def status(self) -> str:
        """Train until the target is reached, or to the request's last epoch or step."""
        request, done = self._request, 0
        for epoch in range(1, request.epochs + 1):
            steps = self._epoch(epoch, done)
            done += steps
            last = epoch == request.epochs or done == request.steps
            is_whole = steps == _steps_per_epoch(request)
            if is_whole and (last or epoch % request.eval_every_epochs == 0):
                accuracy = self._evaluate(epoch)
                if request.target_accuracy is not None and accuracy >= request.target_accuracy:
                    return "success"
            if last:
                break
        return "aborted" if request.target_accuracy is not None else "success"

    def _epoch(self, epoch: int, done: int) -> int:
        """Run one epoch; rank 0's records are on the storage medium before ``epoch_stop`` is logged, the others' right after."""
        left = None if self._request.steps is None else self._request.steps - done
        self._log.start("epoch_start", epoch_num=epoch)
        records, stopped_ns = self._steps(epoch, done, left)
        self._records.steps.write(records)
        _refuse_divergence(records)
        self._log.stop("epoch_stop", epoch_num=epoch, steps=len(records), mono_ns=stopped_ns)
        if self._world.size > 1:
            self._log.point("chain_heads", self._world.allgather(self._log.chain), epoch_num=epoch)
            self._log.point("bucket_times", [time._asdict() for time in self._implementation.bucket_times()], epoch_num=epoch)
        state = self._implementation.training_state()
        if state:
            self._log.point("state_digests", digests(state), epoch_num=epoch)
        self._records.gather()
        return len(records)

    def _steps(self, epoch: int, done: int, left: Optional[int]) -> Tuple[List[StepRecord], int]:
        """The measured region: nothing but fetch, copy and step, and the clock between them.

        Returns the records and the time of the last step's end. Starting the pipeline (its workers, for example) is part of the
        first fetch; finding it exhausted is after the last step and part of no time.
        """
        request, rank = self._request, self._world.rank
        horizon = request.epochs * _steps_per_epoch(request)
        schedule, base = SCHEDULES[request.optimizer.schedule], request.optimizer.base_learning_rate
        to_device, step = self._implementation.to_device, self._implementation.step
        sizes = _global_sizes(request)
        records = []  # type: List[StepRecord]
        start_ns = stepped_ns = monotonic_ns()
        batches = iter(self._pipeline.training(epoch))
        batch = next(batches, None)
        while batch is not None:
            fetched_ns = monotonic_ns()
            on_device = to_device(batch)
            copied_ns = monotonic_ns()
            index, samples = done + len(records), len(batch.labels)
            loss, communication_s = step(on_device, schedule(base, index, horizon), samples / next(sizes))
            stepped_ns = monotonic_ns()
            fetch_stall_s, copy_s = (fetched_ns - start_ns) * SECONDS_PER_NS, (copied_ns - fetched_ns) * SECONDS_PER_NS
            compute_s = (stepped_ns - copied_ns) * SECONDS_PER_NS - communication_s
            records.append(StepRecord(epoch, index + 1, rank, samples, start_ns, fetch_stall_s, copy_s, compute_s, communication_s, loss))
            if len(records) == left:
                break
            start_ns = monotonic_ns()
            batch = next(batches, None)
        return records, stepped_ns

    def _evaluate(self, epoch: int) -> float:
        """Evaluate: every rank counts on its share, and all ranks receive the sum, so that all take the same decision."""
        self._log.start("eval_start", epoch_num=epoch)
        count, to_device = self._implementation.count_correct, self._implementation.to_device
        local = sum(count(to_device(batch)) for batch in self._pipeline.evaluation())
        correct = sum(self._world.allgather(local))
        accuracy = correct / self._request.data.eval_samples
        self._log.point("eval_accuracy", accuracy, epoch_num=epoch, correct=correct)
        self._log.stop("eval_stop", epoch_num=epoch)
        return accuracy


def _steps_per_epoch(request: Request) -> int:
    return math.ceil(request.data.train_samples / request.global_batch_size)


def _global_sizes(request: Request) -> Iterator[int]:
    """The numbers of samples of an epoch's global mini-batches."""
    for start in range(0, request.data.train_samples, request.global_batch_size):
        yield min(request.global_batch_size, request.data.train_samples - start)


def _refuse_divergence(records: List[StepRecord]) -> None:
    for record in records:
        if not math.isfinite(record.loss):
            raise contract.ContractError(
                "the loss became {} at step {} (epoch {}); use a smaller learning rate or batch size.".format(record.loss, record.step, record.epoch)
            )
