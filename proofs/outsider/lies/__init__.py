"""Lies that an outsider would tell in a submission, written with nothing but the rulebook and the
format at hand.

One module per class of lie. `ALL` maps the class to its lies, `LIES` is the flat list. Each lie is
a `Lie` (proofs/outsider/edits.py):

- `level` says who would do it: "error" (somebody slipped), "edited record" (changed afterwards and
  sealed again with the suite's own tools), "fabricated run" (nothing was trained, or not this).
- `change` gets what `needs` names and edits in place: an `EditableBundle` of the sample "rich",
  "two_ranks" or "real"; a `Submission` of several bundles ("submission") or a `StallFolder`
  ("stall_folder"), both in proofs/outsider/edits.py. proofs/outsider/samples.py makes the honest
  ones.
- The caller saves if `sealed` is true, with chain, figures and manifests that fit (`save` of
  proofs/outsider/edits.py). Otherwise the files on disk are the lie, as they are.
- `contradicts` begins with "nothing in the bundle" where the author expects that no two records of
  the bundle part.
"""

from __future__ import annotations

from proofs.outsider.edits import Lie
from proofs.outsider.lies import (
    accuracy,
    data,
    fabricated,
    files,
    log,
    power,
    ranks,
    readings,
    request,
    scaled,
    steps,
    submissions,
    system,
)

ALL: dict[str, list[Lie]] = {
    "1 data": data.LIES,
    "2 request and rulebook": request.LIES,
    "3 log": log.LIES,
    "4 accuracies and target": accuracy.LIES,
    "5 step times": steps.LIES,
    "6 all times scaled": scaled.LIES,
    "7 power and energy": power.LIES,
    "8 counters and readings": readings.LIES,
    "9 system and device": system.LIES,
    "10 ranks and nodes": ranks.LIES,
    "11 copies and submissions": submissions.LIES,
    "12 fabricated runs": fabricated.LIES,
    "13 files": files.LIES,
}
LIES: list[Lie] = [lie for lies in ALL.values() for lie in lies]
