"""What was requested: every rank's log against the request, its schedule, threads and
accelerator."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from reference_impls.contract import LOCAL, Request, log_name, normalisation_span
from reference_impls.definitions import request_facts
from reference_impls.schedules import SCHEDULES
from reference_impls.updates import learning_rates, steps_per_epoch
from suite.bundle.layout import RUN, SYSTEM
from suite.catalog.frameworks import known_frameworks
from suite.compliance.agreement import ExpectedField, logged_otherwise
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.compliance.wording import value_text

ORDER = 24  # before the log's course

AS_REQUESTED = f", as {RUN} requests"
OF_PROCESSORS = ("accelerator",)
"""Facts of the request that `processor-agrees` compares."""
SAME_FACTS = ("parameters", "framework_version", "ranks")
"""What every rank logs as rank 0 does."""
RATE_TOLERANCE = 1e-9
CPU_BUILD = "+cpu"
"""End of the version of a package that was built without CUDA."""


def _rank_0_request(context: BundleContext) -> Violations:
    """Check that rank 0's log repeats the request."""
    return logged_otherwise("log.txt", context.log, _facts(context))


def _other_ranks_requests(context: BundleContext) -> Violations:
    """Check that every other rank's log repeats the request, and what rank 0 logged of model and
    framework."""
    same = [ExpectedField(key, context.log.value(key), ", as rank 0 logged") for key in SAME_FACTS]
    for rank, log in context.logs():
        if rank:
            yield from logged_otherwise(log_name(rank), log, (*_facts(context), *same))


def _facts(context: BundleContext) -> Iterator[ExpectedField]:
    for key, value in request_facts(context.request):
        if key not in OF_PROCESSORS:
            yield ExpectedField(key, value, AS_REQUESTED)


def _rates(context: BundleContext) -> Violations:
    """Check every rank's learning rates of each epoch: the first, the last and the mean of the
    requested schedule."""
    request = context.request
    if request.optimizer.schedule not in SCHEDULES:
        return
    per_epoch, of_schedule = steps_per_epoch(request), _scheduled(request)
    for rank, log in context.logs():
        steps_of = {stop.epoch: stop.metadata.get("steps") for stop in log.all("epoch_stop")}
        for event in log.all("learning_rates"):
            epoch, steps = event.epoch, steps_of.get(event.epoch)
            if (
                epoch is None
                or type(steps) is not int
                or not 1 <= epoch <= request.epochs
                or not 1 <= steps <= per_epoch
            ):
                continue  # rules about epochs report it
            wanted = _wanted_rates(of_schedule, (epoch - 1) * per_epoch, steps)
            if not _is_near(event.value, wanted):
                expected = (
                    f"learning rates of epoch {epoch} (first, last, mean) as the schedule"
                    f" {request.optimizer.schedule!r} gives them: "
                )
                expected += ", ".join(f"{value:.6g}" for value in wanted)
                yield Violation(log_name(rank), expected, f"{event.value!r}", event.line)


def _scheduled(request: Request) -> Request:
    """The request with nothing but what its learning rates follow from: the same for all seeds."""
    kept: Request = _with_only(
        request, "data", "global_batch_size", "accumulation", "epochs", "optimizer"
    )
    return kept._replace(
        data=_with_only(request.data, "train_samples"),
        optimizer=_with_only(request.optimizer, "schedule", "base_learning_rate"),
    )


def _with_only(part: Any, *names: str) -> Any:
    return part._replace(**{name: None for name in part._fields if name not in names})


_wanted_rates = lru_cache(maxsize=1024)(learning_rates)
"""As :func:`learning_rates`, which takes milliseconds: runs of a folder share schedules."""


def _is_near(value: Any, wanted: Sequence[float]) -> bool:
    if not isinstance(value, list) or len(value) != len(wanted) or not all(map(is_number, value)):
        return False
    return all(
        abs(one - other) <= RATE_TOLERANCE * max(abs(other), 1e-12)
        for one, other in zip(value, wanted, strict=True)
    )


def _span(context: BundleContext) -> Violations:
    """Check the samples over which every rank says that it normalised; ranks that synchronise must
    say it."""
    kind = context.request.parallel.normalisation
    for rank, log in context.logs() if context.request.parallel.ranks > 1 else ():
        why = f", the number of samples over which rank {rank} normalises ({kind})"
        row = ExpectedField("model_bn_span", normalisation_span(context.request, rank), why)
        yield from logged_otherwise(log_name(rank), log, (row,), may_lack=kind == LOCAL)


def _processor(context: BundleContext) -> Violations:
    """Check threads and accelerator: request, log, and what the device has."""
    request, log, device = context.request, context.log, context.device
    if isinstance(log.value("framework_threads"), int):
        threads = f"the requested number of threads (--threads {value_text(request.threads)})"
        fix = f"let the implementation use {threads}, and run again"
        row = ExpectedField("framework_threads", request.threads, AS_REQUESTED, fix)
        yield from logged_otherwise("log.txt", log, (row,))
    row = ExpectedField("accelerator", request.accelerator, AS_REQUESTED)
    yield from logged_otherwise("log.txt", log, (row,))
    if (
        device is not None
        and not device.is_fallback
        and device.gpu is None
        and request.accelerator != "cpu"
    ):
        expected = f"accelerator = 'cpu': {device.title} has no GPU for training"
        yield Violation(RUN, expected, f"{request.accelerator!r}")


def _build(context: BundleContext) -> Violations:
    """Check that a run on a GPU was of a build that can use one."""
    own = known_frameworks().get(context.request.framework)
    libraries = context.system.get("libraries")
    if context.request.accelerator != "cuda" or own is None or not isinstance(libraries, Mapping):
        return
    for name, version in libraries.items():
        if name in own.packages and str(version).endswith(CPU_BUILD):
            expected = (
                "a build of the framework that can use a GPU (`suite env create` installs it)"
            )
            yield Violation(SYSTEM, expected, f"{name} {version}")


RULES = (
    Rule(
        "log-agrees",
        "Every rank's log states the requested workload, division, data, seed, sizes and"
        " hyperparameters, and the same framework version and number of parameters as rank 0's log."
        " Every rank's learning rates follow the requested schedule, and every rank normalises over"
        " the requested number of samples.",
        "The run that was made must be the run that was requested, on every rank. If a rank trained"
        " with another schedule, its learning rates would show it. Batch normalisation over another"
        " number of samples converges differently.",
        TRAINING_LOOP,
        (
            OfBundle("log-agrees-with-request", _rank_0_request),
            OfBundle("ranks-request", _other_ranks_requests),
            OfBundle("learning-rates", _rates),
            OfBundle("normalisation-span", _span),
        ),
    ),
    Rule(
        "processor-agrees",
        "The log has the requested number of threads and the requested accelerator. If a GPU is"
        " requested, the device's profile has one, and the framework is a build that can use it.",
        "Runs with different numbers of threads are different results, and so are runs on the"
        " processor and runs on the GPU. A package whose version ends with +cpu was built without"
        " CUDA, so it cannot have trained on a GPU.",
        "give --threads and --accelerator values that the machine has and the framework can use,"
        " run again, and hand in the files as the run wrote them",
        (
            OfBundle("processor-agrees", _processor),
            OfBundle("accelerator-build", _build),
        ),
    ),
)
