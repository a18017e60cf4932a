"""Discretion: no file names a person or a network; paths are relative to roots, nodes have
labels."""

import re
from collections.abc import Iterator

from suite.bundle.disclosures import Disclosure, disclosures
from suite.bundle.layout import RUN
from suite.bundle.nodes import NODES, read_nodes
from suite.compliance.faults.fault import both, sealed, unsealed
from suite.compliance.faults.file_edits import (
    append,
    change_file,
    change_lines,
    rechained,
    replace_in_line,
    resealed,
    set_run,
    set_system,
)
from suite.compliance.faults.log_edits import set_event, set_request
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.wording import shown
from suite.files.redaction import DATA, OUTPUT, ROOTS

ORDER = 13  # after the files of a bundle

FIX = (
    "run again with this version of the suite, which leaves it out; what your own program logs or"
    " prints, leave out there"
)
RUN_AGAIN = "run again with this version of the suite, and hand in the files as it wrote them"
_LABEL, _ADDRESS_LABEL = re.compile(r"node(0|[1-9]\d{0,4})"), re.compile(r"address(0|[1-9]\d{0,4})")


def _bundle(context: BundleContext) -> Iterator[Violation]:
    """Search the bundle's files, the withdrawal's reason included."""
    path = context.bundle.path
    for found in disclosures(path, sorted(path.rglob("*"))):
        yield disclosed(found, FIX)


def disclosed(found: Disclosure, fix: str) -> Violation:
    """What is wrong with a text that names somebody, without publishing it again."""
    expected = f"no text in {found.where} that names a person or a network"
    return Violation(
        found.file, expected, f"what looks like {found.kind}: {found.shortened}", fix, found.line
    )


def _paths(context: BundleContext) -> Iterator[Violation]:
    """Check the folders that the request names, and the paths in the command."""
    request = context.request
    for key, value, root in (
        ("output_directory", request.output_directory, OUTPUT),
        ("data.directory", request.data.directory, DATA),
    ):
        if not isinstance(value, str) or value.partition("/")[0] != root:
            yield Violation(RUN, f"{key} relative to its root: {root}", shown(value), RUN_AGAIN)
    for word in map(str, context.run.command):
        value = word.partition("=")[2] if word.startswith("--") else word.rpartition("=")[2]
        if value.startswith(("/", "~", "../")):
            yield Violation(
                RUN,
                f"paths of the command relative to a root ({', '.join(ROOTS)})",
                f"an option with {value[:4]}…",
                RUN_AGAIN,
            )


def _labels(context: BundleContext) -> Iterator[Violation]:
    """Check the names of the nodes in nodes.json and in the log: node<k> for the k-th host, counted
    from 0."""
    for place, node in enumerate(read_nodes(context.bundle)):
        if node.host != f"node{place}" or (
            node.node is not None and not _LABEL.fullmatch(node.node)
        ):
            yield Violation(
                NODES,
                f"the label node{place} as host and node",
                f"{shown(node.host)} and {shown(node.node)}",
                RUN_AGAIN,
            )
        address = (node.link or {}).get("address")
        if address is not None and not _ADDRESS_LABEL.fullmatch(str(address)):
            yield Violation(
                NODES,
                f"a label (address0, address1, …) in place of the address of node{place}'s link",
                "another text",
                RUN_AGAIN,
            )
    logged = context.log.first("nodes_of_ranks")
    names = logged.value if logged is not None and isinstance(logged.value, list) else []
    others = [name for name in names if not isinstance(name, str) or not _LABEL.fullmatch(name)]
    if logged is not None and others:
        yield Violation(
            "log.txt",
            "nodes_of_ranks with the labels node0, node1, …",
            f"{shown(others[0])} among {len(names)}",
            RUN_AGAIN,
            logged.line,
        )
    elif logged is not None and (order := list(dict.fromkeys(names))) != [
        f"node{place}" for place in range(len(order))
    ]:
        yield Violation(
            "log.txt",
            "nodes_of_ranks with the labels in order, node0 for rank 0's node",
            f"{names}"[:200],
            RUN_AGAIN,
            logged.line,
        )


def _of_output(name: str, line: str) -> tuple[str, bytes]:
    return f"{name} in output.txt", f"{line}\n".encode()


PRINTED = (
    _of_output("a home folder", 'File "/home/jane/edge/train.py", line 3, in <module>'),
    _of_output("a home folder of macOS", "loading /Users/jane/mnist"),
    _of_output("an IP address", "connected to 192.168.1.20:8080"),
    _of_output("an IPv6 address", "peer fe80::ba27:ebff:fe12:3456 left"),
    _of_output("a MAC address", "eth0 b8:27:eb:12:34:56"),
    _of_output("an e-mail address", "ask jane.doe@example.org"),
    _of_output("a serial number", "Serial Number: 10000000a1b2c3d4"),
    _of_output("a URL with a password", "GET http://jane:secret@plug/rpc"),
    _of_output("an account", "[mpiexec@janes-pi] killed"),
    _of_output("a host's name", "janes-pi4.local is gone"),
)

RULES = (
    Rule(
        id="names-nobody",
        sentence=(
            "No file of a bundle names a person or a network: no home folder, account, host,"
            " address or serial number."
        ),
        rationale=(
            "Bundles are published for ever. What was measured does not depend on whose machine it"
            " was, or in which network."
        ),
        bundle_check=_bundle,
        faults=(
            *(
                unsealed(f"{name}, the manifest made to fit", resealed(append("output.txt", line)))
                for name, line in PRINTED
            ),
            *both(
                "a URL of a plug in a meter's record",
                set_run("device_evidence", "asked http://plug:80/rpc"),
            ),
            sealed(
                "the interface's MAC address in its name",
                set_system("links", [{"interface": "enxb827eb123456"}]),
            ),
            sealed(
                "a path of a person in a note",
                set_system("notes", {"storage_medium": "/media/jane/SSD is on ext4"}),
            ),
            unsealed(
                "a host in the log, chained",
                change_lines(
                    "log.txt",
                    rechained(
                        replace_in_line("framework_version", '"1.0"', '"1.0 of jane@janes-pi"')
                    ),
                ),
            ),
        ),
    ),
    Rule(
        id="paths-relative",
        sentence=(
            "The folders in a request and the paths in a command are relative to stated roots:"
            f" {', '.join(ROOTS)}."
        ),
        rationale=(
            "A path from a disk's root names its owner, or how somebody's network is arranged."
        ),
        bundle_check=_paths,
        faults=(
            *both("the output's own path", set_request("output_directory", "/mnt/runs/one")),
            *both("the data's own path", set_request("data.directory", "/data/mnist")),
            sealed(
                "a path in the command",
                set_run("command", ["suite", "run", "--output", "/mnt/runs/one"]),
            ),
            sealed(
                "a path in an option of one word",
                set_run("command", ["suite", "run", "--data=/srv/mnist"]),
            ),
        ),
    ),
    Rule(
        id="nodes-labelled",
        sentence=(
            "Nodes are called node0, node1, …, in the order of the hostfile, in nodes.json and in"
            " the log; addresses of links have labels, too."
        ),
        rationale="Names of hosts often are those of people, rooms or institutes.",
        bundle_check=_labels,
        faults=(
            sealed(
                "a host's name",
                change_file(
                    NODES,
                    lambda values: values["nodes"][1].update(host="janes-pi", node="janes-pi"),
                ),
                ranks=2,
            ),
            sealed(
                "the labels exchanged",
                change_file(NODES, lambda values: values["nodes"][1].update(host="node0x")),
                ranks=2,
            ),
            sealed(
                "a link's address",
                change_file(
                    NODES, lambda values: values["nodes"][0]["link"].update(address="10.0.0.1")
                ),
                ranks=2,
            ),
            *both(
                "hosts' names in the log",
                set_event("nodes_of_ranks", value=["janes-pi", "node1"]),
                ranks=2,
            ),
            *both(
                "the labels exchanged in the log",
                set_event("nodes_of_ranks", value=["node1", "node0"]),
                ranks=2,
            ),
        ),
    ),
)
