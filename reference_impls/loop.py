"""The only training loop: fetch, copy, step, time stamps, evaluate. Standard library only.

Every duration of the suite is taken here, on the monotonic clock, after the device has finished (the protocol promises
it). Nothing is written between an epoch's first fetch and its last step.
"""

import math
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from reference_impls import contract
from reference_impls.contract import Implementation, LogWriter, Pipeline, Request, StepRecord, StepWriter, monotonic_ns
from reference_impls.data_stalls import as_requested
from reference_impls.schedules import SCHEDULES

NANO = 1e-9


class Built(NamedTuple):
    """What a framework hands over: the model on its device, where batches come from, and what the log should say of it."""

    implementation: Implementation
    pipeline: Pipeline
    facts: Dict[str, Any]  # logged before the run: versions, thread counts, parameter count


def run(request: Request, build: Callable[[Request], Built]) -> None:
    """Train as requested and write the log and the step records into ``request.output_directory``.

    ``build`` makes model and pipeline; it runs inside ``init_start``/``init_stop`` and must not touch the training data.
    For the analysis of data stalls the pipeline is wrapped as the request says. An epoch that a step limit cuts short is not evaluated.
    """
    log = LogWriter(os.path.join(request.output_directory, contract.log_name(0)))
    steps = StepWriter(os.path.join(request.output_directory, contract.steps_name(0)))
    _log_request(log, request)
    log.start("init_start")
    built = build(request)
    pipeline = as_requested(request, built.pipeline)
    for key in sorted(built.facts):
        log.point(key, built.facts[key])
    log.stop("init_stop")
    log.start("run_start")
    status = _train(request, built.implementation, pipeline, log, steps)
    log.stop("run_stop", status=status)
    steps.close()
    log.close()


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
        ("max_epochs", request.epochs),
        ("target_accuracy", request.target_accuracy),
        ("train_samples", data.train_samples),
        ("eval_samples", data.eval_samples),
    ]:
        log.point(key, value)


def _train(request: Request, implementation: Implementation, pipeline: Pipeline, log: LogWriter, steps: StepWriter) -> str:
    done = 0
    for epoch in range(1, request.epochs + 1):
        records = _epoch(request, implementation, pipeline, log, steps, epoch, done)
        done += len(records)
        last = epoch == request.epochs or done == request.steps
        is_whole = len(records) == _steps_per_epoch(request)
        if is_whole and (last or epoch % request.eval_every_epochs == 0):
            accuracy = _evaluate(request, implementation, pipeline, log, epoch)
            if request.target_accuracy is not None and accuracy >= request.target_accuracy:
                return "success"
        if last:
            break
    return "aborted" if request.target_accuracy is not None else "success"


def _epoch(
    request: Request, implementation: Implementation, pipeline: Pipeline, log: LogWriter, steps: StepWriter, epoch: int, done: int
) -> List[StepRecord]:
    """Run one epoch; its records are on the storage medium before ``epoch_stop`` is logged."""
    left = None if request.steps is None else request.steps - done
    log.start("epoch_start", epoch_num=epoch)
    records, stopped_ns = _steps(request, implementation, pipeline, epoch, done, left)
    steps.write(records)
    _refuse_divergence(records)
    log.stop("epoch_stop", epoch_num=epoch, steps=len(records), mono_ns=stopped_ns)
    return records


def _steps(
    request: Request, implementation: Implementation, pipeline: Pipeline, epoch: int, done: int, left: Optional[int]
) -> Tuple[List[StepRecord], int]:
    """The measured region: nothing but fetch, copy and step, and the clock between them.

    Returns the records and the time of the last step's end. Starting the pipeline (its workers, say) counts into the
    first fetch; finding it exhausted is after the last step and counts nowhere.
    """
    horizon = request.epochs * _steps_per_epoch(request)
    schedule, base = SCHEDULES[request.optimizer.schedule], request.optimizer.base_learning_rate
    to_device, step = implementation.to_device, implementation.step
    records = []  # type: List[StepRecord]
    start_ns = stepped_ns = monotonic_ns()
    batches = iter(pipeline.training(epoch))
    batch = next(batches, None)
    while batch is not None:
        fetched_ns = monotonic_ns()
        on_device = to_device(batch)
        copied_ns = monotonic_ns()
        index = done + len(records)
        loss, comm_s = step(on_device, schedule(base, index, horizon))
        stepped_ns = monotonic_ns()
        fetch_s, h2d_s = (fetched_ns - start_ns) * NANO, (copied_ns - fetched_ns) * NANO
        compute_s = (stepped_ns - copied_ns) * NANO - comm_s
        records.append(StepRecord(epoch, index + 1, 0, len(batch.labels), start_ns, fetch_s, h2d_s, compute_s, comm_s, loss))
        if len(records) == left:
            break
        start_ns = monotonic_ns()
        batch = next(batches, None)
    return records, stepped_ns


def _steps_per_epoch(request: Request) -> int:
    return math.ceil(request.data.train_samples / request.global_batch_size)


def _refuse_divergence(records: List[StepRecord]) -> None:
    for record in records:
        if not math.isfinite(record.loss):
            raise contract.ContractError(
                "the loss became {} at step {} (epoch {}); use a smaller learning rate or batch size.".format(record.loss, record.step, record.epoch)
            )


def _evaluate(request: Request, implementation: Implementation, pipeline: Pipeline, log: LogWriter, epoch: int) -> float:
    log.start("eval_start", epoch_num=epoch)
    correct = sum(implementation.count_correct(implementation.to_device(batch)) for batch in pipeline.evaluation())
    accuracy = correct / request.data.eval_samples
    log.point("eval_accuracy", accuracy, epoch_num=epoch, correct=correct)
    log.stop("eval_stop", epoch_num=epoch)
    return accuracy
