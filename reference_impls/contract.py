"""The contract between the harness and an implementation: a request file in, a log and step records
out.

Standard library only and Python 3.6 grammar, because this file also runs on a Jetson Nano's
interpreter and because a vendor's implementation, in any language, may replace the reference by
using the same three files:

``request.json``
    the training run, completely resolved: the implementation applies no defaults (see
    :class:`Request`).
``log.txt``
    one event per line in MLPerf's line format (see :class:`LogWriter`), chained by SHA-256. The
    harness begins it with the facts of the request; the implementation appends.
    reference_impls.definitions has every key.
``steps.csv``
    one row per mini-batch (see :data:`STEP_COLUMNS`), flushed before the epoch's ``epoch_stop`` is
    logged.

In a run of several ranks each rank has a log and step records. Those of ranks other than 0 are
``log.rank<r>.txt`` and ``steps.rank<r>.csv``, gathered in rank 0's folder at the end of every
epoch. ``--ranks N`` is the number of ranks; only rank 0 can read the request.
"""

import abc
import fnmatch
import hashlib
import json
import os
import sys
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from reference_impls.training_state import has_statistics

CONTRACT_VERSION = 2
REQUEST_NAME = "request.json"
TOKEN = ":::MLLOG "
FIRST_LINK = "0" * 64
SECONDS_PER_NS, NS_PER_S = 1e-9, 1000000000


class ContractError(Exception):
    """A violation of the contract; the message says what happened, where, and what to do next."""


class Optimizer(NamedTuple):
    """SGD with momentum, PyTorch's convention: ``v = m v + (g + weight_decay w)``; ``w -=
    learning_rate v``."""

    name: str  # sgd
    base_learning_rate: float  # of the schedule
    momentum: float
    weight_decay: float
    schedule: str  # a name in reference_impls.schedules


class DataSet(NamedTuple):
    """The prepared data set: files in ``directory``, in its canonical layout."""

    name: str  # a name in rules/datasets
    directory: str  # of its files
    layout: str  # idx, cifar10, gld23k or imagefolder (reference_impls.data.pipelines)
    classes: int
    train_samples: int
    eval_samples: int
    verified: bool  # checksums prove that it is the published data set
    synthetic: bool  # generated, in the layout of the data set of that name
    # side of the squares that the model reads, pixels; None: the layout's own (photographs: 224);
    # then the request file has no such key
    side: Optional[int] = None


class Preprocessing(NamedTuple):
    """Per-channel normalisation of pixels scaled to [0, 1]: ``(pixel / 255 - mean) / std``, after
    an augmentation of training images."""

    mean: List[float]  # one per channel
    std: List[float]  # one per channel
    augmentation: str  # none, crop_flip or resized_crop: see the readers


class Loading(NamedTuple):
    """Data loading: number of worker processes (0: the training process itself), and mini-batches
    that each prefetches."""

    workers: int  # processes that load data; 0: the training process
    prefetch: int  # mini-batches that each prepares ahead


LOCAL, SYNCHRONISED = "local", "synchronised"
"""Values of Parallel.normalisation."""

EXACT, FLOAT16, BFLOAT16 = "exact", "float16", "bfloat16"
"""Values of Parallel.wire."""

EQUAL, SPEED = "equal", "speed"
"""Values of Parallel.shares."""

FLOAT32, TF32, BF16_MIXED, FP16_MIXED = "float32", "tf32", "bf16-mixed", "fp16-mixed"
PRECISIONS = (FLOAT32, TF32, BF16_MIXED, FP16_MIXED)
"""Values of Request.precision: reference_impls.arithmetic says what each computes in."""

WAITING, ASYNCHRONOUS = "synchronised", "asynchronous"
TIMINGS = (WAITING, ASYNCHRONOUS)
"""Values of Request.timing: when the loop waits for the device (reference_impls.definitions.TIMINGS
says it in words)."""

NOT_TAKEN = float("nan")
"""A part of a step whose time was not taken: null in the table of steps."""


class Parallel(NamedTuple):
    """Data parallelism: the number of ranks, the all-reduce of their gradients, and what batch
    normalisation takes its statistics over."""

    ranks: int  # processes that train
    nodes: int  # machines
    # none on one rank; mpi: reference_impls.communication; native: the framework's own
    collective: str
    bucket_bytes: int  # size of the buckets in which gradients are summed
    overlap: bool  # sum gradients during the backward pass, where the framework allows it
    # batch normalisation over a rank's own samples (local), or over the whole mini-batch
    # (synchronised)
    normalisation: str = LOCAL
    # numbers in which gradients are sent: as they are computed (exact), float16 or bfloat16
    wire: str = EXACT
    # each rank's share of a mini-batch: equal, or by the ranks' speeds, measured before the first
    # step (reference_impls.shares); the request file has no such key for equal
    shares: str = EQUAL


class Recomputation(NamedTuple):
    """Training in a budget of memory: the network's blocks, and the schedule that says what is kept
    of which block when, and what is run again."""

    budget_bytes: int  # memory that the training process may take
    planned_bytes: int  # its highest resident memory by the plan
    # time of a forward and backward pass by the plan, divided by that without recomputation
    planned_factor: float
    schedule: str  # the schedule's name
    # of each block: positions of its first and its last operation in the network's trace
    blocks: List[List[int]]
    # [action, block] or ["keep", block, positions of operations that run again], in the order of a
    # step
    actions: List[List[Any]]
    # on storage, for the activations of blocks that the schedule spills; None: it spills none
    spill_folder: Optional[str] = None
    planned_spill_bytes: int = 0  # written to it in a step, and read again
    # planned_factor of the schedule that only recomputes; None: none fits, or nothing is spilled
    factor_without_spill: Optional[float] = None

    @property
    def instead_of_spilling(self) -> str:
        """What a user can do whose activations find no storage."""
        if self.factor_without_spill is None:
            return "give a larger --memory-budget"
        return "leave --spill out, which recomputes at a factor of {:.2f}".format(
            self.factor_without_spill
        )


FROZEN, UPDATED = "frozen", "updated"
"""Values of Trains.statistics."""


class Start(NamedTuple):
    """Where training begins, if not with the seed's weights: with the parameters and statistics of
    a checkpoint. Velocities are zero."""

    checkpoint: str  # a name in rules/checkpoints
    path: str  # of its training state (reference_impls.state_file)
    # patterns of names (fnmatch): parameters that the seed draws, in streams of their own
    fresh: List[str]

    def is_fresh(self, name: str) -> bool:
        """Whether the seed draws a parameter."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.fresh)


class Trains(NamedTuple):
    """The part of a model that is trained. Everything else stays as it was at the start, without
    weight decay."""

    parameters: List[str]  # patterns of names (fnmatch)
    # of batch normalisation: used as they are (frozen), or taken from every mini-batch (updated)
    statistics: str

    def is_trained(self, name: str) -> bool:
        """Whether a parameter is trained."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.parameters)


class Request(NamedTuple):
    """One training run, completely resolved. Times are in seconds, sizes in samples, unless the
    name says otherwise."""

    contract_version: int  # CONTRACT_VERSION
    workload: str  # a name in rules/workloads
    model: str  # the model to train
    framework: str  # name of the framework or implementation
    division: str  # closed or open
    organization: str  # who submits
    platform: str  # the device profile's name
    seed: int  # of initial weights and sample order
    epochs: int  # maximum number of epochs, and the horizon of the learning-rate schedule
    # stop after this number of mini-batches; an epoch that this cuts short is not evaluated, one
    # that ends with it is; None: run whole epochs
    steps: Optional[int]
    # evaluate after every n-th epoch, and after the run's last one where it is whole
    eval_every_epochs: int
    target_accuracy: Optional[float]  # fraction of eval samples; the run stops when it is reached
    global_batch_size: int  # samples of a mini-batch, over all ranks
    optimizer: Optimizer
    initial_weights: str  # a name in reference_impls.initial_weights
    data: DataSet
    preprocessing: Preprocessing
    loading: Loading
    parallel: Parallel
    # "read" from the data set, or "synthetic": the same one, from memory
    # (reference_impls.data_stalls)
    batches: str
    # drop the data set from the page cache after every epoch, so that each one is cold
    drop_cache_every_epoch: bool
    accelerator: str  # "cpu" or "cuda"
    threads: int  # that compute, per rank
    cache_cleared: Optional[bool]  # the page cache was emptied before the run; None: unknown
    output_directory: str  # of log and step records
    # None: everything is kept; then the request file has no such key
    recomputation: Optional[Recomputation] = None
    # of products and convolutions; the request file has no such key for float32
    precision: str = FLOAT32
    # mini-batches whose gradients are summed for one update; the request file has no such key for 1
    accumulation: int = 1
    # when the loop waits for the device (TIMINGS); the request file has no such key for
    # synchronised
    timing: str = WAITING
    # None: the seed's weights; then the request file has no such key, and so for the next two
    start: Optional[Start] = None
    # None: the whole model
    trains: Optional[Trains] = None
    # what the checkpoint was trained for, evaluated before and after training, in no counted time;
    # None: nothing is
    old_task: Optional[DataSet] = None

    @property
    def has_own_statistics(self) -> bool:
        """Whether each rank takes the statistics of batch normalisation, if the model has any, from
        its own samples."""
        is_frozen = self.trains is not None and self.trains.statistics == FROZEN
        return self.parallel.normalisation == LOCAL and not is_frozen


ADDED = frozenset(
    [
        "normalisation",
        "wire",
        "shares",
        "recomputation",
        "precision",
        "accumulation",
        "timing",
        "start",
        "trains",
        "old_task",
        "spill_folder",
        "planned_spill_bytes",
        "factor_without_spill",
        "side",
    ]
)
"""Keys that requests of earlier versions lack: these runs were as the default says."""

_NESTED = {
    "optimizer": Optimizer,
    "data": DataSet,
    "preprocessing": Preprocessing,
    "loading": Loading,
    "parallel": Parallel,
    "recomputation": Recomputation,
    "start": Start,
    "trains": Trains,
    "old_task": DataSet,
}
# values that a request file has no key for
_LEFT_OUT = {
    "recomputation": None,
    "precision": FLOAT32,
    "accumulation": 1,
    "timing": WAITING,
    "start": None,
    "trains": None,
    "old_task": None,
    "side": None,
    "shares": EQUAL,
}


def request_to_dict(request: Request) -> Dict[str, Any]:
    """The request as plain JSON values; the inverse of :func:`request_from_dict`."""
    values = _written(request)
    return {key: _written(value) if key in _NESTED else value for key, value in values.items()}


def _written(values: Any) -> Dict[str, Any]:
    return {
        key: value
        for key, value in values._asdict().items()
        if key not in _LEFT_OUT or value != _LEFT_OUT[key]
    }


def request_from_dict(values: Dict[str, Any], where: str = REQUEST_NAME) -> Request:
    """Build a request, refusing unknown and missing keys by name."""
    if not isinstance(values, dict):
        raise ContractError("{}: the request must be a JSON object.".format(where))
    if values.get("contract_version") != CONTRACT_VERSION:
        raise ContractError(
            "{}: contract_version is {!r}, this implementation supports {}; use a matching version"
            " of the suite.".format(where, values.get("contract_version"), CONTRACT_VERSION)
        )
    plain = {
        key: _build(_NESTED[key], value, "{}: {}".format(where, key)) if key in _NESTED else value
        for key, value in values.items()
    }
    request = _build(Request, plain, where)  # type: Request
    return request


def _build(kind: Any, values: Dict[str, Any], where: str) -> Any:
    if not isinstance(values, dict):
        raise ContractError("{}: expected an object.".format(where))
    unknown, missing = (
        sorted(set(values) - set(kind._fields)),
        sorted(set(kind._fields) - set(values) - ADDED),
    )
    if unknown or missing:
        raise ContractError("{}: unknown keys {}, missing keys {}.".format(where, unknown, missing))
    return kind(**values)


def normalisation_span(request: Request, rank: int) -> int:
    """Samples of a whole mini-batch over which batch normalisation takes a rank's statistics: the
    event ``model_bn_span``."""
    if request.parallel.normalisation == SYNCHRONISED:
        return request.global_batch_size
    return len(range(rank, request.global_batch_size, request.parallel.ranks))


def as_requested(request: Request) -> Dict[str, str]:
    """What is trained, for the log, by an implementation that trains the requested model with the
    requested optimizer and precision."""
    return {
        "model_trained": request.model,
        "optimizer_used": request.optimizer.name,
        "precision": request.precision,
    }


def read_request(path: str) -> Request:
    """Read ``request.json``; raises :class:`ContractError` naming the file and the key that is
    wrong."""
    try:
        with open(path, encoding="utf-8") as stream:
            return request_from_dict(json.load(stream), path)
    except (OSError, ValueError) as error:
        raise ContractError("{}: the request cannot be read: {}.".format(path, error)) from error


def monotonic_ns() -> int:
    """CLOCK_MONOTONIC in nanoseconds: the same clock in every process of one boot, so readings and
    steps align."""
    if hasattr(time, "monotonic_ns"):
        return time.monotonic_ns()
    return int(time.monotonic() * 1e9)


class Batch(NamedTuple):
    """A mini-batch on the host: images float32 (samples, ...), labels int64 (samples,)."""

    images: Any
    labels: Any


class StepResult(NamedTuple):
    """The result of one optimiser step, after the device has finished."""

    loss: float  # mean over this rank's mini-batch, before the update
    communication_s: float  # exposed (non-overlapped) gradient exchange; 0.0 on one rank


class Implementation(abc.ABC):
    """A model on a device, in some framework; the loop calls these methods and takes every time
    stamp.

    Each method returns when the device has finished, unless :meth:`defer` was called.
    """

    @abc.abstractmethod
    def to_device(self, batch: Batch) -> Any:
        """Copy a host mini-batch to the device; return when the copy has finished. The result is
        passed to the two methods below."""

    @abc.abstractmethod
    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        """Forward, backward and optimiser update; return when the device has finished.

        ``share`` is this rank's fraction of the global mini-batch's samples, the weight of its mean
        gradient; 1.0 on one rank. After :meth:`accumulate`, the update is by the sum of the kept
        gradients and this mini-batch's, and ``share`` as there.
        """

    def accumulate(self, device_batch: Any, share: float) -> float:
        """Forward and backward without an update: keep the mean gradient, times ``share``, for the
        next :meth:`step`; return the mean loss when the device has finished.

        ``share`` is the fraction of the samples of all ranks and mini-batches of the update. Called
        where the request has an accumulation only.
        """
        raise ContractError(
            "this implementation cannot accumulate gradients; leave --accumulate out."
        )

    @abc.abstractmethod
    def count_correct(self, device_batch: Any) -> int:
        """Number of correctly classified samples of an evaluation mini-batch (inference mode)."""

    def defer(self) -> None:
        """From now on to_device, step, accumulate and count_correct submit their work and do not
        wait for the device, and losses and counts stay where they are until :meth:`read`.

        Called once, before training, where the request's timing is asynchronous.
        """
        raise ContractError(
            "this implementation waits for the device in every step; use `--timing synchronised`,"
            " or give it defer and read."
        )

    def read(self, values: List[Any]) -> List[float]:
        """Wait for the device, and return the numbers of these losses or counts. Called after
        :meth:`defer`, at the end of an epoch or evaluation."""
        raise ContractError(
            "this implementation waits for the device in every step; use `--timing synchronised`,"
            " or give it defer and read."
        )

    def probabilities(self, device_batch: Any) -> Any:
        """The classes' probabilities, float32 (samples, classes) on the host, in inference mode;
        labels are ignored.

        Called by `suite viewpoint` only.
        """
        raise ContractError(
            "this implementation does not give class probabilities; it has no method probabilities."
        )

    def training_state(self) -> Dict[str, Any]:
        """Copies on the host of everything that training continues from, in the canonical form of
        reference_impls.training_state.

        Called after every epoch, in no counted time. Empty: no digest is logged, and the run cannot
        be in the closed division.
        """
        return {}

    def restore(self, state: Any) -> None:
        """Continue from a state as :meth:`training_state` returns it, of any framework: copy its
        arrays into parameters, optimizer and statistics.

        Called before training. The names and axes are those of this implementation's own state; an
        array is a read-only buffer.
        """
        raise ContractError(
            "this implementation cannot continue from a training state; it has no method restore."
        )

    def gradients(self, device_batch: Any) -> Dict[str, Any]:
        """This rank's own gradients of a mini-batch's mean loss, by parameter, as arrays on the
        host: parameters and velocities stay as they are. Other ranks take part only in
        synchronised statistics; no :meth:`step` counts the wait for them.

        Called before the first step and after epochs of several ranks, which compare them
        (reference_impls.agreement); those of an implementation without this method are not.
        """
        return {}

    def average_statistics(self, mean: Callable[[List[Any]], None]) -> None:
        """Replace the statistics of batch normalisation by their means over all ranks: call
        ``mean`` with them as contiguous float32 arrays, which it overwrites, and write them back.

        Called after every epoch of several ranks that normalise locally, so that the evaluated
        model is the same on all of them. Synchronised ranks have equal statistics.
        """
        if has_statistics(self.training_state()):
            raise ContractError(
                "this implementation has statistics of batch normalisation, and no method"
                " average_statistics for several ranks."
            )

    def recomputed(self) -> Optional[Dict[str, Any]]:
        """What the schedule of recomputation did in all steps, for the event ``recomputation``;
        None without a schedule.

        ``blocks``; ``forwards`` and ``backwards``, runs of blocks; ``operations_again``, operations
        that backward passes ran again for outputs that a block was kept without; ``spilled_bytes``,
        written to storage; ``passes_s``, the time of all forward and backward passes, ``again_s``,
        the part of it in blocks and operations that had run in their step before, and
        ``storage_s``, the part of it that writing to storage and reading took. A time is None where
        it was not taken.
        """
        return None

    def bucket_times(self) -> List[Any]:
        """Times of each bucket's exchanges since the last call
        (reference_impls.communication.BucketTime); empty on one rank."""
        return []


class Pipeline(abc.ABC):
    """The source of mini-batches; the time that ``next`` takes on these iterables is the fetch
    stall."""

    @abc.abstractmethod
    def training(self, epoch: int) -> Iterable[Batch]:
        """The mini-batches of one epoch (1, 2, ...), in the order that the seed gives."""

    @abc.abstractmethod
    def evaluation(self) -> Iterable[Batch]:
        """The evaluation set, every sample once."""

    def share(self, seconds: Tuple[float, ...]) -> None:
        """From now on take the samples that reference_impls.shares.Share gives to this rank, of
        which each takes these seconds for a sample; also of an evaluation.

        Called before the first epoch, where the request's shares follow the ranks' speeds.
        """
        raise ContractError("this implementation shares samples equally; leave --shares out.")

    def files(self) -> List[str]:
        """Paths of all files that these mini-batches are read from: those of several nodes are
        compared before the first step (admission)."""
        return []


STEP_COLUMNS = (
    "epoch",
    "step",
    "rank",
    "samples",
    "start_ns",
    "fetch_stall_s",
    "copy_s",
    "compute_s",
    "communication_s",
    "loss",
)


class StepRecord(NamedTuple):
    """The times of one mini-batch; ``start_ns`` is the monotonic clock at the start of its fetch.

    In asynchronous timing copy, compute and communication are NOT_TAKEN: a step has been submitted
    when the next one's fetch starts.
    """

    epoch: int
    step: int  # 1, 2, ... over the whole run
    rank: int
    samples: int
    start_ns: int
    fetch_stall_s: float
    copy_s: float
    compute_s: float
    communication_s: float
    loss: float


def log_name(rank: int) -> str:
    """File name of a rank's log inside the output directory."""
    return "log.txt" if rank == 0 else "log.rank{}.txt".format(rank)


def steps_name(rank: int) -> str:
    """File name of a rank's step records inside the output directory."""
    return "steps.csv" if rank == 0 else "steps.rank{}.csv".format(rank)


def boot_id(root: str = "/") -> Optional[str]:
    """The kernel's id of this boot, without which monotonic times of two logs cannot be compared;
    None if unknown."""
    try:
        with open(os.path.join(root, "proc/sys/kernel/random/boot_id")) as stream:
            return stream.read().strip()
    except OSError:
        return None


def peak_rss_bytes(root: str = "/") -> Optional[int]:
    """Peak resident memory of this process so far: the kernel's high-water mark (proc(5), VmHWM);
    None if unknown."""
    try:
        with open(os.path.join(root, "proc/self/status")) as stream:
            return next(
                (int(line.split()[1]) * 1024 for line in stream if line.startswith("VmHWM:")), None
            )
    except OSError:
        return None


def resident_bytes(root: str = "/") -> Dict[str, int]:
    """Resident memory of this process now, ``VmRSS``, and the part of it that is mapped files,
    ``RssFile`` (proc(5)); empty if unknown."""
    try:
        with open(os.path.join(root, "proc/self/status")) as stream:
            lines = [line.split(":") for line in stream if line.startswith(("VmRSS:", "RssFile:"))]
    except OSError:
        return {}
    return {name: int(value.split()[0]) * 1024 for name, value in lines}


OWN_CGROUP = "edge-training-suite-"
"""How the names of the cgroups begin that the suite makes for one run."""


def cgroup_peak_bytes(root: str = "/") -> Optional[int]:
    """Most memory that this process's cgroup was charged with, pages of files included; None where
    the group is not one run's own.

    Version 1 keeps it from the start, version 2 since Linux 5.19.
    """
    try:
        with open(os.path.join(root, "proc/self/cgroup")) as stream:
            lines = [line.strip().split(":", 2) for line in stream]
        for _, controllers, group in lines:
            if os.path.basename(group).startswith(OWN_CGROUP) and controllers in ("", "memory"):
                place = (
                    ("memory", "memory.max_usage_in_bytes") if controllers else ("", "memory.peak")
                )
                with open(
                    os.path.join(root, "sys/fs/cgroup", place[0], group.lstrip("/"), place[1])
                ) as stream:
                    return int(stream.read())
    except (OSError, ValueError):
        return None
    return None


def link(previous: str, line: str) -> str:
    """The chain value of a log line: SHA-256 over the previous line's value and this line without
    its own."""
    return hashlib.sha256((previous + line).encode("utf-8")).hexdigest()


def heads_digest(heads: List[str]) -> str:
    """SHA-256 of all ranks' chain values, in the order of the ranks, one per line: what the ranks
    other than 0 log of them."""
    return hashlib.sha256("\n".join(heads).encode("utf-8")).hexdigest()


_LINK_PREFIX, _LINK_SUFFIX = ', "chain": "', '"}}'


def chained(previous: str, line: str) -> Tuple[str, str]:
    """Append the chain value as the metadata's last field; returns (the line to write, its chain
    value)."""
    value = link(previous, line)
    return line[: -len("}}")] + _LINK_PREFIX + value + _LINK_SUFFIX, value


def unchained(line: str) -> Tuple[str, Optional[str]]:
    """The inverse of :func:`chained`: (the line without its chain value, the value or None)."""
    cut = len(line) - len(_LINK_SUFFIX) - len(FIRST_LINK)
    if not (line.endswith(_LINK_SUFFIX) and line[:cut].endswith(_LINK_PREFIX)):
        return line, None
    return line[: cut - len(_LINK_PREFIX)] + "}}", line[cut : -len(_LINK_SUFFIX)]


def last_link(path: str) -> Optional[str]:
    """The chain value of the last line of a log that was begun; None if there is no such file.
    Raises ContractError for another file."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    value = unchained(lines[-1])[1] if lines else None
    if value is None:
        raise ContractError(
            "{}: the last line is not an event with a chain value;"
            " start in a new run directory.".format(path)
        )
    return value


class RecordFile:
    """An append-only file, a new one unless it ``exists``; :meth:`write` flushes to the kernel,
    :meth:`sync` to the storage medium."""

    def __init__(self, path: str, exists: bool = False) -> None:
        self._stream = open(path, "a" if exists else "x", encoding="utf-8")

    def write(self, text: str) -> None:
        """Append."""
        self._stream.write(text)
        self._stream.flush()

    def sync(self) -> None:
        """fsync."""
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self.sync()
        self._stream.close()


class Outbox:
    """Records kept in memory until rank 0 gathers them."""

    def __init__(self) -> None:
        self._parts = []  # type: List[str]

    def write(self, text: str) -> None:
        """Append."""
        self._parts.append(text)

    def sync(self) -> None:
        """Nothing to do: rank 0 writes and syncs them."""

    def close(self) -> None:
        """Nothing to close."""

    def take(self) -> str:
        """The text written since the last call."""
        text, self._parts = "".join(self._parts), []
        return text


Sink = Union[RecordFile, Outbox]


class LogWriter:
    """Appends events to a rank's log, each flushed, so that a killed run keeps every finished line.

    The line is MLPerf's: ``:::MLLOG
    {"namespace","time_ms","event_type","key","value","metadata"}``. ``metadata`` adds ``mono_ns``,
    ``rank``, ``boot`` and, last, ``chain`` (:func:`link`). ``begun`` is the last chain value of a
    log that already has events.
    """

    def __init__(
        self, sink: Sink, rank: int = 0, root: str = "/", begun: Optional[str] = None
    ) -> None:
        self._sink, self.is_begun = sink, begun is not None
        self._rank, self._boot, self._chain = rank, boot_id(root), begun or FIRST_LINK

    @property
    def chain(self) -> str:
        """The last line's chain value; ranks exchange it after every epoch and at the end of the
        run."""
        return self._chain

    def point(self, key: str, value: Any = None, **metadata: Any) -> None:
        """Log a value now."""
        self._write("POINT_IN_TIME", key, value, metadata)

    def start(self, key: str, **metadata: Any) -> None:
        """Log the beginning of an interval; ``mono_ns=`` is its time if it was taken earlier."""
        self._write("INTERVAL_START", key, None, metadata)

    def stop(self, key: str, **metadata: Any) -> None:
        """Log the end of an interval; ``mono_ns=`` is its time if it was taken earlier."""
        self._write("INTERVAL_END", key, None, metadata)

    def close(self) -> None:
        """Sync and close."""
        self._sink.close()

    def _write(self, event_type: str, key: str, value: Any, metadata: Dict[str, Any]) -> None:
        now = monotonic_ns()
        taken = int(metadata.pop("mono_ns", now))
        time_ms = int(time.time() * 1000) - (now - taken) // 1000000
        full = dict(metadata, mono_ns=taken, rank=self._rank, boot=self._boot)
        event = [
            ("namespace", "edge"),
            ("time_ms", time_ms),
            ("event_type", event_type),
            ("key", key),
            ("value", value),
            ("metadata", full),
        ]
        line, self._chain = chained(self._chain, TOKEN + json.dumps(dict(event)))
        self._sink.write(line + "\n")


class StepWriter:
    """Appends step records to a rank's CSV, once per epoch: never inside the measured region."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._is_announced = sink, False
        self._sink.write(",".join(STEP_COLUMNS) + "\n")

    def announce(self, record: StepRecord) -> None:
        """Write the first record of an epoch ahead of the others: by it the harness notices at once
        that the epoch's last step has ended (suite.execution.edge_watch)."""
        self._append([record])
        self._is_announced = True

    def write(self, records: List[StepRecord]) -> None:
        """Append an epoch's records and sync; floats are written so that they read back exactly."""
        if records and not self._is_announced:
            self.announce(records[0])
        self._append(records[1:])
        self._sink.sync()
        self._is_announced = False

    def _append(self, records: List[StepRecord]) -> None:
        self._sink.write("".join(",".join(map(repr, record)) + "\n" for record in records))

    def close(self) -> None:
        """Close the file."""
        self._sink.close()


def print_error(message: str) -> None:
    """Write an error message to standard error."""
    sys.stderr.write("error: {}\n".format(message))
    sys.stderr.flush()


def fail(message: str) -> None:
    """Write an error message and exit with code 2."""
    print_error(message)
    sys.exit(2)
