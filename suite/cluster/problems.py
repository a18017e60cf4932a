"""What makes a cluster unfit: one problem, with a remedy, per failed check of its nodes' facts and
link measures."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reference_impls.contract import SECONDS_PER_NS
from reference_impls.node import ITSELF
from suite.cluster.links import LinkMeasure, LinkMeasures
from suite.cluster.node_answers import NodeAnswer, NodeFacts, fit_hosts, same_suite
from suite.launch.placement import address_of, is_this_machine

MAX_CLOCK_OFFSET_S = 1.0
MIN_SHARE_OF_SPEED, MIN_SHARE_OF_PEERS = 0.5, 0.25
MAX_NAMED = 3
Known = Mapping[str, NodeFacts]
"""The facts of the hosts that gave theirs, by host."""
WITHOUT_TRAINING = ("reach", "first", "machine", "suite", "python", "connect", "mpi")
"""The points whose problems end a run before it starts. Packages and data are compared by the
ranks, which know what they use (reference_impls.admission); a slow link or a wrong clock makes no
result wrong."""


@dataclass(frozen=True)
class ClusterProblem:
    """A problem of a node, and its remedy; ``point`` is the check: of WITHOUT_TRAINING, or
    packages, data, clock, link."""

    node: str
    point: str
    sentence: str
    remedy: str


@dataclass(frozen=True)
class ExpectedNode:
    """The versions and packages of this machine, which every node should have."""

    version: str | None
    source_sha256: str
    git: str | None
    packages: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)
    framework: str = "…"

    @property
    def remedy(self) -> str:
        """What makes a node's environment as it should be."""
        return f"create the environment there again: suite env create {self.framework} --force"


def judge_cluster(
    answers: tuple[NodeAnswer, ...], links: LinkMeasures | None, expected: ExpectedNode
) -> tuple[ClusterProblem, ...]:
    """All problems: of machines, nodes, data sets and links, in this order."""
    known = {answer.host: answer.facts for answer in answers if answer.facts is not None}
    return (
        *_about_machines(known),
        *_about_nodes(answers, expected),
        *_about_connections(known),
        *_about_data(known),
        *_about_links(known, fit_hosts(answers), links),
    )


def about_hosts(hosts: Sequence[str]) -> Iterator[ClusterProblem]:
    """Problems that the hosts' names and addresses show, before any host is asked."""
    if not is_this_machine(hosts[0]):
        remedy = (
            f"write this machine's name first in the hostfile, or type the command on {hosts[0]}"
        )
        yield ClusterProblem(
            hosts[0],
            "first",
            f"The first host is {hosts[0]}; it must be this machine, because the first host writes"
            " the run directory",
            remedy,
        )
    first: dict[str, str] = {}
    for host in hosts:
        address = address_of(host)
        if address is not None and (other := first.setdefault(address, host)) != host:
            yield ClusterProblem(
                host,
                "machine",
                f"{other} and {host} have the same address here, {address}",
                "give each machine its own address (in /etc/hosts or on the name server), and name"
                " each machine once in the hostfile",
            )


def _about_machines(known: Known) -> Iterator[ClusterProblem]:
    """Two names of one machine are one node."""
    first: dict[str, str] = {}
    for host, facts in known.items():
        if facts.machine is not None and (other := first.setdefault(facts.machine, host)) != host:
            remedy = (
                "name every machine once in the hostfile, and start several ranks on it with"
                " --ranks-per-node"
            )
            yield ClusterProblem(host, "machine", f"{host} and {other} are one machine", remedy)


def _about_nodes(
    answers: tuple[NodeAnswer, ...], expected: ExpectedNode
) -> Iterator[ClusterProblem]:
    python = next((answer.facts.python for answer in answers if answer.facts is not None), "")
    for answer in answers:
        if answer.facts is None:
            yield ClusterProblem(
                answer.host,
                "suite" if answer.reached else "reach",
                str(answer.problem),
                str(answer.remedy),
            )
        else:
            yield from _about_suite(answer.host, answer.facts, expected)
            if _minor(answer.facts.python) != _minor(python):  # its packages are others, too
                sentence = (
                    f"{answer.host} has Python {answer.facts.python} in the environment, and"
                    f" {answers[0].host} has Python {python}"
                )
                yield ClusterProblem(
                    answer.host,
                    "python",
                    sentence,
                    f"install the same Python there, and {expected.remedy}",
                )
            else:
                yield from _about_packages(answer.host, answer.facts, answers[0], expected)


def _about_suite(host: str, facts: NodeFacts, expected: ExpectedNode) -> Iterator[ClusterProblem]:
    remedy = same_suite(host)
    if facts.version != expected.version:
        yield ClusterProblem(
            host,
            "suite",
            f"{host} has version {facts.version} of the suite, this machine has version"
            f" {expected.version}",
            remedy,
        )
    elif facts.source_sha256 != expected.source_sha256:
        states = f"{_short_digest(facts.git)} there, {_short_digest(expected.git)} here"
        names = set(facts.sources) | set(expected.sources)
        others = sorted(
            name for name in names if facts.sources.get(name) != expected.sources.get(name)
        )
        which = f": {first_names(others)}" if others else ""
        yield ClusterProblem(
            host,
            "suite",
            f"The sources in reference_impls on {host} differ from this machine's, though the"
            f" version is the same (git: {states}){which}",
            remedy,
        )


def _about_connections(known: Known) -> Iterator[ClusterProblem]:
    """One problem for all hosts that cannot connect to another for the same reason."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one, facts in known.items():
        for host, why in facts.unreached.items():
            found[host, why].append(one)
    for (host, why), others in found.items():
        whose = first_names(others)
        remedy = (
            f"let the firewall of {host} pass connections from {whose} to every port (MPI and the"
            f" ranks choose the ports), and check on {whose} that the address of {host} is right"
        )
        if why.startswith(ITSELF):
            remedy = f"correct the address of {host} in /etc/hosts of {whose}"
        yield ClusterProblem(
            host if len(others) > 1 else others[0],
            "connect",
            f"{whose} cannot connect to {host} ({why})",
            remedy,
        )


def _about_packages(
    host: str, facts: NodeFacts, first: NodeAnswer, expected: ExpectedNode
) -> Iterator[ClusterProblem]:
    """Packages of one version may have other files, by an edit, a damaged card or another build."""
    others = [
        f"{name} {facts.packages.get(name, 'missing')} (here {version})"
        for name, version in expected.packages.items()
        if facts.packages is not None and facts.packages.get(name) != version
    ]
    if others:
        yield ClusterProblem(
            host,
            "packages",
            f"{host} has other packages than this machine: {first_names(others)}",
            expected.remedy,
        )
    here = {} if first.facts is None else first.facts.package_files
    others = sorted(
        name for name, digest in here.items() if facts.package_files.get(name) != digest
    )
    if others:
        yield ClusterProblem(
            host,
            "packages",
            f"{host} does not have the same files as {first.host} in the packages "
            f"{first_names(others)}",
            expected.remedy,
        )


def _about_data(known: Known) -> Iterator[ClusterProblem]:
    """Every folder must be the same on all nodes; the expected content is that of most nodes (of
    several equally frequent ones, the first)."""
    for folder in next(iter(known.values())).data if known else ():
        digests = {host: facts.data[folder] for host, facts in known.items()}
        there = Counter(digest for digest in digests.values() if digest is not None)
        usual = there.most_common(1)[0][0] if there else None
        first = next(iter(known))
        source = next((host for host in known if digests[host] == usual), first)
        for host, digest in digests.items():
            ends = (
                f"{folder}/ {host}:{folder}/" if host != first else f"{source}:{folder}/ {folder}/"
            )
            remedy = f"put the same data there: rsync -a --delete {ends}"
            if digest is None:
                yield ClusterProblem(host, "data", f"{host} has no data in {folder}", remedy)
            elif digest != usual:
                yield ClusterProblem(
                    host,
                    "data",
                    f"{host} has other data in {folder} than other nodes (SHA-256"
                    f" {_short_digest(digest)} instead of {_short_digest(usual)})",
                    remedy,
                )


def _about_links(
    facts: Known, fit: Sequence[str], links: LinkMeasures | None
) -> Iterator[ClusterProblem]:
    for host, found in facts.items():
        if found.link.kind == "wireless":
            yield ClusterProblem(
                host,
                "link",
                f"{host} is on a wireless network ({found.link.interface}), whose speed changes",
                "use a cable",
            )
    if links is None:
        return
    if links.problem is not None:
        where = fit[min(len(links.measures) + 1, len(fit) - 1)]
        whom = f"from {fit[0]} to {where}" if links.measures else f"between {', '.join(fit)}"
        yield ClusterProblem(
            where,
            "mpi",
            f"MPI cannot send {whom}: {links.problem}",
            "check that no firewall blocks these hosts, that all of them have the same MPI (also in"
            " LD_LIBRARY_PATH), and that they have free memory and free space in /dev/shm",
        )
    best = max((measure.bandwidth_mbit_s for measure in links.measures), default=0.0)
    for measure in links.measures:
        yield from _about_measure(fit[measure.rank], fit[0], measure, facts, best)


def _about_measure(
    host: str, first: str, measure: LinkMeasure, known: Known, best_mbit_s: float
) -> Iterator[ClusterProblem]:
    """The clock's offset; then the bandwidth, compared with the slower interface of both ends,
    where both are hardware, and with the fastest link of the cluster."""
    offset_s = measure.wall_offset_ns * SECONDS_PER_NS
    if abs(offset_s) > MAX_CLOCK_OFFSET_S:
        apart = f"{abs(offset_s):.0f}" if abs(offset_s) >= 10 else f"{abs(offset_s):.3g}"
        course = "ahead of" if offset_s > 0 else "behind"
        yield ClusterProblem(
            host,
            "clock",
            f"The clock of {host} is {apart} s {course} {first}'s: logs disagree about the time of"
            " day (durations and energy use other clocks)",
            "synchronise the clocks of all nodes: sudo timedatectl set-ntp true",
        )
    found = measure.bandwidth_mbit_s
    speeds = [
        facts.link.speed_mbit_s
        for facts in (known[host], known[first])
        if facts.link.kind == "wired" and facts.link.speed_mbit_s
    ]
    remedy = "check its cable, its port and its other traffic"
    if speeds and found < MIN_SHARE_OF_SPEED * min(speeds):
        yield ClusterProblem(
            host,
            "link",
            f"The link to {host} carries {found:.3g} Mbit/s of the {min(speeds)} Mbit/s that its"
            " interfaces report",
            remedy,
        )
    elif found < MIN_SHARE_OF_PEERS * best_mbit_s:
        yield ClusterProblem(
            host,
            "link",
            f"The link to {host} carries {found:.3g} Mbit/s, the fastest link {best_mbit_s:.0f}"
            " Mbit/s: every step waits for the slowest link",
            remedy,
        )


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def first_names(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (
        f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    )


def _short_digest(digest: str | None) -> str:
    return "unknown" if digest is None else digest[:12] + ("+" if digest.endswith("+") else "")
