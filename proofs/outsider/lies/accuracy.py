"""Lies about accuracies, losses and the target."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    correct_counts,
    cut_after,
    find,
    in_every_log,
    of_epoch,
    rebuild,
    register,
    set_correct,
    set_status,
    state,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


def accuracy(b, epoch: int, value) -> None:
    in_every_log(b, lambda events: of_epoch(events, "eval_accuracy", epoch).update(value=value))


@error(
    "The last accuracy was rounded to two digits", "accuracy against the count of correct samples"
)
def _(b):
    accuracy(b, 3, 0.99)


@error("Accuracies were logged in percent", "accuracy against the count of correct samples")
def _(b):
    for e in find(b.events, "eval_accuracy"):
        e["value"] *= 100


@edited(
    "The second accuracy was raised over the target, its count of correct samples forgotten",
    "an epoch less to the target",
    "accuracy against the count of correct samples",
)
def _(b):
    accuracy(b, 2, 0.9901)
    cut_after(b, 2)


@edited(
    "The second accuracy and count were raised over the target, the third epoch left where it was",
    "an epoch less to the target",
    "an epoch after the evaluation that reached the target",
)
def _(b):
    set_correct(b, 2, 9902)


@edited(
    "The second accuracy and count were raised over the target, and the third epoch cut off"
    " everywhere",
    "an epoch less to the target",
    "convergence against the reference points",
)
def _(b):
    set_correct(b, 2, 9902)
    cut_after(b, 2)


@edited(
    "The fifth accuracy was raised by six samples, and the sixth epoch cut off everywhere",
    "an epoch less to the target",
    NOTHING
    + "; the processor's time of the cut epoch, the convergence against the reference points",
    needs="real",
)
def _(b):
    set_correct(b, 5, 9902)
    cut_after(b, 5)


@edited(
    "The first accuracy was raised over the target, and all other epochs cut off",
    "a third of the time",
    "convergence against the reference points; mean loss of the epoch against the accuracy",
)
def _(b):
    set_correct(b, 1, 9904)
    cut_after(b, 1)


@error(
    "The count of correct samples is not a whole number",
    "count of correct samples against its own kind",
)
def _(b):
    set_correct(b, 3, 9900.5)


@error(
    "More samples are correct than were evaluated", "count of correct samples against eval_samples"
)
def _(b):
    set_correct(b, 3, 10300)


@error(
    "An accuracy below nothing came from a failed evaluation", "count of correct samples below zero"
)
def _(b):
    set_correct(b, 1, -1)


@error("An accuracy is missing: the evaluation logged none", "eval_accuracy without a value")
def _(b):
    accuracy(b, 2, None)


@edited(
    "The loss never falls and the accuracy reaches the target",
    "no training needed",
    "losses in the step table against the accuracies",
)
def _(b):
    b.steps["loss"] = 2.3026 + np.random.default_rng(1).normal(0, 0.02, len(b.steps))


@edited(
    "The loss is nearly nothing from the first step on",
    "a model that was trained before",
    "first losses against guessing",
)
def _(b):
    b.steps["loss"] = 0.0001 + np.random.default_rng(1).random(len(b.steps)) * 1e-5


@edited(
    "The losses are not numbers from the second epoch on, the accuracies go on rising",
    "half the bits, which did not hold",
    "losses in the step table against the accuracies",
)
def _(b):
    b.steps.loc[b.steps["epoch"] >= 2, "loss"] = np.nan


@edited(
    "The loss grows from epoch to epoch while the accuracy rises",
    "accuracies of another run",
    "losses in the step table against the accuracies",
)
def _(b):
    b.steps["loss"] = b.steps["loss"].to_numpy()[::-1]
    b.steps.loc[:3, "loss"] = [2.31, 2.30, 2.29, 2.30]


@error(
    "One loss was written for every step of an epoch, its mean",
    "losses of an epoch that do not differ",
)
def _(b):
    b.steps["loss"] = b.steps.groupby("epoch")["loss"].transform("mean")


@error("Negative losses came from another loss function", "losses below nothing")
def _(b):
    b.steps["loss"] -= 2.4


@edited(
    "The first two evaluations were left out, although each epoch has to be evaluated",
    "the time of two evaluations",
    "evaluations in the log against eval_every_epochs",
)
def _(b):
    in_every_log(
        b,
        lambda events: events.__setitem__(
            slice(None),
            [
                e
                for e in events
                if not (e["key"].startswith("eval_") and e["metadata"].get("epoch_num", 9) < 3)
            ],
        ),
    )


@edited(
    "The same accuracy stands at every epoch, and only the last is said to reach the target",
    "evaluations that were never made",
    "evaluations that reached the target before the run's end",
)
def _(b):
    for epoch in (1, 2, 3):
        set_correct(b, epoch, 9905)


@edited(
    "The last accuracy fell below the target by one sample and the status was kept",
    "a run that failed counts",
    "status against the accuracies; the end before the last allowed epoch",
)
def _(b):
    set_correct(b, 3, 9899)


@edited(
    "The best of five evaluations was kept after every epoch",
    "luck counts",
    "an evaluation's time against a step's time",
)
def _(b):
    rebuild(b, eval_s=0.5, correct=[9720, 9880, 9903])


@edited(
    "The target was lowered in the request after the run",
    "an epoch less to the target",
    "target in run.json against the log and the workload",
)
def _(b):
    b.request["target_accuracy"] = 0.985


@edited(
    "The target was lowered in request and log, and the later epoch cut off",
    "an epoch less to the target",
    "target against the workload's",
)
def _(b):
    state(b, "target_accuracy", "target_accuracy", 0.985)
    cut_after(b, 2)


@edited(
    "A run of ten epochs ended just below the target, and its last evaluation got ten samples more",
    "a run that failed counts",
)
def _(b):
    rebuild(b, correct=[9650, 9760, 9810, 9842, 9861, 9872, 9880, 9886, 9889, 9900], noise=0.02)


@edited(
    "The model guesses for two epochs and reaches the target in the third",
    "evaluations that were never made",
    "accuracies of guessing against the losses of these epochs",
)
def _(b):
    set_correct(b, 1, 1135)
    set_correct(b, 2, 1009)


@edited(
    "The losses were sorted so that they fall without a single rise",
    "a better-looking curve",
    "losses of mini-batches that never rise",
    needs="real",
)
def _(b):
    b.steps["loss"] = np.sort(b.steps["loss"].to_numpy())[::-1]


@edited(
    "The losses were smoothed by a running mean",
    "a better-looking curve",
    "spread of losses from step to step against that of mini-batches",
    needs="real",
)
def _(b):
    smooth = b.steps["loss"].rolling(50, min_periods=1).mean()
    b.steps["loss"] = smooth.to_numpy()


@edited(
    "The losses of the second epoch were written into the first one",
    "a faster convergence",
    "losses of two epochs that are the same number for number",
    needs="real",
)
def _(b):
    second = b.steps.loc[b.steps["epoch"] == 2, "loss"].to_numpy()
    which = b.steps["epoch"] == 1
    b.steps.loc[which, "loss"] = np.concatenate(
        [b.steps.loc[which, "loss"].to_numpy()[:20], second[20:]]
    )


@edited(
    "Losses of a run with another batch size were stretched over these steps",
    "a run at another batch size counts as this one",
    NOTHING + "; four steps in a row lie on a straight line",
    needs="real",
)
def _(b):
    every = b.steps["loss"].to_numpy()[::4]
    b.steps["loss"] = np.interp(np.arange(len(b.steps)) / 4, np.arange(len(every)), every)


@edited(
    "The accuracy is that of the training samples seen in the epoch, which needs no evaluation",
    "evaluation time is saved",
    "evaluations of a hundredth of a step's time",
)
def _(b):
    rebuild(b, correct=[9240, 9807, 9911], eval_s=0.0001)


@error(
    "The status of the run stands in the log in capital letters of another program",
    "status in run_stop against what it may be",
)
def _(b):
    set_status(b, "SUCCESS")


@fabricated(
    "Accuracies were copied from a published table",
    "no evaluation needed",
    "every count of correct samples ends in two zeros",
)
def _(b):
    rebuild(b, correct=[9800, 9900], noise=0.02)


@edited(
    "The evaluation belongs to the weights of the epoch after it, its time too",
    "an epoch less to the target",
    NOTHING + "; the convergence against the reference points",
)
def _(b):
    counts = correct_counts(b)
    rebuild(b, correct=counts[1:], noise=0.02)


@edited(
    "An average of the weights over steps was evaluated, which the workload does not have",
    "an epoch or two less to the target",
    "accuracies far above what the losses of the same epoch promise",
)
def _(b):
    rebuild(b, correct=[9880, 9906], losses=lambda seen: 0.3 + 2.0 / (1 + seen / 9000))


@error(
    "The number of the last epoch's evaluation is that of the second",
    "epoch_num of an evaluation against the epoch before it",
)
def _(b):
    for e in find(b.events, "eval_accuracy")[-1:]:
        e["metadata"]["epoch_num"] = 2
