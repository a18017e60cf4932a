"""Runs of several ranks: every rank's records are there, and they bear witness to one another."""

from collections.abc import Callable, Iterator, Sequence

from reference_impls.contract import log_name
from suite.bundle.layout import STEPS
from suite.bundle.log import Log, LogEvent
from suite.compliance.editing import EditableBundle
from suite.compliance.rule import BundleCase, Fault, Rule, Violation

RUN_AGAIN = "these are not the records that the training loop writes: run again"
AT_THE_END = None
"""In an epoch's place: the exchange of the last line."""

COPY_AGAIN = "copy the whole run directory again; results are never edited, only superseded"


def _complete(case: BundleCase) -> Iterator[Violation]:
    """Each mini-batch is shared out among the ranks as the request says, each step is in every rank's records."""
    ranks = case.request.parallel.ranks
    found = list(case.steps.ranks)
    if found != list(range(ranks)):
        yield Violation(STEPS, f"steps of the ranks 0 to {ranks - 1}", f"of {found}"[:200], RUN_AGAIN)
        return
    logged = case.log.value("ranks")
    if logged != ranks:
        yield Violation("log.txt", f"ranks = {ranks}, as requested", f"{logged!r}"[:200], RUN_AGAIN)
    for rank, steps in case.steps.by_rank():
        if steps.samples.tolist() != _counts(case, len(steps), rank):
            yield Violation(STEPS, f"rank {rank} takes every {ranks}th sample of each mini-batch, from the {rank + 1}th", "others", RUN_AGAIN)


def _counts(case: BundleCase, steps: int, rank: int) -> list[int]:
    """A rank's samples, step by step."""
    samples, batch, ranks = case.request.data.train_samples, case.request.global_batch_size, case.request.parallel.ranks
    of_epoch = [len(range(rank, min(batch, samples - first), ranks)) for first in range(0, samples, batch)]
    return [of_epoch[index % len(of_epoch)] for index in range(steps)]


def _agree(case: BundleCase) -> Iterator[Violation]:
    """Each rank's log holds every rank's chain value after each epoch and at the end; none can be rewritten without the others."""
    ranks = case.request.parallel.ranks
    logs = [case.log, *(case.bundle.log(rank) for rank in range(1, ranks))]
    for rank, log in enumerate(logs):
        stranger = next((event for event in log.events if event.metadata.get("rank", rank) != rank), None)
        if stranger is not None:
            yield Violation(log_name(rank), f"events of rank {rank}", f"rank {stranger.metadata['rank']!r}"[:200], COPY_AGAIN, stranger.line)
    if ranks == 1:
        return
    heads: dict[int | None, list[object]] = {epoch: [_head(log.all("epoch_stop"), epoch) for log in logs] for epoch in case.log.finished_epochs()}
    if case.log.first("run_stop") is not None:
        heads[AT_THE_END] = [_last_but_one(log) for log in logs]
    for rank, log in enumerate(logs):
        for problem in log.problems if rank else ():
            yield Violation(log_name(rank), "readable lines in an unbroken chain", problem.what, COPY_AGAIN, problem.line)
        told = {event.epoch: event for event in log.all("chain_heads")}
        for epoch, expected in heads.items():
            event = told.get(epoch)
            if event is None or event.value != expected:
                observed, line = ("none", None) if event is None else ("others", event.line)
                when = "before its last line" if epoch is AT_THE_END else f"after epoch {epoch}"
                yield Violation(log_name(rank), f"the chain values of all ranks' logs {when}", observed, COPY_AGAIN, line)


def _head(stops: Sequence[LogEvent], epoch: int) -> object:
    return next((stop.metadata.get("chain") for stop in stops if stop.epoch == epoch), None)


def _last_but_one(log: Log) -> object:
    """The chain value that a rank told the others before its last line, in which it wrote down theirs."""
    return log.events[-2].metadata.get("chain") if len(log.events) > 1 else None


def _lost_rank(bundle: EditableBundle) -> None:
    bundle.steps = bundle.steps[bundle.steps["rank"] != 1]


def _other_share(bundle: EditableBundle) -> None:
    second = bundle.steps["rank"] == 1
    bundle.steps.loc[second, "samples"] -= 1
    bundle.steps.loc[~second, "samples"] += 1


def _more_ranks(bundle: EditableBundle) -> None:
    bundle.request["parallel"]["ranks"] = 3


def _better_accuracy(number: int) -> Callable[[EditableBundle], None]:
    def edit(bundle: EditableBundle) -> None:
        event = bundle.event("eval_accuracy", number)
        event["metadata"]["correct"] += 10
        event["value"] = event["metadata"]["correct"] / bundle.request["data"]["eval_samples"]

    return edit


def _another_rank(bundle: EditableBundle) -> None:
    bundle.event("run_stop")["metadata"]["rank"] = 1


def _other_peer(bundle: EditableBundle) -> None:
    log = bundle.path / log_name(1)
    log.write_text(log.read_text(encoding="utf-8").replace('"key": "seed", "value": ', '"key": "seed", "value": 4'), encoding="utf-8")


RULES = (
    Rule(
        id="ranks-complete",
        sentence="Every rank's steps are there, and each takes its share of every mini-batch.",
        rationale="A rank that trained on less made the others look faster.",
        judges_bundle=_complete,
        faults=(Fault("a rank lost", _lost_rank, ranks=2), Fault("another share", _other_share, ranks=2), Fault("more ranks", _more_ranks, ranks=2)),
    ),
    Rule(
        id="ranks-agree",
        sentence="Every rank's log is whole, of that rank alone, and holds the chain values of all ranks' logs after every epoch and at its end.",
        rationale="The log of one node contradicts its peers when it is edited.",
        judges_bundle=_agree,
        faults=(
            Fault("rank 0's log rewritten with a fitting chain", _better_accuracy(1), ranks=2),
            Fault("rank 0's last accuracy rewritten with a fitting chain", _better_accuracy(2), ranks=2),
            Fault("another rank's log edited", _other_peer, ranks=2),
            Fault("an event of another rank", _another_rank),
        ),
    ),
)
