"""Systems: their names that fit a table's cell or a card, and which of them are references."""

from reporter.data.frames import Row, is_known
from reporter.data.machine_names import profile_of, short_title
from suite.catalog.organizations import OF_PROJECT


def system_name(entry: Row) -> str:
    """The device by its short title, of a machine without a profile its processor; "4 × " before it
    for a cluster of four."""
    name = short_title(entry)
    return (
        f"{int(entry['nodes'])} × {name}"
        if is_known(entry["nodes"]) and entry["nodes"] > 1
        else name
    )


def is_reference_system(entry: Row) -> bool:
    """Whether the project itself trained on a machine that no profile describes: a server shows
    what frameworks do, and stands beside no device."""
    return str(entry["organization"]) == OF_PROJECT and profile_of(entry) is None
