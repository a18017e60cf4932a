"""A node's facts: ``python -m reference_impls.node '{"data": [FOLDER, …], "peer": HOST}'`` prints
them as one line of JSON.

With ``"listens": true``, the nodes first connect to each other, as MPI would
(:func:`connect_to_others`).

Standard library only, Python 3.6 grammar: it runs on every node of a cluster, in a framework's
environment. Unknown values are None, with the reason.
"""

import fcntl
import hashlib
import json
import os
import platform
import re
import select
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from reference_impls.machine_identity import machine_identity

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE_ENDS = (".py", ".toml", ".txt")
SIOCGIFADDR = 0x8915
CONNECT_TIMEOUT_S = 5.0
ITSELF = "this name means the machine itself there"
"""The reason for a name that has an address of the machine that looks it up."""
LINE_TIMEOUT_S, BACKLOG, MAX_CONNECTIONS = 40.0, 1024, 64
MAC_NAME = re.compile("(enx|wlx|wwx)[0-9a-f]{12}")
"""Names that systemd makes for USB adapters."""
SITE = re.compile(r".*/(?:site|dist)-packages/(.+)")
ENDS_BYTES = 2**20
OF_THIS_MACHINE = ("mpi4py",)
"""Packages that may be compiled on each node for the MPI that is there."""


def facts(
    data_folders: List[str],
    peer: Optional[str],
    reads_packages: bool = False,
) -> Dict[str, Any]:
    """All facts; ``peer`` is a host, and the link described is the interface that leads to it.
    ``reads_packages``: digest their files, too."""
    sources = source_files(ROOT)
    return {
        "node": socket.gethostname(),
        "machine": machine_identity(),
        "python": platform.python_version(),
        "version": suite_version(ROOT),
        "source_sha256": source_digest(sources),
        "sources": sources,
        "git": git_state(ROOT),
        "packages": packages(),
        "package_files": package_files() if reads_packages else {},
        "data": {folder: data_digest(folder) for folder in data_folders},
        "link": link_towards(peer),
    }


def connection_problem(host: str, address: Optional[str], port: int) -> Optional[str]:
    """Why this host cannot connect to a port of another, by its name, or by its address where only
    the first host knows the name; None where it can, or knows neither: MPI has names of its own."""
    try:
        first = socket.gethostbyname(host)
        if first.startswith("127.") and first != host:  # MPI takes the first address of several
            return "{}: {}".format(ITSELF, first)
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except socket.gaierror:
        return None if address is None else connection_problem(address, None, port)
    except OSError as error:
        return (
            "no answer within {:g} s".format(CONNECT_TIMEOUT_S)
            if isinstance(error, socket.timeout)
            else error.strerror or str(error)
        )
    return None


def suite_version(root: str) -> Optional[str]:
    """The harness's version, read and not imported: of a checkout, or of an installed suite, which
    has ``root`` in its package."""
    for place in (os.path.join(root, "suite"), os.path.dirname(root)):
        try:
            with open(os.path.join(place, "__init__.py"), encoding="utf-8") as stream:
                found = re.search('__version__ = "([^"]*)"', stream.read())
        except OSError:
            continue
        if found:
            return found.group(1)
    return None


def source_files(root: str) -> Dict[str, str]:
    """SHA-256 of each of the sources, settings and requirements in reference_impls, by its path
    below ``root``."""
    folder = os.path.join(root, "reference_impls")
    names = [
        name for name in _files(folder) if name.endswith(SOURCE_ENDS) and "__pycache__" not in name
    ]
    return {
        os.path.join("reference_impls", name): file_digest(os.path.join(folder, name))
        for name in names
    }


def source_digest(files: Dict[str, str]) -> str:
    """SHA-256 over names and content of these files, the names from reference_impls."""
    return _digest(
        {os.path.relpath(name, "reference_impls"): digest for name, digest in files.items()}
    )


def git_state(root: str) -> Optional[str]:
    """The commit, with "+" when tracked files were changed; None where git is missing, and where
    ``root`` is no repository of its own."""
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    git = ["git", "-c", "safe.directory=*", "-C", root]
    try:
        commit = subprocess.check_output([*git, "rev-parse", "HEAD"], stderr=subprocess.DEVNULL)
        changed = subprocess.check_output(
            [*git, "status", "--porcelain", "--untracked-files=no"], stderr=subprocess.DEVNULL
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.decode().strip() + ("+" if changed.strip() else "")


def packages() -> Optional[Dict[str, str]]:
    """Name and version of every package of this interpreter; None before Python 3.8 without
    setuptools."""
    try:
        from importlib import metadata  # Python 3.8 and later
    except ImportError:
        return _packages_by_setuptools()
    return {
        entry.metadata["Name"]: entry.version
        for entry in metadata.distributions()
        if entry.metadata["Name"]
    }


def _packages_by_setuptools() -> Optional[Dict[str, str]]:
    try:
        import pkg_resources  # optional: part of setuptools, which boards with Python 3.6 have
    except ImportError:
        return None
    return {each.project_name: each.version for each in pkg_resources.working_set}


def package_files() -> Dict[str, str]:
    """A digest of the code of each installed package, by its name in site-packages."""
    digests = {}  # type: Dict[str, Dict[str, str]]
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for name in _files(folder):
            package = name.split(os.sep)[0]
            if is_code(name) and package not in OF_THIS_MACHINE:
                digests.setdefault(package, {})[name] = code_digest(os.path.join(folder, name))
    return {package: _digest(files) for package, files in digests.items()}


def is_code(name: str) -> bool:
    """Whether a file is a module or a shared library."""
    return re.search(r"\.py$|\.so(\.|$)", name) is not None


def code_digest(path: str) -> str:
    """SHA-256 of a file of code; of a large library, its size and both ends, where the linker's
    build id and the tables of sections and symbols are."""
    size = os.path.getsize(path)
    if size <= 4 * ENDS_BYTES:
        return file_digest(path)
    content = hashlib.sha256(str(size).encode("utf-8"))
    with open(path, "rb") as stream:
        content.update(stream.read(ENDS_BYTES))
        stream.seek(-ENDS_BYTES, os.SEEK_END)
        content.update(stream.read())
    return content.hexdigest()


def data_digest(folder: str) -> Optional[str]:
    """SHA-256 over names and content of a data set's files; None when there is no such folder.
    Reads all files."""
    if not os.path.isdir(folder):
        return None
    return _digest({name: file_digest(os.path.join(folder, name)) for name in _files(folder)})


def _files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(place, name), folder)


def _digest(files: Dict[str, str]) -> str:
    """SHA-256 over the names of files and their digests."""
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update("{}  {}\n".format(files[name], name).encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def file_digest(path: str) -> str:
    """SHA-256 of a file's content."""
    content = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(2**20), b""):
            content.update(piece)
    return content.hexdigest()


def link_towards(peer: Optional[str], root: str = "/") -> Dict[str, Any]:
    """The interface of the route to ``peer``: name, address, kind (wired, wireless, virtual) and
    the speed that the kernel reports."""
    unknown = {
        "interface": None,
        "address": None,
        "kind": None,
        "speed_mbit_s": None,
    }  # type: Dict[str, Any]
    if peer is None:
        return dict(unknown, reason="there is no other node")
    route = route_to(peer, root)
    if route.interface is None:
        return dict(unknown, address=route.address, reason=route.reason)
    return dict(
        {"interface": public_interface(route.interface, root), "address": route.address},
        **describe_interface(route.interface, root),
    )


class Route(NamedTuple):
    """The interface that leads to a host, and this host's address there; None for what is unknown,
    and the reason."""

    interface: Optional[str]
    address: Optional[str]
    reason: Optional[str]


def route_to(host: str, root: str = "/") -> Route:
    """The route that the kernel would choose to a host; to this host itself, the interface that has
    its address."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))  # sends nothing, but chooses the route
            address = str(probe.getsockname()[0])
    except OSError as error:
        return Route(
            None, None, "there is no route to {} ({})".format(host, error.strerror or error)
        )
    interface = next((name for name in _interfaces(root) if _address_of(name) == address), None)
    return Route(
        interface, address, None if interface else "no interface has the address {}".format(address)
    )


def public_interface(name: str, root: str = "/") -> str:
    """The interface's name; of an adapter that is named by its MAC address (``enx…``), the prefix
    with its number among those of the kind."""
    found = MAC_NAME.fullmatch(name)
    if found is None:
        return name
    alike = [
        each
        for each in _interfaces(root)
        if MAC_NAME.fullmatch(each) and each.startswith(found.group(1))
    ]
    return "{}{}".format(found.group(1), alike.index(name) if name in alike else 0)


def describe_interface(name: str, root: str = "/") -> Dict[str, Any]:
    """Kind and speed of a network interface, from sysfs; a wireless one reports no speed there."""
    folder = os.path.join(root, "sys/class/net", name)
    if os.path.isdir(os.path.join(folder, "wireless")) or os.path.exists(
        os.path.join(folder, "phy80211")
    ):
        return {
            "kind": "wireless",
            "speed_mbit_s": None,
            "reason": "a wireless interface reports no speed",
        }
    kind = "wired" if os.path.exists(os.path.join(folder, "device")) else "virtual"
    try:
        with open(os.path.join(folder, "speed")) as stream:
            speed = int(stream.read())
    except (OSError, ValueError):
        speed = -1
    if speed <= 0:
        return {"kind": kind, "speed_mbit_s": None, "reason": "its driver reports no speed"}
    return {"kind": kind, "speed_mbit_s": speed, "reason": None}


def _interfaces(root: str) -> List[str]:
    try:
        return sorted(os.listdir(os.path.join(root, "sys/class/net")))
    except OSError:
        return []


def _address_of(interface: str) -> Optional[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(
                probe.fileno(), SIOCGIFADDR, struct.pack("256s", interface.encode()[:15])
            )
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])


def main() -> None:
    """Print what is asked for."""
    settings = json.loads(sys.argv[1])
    unreached = connect_to_others() if settings.get("listens") else {}
    found = facts(settings["data"], settings["peer"], settings.get("reads_packages", False))
    _print(dict(found, unreached=unreached))
    if settings.get("listens"):
        _next_line()  # the others may still connect


def connect_to_others() -> Dict[str, str]:
    """Listen, and connect to all others at once, whose names, addresses and ports come as a line on
    standard input. Returns, and prints, why others cannot be reached, by name."""
    server = socket.socket()
    server.bind(("", 0))
    server.listen(BACKLOG)
    threading.Thread(target=_accept, args=(server,), daemon=True).start()
    _print({"port": server.getsockname()[1]})
    others = json.loads(_next_line() or "[]")
    with ThreadPoolExecutor(MAX_CONNECTIONS) as pool:
        problems = pool.map(lambda other: connection_problem(*other), others)
        unreached = {other[0]: said for other, said in zip(others, problems) if said}
    _print({"unreached": unreached})
    return unreached


def _next_line() -> str:
    """The next line of standard input; empty at its end, and where none comes in
    LINE_TIMEOUT_S."""
    return sys.stdin.readline() if select.select([sys.stdin], [], [], LINE_TIMEOUT_S)[0] else ""


def _accept(server: socket.socket) -> None:
    while True:
        server.accept()[0].close()


def _print(values: Dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
