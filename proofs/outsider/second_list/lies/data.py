"""Lies about the data: which, how many, from where, and whether they were in memory."""

import numpy as np

from proofs.outsider.second_list.edits import cut_steps, remove_time
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "data"


@lie(SUBJECT, EDITED, "half the time per epoch", "the data set's definition: 60,000 samples")
def half_of_the_samples(copy: ForgedCopy) -> None:
    """Half of the training set, with the number in request and log."""
    copy.request["data"]["train_samples"] = 30000
    copy.set_logged("train_samples", 30000)
    cut_steps(copy, lambda steps: steps["step"] <= 235)
    copy.steps.loc[copy.steps["step"] % 235 == 0, "samples"] = 30000 - 128 * 234


@lie(
    SUBJECT,
    EDITED,
    "half the time per epoch",
    "60,000 samples in the request, half as many in the step records",
)
def half_of_the_steps(copy: ForgedCopy) -> None:
    """Half of the steps of every epoch are taken out, each said to hold twice the samples."""
    cut_steps(copy, lambda steps: steps["step"] <= 234)
    copy.steps["samples"] *= 2


@lie(
    SUBJECT,
    ERROR,
    "an epoch shorter by 0.2 %",
    "the request's samples: 60,000 are not a multiple of 128",
)
def last_batch_dropped(copy: ForgedCopy) -> None:
    """The loader drops the last, smaller mini-batch."""
    cut_steps(copy, lambda steps: steps["samples"] == 128)


@lie(
    SUBJECT,
    ERROR,
    "files that nobody looked at before the run",
    "data.json was taken after run_start: the harness takes it before the run",
)
def digests_taken_afterwards(copy: ForgedCopy) -> None:
    """data.json was made after the run."""
    copy.json["data"]["taken_ns"] = copy.window()[1] + 5_000_000_000


@lie(
    SUBJECT,
    ERROR,
    "digests of another day",
    "data.json was taken ten hours before the run, in the log's boot or before it",
)
def digests_of_another_day(copy: ForgedCopy) -> None:
    """data.json is of a morning, the run of an evening."""
    copy.json["data"]["taken_ns"] -= 36_000_000_000_000


@lie(SUBJECT, ERROR, "nothing; a slip", "sizes: the definition's files have others")
def sizes_of_compressed_files(copy: ForgedCopy) -> None:
    """data.json has the sizes of the compressed files."""
    for file in copy.json["data"]["files"]:
        file["size_bytes"] //= 5


@lie(
    SUBJECT,
    EDITED,
    "other data with the published SHA-256 typed in",
    "the MD5 of the same file does not fit the published one",
)
def md5_left_from_other_data(copy: ForgedCopy) -> None:
    """The SHA-256 was typed from the rulebook, the MD5 is that of the files that were read."""
    for number, file in enumerate(copy.json["data"]["files"]):
        file["md5"] = f"{number + 1:032x}"


@lie(
    SUBJECT,
    ERROR,
    "evaluation on training samples",
    "the evaluation file's digest is that of the training file",
)
def evaluated_on_training_files(copy: ForgedCopy) -> None:
    """The test files are links to the training files."""
    files = copy.json["data"]["files"]
    for name in ("images", "labels"):
        train = next(file for file in files if file["name"].startswith("train-" + name))
        test = next(file for file in files if file["name"].startswith("t10k-" + name))
        test.update({key: train[key] for key in ("size_bytes", "sha256", "md5")})


@lie(
    SUBJECT,
    EDITED,
    "an easier task under MNIST's file names",
    "the folder's name says what it holds",
)
def denoised_digits(copy: ForgedCopy) -> None:
    """The data are in a folder of cleaned digits."""
    copy.request["data"]["directory"] = "$DATA/mnist-denoised"
    copy.option("--data", "$DATA/mnist-denoised")


@lie(
    SUBJECT,
    EDITED,
    "a closed result from 1,438 digits",
    "sizes, steps and digests are those of the digits",
    sample="open-pytorch",
)
def digits_called_mnist(copy: ForgedCopy) -> None:
    """A run on the digits is called one on MNIST, in request, log, command and data.json."""
    copy.request["data"]["name"] = copy.json["data"]["name"] = "mnist"
    copy.set_logged("data_set", "mnist")
    copy.option("--data", "mnist")
    copy.request["data"]["directory"] = copy.request["data"]["directory"].replace("digits", "mnist")


@lie(
    SUBJECT,
    ERROR,
    "a first epoch without reading",
    "the meter's first reading: the data are in memory",
)
def warm_cache_called_cold(copy: ForgedCopy) -> None:
    """The cache was not emptied: all readings of the page cache say 1, request and log say that it
    was."""
    copy.readings.loc[copy.of("page-cache"), "value"] = 1.0


@lie(
    SUBJECT,
    EDITED,
    "a first epoch without reading",
    "the page cache fills, the disk delivers nothing",
)
def disk_that_reads_nothing(copy: ForgedCopy) -> None:
    """The disk's counters of reading do not move, while the page cache goes from 0 to 1."""
    for channel in ("read_bytes", "read_operations"):
        mask = copy.of("disk", channel)
        copy.readings.loc[mask, "value"] = float(copy.readings.loc[mask, "value"].iloc[0])


@lie(
    SUBJECT,
    EDITED,
    "reading outside of the measured time",
    "page cache: full at run_start, although said to be emptied",
)
def read_before_the_start(copy: ForgedCopy) -> None:
    """The data set was read into memory between the emptying and run_start: the cache is empty at
    first and full at the start."""
    start = copy.window()[0]
    mask = copy.of("page-cache") & (copy.readings["t_ns"] > start - 500_000_000)
    copy.readings.loc[mask, "value"] = 1.0


@lie(
    SUBJECT,
    EDITED,
    "no time for fetching: the batches were in memory",
    "fetching takes as long in every step, less than a read of 100 kB",
)
def batches_kept_in_memory(copy: ForgedCopy) -> None:
    """Every fetch takes about three microseconds; the time is taken out of everything."""
    generator = np.random.default_rng(5)
    new = 3e-6 * generator.lognormal(0, 0.2, len(copy.steps))
    saved = (copy.steps["fetch_stall_s"].to_numpy() - new).clip(0)
    remove_time(copy, "fetch_stall_s", saved)


@lie(SUBJECT, ERROR, "nothing; the letters of EMNIST", "MNIST has ten classes")
def letters_among_the_digits(copy: ForgedCopy) -> None:
    """47 classes."""
    copy.request["data"]["classes"] = 47


@lie(
    SUBJECT,
    ERROR,
    "nothing; a record of another kind of data set",
    "MNIST has no pictures of its own",
)
def pictures_in_mnist(copy: ForgedCopy) -> None:
    """data.json counts 70,000 pictures and has their digest."""
    copy.json["data"].update(pictures=70000, pictures_sha256="5f" * 32)


@lie(
    SUBJECT,
    FABRICATED,
    "digests without reading the files",
    "taken_ns: no time to read 55 MB before the receipt and the start; " + NOTHING,
)
def digests_at_the_start(copy: ForgedCopy) -> None:
    """data.json is taken in the microsecond before init_start."""
    copy.json["data"]["taken_ns"] = copy.events("init_start")[0]["metadata"]["mono_ns"] - 1000
