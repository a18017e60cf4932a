"""Lies about what was asked for, and runs that the rulebook does not allow."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    add_channel,
    ask,
    correct_counts,
    cut_after,
    epoch_steps,
    falling_loss,
    in_every_log,
    log_value,
    rebuild,
    register,
    seal_manifest,
    state,
    write_json,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


@error(
    "A batch of 256, above the range, is stated openly", "batch size against the rulebook's range"
)
def _(b):
    rebuild(b, batch=256)


@error("A batch of 8, below the range, is stated openly", "batch size against the rulebook's range")
def _(b):
    rebuild(b, batch=8)


@edited(
    "A batch of 512 was trained and 128 written into request and log",
    "larger batches run faster",
    "samples and number of steps against the global batch size",
)
def _(b):
    rebuild(b, batch=512, parts=(0.004, 0.002, 0.045, 0.0, 0.001))
    state(b, "global_batch_size", "global_batch_size", 128)


@edited(
    "A batch of 512 was trained and its steps were cut into four equal ones each",
    "larger batches run faster",
    "four steps in a row have the same length and loss",
)
def _(b):
    rebuild(b, noise=0.05, seed=1)
    group = (b.steps["step"] - 1) // 4
    for column in ("loss", "fetch_stall_s", "copy_s", "compute_s"):
        b.steps[column] = b.steps.groupby(group)[column].transform(
            "min" if column != "loss" else "mean"
        )


@error(
    "A learning rate of 0.2, above the range, is stated openly",
    "learning rate against the rulebook's range",
)
def _(b):
    state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.2)


@edited(
    "A learning rate above the range was used, and only the request was brought back into it",
    "a tuned learning rate",
    "request against the log's opt_base_learning_rate",
)
def _(b):
    log_value(b, "opt_base_learning_rate", 0.2)


@error(
    "A learning rate of zero stands in the log, which formats it with two digits",
    "request against the log's opt_base_learning_rate",
)
def _(b):
    log_value(b, "opt_base_learning_rate", 0.0)


@edited(
    "The learning rate was changed in request and log, and forgotten in the command line",
    "a run at one rate is shown at another",
    "command in run.json against request and log",
    needs="real",
)
def _(b):
    state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.02)


@edited(
    "The seed was changed in request and log, and forgotten in the command line",
    "one run counts as two",
    "command in run.json against request and log",
    needs="real",
)
def _(b):
    state(b, "seed", "seed", 7)


@error("Another optimizer was taken, openly", "optimizer against the workload's")
def _(b):
    state(b, "optimizer.name", "opt_name", "adam")


@error("A momentum of 0.95 was taken, openly", "momentum against the workload's")
def _(b):
    state(b, "optimizer.momentum", "opt_momentum", 0.95)


@edited(
    "Weight decay was switched on, and only the log says so",
    "a better convergence",
    "request against the log's opt_weight_decay",
)
def _(b):
    log_value(b, "opt_weight_decay", 0.0005)


@error("Another schedule of the learning rate was taken, openly", "schedule against the workload's")
def _(b):
    state(b, "optimizer.schedule", "opt_learning_rate_schedule", "one_cycle")


@edited(
    "Training went on from weights of an earlier run, openly",
    "the target is reached in one epoch",
    "initial weights against the workload's; first losses against guessing",
)
def _(b):
    state(b, "initial_weights", "initial_weights", "pretrained")
    rng = np.random.default_rng(1)
    rebuild(b, correct=[9912], losses=lambda seen: falling_loss(seen, rng, 0.05, first=0.12))


@edited(
    "Training went on from weights of an earlier run, under the name of random ones",
    "the target is reached in one epoch",
    "first losses in the step table against initial_weights",
)
def _(b):
    rng = np.random.default_rng(1)
    rebuild(b, correct=[9912], losses=lambda seen: falling_loss(seen, rng, 0.05, first=0.12))


@edited(
    "Training went on from earlier weights, and the first losses were replaced by those of a"
    " fresh run",
    "the target is reached in one epoch",
    "a loss that falls to its floor within ten steps",
)
def _(b):
    rng = np.random.default_rng(1)
    rebuild(
        b,
        correct=[9912],
        losses=lambda seen: np.where(
            seen < 1300, 2.3 - seen / 2000, falling_loss(seen, rng, 0.05, first=0.12)
        ),
    )


@error("Twenty epochs were allowed, openly", "max_epochs against the workload's")
def _(b):
    state(b, "epochs", "max_epochs", 20)


@edited(
    "The schedule was made for four epochs, and ten were written into the records",
    "the rate falls early and the target comes early",
    NOTHING + "; the convergence against the reference points",
)
def _(b):
    rebuild(b, correct=[9820, 9907], noise=0.03)


@error(
    "A target of 98 % was asked for, openly, and the run stops there",
    "target against the workload's",
)
def _(b):
    state(b, "target_accuracy", "target_accuracy", 0.98)
    cut_after(b, 2)


@edited(
    "A target of 98 % was asked for, and 99 % written into the request only",
    "an epoch less",
    "target in the request against the log; last accuracy against the target",
)
def _(b):
    log_value(b, "target_accuracy", 0.98)
    cut_after(b, 2)


@edited(
    "A target of 98 % was asked for, and 99 % written into request and log",
    "an epoch less",
    "the last accuracy against the target and the status",
)
def _(b):
    cut_after(b, 2)


@edited(
    "A run of the open division was called closed in the request only",
    "a place in the closed division",
    "division in run.json against the log",
)
def _(b):
    log_value(b, "submission_division", "open")


@edited(
    "A run with free settings was called closed everywhere",
    "a place in the closed division",
    "learning rate and optimizer against the rulebook",
)
def _(b):
    state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.5)
    state(b, "optimizer.name", "opt_name", "lamb")


@error("A division that does not exist was named", "division against the rulebook")
def _(b):
    state(b, "division", "submission_division", "clsoed")


@edited(
    "Version of the suite was changed to one that does not exist",
    "an old run enters the new round",
    "suite_version against the round's",
)
def _(b):
    b.run["suite_version"] = "9.9.9"


@edited(
    "A run of the older format is numbered as the present one",
    "an old run enters the new round",
    "schema in run.json against the other files' content",
    needs="reference",
    sealed=False,
)
def _(b):
    write_json(b, "run.json", {**b.run, "schema": 2})
    seal_manifest(b.path)


@error(
    "The version of the contract with the implementation is an older one",
    "contract_version against schema and suite_version",
)
def _(b):
    ask(b, "contract_version", 0)


@edited(
    "Run id tells of another day than the run's start",
    "an old run enters the new round",
    "run_id against started_time_ms",
)
def _(b):
    b.run["run_id"] = "lenet-pytorch-20240101T000000Z-000001"


@error(
    "Run id tells of another framework than the request",
    "run_id against the framework in request, log and system",
)
def _(b):
    b.run["run_id"] = b.run["run_id"].replace("pytorch", "tensorflow")


@edited(
    "One thread is stated, and two trained",
    "twice the speed per thread",
    "threads in run.json against framework_threads in the log",
)
def _(b):
    ask(b, "threads", 1)


@edited(
    "One thread is stated everywhere, and both cores were busy all the time",
    "twice the speed per thread",
    "threads in run.json and log against the processor time per second",
    needs="real",
)
def _(b):
    which = (b.readings["source"] == "cpu") & (b.readings["channel"] == "process_tree")
    b.readings.loc[which, "value"] *= 1.95
    tasks = b.readings["channel"] == "task_clock.count"
    b.readings.loc[tasks, "value"] *= 1.95


@edited(
    "A GPU was used for a run on the processor",
    "a processor as fast as a GPU",
    "accelerator in run.json against the GPU's readings and the framework's version",
)
def _(b):
    b.system["framework_version"] = "1.0+cu126"
    log_value(b, "framework_version", "1.0+cu126")
    b.system["libraries"]["nvidia-cudnn-cu12"] = "9.10"
    add_channel(b, "nvml", "gpu0.power", "W", lambda s: 40 + np.sin(s))


@error(
    "An accelerator is named that the machine does not have",
    "accelerator in run.json against every reading and the libraries",
)
def _(b):
    ask(b, "accelerator", "cuda")


@edited(
    "The run was made for another organisation, as its log says",
    "somebody else's result",
    "organization in run.json against submission_org in the log",
)
def _(b):
    ask(b, "organization", "Example Devices Ltd")


@error(
    "The run was killed, as exit code and message say, and its status is finished",
    "exit code and message in run.json against its status and the log",
)
def _(b):
    b.run.update(exit_code=137, message="killed by signal 9")


@error("A run that was interrupted is handed in", "status in run.json against the log's run_stop")
def _(b):
    b.run["status"] = "interrupted"


@edited(
    "A smaller model was trained under the same name",
    "half the arithmetic",
    "parameters in the log against the workload's",
)
def _(b):
    log_value(b, "parameters", 30853)
    rebuild(b, parts=(0.002, 0.001, 0.008, 0.0, 0.001))


@edited(
    "A smaller model was trained, and the number of parameters written over",
    "half the arithmetic",
    NOTHING + "; instructions per sample against other runs of this device",
)
def _(b):
    rebuild(b, parts=(0.002, 0.001, 0.008, 0.0, 0.001), noise=0.02)


@error("Another model is named, openly", "model against the workload's")
def _(b):
    state(b, "model", "model", "mlp")


@edited(
    "The run of LeNet was handed in as one of ResNet-18",
    "a result for a workload that never ran",
    "workload against model, data set and parameters",
)
def _(b):
    state(b, "workload", "submission_benchmark", "resnet18")


@edited(
    "The implementation's own output says that it computed with half the bits",
    "half the time",
    "output.txt against the rulebook's precision",
)
def _(b):
    (b.path / "output.txt").write_text("autocast: bfloat16 enabled\nconv1 weights: bfloat16\n")
    rebuild(b, parts=(0.002, 0.001, 0.008, 0.0, 0.001))


@edited(
    "A precision of eight bits was asked for",
    "a quarter of the time",
    "request against the rulebook's precision",
)
def _(b):
    b.request["precision"] = "int8"


@error("Evaluated after every third epoch only, openly", "eval_every_epochs against the workload's")
def _(b):
    ask(b, "eval_every_epochs", 3)

    def edit(events):
        keep = [
            e
            for e in events
            if not e["key"].startswith("eval_") or e["metadata"].get("epoch_num", 3) == 3
        ]
        events[:] = keep

    in_every_log(b, edit)


@error(
    "The run was limited to a number of steps, openly",
    "steps in run.json against the workload's length",
)
def _(b):
    ask(b, "steps", 3 * epoch_steps(b))


@edited(
    "The rules that this run breaks were put on the list of findings that are allowed",
    "findings disappear",
    "findings_allowed in run.json against the rulebook; the batch size against its range",
)
def _(b):
    b.run["findings_allowed"] = [
        "closed-tuning-range",
        "closed-data",
        "closed-hyperparameters",
        "steps-complete",
        "wall-clock",
    ]
    rebuild(b, batch=1024)


@edited(
    "Gradients were summed by the framework's own exchange",
    "communication hides behind compute",
    "collective against the rulebook's",
    needs="two_ranks",
)
def _(b):
    state(b, "parallel.collective", "collective", "gloo")


@edited(
    "The framework's own exchange was used, as the log says, and the request changed",
    "communication hides behind compute",
    "collective in run.json against the log",
    needs="two_ranks",
)
def _(b):
    log_value(b, "collective", "nccl")


@error(
    "A negative seed and a text as batch size came from a broken settings file",
    "request against the log and against its own format",
)
def _(b):
    ask(b, "seed", -1)
    ask(b, "global_batch_size", "32")


@edited(
    "The target was left out of the request, so that whatever is reached counts",
    "no target has to be reached",
    "target in run.json against the log and the workload",
)
def _(b):
    ask(b, "target_accuracy", None)
    rebuild(b, correct=correct_counts(b)[:2])


@fabricated(
    "Everything that was asked for was invented after reading the rulebook: a batch and rate that"
    " nobody ran",
    "an entry at settings without reference point",
)
def _(b):
    state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.0173)
    rebuild(b, batch=24, correct=[9871, 9903], noise=0.04, seed=9)
