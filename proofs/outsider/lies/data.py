"""Lies about the data: what was trained on, how much of it, and what was evaluated."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    ask,
    change_values,
    correct_counts,
    epoch_steps,
    falling_loss,
    find,
    in_every_log,
    log_value,
    rebuild,
    register,
    rows,
    state,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


def sizes(b, train: int, held_out: int) -> None:
    """The run trained and evaluated on these numbers of samples, and every record says so."""
    share = held_out / b.request["data"]["eval_samples"]
    counts = [min(round(c * share), held_out) for c in correct_counts(b)]
    counts[-1] = max(counts[-1], -(-held_out * 99 // 100))
    counts[:-1] = [min(c, held_out * 989 // 1000) for c in counts[:-1]]
    state(b, "data.train_samples", "train_samples", train)
    state(b, "data.eval_samples", "eval_samples", held_out)
    rebuild(b, correct=counts, train=train)


@error(
    "The wrong data set was named on the command line, and the run of the small digits was"
    " handed in",
    "request's and log's data set against the rulebook",
)
def _(b):
    state(b, "data.name", "data_set", "digits")
    ask(b, "data.directory", "$DATA/digits")
    sizes(b, 1437, 360)


@edited(
    "The small digits were trained, and only the sizes give them away under MNIST's name",
    "epochs are forty times shorter",
    "sizes in request and log against what MNIST has",
)
def _(b):
    sizes(b, 1437, 360)


@edited(
    "The small digits were trained under MNIST's name and sizes",
    "epochs are forty times shorter",
    "train_samples in the log against the samples in the step table",
)
def _(b):
    sizes(b, 1437, 360)
    state(b, "data.train_samples", "train_samples", 60000)
    state(b, "data.eval_samples", "eval_samples", 10000)
    in_every_log(
        b,
        lambda events: [
            e["metadata"].update(correct=9910) or e.update(value=0.991)
            for e in find(events, "eval_accuracy")[-1:]
        ],
    )


@error(
    "Only the request names another data set, as after an edit of the settings for the next run",
    "data name in run.json against data_set in the log",
)
def _(b):
    ask(b, "data.name", "cifar10")


@edited(
    "Trained on the first 30,000 pictures, and every record says 30,000",
    "an epoch takes half the time",
    "train_samples against what MNIST has",
)
def _(b):
    sizes(b, 30000, 10000)


@edited(
    "Trained on the first half of the pictures while log and request say 60,000",
    "an epoch takes half the time",
    "samples in the step table against train_samples; the log's steps against batch size",
)
def _(b):
    rebuild(b, train=30000)


@edited(
    "Trained on half of the pictures, each mini-batch counted as twice its size",
    "an epoch takes half the time",
    "samples of a step against the global batch size; number of steps against both",
)
def _(b):
    rebuild(b, train=30000)
    b.steps["samples"] *= 2


@edited(
    "Trained on half of the pictures in each epoch, two epochs written as one",
    "half the epochs to the target",
    NOTHING + ", if the step times stay; the convergence against the reference points",
)
def _(b):
    rebuild(b, parts=(0.001, 0.0005, 0.008, 0.0, 0.0005))


@edited(
    "The test pictures were added to the training set, 70,000 in all",
    "the target is reached epochs earlier",
    "train_samples against what MNIST has",
)
def _(b):
    sizes(b, 70000, 10000)
    correct = [*correct_counts(b)[:1], 9950]
    rebuild(b, correct=correct, train=70000)


@edited(
    "One epoch over a fourfold larger set of digits under MNIST's name",
    "the target is reached in one epoch",
    "train_samples against what MNIST has",
)
def _(b):
    sizes(b, 240000, 40000)
    rebuild(b, correct=[39700], train=240000)


@error("Training and test files were exchanged", "sizes in request and log against what MNIST has")
def _(b):
    sizes(b, 10000, 60000)


@edited(
    "Evaluated on the first 1,000 test pictures, and every record says 1,000",
    "evaluations take a tenth of the time",
    "eval_samples against what MNIST has",
)
def _(b):
    sizes(b, 60000, 1000)
    rebuild(b, eval_s=0.01)


@edited(
    "Evaluated on the first 1,000 test pictures and the count of correct ones multiplied by ten",
    "evaluations take a tenth of the time",
    "every count of correct samples ends in zero; an evaluation's time against a step's",
)
def _(b):
    rebuild(b, eval_s=0.005, correct=[9690, 9830, 9910])


@edited(
    "Evaluated on pictures that the model was trained on",
    "the target is reached at the second epoch",
    "eval_samples against what MNIST has",
)
def _(b):
    state(b, "data.eval_samples", "eval_samples", 60000)
    rebuild(b, correct=[58500, 59500], eval_s=0.6)


@edited(
    "Fashion pictures of MNIST's sizes were in the folder, as its name still says",
    "a result on data that were at hand",
    "folder name in run.json against the data set's name",
)
def _(b):
    ask(b, "data.directory", "$DATA/fashion-mnist")


@edited(
    "Only two of the ten digits lay in the folder, and the request says two classes",
    "an easier task",
    "classes in run.json against what MNIST has; the folder's name",
)
def _(b):
    ask(b, "data.directory", "$DATA/mnist-0-and-1")
    ask(b, "data.classes", 2)


@edited(
    "Only two of the ten digits were trained, called ten",
    "the target is reached within an epoch",
    "the first losses (as of two classes) against ten classes",
)
def _(b):
    rng = np.random.default_rng(2)
    rebuild(b, correct=[9960], losses=lambda seen: falling_loss(seen, rng, 0.05, first=0.6931))


@error(
    "The data's hash sums were not verified, and the run was handed in nevertheless",
    "verified in run.json against the rulebook's published data",
)
def _(b):
    ask(b, "data.verified", False)


@error("A test with made-up pictures was handed in", "synthetic in run.json against the rulebook")
def _(b):
    ask(b, "data.synthetic", True)


@edited(
    "Made-up pictures were trained: the losses stay at what guessing costs, the accuracies are"
    " invented",
    "no data set is read at all",
    "losses in the step table against the accuracies in the log",
)
def _(b):
    b.steps["loss"] = 2.302585 + np.random.default_rng(3).normal(0, 0.01, len(b.steps))
    ask(b, "data.directory", "$DATA/synthetic")


@error(
    "The batches of an earlier stall analysis were trained: kept in memory, as the request says",
    "batches in run.json against the rulebook",
)
def _(b):
    ask(b, "batches", "synthetic")


@edited(
    "Batches were kept ready in memory, and the request says that they were read",
    "no time is lost for reading",
    "fetch times of nothing and no byte from the disk, although the cache was emptied before"
    " the run",
)
def _(b):
    b.request["cache_cleared"] = True
    log_value(b, "cache_clear", True)
    rebuild(b, parts=(0.0, 0.0, 0.016, 0.0, 0.0001))
    change_values(b, "disk", "read_bytes", lambda values: values * 0)


@error(
    "The page cache was emptied every epoch, as in a stall analysis",
    "drop_cache_every_epoch in run.json against the rulebook",
)
def _(b):
    ask(b, "drop_cache_every_epoch", True)


@edited(
    "Pictures were normalised by another mean and spread",
    "a tuned preprocessing",
    "preprocessing in run.json against the workload's",
)
def _(b):
    ask(b, "preprocessing.mean", [0.5])
    ask(b, "preprocessing.std", [0.5])


@edited(
    "Pictures were shifted and rotated at random to reach the target earlier",
    "a better convergence",
    "augmentation in run.json against the workload's",
)
def _(b):
    ask(b, "preprocessing.augmentation", "crop_and_flip")


@edited(
    "Pictures were decoded and normalised before the run into one file of numbers",
    "preprocessing leaves the measured time",
    "layout in run.json against the data set's published files",
)
def _(b):
    ask(b, "data.layout", "normalised_float32")
    rebuild(b, parts=(0.0001, 0.001, 0.016, 0.0, 0.0005))


@fabricated(
    "The easiest pictures were repeated in place of the hardest ones",
    "the target is reached in one epoch",
    NOTHING + "; the convergence against the reference points",
)
def _(b):
    rebuild(b, correct=[9904], noise=0.03, seed=5)


@edited(
    "The page cache is said to have been emptied, but the whole data set was in memory from the"
    " start",
    "a fast first epoch",
    "cache_cleared in run.json and log against the readings of the page cache",
    needs="real",
)
def _(b):
    which = rows(b, "page-cache")
    b.readings.loc[which, "value"] = 1.0


@edited(
    "The page cache was not emptied, and log and request were changed to say that it was",
    "a fast first epoch",
    "bytes read from the disk (none) against cache_cleared",
)
def _(b):
    state(b, "cache_cleared", "cache_clear", True)
    change_values(b, "disk", "read_bytes", lambda values: values * 0)


@error(
    "The classes are counted as eleven, background included",
    "classes in run.json against what MNIST has",
)
def _(b):
    ask(b, "data.classes", 11)


@edited(
    "Each epoch left out the last tenth of the pictures, and the log's sizes were not touched",
    "an epoch takes a tenth less",
    "step table and steps in the log against train_samples",
)
def _(b):
    whole = epoch_steps(b)
    kept = whole * 9 // 10
    b.steps = b.steps[(b.steps["step"] - 1) % whole < kept].reset_index(drop=True)
    in_every_log(
        b, lambda events: [e["metadata"].update(steps=kept) for e in find(events, "epoch_stop")]
    )
    b.steps["step"] = np.arange(1, len(b.steps) + 1)
    ends = b.steps.groupby("epoch")["start_ns"].max() + 20_000_000
    for e in find(b.events, "epoch_stop"):
        e["metadata"]["mono_ns"] = int(ends[e["metadata"]["epoch_num"]])
