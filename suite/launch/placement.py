"""Hostfiles and placements: the hosts that train, and the number of ranks on each."""

import re
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from reference_impls.rank import HEARTBEAT_TIMEOUT_S
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.launch.slurm import SRUN, allocated_hosts, in_slurms_order

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}(:\d{1,5})?")
_LIST = re.compile(
    r"([A-Za-z0-9._-]+)\[(\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*)\]([\w.:-]*)"
)
_SLOTS = re.compile(r"^[^\s:]+:(\d{1,4})\b|\sslots=(\d{1,4})\b")
_NUMBERED = re.compile(r"slots=\d{1,4}")
_LOOPBACK = re.compile(r"localhost(\..*)?|127\.\d+\.\d+\.\d+")
NO_SLOTS = (
    "leave the slots out: `suite run --ranks-per-node N` and `suite linpack --ranks N` start N"
    " ranks on each host"
)
_IPV6 = re.compile(r"\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?(%\w+)?")


@dataclass(frozen=True)
class Placement:
    """The hosts that train (empty: this machine), the ranks on each, and the ``agent`` that starts
    commands there (None: ssh).

    With the agent ``srun``, hosts are nodes of a Slurm allocation, and srun starts the ranks, too.
    ``silence_s`` is for how long nothing need be heard of a rank, or of the harness, before the run
    is ended.
    """

    hosts: tuple[str, ...] = ()
    ranks_per_node: int = 1
    agent: str | None = None
    silence_s: float = HEARTBEAT_TIMEOUT_S

    @property
    def nodes(self) -> int:
        """Number of machines."""
        return max(1, len(self.hosts))

    @property
    def ranks(self) -> int:
        """Number of ranks on all machines."""
        return self.nodes * self.ranks_per_node


def read_hosts(path: Path) -> dict[str, int | None]:
    """The hosts of a file, one per line, and the slots that each states (``pi1 slots=4``,
    ``pi1:4``), None: none; ``pi[1-4]`` is four hosts. Comments and other settings are ignored.

    Raises SuiteError naming an invalid line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SuiteError(
            f"{path} cannot be read: {cause}; write one host per line in a text file."
        ) from error
    hosts: dict[str, int | None] = {}
    for number, line in enumerate(lines, start=1):
        words, where = line.partition("#")[0].split(), f"{path}:{number}"
        for name in expand_hosts(words[0]) if words else ():
            host = _host([name, *words[1:]], where)
            if host in hosts:
                raise SuiteError(
                    f"{where}: {host} is named twice; name each host once, and give"
                    " --ranks-per-node for several ranks on each."
                )
            stated = _SLOTS.search(" ".join([name, *words[1:]]))
            hosts[host] = int(stated[1] or stated[2]) if stated else None
    if not hosts:
        raise SuiteError(f"{path} names no host; write one host per line.")
    return hosts


def expand_hosts(word: str) -> list[str]:
    """The names of a list as Slurm writes it: pi[1-3,5] is pi1, pi2, pi3 and pi5, and zeros before
    a number stay. Another word is itself; so is a list with a range that ends before it begins,
    which is no host's name."""
    found = _LIST.fullmatch(word)
    if found is None:
        return [word]
    names = []
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers:
            return [word]
        names += [f"{found[1]}{number:0{len(first)}}{found[3]}" for number in numbers]
    return names


def _host(words: Sequence[str], where: str) -> str:
    """The host that a line names; raises SuiteError for one that names none, or in a way that MPI
    and ssh do not share."""
    name, further = words[0], next((word for word in words[1:] if "=" not in word), None)
    if further is not None:
        raise SuiteError(
            f"{where}: {further[:80]!r} stands after the host name; write one host per line, as in"
            " `pi1 slots=4`."
        )
    for word in words:
        if word.startswith("slots=") and not _NUMBERED.fullmatch(word):
            raise SuiteError(f"{where}: {word[:80]!r} is not a number of slots; write slots=4.")
    if _IPV6.fullmatch(name):
        raise SuiteError(
            f"{where}: {name} is an IPv6 address; write the host's name or its IPv4 address."
        )
    user, _, host = name.rpartition("@")
    if user:
        raise SuiteError(
            f"{where}: {name[:80]!r} names a user; write {host[:80]}, and `User {user[:80]}` for"
            " this host in ~/.ssh/config."
        )
    if not _HOST.fullmatch(name):
        raise SuiteError(
            f"{where}: {name[:80]!r} is not a host name; write one host per line, as in `pi1"
            " slots=4`."
        )
    return name.partition(":")[0]


def place_ranks(
    nodes: int | None,
    hostfile: Path | None,
    ranks_per_node: int | None,
    agent: str | None,
    otherwise: int = 1,
) -> Placement:
    """The first ``nodes`` hosts of the file, or of the Slurm allocation where ``agent`` is srun
    (default: all); without either, this machine.

    ``ranks_per_node`` None: the hostfile's slots, or ``otherwise``.
    """
    agent = agent_program(agent)
    slots: set[int | None] = set()
    if (ranks_per_node is not None and ranks_per_node < 1) or (nodes is not None and nodes < 1):
        raise SuiteError("--nodes and --ranks-per-node must be at least 1.")
    if hostfile is None and agent == SRUN:
        hosts, named_by = allocated_hosts(), "the allocation"
    elif hostfile is None:
        if nodes not in (None, 1):
            raise SuiteError(
                f"--nodes {nodes} needs --hostfile FILE with one host per line; for several ranks"
                " on this machine use --ranks-per-node."
            )
        return Placement((), ranks_per_node or otherwise, agent)
    else:
        stated, named_by = read_hosts(hostfile), str(hostfile)
        hosts, slots = tuple(stated), set(list(stated.values())[:nodes])
    own = next((host for host in hosts if _LOOPBACK.fullmatch(host)), None)
    if own is not None and len(hosts) > 1:
        raise SuiteError(
            f"{named_by} names {own}, which is a different machine for each host; write the name or"
            " address that this machine has in the network."
        )
    if nodes is not None and nodes > len(hosts):
        raise SuiteError(
            f"{named_by} names {counted(len(hosts), 'host')}; --nodes {nodes} needs"
            f" {nodes - len(hosts)} more."
        )
    each = ranks_per_node or _ranks_by_slots(slots, named_by) or otherwise
    is_sorted = hostfile is not None and agent == SRUN
    return Placement(in_slurms_order(hosts[:nodes]) if is_sorted else hosts[:nodes], each, agent)


def _ranks_by_slots(slots: set[int | None], named_by: str) -> int | None:
    """The slots that every host states; None where none does."""
    if len(slots) > 1:
        shown = ", ".join(sorted("none" if each is None else str(each) for each in slots))
        raise SuiteError(
            f"{named_by} states different numbers of slots ({shown}), but every host starts the"
            f" same number of ranks; write the same number of slots for all hosts, or {NO_SLOTS}."
        )
    if 0 in slots:
        raise SuiteError(
            f"{named_by} states 0 slots; leave out a host that runs no rank, or {NO_SLOTS}."
        )
    return next(iter(slots), None)


def agent_program(typed: str | None) -> str | None:
    """A launch agent as it is called from any folder: a name is searched for in PATH, a path is
    absolute."""
    return str(Path(typed).expanduser().absolute()) if typed and "/" in typed else typed


def address_of(host: str) -> str | None:
    """The address of IPv4 that this machine has for a host; None for a name that it does not know:
    some are ssh's only."""
    try:
        return socket.gethostbyname(host)
    except OSError:
        return None


def is_this_machine(host: str) -> bool:
    """True when the name resolves to an address of this machine."""
    try:
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True
