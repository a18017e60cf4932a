"""Lies about accuracies and the target."""

from proofs.outsider.second_list.edits import end_after, set_accuracy
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "accuracies and target"


@lie(
    SUBJECT,
    EDITED,
    "time to target: half of the epochs",
    NOTHING + " in one run; too few epochs in a submission",
)
def target_four_epochs_in(copy: ForgedCopy) -> None:
    """The fourth evaluation is raised to the target; the run ends there."""
    set_accuracy(copy, 4, 9902)
    end_after(copy, 4)


@lie(SUBJECT, EDITED, "time to target: the first epoch", "the first epoch's losses do not allow it")
def target_at_once(copy: ForgedCopy) -> None:
    """The first evaluation reaches the target; the run ends there."""
    set_accuracy(copy, 1, 9900)
    end_after(copy, 1)


@lie(SUBJECT, EDITED, "time to target: an epoch less", NOTHING)
def target_an_epoch_earlier(copy: ForgedCopy) -> None:
    """The last evaluation but one has the last one's accuracy; the run ends there."""
    last = copy.events("eval_accuracy")[-1]["metadata"]
    set_accuracy(copy, last["epoch_num"] - 1, last["correct"])
    end_after(copy, last["epoch_num"] - 1)


@lie(SUBJECT, EDITED, "a missed target is reached", NOTHING, sample="missed")
def missed_and_raised(copy: ForgedCopy) -> None:
    """A run that missed its target reaches it with its last evaluation."""
    set_accuracy(copy, 10, 9901)
    for event in copy.everywhere("run_stop"):
        event["metadata"]["status"] = "success"


@lie(
    SUBJECT,
    EDITED,
    "a steady course",
    "two evaluations never rise all the time by chance; " + NOTHING,
)
def accuracies_sorted(copy: ForgedCopy) -> None:
    """Accuracies in rising order."""
    counts = sorted(event["metadata"]["correct"] for event in copy.events("eval_accuracy"))
    for number, count in enumerate(counts):
        set_accuracy(copy, number + 1, count)


@lie(
    SUBJECT, EDITED, "accuracies two tenths better, earlier at the target", NOTHING + " in one run"
)
def all_two_tenths_better(copy: ForgedCopy) -> None:
    """Twenty more correct samples in every evaluation; the run ends where 99 % is reached."""
    for event in copy.events("eval_accuracy"):
        epoch, correct = event["metadata"]["epoch_num"], event["metadata"]["correct"] + 20
        set_accuracy(copy, epoch, correct)
        if correct >= 9900:
            end_after(copy, epoch)
            return


@lie(SUBJECT, ERROR, "an accuracy just below the target reaches it", "the count: 9,899 of 10,000")
def rounded_to_the_target(copy: ForgedCopy) -> None:
    """98.99 % is logged as 99 %."""
    event = copy.events("eval_accuracy")[-1]
    event["metadata"]["correct"], event["value"] = 9899, 0.99


@lie(SUBJECT, ERROR, "nothing; a slip", "accuracies are ratios")
def percent_for_a_ratio(copy: ForgedCopy) -> None:
    """Accuracies in percent."""
    for event in copy.events("eval_accuracy"):
        event["value"] *= 100


@lie(SUBJECT, ERROR, "nothing; a slip", "more correct samples than there are")
def more_correct_than_samples(copy: ForgedCopy) -> None:
    """The count is of the training set."""
    event = copy.events("eval_accuracy")[-1]
    event["metadata"]["correct"] = 59400


@lie(SUBJECT, ERROR, "nothing; a slip", "a count is a whole number")
def half_a_sample(copy: ForgedCopy) -> None:
    """Half a correct sample more."""
    event = copy.events("eval_accuracy")[2]
    event["metadata"]["correct"] += 0.5
    event["value"] = event["metadata"]["correct"] / 10000


@lie(SUBJECT, EDITED, "evaluations of a tenth of the time", "the evaluation set has 10,000 samples")
def evaluated_on_a_tenth(copy: ForgedCopy) -> None:
    """1,000 evaluation samples in request and log, counts to fit."""
    copy.request["data"]["eval_samples"] = 1000
    copy.set_logged("eval_samples", 1000)
    for event in copy.events("eval_accuracy"):
        set_accuracy(copy, event["metadata"]["epoch_num"], round(event["metadata"]["correct"] / 10))


@lie(
    SUBJECT,
    EDITED,
    "evaluated on what was trained on",
    "accuracy above what the losses of the epoch give others; " + NOTHING,
)
def accuracies_of_the_training_set(copy: ForgedCopy) -> None:
    """From the third epoch on the accuracy is near that of the training set: the run ends there."""
    set_accuracy(copy, 3, 9931)
    end_after(copy, 3)


@lie(
    SUBJECT,
    FABRICATED,
    "no evaluation was made",
    "the same count ten thousandth after ten thousandth",
)
def one_accuracy_for_all(copy: ForgedCopy) -> None:
    """Every evaluation before the last has the same count."""
    for event in copy.events("eval_accuracy")[:-1]:
        set_accuracy(copy, event["metadata"]["epoch_num"], 9861)


@lie(SUBJECT, ERROR, "an accuracy of before its epoch", "evaluations begin with their epoch's end")
def counted_from_the_next(copy: ForgedCopy) -> None:
    """Every accuracy is said an epoch too early; the run goes on after the target."""
    counts = [event["metadata"]["correct"] for event in copy.events("eval_accuracy")]
    for number, count in enumerate(counts[1:]):
        set_accuracy(copy, number + 1, count)


@lie(SUBJECT, EDITED, "a target that is easier", "the workload's target", sample="closed-two-ranks")
def a_target_of_985(copy: ForgedCopy) -> None:
    """98.5 % in request and log; the run ends at the first evaluation that reaches it."""
    copy.request["target_accuracy"] = 0.985
    copy.set_logged("target_accuracy", 0.985)
    for event in copy.events("eval_accuracy"):
        if event["value"] >= 0.985:
            end_after(copy, event["metadata"]["epoch_num"])
            return


@lie(
    SUBJECT,
    EDITED,
    "a failed run does not count",
    "epochs left of ten, without the target",
    sample="missed",
)
def stopped_before_it_missed(copy: ForgedCopy) -> None:
    """A run that would miss its target is cut off after eight epochs and called interrupted by the
    user, yet sealed."""
    end_after(copy, 8, "aborted")
