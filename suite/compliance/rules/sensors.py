"""Sensors: those that a board's own kernel always has"""

from functools import partial

from suite.catalog.meter_choice import LEFT_OUT
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations

ORDER = 84  # after the readings
SENSORS_ELSEWHERE = "board-sensors-elsewhere"
"""The check of runs that may lack a sensor, by kernel, container or choice: pages say so, too."""


def _absent(is_explained: bool, context: BundleContext) -> Violations:
    """Meters of the device's kernel without a reading: those that a kernel of others, a container
    or `--meters` explains, or those that nothing does."""
    profile = context.device
    if profile is None or profile.sensors is None:
        return
    for node in context.nodes_recorded():
        kernel = node.system.get("kernel")
        is_stock = any(part in str(kernel) for part in profile.sensors.kernels)
        is_elsewhere = not is_stock or context.run.isolation is not None
        for meter in profile.sensors.meters:
            if node.channels.of_source(meter):
                continue
            reason = node.meter_records.get(meter, {}).get("reason") or "no reading"
            is_left_out = reason == LEFT_OUT
            if (is_elsewhere or is_left_out) is is_explained:
                yield Violation(
                    node.meters_file,
                    f"readings of {meter}, which every {context.request.platform} with the vendor's"
                    " kernel offers",
                    f"{str(reason)[:200]}; the kernel is {kernel}",
                    fix=f"run again, and let --meters read {meter}" if is_left_out else None,
                )


RULES = (
    Rule(
        "board-sensors",
        "A run on a board has readings of every sensor that the board's device profile lists. With"
        " a kernel other than the vendor's, in a container, or (in the open division) if --meters"
        " leaves it out, a sensor may be absent. The run is then still valid, and a note names the"
        " sensor.",
        "The vendor's kernel always offers these sensors to every user. Without their readings,"
        " nothing shows that the run was made on this board, or whether heat slowed it down.",
        "run with the vendor's kernel, outside of a container, and give the user that runs the"
        " suite read access to /sys",
        (
            OfBundle("board-sensors", partial(_absent, False)),
            OfBundle(SENSORS_ELSEWHERE, partial(_absent, True), severity=Severity.NOTE),
        ),
    ),
)
