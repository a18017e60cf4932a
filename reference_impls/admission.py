"""Admission: before the first step the ranks compare what they would train with, and a difference
ends the run. Python 3.6 grammar.

Every rank collects facts of its own process: the digests of the sources that it loaded, the
versions and the files of the packages that it imported, the digests of the data files that its
pipeline reads, the request, the weights that it starts from, and the identity of its machine. Rank
0's facts are broadcast, every rank compares its own with them, and the differences are gathered by
all: every rank ends with the same sentence.
"""

import hashlib
import json
import os
import platform
import re
import sys
import sysconfig
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from reference_impls.communication import Machine, World, node_names
from reference_impls.contract import (
    ContractError,
    Implementation,
    Pipeline,
    Request,
    request_to_dict,
)
from reference_impls.data_stalls import drop_files
from reference_impls.machine_identity import machine_identity
from reference_impls.node import (
    OF_THIS_MACHINE,
    ROOT,
    SITE,
    code_digest,
    file_digest,
    is_code,
    source_files,
)

KINDS = ("sources", "packages", "files", "data", "request", "weights")
"""What is compared, in the order in which a difference is reported."""

IMPORTED = ("packages", "files")
MAX_NAMED = 3
REMEDIES = {
    "sources": "put the same files on every node: rsync -a --delete --exclude /runs/"
    " {source}{root}/ {target}{root}/",
    "foreign": (
        "install it on every node or on none: PYTHONPATH, a .pth file or a shell's start-up files"
        " load it there"
    ),
    "packages": "create the environment on {node} again: suite env create {framework} --force",
    "files": "create the environment on {node} again: suite env create {framework} --force",
    "data": "put the same data there: rsync -a --delete {source}{data}/ {target}{data}/",
    "request": "start the run again; every rank must get the request that rank 0 read",
    "weights": (
        "put the same suite and packages on every node; `suite cluster doctor` compares them"
    ),
}
WHAT = {
    "sources": "another source",
    "packages": "another version of",
    "files": "another file",
    "data": "other data in",
    "request": "another value of",
    "weights": "other initial weights in",
}
Facts = Dict[str, Dict[str, str]]
Stamps = Dict[str, Optional[Tuple[int, int, int]]]


class Difference(NamedTuple):
    """What differs between two ranks: kind, the names that differ, and the values of the first
    (None: missing)."""

    kind: str
    names: List[str]
    wanted: Optional[str]
    found: Optional[str]


def compare_processes(request: Request, world: World) -> Dict[str, str]:
    """Compare all ranks' machines, sources, packages and requests, before the model is built.
    Returns this rank's digests, for the log.

    A single rank compares nothing. Raises ContractError at every rank, with the node, the file and
    the remedy.
    """
    if world.size == 1:
        return {}
    refuse_one_machine(world.machines, request.parallel.nodes)
    values = {
        key: json.dumps(value, sort_keys=True) for key, value in _flat(request_to_dict(request))
    }
    facts = {
        "sources": loaded_sources(),
        "packages": imported_packages(),
        "files": imported_files(),
        "request": values,
    }
    return dict(_agreed(request, world, facts), machine=machine_identity())


def compare_training(
    request: Request, world: World, implementation: Implementation, pipeline: Pipeline
) -> Dict[str, str]:
    """Compare the data that all ranks are going to read, and the states that they start from,
    before the first step; otherwise as above."""
    directory, drops = request.data.directory, request.cache_cleared is not False
    data = {
        os.path.relpath(path, directory): _read(path, drops)
        for path in _files_to_compare(world, pipeline)
    }
    weights = {
        name: hashlib.sha256(memoryview(value)).hexdigest()
        for name, value in implementation.training_state().items()
    }
    return _agreed(request, world, {"data": data, "weights": weights})


def data_stamps(world: World, pipeline: Pipeline) -> Stamps:
    """The stamps of the files that are compared between machines; take them before the
    comparison."""
    return {path: stamp(path) for path in _files_to_compare(world, pipeline)}


def refuse_changed_data(world: World, before: Stamps) -> None:
    """Compare the files with what they were before the first step; raise ContractError at every
    rank where one was changed or replaced."""
    changed = world.allgather(
        sorted(os.path.basename(path) for path in before if stamp(path) != before[path])[:MAX_NAMED]
    )
    rank = next((rank for rank, names in enumerate(changed) if names), None)
    if rank is not None:
        raise ContractError(
            "the data on {} changed during the run ({}), so it is unknown which data were trained"
            " on; make sure that nothing writes there, and run again.".format(
                world.nodes[rank], ", ".join(changed[rank])
            )
        )


def stamp(path: str) -> Optional[Tuple[int, int, int]]:
    """Size, time of change and inode of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _agreed(request: Request, world: World, facts: Facts) -> Dict[str, str]:
    """The digest of each kind of facts; raises ContractError where a rank's differ from rank
    0's."""
    refuse_differences(
        request, world, difference(facts, world.bcast(facts if world.rank == 0 else None))
    )
    return {
        kind: hashlib.sha256(json.dumps(values, sort_keys=True).encode("utf-8")).hexdigest()
        for kind, values in facts.items()
    }


def difference(own: Facts, first: Facts) -> Optional[Difference]:
    """The first kind of facts in which two ranks differ; None where they agree. Only packages and
    files that both have imported are compared."""
    for kind in sorted(own, key=KINDS.index):
        mine, theirs = own[kind], first[kind]
        names = set(mine) & set(theirs) if kind in IMPORTED else set(mine) | set(theirs)
        others = sorted(name for name in names if mine.get(name) != theirs.get(name))
        if others:
            return Difference(kind, others, theirs.get(others[0]), mine.get(others[0]))
    return None


def refuse_apart(world: World, digests: Dict[str, str], epoch: int) -> None:
    """Compare the digests of all ranks' training states after an epoch; raise ContractError at
    every rank where they differ."""
    if world.size == 1:
        return
    first = world.bcast(digests)
    apart = world.allgather([kind for kind in digests if digests[kind] != first[kind]])
    rank = next((rank for rank, kinds in enumerate(apart) if kinds), None)
    if rank is not None:
        others = sum(map(bool, apart)) - 1
        more = " and {} more rank{}".format(others, "s" if others > 1 else "") if others else ""
        raise ContractError(
            "{} (rank {}){} has another {} than {} (rank 0) after epoch {}: the ranks no longer"
            " train one model; look for a library, processor or memory that differs there.".format(
                world.nodes[rank], rank, more, " and ".join(apart[rank]), world.nodes[0], epoch
            )
        )


def refuse_differences(request: Request, world: World, own: Optional[Difference]) -> None:
    """Gather every rank's difference from rank 0; raise ContractError at all of them if there is
    one."""
    found = [
        (world.nodes[rank], each)
        for rank, each in enumerate(world.allgather(own))
        if each is not None
    ]
    if not found:
        return
    node, first = found[0][0], Difference(*found[0][1])
    nodes = list(dict.fromkeys(name for name, _ in found))
    rest = [name for name in dict.fromkeys(world.nodes) if name != world.nodes[0]]
    same_everywhere = (
        len(rest) > 1
        and len(found) == world.size - world.nodes.count(world.nodes[0])
        and len({str(each) for _, each in found}) == 1
    )
    odd, others = (world.nodes[0], node) if same_everywhere else (node, world.nodes[0])
    values = (first.found, first.wanted) if same_everywhere else (first.wanted, first.found)
    names = ", ".join(first.names[:MAX_NAMED]) + (
        " and {} more".format(len(first.names) - MAX_NAMED) if len(first.names) > MAX_NAMED else ""
    )
    is_foreign = first.kind == "sources" and os.path.isabs(first.names[0])
    remedy = REMEDIES["foreign" if is_foreign else first.kind].format(
        node=odd,
        framework=request.framework,
        data=request.data.directory,
        root=ROOT,
        source=others + ":" if same_everywhere else "",
        target="" if same_everywhere else odd + ":",
    )
    also = (
        ""
        if len(nodes) == 1 or same_everywhere
        else "; {} differ{} too".format(", ".join(nodes[1:4]), "s" if len(nodes) == 2 else "")
    )
    raise ContractError(
        "{} has {} {} than {} ({} for {}{}); {}.".format(
            odd, WHAT[first.kind], names, others, _short(values[1]), _short(values[0]), also, remedy
        )
    )


def refuse_one_machine(machines: List[Machine], nodes: int) -> None:
    """Raise ContractError where two names are one machine, or where the ranks run on another number
    of machines than requested."""
    names = {}  # type: Dict[str, List[str]]
    for machine in machines:
        if machine.name not in names.setdefault(machine.identity, []):
            names[machine.identity].append(machine.name)
    if len(names) == nodes:
        return
    twice = next((each for each in names.values() if len(each) > 1), next(iter(names.values())))
    ranks = node_names(machines)
    raise ContractError(
        "{} nodes were requested and the ranks run on {} machine{} ({}): {}; name every machine"
        " once in the hostfile and start several ranks on it with --ranks-per-node.".format(
            nodes,
            len(names),
            "s" if len(names) > 1 else "",
            ", ".join(dict.fromkeys(ranks)),
            (
                " and ".join(twice) + " are one machine"
                if len(twice) > 1
                else twice[0] + " was named more than once"
            ),
        )
    )


def _files_to_compare(world: World, pipeline: Pipeline) -> List[str]:
    """On several machines the files that the pipeline reads; the ranks of a single one have the
    same."""
    return pipeline.files() if len(set(world.nodes)) > 1 else []


def loaded_sources(root: str = ROOT) -> Dict[str, str]:
    """SHA-256 of every source in reference_impls, and of every module that this process has loaded
    from elsewhere than its packages."""
    digests = source_files(root)
    libraries = tuple(
        {os.path.realpath(path) + os.sep for path in sysconfig.get_paths().values()}
        | {os.path.realpath(sys.base_prefix) + os.sep}
    )
    folder = os.path.join(os.path.realpath(root), "reference_impls") + os.sep
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not os.path.isfile(path):
            continue
        path = os.path.realpath(path)
        is_library = (
            path.startswith(libraries) or "site-packages" in path or "dist-packages" in path
        )
        if not is_library and not path.startswith(folder):
            digests[path] = file_digest(path)
    return digests


def imported_packages() -> Dict[str, str]:
    """The versions of Python, of MPI, and of every imported package: as the package says, and as
    its metadata say where they are known."""
    versions = {"Python": platform.python_version()}
    for name in sorted(
        name for name in list(sys.modules) if "." not in name and not name.startswith("_")
    ):
        said = getattr(sys.modules[name], "__version__", None)
        known = _version_of_metadata(name)
        found = " ".join(
            [
                *([said] if isinstance(said, str) else []),
                *(["(metadata {})".format(known)] if known and known != said else []),
            ]
        )
        if found:
            versions[name] = found
    if "mpi4py.MPI" in sys.modules:
        versions["MPI"] = re.sub(
            r"\s+", " ", sys.modules["mpi4py.MPI"].Get_library_version()
        ).strip("\0 ")[:100]
    return versions


def imported_files(root: str = "/") -> Dict[str, str]:
    """The digest of every file of a package that this process has imported or mapped, by its path
    in site-packages."""
    paths = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    with open(os.path.join(root, "proc/self/maps"), encoding="utf-8", errors="replace") as stream:
        paths.update(line[line.index("/") :].strip() for line in stream if "/" in line)
    digests = {}
    for path in paths:
        found = SITE.match(path) if is_code(path) and os.path.isfile(path) else None
        if found is not None and found.group(1).split("/")[0] not in OF_THIS_MACHINE:
            digests[found.group(1)] = code_digest(path)
    return digests


def _version_of_metadata(name: str) -> Optional[str]:
    try:
        from importlib import metadata  # Python 3.8 and later
    except ImportError:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _read(path: str, drops: bool) -> str:
    """A file's SHA-256, or why it cannot be read. ``drops``: its pages leave the page cache
    afterwards, because the run begins with a cold one."""
    try:
        digest = file_digest(path)
        if drops:
            drop_files([path])
    except OSError as error:
        return "unreadable: {}".format(error.strerror)
    return digest


def _flat(values: Dict[str, Any], prefix: str = "") -> Iterator[Tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, prefix + key + ".")
        else:
            yield prefix + key, value


def _short(value: Optional[str]) -> str:
    """A value for people: missing, the beginning of a digest, or the value itself."""
    if value is None:
        return "missing"
    return value[:12] if re.fullmatch("[0-9a-f]{64}", value) else value[:80]
