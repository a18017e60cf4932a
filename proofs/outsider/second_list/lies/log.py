"""Lies about the log: its events, their order, times and digests."""

import copy as copies
import hashlib

from proofs.outsider.second_list.edits import take_out
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "log"


@lie(SUBJECT, EDITED, "an evaluation's time", "an epoch without an evaluation")
def evaluation_left_out(copy: ForgedCopy) -> None:
    """The second evaluation is taken out, with its time."""
    events = [
        event
        for event in copy.logs[0]
        if event["key"].startswith("eval_") and event["metadata"].get("epoch_num") == 2
    ]
    times = [event["metadata"]["mono_ns"] for event in events]
    copy.logs[0] = [event for event in copy.logs[0] if event not in events]
    take_out(copy, [(min(times), max(times))])


@lie(
    SUBJECT,
    EDITED,
    "the last evaluation's time",
    "run_stop is before the end of the last evaluation",
)
def stopped_before_the_evaluation(copy: ForgedCopy) -> None:
    """run_stop has the time of the last epoch's end."""
    copy.events("run_stop")[0]["metadata"]["mono_ns"] = (
        copy.events("epoch_stop")[-1]["metadata"]["mono_ns"] + 1
    )


@lie(SUBJECT, EDITED, "the slow first steps are initialisation", "steps before run_start")
def started_after_twenty_steps(copy: ForgedCopy) -> None:
    """init_stop, run_start and the first epoch's start are moved to the 21st step."""
    start = int(copy.steps["start_ns"].iloc[20]) - 1000
    for number, key in enumerate(("init_stop", "run_start", "epoch_start")):
        event = copy.events(key)[0]
        event["time_ms"] += (start - event["metadata"]["mono_ns"]) // 10**6
        event["metadata"]["mono_ns"] = start + number


@lie(SUBJECT, EDITED, "the slow first step", "the step table's first step begins before the epoch")
def epoch_from_the_second_step(copy: ForgedCopy) -> None:
    """The first epoch starts with its second step."""
    event = copy.events("epoch_start")[0]
    event["metadata"]["mono_ns"] = int(copy.steps["start_ns"].iloc[1]) - 1000


@lie(SUBJECT, ERROR, "a log of two boots", "the boot changes within a log")
def another_boot_from_the_middle_on(copy: ForgedCopy) -> None:
    """The second half of the log is of another boot."""
    for event in copy.logs[0][len(copy.logs[0]) // 2 :]:
        event["metadata"]["boot"] = "11111111-2222-4333-8444-555555555555"


@lie(
    SUBJECT,
    EDITED,
    "the result is a month older: first of its kind",
    NOTHING + "; a witness's clock",
    sample="closed-two-ranks",
)
def backdated(copy: ForgedCopy) -> None:
    """Wall clock, start and run id of a month earlier."""
    month = 30 * 86400 * 1000
    for log in copy.logs:
        for event in log:
            event["time_ms"] -= month
    copy.run["started_time_ms"] -= month
    copy.run["run_id"] = copy.run["run_id"].replace("20261122T", "20261023T")


@lie(SUBJECT, EDITED, "the run of another boot: it overlaps with none", "the boot in system.json")
def boot_renamed_in_the_log(copy: ForgedCopy) -> None:
    """Another boot in every line of the log, not in system.json."""
    for event in copy.logs[0]:
        event["metadata"]["boot"] = "11111111-2222-4333-8444-555555555555"


@lie(SUBJECT, EDITED, "as above", NOTHING)
def boot_renamed_everywhere(copy: ForgedCopy) -> None:
    """Another boot in log and system.json."""
    boot_renamed_in_the_log(copy)
    copy.system["boot"] = "11111111-2222-4333-8444-555555555555"


@lie(
    SUBJECT, ERROR, "nothing", "the suite's logs have the namespace edge", sample="closed-two-ranks"
)
def namespace_of_others(copy: ForgedCopy) -> None:
    """Every line has the namespace of another producer."""
    for log in copy.logs:
        for event in log:
            event["namespace"] = "mlperf"


@lie(
    SUBJECT,
    EDITED,
    "readers that take the last value see a better one",
    "two accuracies of an epoch",
)
def accuracy_said_twice(copy: ForgedCopy) -> None:
    """The third accuracy again, and better."""
    event = copies.deepcopy(copy.events("eval_accuracy")[2])
    event["metadata"]["correct"] = 9915
    event["value"] = 0.9915
    copy.logs[0].insert(copy.logs[0].index(copy.events("eval_stop")[2]), event)


@lie(
    SUBJECT,
    EDITED,
    "trained from weights of before",
    "the log itself says that weights were loaded",
)
def weights_were_loaded(copy: ForgedCopy) -> None:
    """A line says that weights were loaded from a file."""
    event = copies.deepcopy(copy.events("parameters")[0])
    event.update(key="weights_loaded", value="/data/lenet-pretrained.pt")
    copy.logs[0].insert(copy.logs[0].index(copy.events("parameters")[0]) + 1, event)


@lie(SUBJECT, EDITED, "epochs without training", "the weights do not change, the losses do")
def state_that_stands_still(copy: ForgedCopy) -> None:
    """The digests of epoch 3 are those of epoch 2."""
    events = copy.events("state_digests")
    events[2]["value"] = copies.deepcopy(events[1]["value"])


@lie(
    SUBJECT,
    FABRICATED,
    "digests without states",
    "LeNet-5 has no statistics: that digest is that of nothing, in every run",
)
def statistics_of_a_model_without(copy: ForgedCopy) -> None:
    """The digests of the statistics are made up."""
    for event in copy.events("state_digests"):
        event["value"]["statistic"] = hashlib.sha256(
            str(event["metadata"]["epoch_num"]).encode()
        ).hexdigest()


@lie(SUBJECT, FABRICATED, "digests without states", NOTHING + "; the states, if they are asked for")
def invented_digests(copy: ForgedCopy) -> None:
    """The digests of parameters and velocities are made up."""
    for event in copy.events("state_digests"):
        for name in ("parameter", "velocity"):
            event["value"][name] = hashlib.sha256(
                f"{name}{event['metadata']['epoch_num']}".encode()
            ).hexdigest()


@lie(
    SUBJECT,
    FABRICATED,
    "digests without states",
    "parameters and velocities are not the same numbers",
)
def one_digest_for_both(copy: ForgedCopy) -> None:
    """Velocities have the parameters' digest."""
    for event in copy.events("state_digests"):
        event["value"]["velocity"] = event["value"]["parameter"]


@lie(SUBJECT, ERROR, "nothing; a slip", "epochs are counted from 1")
def epochs_from_nought(copy: ForgedCopy) -> None:
    """Epochs are counted from 0, in log and steps."""
    for event in copy.logs[0]:
        if "epoch_num" in event["metadata"]:
            event["metadata"]["epoch_num"] -= 1
    copy.steps["epoch"] -= 1


@lie(SUBJECT, ERROR, "nothing; a slip", "time_ms is in milliseconds")
def seconds_for_milliseconds(copy: ForgedCopy) -> None:
    """The wall clock is in seconds."""
    for event in copy.logs[0]:
        event["time_ms"] //= 1000


@lie(SUBJECT, ERROR, "nothing", "a line of rank 1 in rank 0's log")
def a_line_of_rank_one(copy: ForgedCopy) -> None:
    """One line is of rank 1."""
    copy.events("eval_start")[1]["metadata"]["rank"] = 1


@lie(
    SUBJECT,
    EDITED,
    "compiling hidden before the log begins",
    "the meters read the implementation's CPU time before init_start",
)
def initialisation_of_a_moment(copy: ForgedCopy) -> None:
    """Initialisation takes a tenth of a millisecond: init_start is moved to its end."""
    stop = copy.events("init_stop")[0]["metadata"]["mono_ns"]
    wall = copy.events("init_stop")[0]["time_ms"]
    events = [event for event in copy.logs[0] if event["metadata"]["mono_ns"] < stop]
    for number, event in enumerate(events):
        event["metadata"]["mono_ns"] = stop - (len(events) - number) * 3000
        event["time_ms"] = wall
