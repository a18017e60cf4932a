"""Faults that the rules of suite.compliance.rules.disclosures find, by check."""

from suite.submission.declaration import NAME
from tests.faults.edits.fault import Fault, both, of_submission, sealed, unsealed
from tests.faults.edits.file_edits import (
    append,
    change_lines,
    rechained,
    replace_in_line,
    resealed,
    set_link,
    set_node,
    set_run,
    set_system,
)
from tests.faults.edits.log_edits import set_event, set_request
from tests.faults.edits.submission_edits import set_value


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


FAULTS: dict[str, tuple[Fault, ...]] = {
    "names-nobody": (
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
                rechained(replace_in_line("framework_version", '"1.0"', '"1.0 of jane@janes-pi"')),
            ),
        ),
    ),
    "submission-names-nobody": (
        of_submission(
            "an e-mail address in the notes",
            set_value(NAME, "notes", "questions to jane.doe@example.org"),
        ),
        of_submission(
            "a private repository",
            set_value(NAME, "code.address", "ssh://jane@192.168.1.9/home/jane/suite.git"),
        ),
    ),
    "paths-relative": (
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
    "nodes-labelled": (
        sealed(
            "a host's name",
            set_node(1, host="janes-pi", node="janes-pi"),
            ranks=2,
        ),
        sealed(
            "the labels exchanged",
            set_node(1, host="node0x"),
            ranks=2,
        ),
        sealed(
            "a link's address",
            set_link(0, address="10.0.0.1"),
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
}
