"""Every event, fact and file of a run, defined once: who writes it, when, and what it holds.
Standard library only, Python 3.6 grammar.

The harness, the training loop, the rules and docs/contract.md (``make docs-tables``) read these
definitions.
"""

from typing import Any, Callable, List, NamedTuple, Tuple

from reference_impls.contract import ASYNCHRONOUS, WAITING, LogWriter, Request

HARNESS, IMPLEMENTATION = "harness", "implementation"
START, STOP, POINT = "INTERVAL_START", "INTERVAL_END", "POINT_IN_TIME"
ALWAYS, IN_CLOSED, IN_OPEN, SEVERAL_RANKS, OPTIONAL = (
    "always",
    "closed division",
    "open division",
    "several ranks",
    "optional",
)
SEVERAL_NODES, IN_BUDGET, RESUMED, ACCUMULATING, ADAPTING = (
    "several nodes",
    "memory budget",
    "resumed runs",
    "gradient accumulation",
    "adaptation",
)


class Fact(NamedTuple):
    """A value of the request that the log repeats, ``of`` the request."""

    key: str
    of: Callable[[Request], Any]
    meaning: str


class Event(NamedTuple):
    """A key of the log. ``event_type`` is MLPerf's; ``times`` is how often a rank logs it, per
    epoch where it has the metadata ``epoch_num``."""

    key: str
    event_type: str
    # ALWAYS, IN_CLOSED, IN_OPEN, SEVERAL_RANKS, SEVERAL_NODES, IN_BUDGET, RESUMED, ACCUMULATING,
    # ADAPTING or OPTIONAL
    needed: str
    when: str
    value: str = ""
    metadata: Tuple[str, ...] = ()
    times: int = 1


class File(NamedTuple):
    """A file in the output directory while the implementation runs."""

    name: str
    by: str  # HARNESS or IMPLEMENTATION
    needed: str
    content: str


FACTS = (
    Fact("submission_benchmark", lambda request: request.workload, "workload"),
    Fact("submission_org", lambda request: request.organization, "submitting organization"),
    Fact("submission_division", lambda request: request.division, "`closed` or `open`"),
    Fact("submission_status", lambda request: "research", "`research`: a key of MLPerf's logs"),
    Fact("submission_platform", lambda request: request.platform, "device profile"),
    Fact("framework", lambda request: request.framework, "name of the framework or implementation"),
    Fact("model", lambda request: request.model, "requested model"),
    Fact("data_set", lambda request: request.data.name, "data set"),
    Fact(
        "cache_clear",
        lambda request: request.cache_cleared,
        "the page cache was emptied before the run; null: unknown",
    ),
    Fact("seed", lambda request: request.seed, "seed of weights and sample order"),
    Fact(
        "global_batch_size",
        lambda request: request.global_batch_size,
        "samples per mini-batch, over all ranks",
    ),
    Fact("opt_name", lambda request: request.optimizer.name, "optimizer"),
    Fact(
        "opt_base_learning_rate",
        lambda request: request.optimizer.base_learning_rate,
        "base learning rate of the schedule",
    ),
    Fact("opt_momentum", lambda request: request.optimizer.momentum, "momentum"),
    Fact("opt_weight_decay", lambda request: request.optimizer.weight_decay, "weight decay"),
    Fact(
        "opt_learning_rate_schedule",
        lambda request: request.optimizer.schedule,
        "learning-rate schedule",
    ),
    Fact(
        "initial_weights",
        lambda request: request.initial_weights,
        "distribution of the initial weights",
    ),
    Fact("collective", lambda request: request.parallel.collective, "all-reduce backend"),
    Fact("max_epochs", lambda request: request.epochs, "maximum epochs"),
    Fact(
        "target_accuracy", lambda request: request.target_accuracy, "target, a fraction; null: none"
    ),
    Fact("train_samples", lambda request: request.data.train_samples, "training samples"),
    Fact("eval_samples", lambda request: request.data.eval_samples, "evaluation samples"),
    Fact("accelerator", lambda request: request.accelerator, "`cpu` or `cuda`"),
)
"""The facts of the request, in the order of the log."""

EVENTS = (
    Event("init_start", START, ALWAYS, "first: before model and data are prepared"),
    Event(
        "parameters",
        POINT,
        ALWAYS,
        "between init_start and init_stop",
        "number of the model's trainable parameters",
    ),
    Event(
        "model_layers",
        POINT,
        OPTIONAL,
        "between init_start and init_stop",
        "what was built, an object: `layers`, the number of those with weights; `sha256`, of their"
        " lines (layers.md); `dropout`, the largest rate of an active one, else 0",
    ),
    Event(
        "framework_version",
        POINT,
        ALWAYS,
        "between init_start and init_stop",
        "version of the framework, or of the implementation; text",
    ),
    Event(
        "framework_threads",
        POINT,
        OPTIONAL,
        "between init_start and init_stop",
        "number of threads that compute",
    ),
    Event(
        "model_trained",
        POINT,
        IN_OPEN,
        "between init_start and init_stop",
        "the model that is trained, whatever was requested; text",
    ),
    Event(
        "optimizer_used", POINT, IN_OPEN, "between init_start and init_stop", "the optimizer; text"
    ),
    Event(
        "precision",
        POINT,
        IN_OPEN,
        "between init_start and init_stop",
        "precision of the arithmetic, as float32 or bf16-mixed; text",
    ),
    Event(
        "arithmetic",
        POINT,
        OPTIONAL,
        "between init_start and init_stop; needed on a GPU, and for a precision other than float32",
        "bits of a number that products and convolutions keep on the device, `product_bits` and"
        " `convolution_bits`, whether 2^20 `overflows`, and the framework's `settings`; an object"
        " (reference_impls.arithmetic)",
    ),
    Event(
        "gradient_accumulation_steps",
        POINT,
        ACCUMULATING,
        "between init_start and init_stop",
        "number of mini-batches of an update (MLPerf's name)",
    ),
    Event("ranks", POINT, ALWAYS, "between init_start and init_stop", "number of ranks"),
    Event(
        "nodes_of_ranks",
        POINT,
        SEVERAL_RANKS,
        "rank 0, between init_start and init_stop",
        "label of every rank's node: node0 for rank 0's host, then node1, …; a list",
    ),
    Event(
        "clock_offsets_ns",
        POINT,
        SEVERAL_RANKS,
        "rank 0, before init_stop and after run_stop",
        "[offset, uncertainty] of every rank's clock, ns",
        times=2,
    ),
    Event(
        "goodput_bytes_per_s",
        POINT,
        SEVERAL_NODES,
        "rank 0, before init_stop",
        "what a message to another node carried, bytes a second, of every node; a list. Without it"
        " the wire's limit is unknown",
    ),
    Event(
        "admission",
        POINT,
        SEVERAL_RANKS,
        "before init_stop",
        "what the ranks compared: SHA-256 of `sources`, `packages`, `request`, `data`, `weights`,"
        " and of the packages' `files` that this rank uses; and the `machine`'s identity",
    ),
    Event(
        "gradient_agreement",
        POINT,
        SEVERAL_RANKS,
        "before init_stop, and after an epoch where it costs at most 0.5 % of it",
        "how far the ranks' gradients of the same mini-batches are apart: the largest `distance`,"
        " relative to the norm of its `parameter`'s gradient, the `tolerance` and `cost_s`, of one"
        " mini-batch; null: the implementation has no method gradients",
        ("epoch_num",),
    ),
    Event(
        "shares_of_ranks",
        POINT,
        SEVERAL_RANKS,
        "before init_stop, where the request's shares follow the ranks' speeds",
        "`seconds_per_sample` of every rank, measured; `samples` of a whole mini-batch that each"
        " takes; and `cost_s` of measuring",
    ),
    Event(
        "model_bn_span",
        POINT,
        SEVERAL_RANKS,
        "before init_stop, where the model has batch normalisation",
        "samples of a whole mini-batch over which this rank's statistics are taken",
    ),
    Event(
        "started_from",
        POINT,
        ADAPTING,
        "before init_stop, where the request begins with a checkpoint",
        "SHA-256 of the parameters and statistics that were taken from it, as float32, in the order"
        " of their names",
    ),
    Event(
        "trained",
        POINT,
        ADAPTING,
        "before init_stop, where the request trains a part of the model",
        "`names` of the parameters that are trained, and `parameters`, how many numbers they have;"
        " an object",
    ),
    Event(
        "frozen",
        POINT,
        ADAPTING,
        "before init_stop and after run_stop, where the request trains a part of the model",
        "SHA-256 of the parameters that are not trained, and of the statistics where they are"
        " frozen, in the order of their names",
        times=2,
    ),
    Event(
        "old_task_accuracy",
        POINT,
        ADAPTING,
        "before init_stop and after run_stop, where the request has an old task",
        "accuracy on the old task, a fraction, judged with the checkpoint's values of parameters"
        " that the seed drew",
        ("correct",),
        times=2,
    ),
    Event(
        "state_restored",
        POINT,
        RESUMED,
        "before init_stop",
        "SHA-256 of the restored state by kind, as in state_digests",
        ("epoch_num",),
    ),
    Event("init_stop", STOP, ALWAYS, "after everything is ready; training data have not been read"),
    Event("run_start", START, ALWAYS, "right before the first epoch"),
    Event("epoch_start", START, ALWAYS, "before an epoch's first fetch", "", ("epoch_num",)),
    Event(
        "epoch_stop",
        STOP,
        ALWAYS,
        "after an epoch's last step, whose end is its `mono_ns`; its step records are on the"
        " storage medium",
        metadata=("epoch_num", "steps"),
    ),
    Event(
        "chain_heads",
        POINT,
        SEVERAL_RANKS,
        "after every epoch and after run_stop",
        "rank 0: last chain value of every rank's log, a list; other ranks: that list, or SHA-256"
        " of its values, each on a line",
        ("epoch_num",),
    ),
    Event(
        "bucket_times",
        POINT,
        SEVERAL_RANKS,
        "after every epoch",
        "times of each bucket's exchanges, a list; the last one's `mean_since_first_s` is the"
        " exchange of a step",
        ("epoch_num",),
    ),
    Event(
        "learning_rates",
        POINT,
        OPTIONAL,
        "after every epoch",
        "learning rate of its first and its last update, and the mean",
        ("epoch_num",),
    ),
    Event(
        "uncounted_start",
        START,
        IN_CLOSED,
        "before an interval that counts neither as time nor as energy: `reason` state",
        metadata=("epoch_num", "reason"),
    ),
    Event(
        "state_digests",
        POINT,
        IN_CLOSED,
        "after every epoch, within uncounted_start and uncounted_stop",
        "SHA-256 of the training state by kind: `parameter`, `velocity`, `statistic`",
        ("epoch_num",),
    ),
    Event("uncounted_stop", STOP, IN_CLOSED, "after that interval", "", ("epoch_num", "reason")),
    Event("eval_start", START, ALWAYS, "before an evaluation", "", ("epoch_num",)),
    Event(
        "eval_accuracy",
        POINT,
        ALWAYS,
        "after the last evaluated sample",
        "`correct` / evaluation samples",
        ("epoch_num", "correct"),
    ),
    Event("eval_stop", STOP, ALWAYS, "after eval_accuracy", "", ("epoch_num",)),
    Event(
        "run_stop",
        STOP,
        ALWAYS,
        "after the last evaluation. `status` is success (target reached, or none requested) or"
        " aborted",
        "",
        ("status",),
    ),
    Event(
        "peak_rss_of_ranks",
        POINT,
        OPTIONAL,
        "rank 0, after run_stop",
        "largest resident memory of every rank so far (VmHWM), bytes; a list",
    ),
    Event(
        "memory_parts",
        POINT,
        OPTIONAL,
        "rank 0, after run_stop",
        "bytes: `framework`, resident before the model was built; `mapped`, files mapped from then"
        " on; `parameter`, `velocity`, `statistic`, of the training state, without velocities of"
        " what is frozen; `cgroup_peak`, of the run's own cgroup; null: unknown",
    ),
    Event(
        "recomputation",
        POINT,
        IN_BUDGET,
        "after run_stop, where the request has a schedule of recomputation",
        "what all steps ran: `blocks`, `forwards`, `backwards`, `operations_again`,"
        " `spilled_bytes`, `passes_s`, `again_s`, `storage_s` (contract.Implementation.recomputed)",
    ),
)
"""What the implementation logs, in the order of a run."""

KEYS = frozenset([fact.key for fact in FACTS] + [event.key for event in EVENTS])
REPEATED = {event.key: event.times for event in EVENTS if event.times > 1}
"""Keys that a rank logs more than once for the same epoch, and how often."""

FILES = (
    File("request.json", HARNESS, ALWAYS, "the run, completely resolved; `--request` names it"),
    File(
        "log.txt",
        HARNESS,
        ALWAYS,
        "the harness writes the facts of the request; the implementation appends its events to the"
        " same chain",
    ),
    File(
        "steps.csv",
        IMPLEMENTATION,
        ALWAYS,
        "one row per mini-batch under a header, written before the epoch's `epoch_stop`",
    ),
    File(
        "log.rank<r>.txt",
        IMPLEMENTATION,
        SEVERAL_RANKS,
        "rank r's log; it begins with the facts of the request, as rank r received it",
    ),
    File("steps.rank<r>.csv", IMPLEMENTATION, SEVERAL_RANKS, "rank r's step records"),
    File(
        "output.txt",
        HARNESS,
        ALWAYS,
        "standard output and standard error of the implementation; the last line explains a"
        " failure",
    ),
)

PROBE_INPUTS = (
    (
        "parameter/<name>.npy",
        "parameters, (out, in[, height, width]) or (out,), in the requested precision",
    ),
    (
        "statistic/<name>.npy",
        "running means and variances of batch normalisation; none for most models",
    ),
    (
        "images_<k>.npy",
        (
            "mini-batch k = 0, 1, …: (samples, channels, height, width), in the requested"
            " precision, normalised already"
        ),
    ),
    ("labels_<k>.npy", "its labels, int64 (samples,)"),
)
PROBE_OUTPUTS = (
    (
        "logits.npy",
        "class scores of mini-batch 0 in inference mode, before any step: (samples, classes)",
    ),
    ("loss.npy", "mean loss of mini-batch 0 in training mode, before any step; a scalar"),
    ("gradient/<name>.npy", "its gradients, without weight decay"),
    (
        "losses.npy",
        (
            "loss of every step before its update: one step on mini-batch k with the k-th of"
            " `learning_rates`, from the given parameters"
        ),
    ),
    ("parameter/<name>.npy", "parameters after the last step"),
    ("statistic/<name>.npy", "running statistics after the last step"),
)
"""Arrays of a probe that is not in the checkout, in the folders `inputs` and `output` of its
request."""

TIMINGS = (
    (
        WAITING,
        "after every copy and every step",
        (
            "fetch, copy, compute and communication of every step, and what is between them; the"
            " loss of every step when it has ended"
        ),
    ),
    (
        ASYNCHRONOUS,
        "at the end of an epoch and of an evaluation, where losses and counts are read",
        (
            "the fetch of every step and the time of a whole epoch; copy, compute and communication"
            " are null. This is what people run: the next mini-batch is fetched and submitted while"
            " the device computes"
        ),
    ),
)
"""The timings of a run (Request.timing): when the loop waits for the device, and what is timed."""

STEP_MEANINGS = (
    ("epoch", "1, 2, …"),
    ("step", "1, 2, … over the whole run"),
    ("rank", "0 on one rank"),
    ("samples", "samples of this rank's mini-batch"),
    ("start_ns", "CLOCK_MONOTONIC at the start of the fetch, ns"),
    ("fetch_stall_s", "waiting for the mini-batch, s"),
    ("copy_s", "copying it to the device, s; `nan` in asynchronous timing"),
    (
        "compute_s",
        (
            "forward, backward and update until the device has finished, without communication, s;"
            " `nan` in asynchronous timing"
        ),
    ),
    (
        "communication_s",
        (
            "exposed gradient exchange, s; 0.0 on one rank, and of mini-batches without an update;"
            " `nan` in asynchronous timing"
        ),
    ),
    ("loss", "mean loss of the mini-batch before the update"),
)
"""The columns of step records (contract.STEP_COLUMNS)."""


def log_facts(log: LogWriter, request: Request) -> None:
    """Log every fact of the request."""
    for key, value in request_facts(request):
        log.point(key, value)


def request_facts(request: Request) -> List[Tuple[str, Any]]:
    """Key and value of every fact of the request, in the order of the log."""
    return [(fact.key, fact.of(request)) for fact in FACTS]
