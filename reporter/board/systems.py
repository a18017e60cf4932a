"""Names of systems that fit a table's cell or a card."""

from reporter.data.frames import Row, is_known
from reporter.data.machine_names import short_title


def system_name(entry: Row) -> str:
    """The device by its short title, of a machine without a profile its processor; "4 × " before it
    for a cluster of four."""
    name = short_title(entry)
    return (
        f"{int(entry['nodes'])} × {name}"
        if is_known(entry["nodes"]) and entry["nodes"] > 1
        else name
    )
