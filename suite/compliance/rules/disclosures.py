"""Discretion: no file names a person or a network; paths are relative to roots, nodes have
labels."""

import re

from suite.bundle.disclosures import Disclosure, find_disclosures
from suite.bundle.layout import RUN
from suite.bundle.node_records import NODES, read_nodes
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext
from suite.compliance.wording import value_text
from suite.files.redaction import DATA, OUTPUT, ROOTS

ORDER = 13  # after the files of a bundle

_LABEL, _ADDRESS_LABEL = re.compile(r"node(0|[1-9]\d{0,4})"), re.compile(r"address(0|[1-9]\d{0,4})")


def _bundle(context: BundleContext) -> Violations:
    """Search the bundle's files, the withdrawal's reason included."""
    path = context.bundle.path
    for found in find_disclosures(path, sorted(path.rglob("*"))):
        yield _disclosed(found)


def _disclosed(found: Disclosure) -> Violation:
    """What is wrong with a text that names somebody, without publishing it again."""
    expected = f"no text in {found.where} that names a person or a network"
    return Violation(
        found.file, expected, f"what looks like {found.kind}: {found.shortened}", found.line
    )


def _paths(context: BundleContext) -> Violations:
    """Check the folders that the request names, and the paths in the command."""
    request = context.request
    for key, value, root in (
        ("output_directory", request.output_directory, OUTPUT),
        ("data.directory", request.data.directory, DATA),
    ):
        if not isinstance(value, str) or value.partition("/")[0] != root:
            yield Violation(RUN, f"{key}: a path that begins with {root}", value_text(value))
    for word in map(str, context.run.command):
        value = word.partition("=")[2] if word.startswith("--") else word.rpartition("=")[2]
        if value.startswith(("/", "~", "../")):
            yield Violation(
                RUN,
                "in the command, no path that begins with /, ~ or ../ (in place of such a"
                f" beginning, the suite writes one of {', '.join(ROOTS)})",
                f"a path that begins with {value[:4]}…",
            )


def _labels(context: BundleContext) -> Violations:
    """Check the names of the nodes in nodes.json and in the log: node<k> for the k-th host, counted
    from 0."""
    for place, node in enumerate(read_nodes(context.bundle)):
        if node.host != f"node{place}" or (
            node.node is not None and not _LABEL.fullmatch(node.node)
        ):
            yield Violation(
                NODES,
                f"host: the label node{place}; node: a label (node0, node1, …) or null",
                f"host: {value_text(node.host)}; node: {value_text(node.node)}",
            )
        address = (node.link or {}).get("address")
        if address is not None and not _ADDRESS_LABEL.fullmatch(str(address)):
            yield Violation(
                NODES,
                f"a label (address0, address1, …) in place of the address of node{place}'s link",
                "text that is not such a label",
            )
    logged = context.log.first("nodes_of_ranks")
    names = logged.value if logged is not None and isinstance(logged.value, list) else []
    others = [name for name in names if not isinstance(name, str) or not _LABEL.fullmatch(name)]
    if logged is not None and others:
        yield Violation(
            "log.txt",
            "nodes_of_ranks with the labels node0, node1, …",
            f"{value_text(others[0])} among {len(names)} names",
            logged.line,
        )
    elif logged is not None and (order := list(dict.fromkeys(names))) != [
        f"node{place}" for place in range(len(order))
    ]:
        yield Violation(
            "log.txt",
            "nodes_of_ranks in which the labels first occur in the order node0, node1, …",
            f"{names}",
            logged.line,
        )


def _submission(context: SubmissionContext) -> Violations:
    """Search the files of the submission that belong to no run."""
    folders = {run.folder.path for run in context.runs}
    files = [path for path in sorted(context.path.rglob("*")) if not folders & set(path.parents)]
    for found in find_disclosures(context.path, files):
        yield _disclosed(found)


RULES = (
    Rule(
        "names-nobody",
        "No file of a bundle or a submission names a person or a network: no home folder, account,"
        " host, address or serial number. The name of the submitting organization is allowed.",
        "Bundles are published for ever, and nobody needs the names of people or the addresses of"
        " machines to compare results.",
        "if the suite wrote the name, run again with this version, which records no such names; if"
        " your own program or text contains the name, remove it there",
        (
            OfBundle("names-nobody", _bundle),
            OfSubmission("submission-names-nobody", _submission),
        ),
    ),
    Rule(
        "names-replaced",
        "In a request and a command, the suite replaces folders and addresses of one machine by"
        f" {', '.join(ROOTS)}. So the request's output folder begins with {OUTPUT}, its data folder"
        f" begins with {DATA}, and no path in the command begins with /, ~ or ../. In nodes.json"
        " and in the log, nodes are called node0, node1, …, numbered in the order of the hostfile."
        " The addresses of their links are replaced by labels (address0, address1, …).",
        "An absolute path often has its owner's name in it, and hosts are often named after"
        " people, rooms or institutes.",
        "run again with this version of the suite, and hand in the files as it wrote them",
        (OfBundle("paths-relative", _paths), OfBundle("nodes-labelled", _labels)),
    ),
)
