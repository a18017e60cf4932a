"""Systems that are references."""

from reporter.data.frames import Row
from reporter.data.machine_names import profile_of
from suite.catalog.organizations import OF_PROJECT


def is_reference_system(entry: Row) -> bool:
    """Whether the project itself trained on a machine that no profile describes: a server shows
    what frameworks do, and stands beside no device."""
    return str(entry["organization"]) == OF_PROJECT and profile_of(entry) is None
