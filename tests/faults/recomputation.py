"""Faults that the rules of suite.compliance.rules.recomputation find, by check."""

from suite.compliance.rules.recomputation import EVENT
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import add_point, remove_event
from tests.faults.edits.recomputation_edits import ACTIONS, SPILLING, claim_budget

FAULTS: dict[str, tuple[Fault, ...]] = {
    "recomputation-followed": (
        *both("a budget and no event", in_turn(claim_budget(), remove_event(EVENT))),
        *both("no budget and the event", add_point(EVENT, {"blocks": 2})),
        *both("fewer forward runs than the schedule has", claim_budget(counts={"forwards": 7})),
        recomputed("more blocks than the schedule has", claim_budget(counts={"blocks": 3})),
        recomputed("backward runs that are missing", claim_budget(counts={"backwards": 5})),
        recomputed("spilled bytes below zero", claim_budget(counts={"spilled_bytes": -1})),
        recomputed(
            "spilled bytes and a schedule that spills nothing",
            claim_budget(counts={"spilled_bytes": 10**6}),
        ),
        recomputed(
            "a schedule that spills, and no bytes",
            claim_budget(spill=True, counts={"spilled_bytes": 0}),
        ),
        recomputed(
            "a schedule that spills, and half of its bytes",
            claim_budget(spill=True, counts={"spilled_bytes": 5_000}),
        ),
        recomputed(
            "a schedule that spills without a folder",
            claim_budget(spill=True, spill_folder=None),
        ),
        recomputed(
            "a folder and a schedule that spills nothing",
            claim_budget(spill_folder="$ELSEWHERE/card"),
        ),
        recomputed(
            "storage that took longer than all passes",
            claim_budget(spill=True, counts={"storage_s": 1e6}),
        ),
        recomputed(
            "a block that runs backward while it is on storage",
            claim_budget(spill=True, actions=SPILLING[:3] + SPILLING[5:]),
        ),
        recomputed(
            "blocks that ran again for longer than all passes",
            claim_budget(counts={"again_s": 1e6}),
        ),
        recomputed(
            "passes without a time on a CPU",
            claim_budget(counts={"passes_s": None, "again_s": None}),
        ),
        recomputed("passes that took a day", claim_budget(counts={"passes_s": 86400.0})),
        recomputed("a block that never runs backward", claim_budget(actions=ACTIONS[:-1])),
        recomputed("a block that is read and was not kept", claim_budget(actions=ACTIONS[1:])),
        recomputed(
            "a block kept without another block's outputs",
            claim_budget(actions=[*ACTIONS[:1], ["keep", 1, [2]], *ACTIONS[2:]]),
        ),
        recomputed(
            "outputs left out that the log counts no operations for",
            claim_budget(actions=[*ACTIONS[:1], ["keep", 1, [5, 6]], *ACTIONS[2:]]),
        ),
        recomputed("a block that there is not", claim_budget(actions=[*ACTIONS, ["keep", 7]])),
    ),
    "memory-as-planned": (
        recomputed("a peak above the budget", claim_budget(measured=1.3)),
        recomputed("a peak a fifth below the plan", claim_budget(measured=0.8)),
        recomputed("no peak", in_turn(claim_budget(), remove_event("peak_rss_of_ranks"))),
    ),
}
