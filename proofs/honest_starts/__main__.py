"""Honest starts: no run of two ranks on one machine is refused for its gradients, and what their
comparison costs: `make prove honest-starts`. A sweep over frameworks and seeds, which is resumed; a
false alarm ends it."""

import statistics
import subprocess
import sys
from collections.abc import Sequence

from proofs.figures import hand_over
from proofs.proof import find_proof
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.files.json_file import read_json
from suite.files.paths import repository_root
from suite.metrics.matrix_record import read_matrix

STARTS = 200
SWEEP = (
    "sweep --workload lenet --data digits --steps 6 --ranks-per-node 2 --threads 1"
    " --vary framework=pytorch,tensorflow,chainer"
)

REFUSAL = "from the same mini-batch"
"""Of the sentence that refuses a start (reference_impls.agreement)."""


def main(arguments: Sequence[str]) -> int:
    """Make the starts that are missing, and print a line for each framework; exit code 1 for a
    false alarm, else that of the sweep."""
    starts = int(arguments[0]) if arguments else STARTS
    folder = find_proof("honest-starts").kept
    words = [*SWEEP.split(), "--seeds", str(starts), "--output", str(folder)]
    start = "from suite.cli.start import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", start, *words], cwd=repository_root(), stdout=sys.stderr
    )
    if ran.returncode != 0:
        messages = [read_json(path)["message"] or "" for path in folder.glob(f"*/{RUN}")]
        alarms = [message for message in messages if REFUSAL in message]
        if not alarms:
            sys.stdout.write("The sweep did not end.\n")
            return ran.returncode
        sys.stdout.write("\n".join(("False alarms:", *alarms, "")))
        hand_over(starts_until_then=len(messages), false_alarms=len(alarms))
        return 1
    matrix, figures = read_matrix(folder), dict[str, float | str | None]()
    for plan, point in zip(matrix.plan.points, matrix.points, strict=True):
        events = [
            Bundle(folder / run.folder).log().value("gradient_agreement") for run in point.runs
        ]
        farthest = max(event["distance"] for event in events)
        cost_s = statistics.median(event["cost_s"] for event in events)
        name = plan.settings[0].value
        figures |= {f"{name}_largest_distance": farthest, f"{name}_cost_s": cost_s}
        sys.stdout.write(
            f"{name}: {len(events)} starts, no false alarm, largest distance {farthest:.2g} of"
            f" {events[0]['tolerance']:g} allowed, {1e3 * cost_s:.0f} ms a comparison\n"
        )
    hand_over(starts=starts, false_alarms=0, **figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
