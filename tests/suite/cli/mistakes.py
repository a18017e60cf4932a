"""Typical mistakes at the command line. ``python -m tests.suite.cli.mistakes`` types each and
writes the table of docs/mistakes.md."""

import contextlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from suite.files.paths import repository_root
from tests.in_extensions import modules_named

PAGE = repository_root() / "docs" / "mistakes.md"
HEADING = "| typed | said | exit code |\n|---|---|---|"

FAKE = "--framework fake --data digits"
LENET = f"--workload lenet {FAKE}"
RUN = f"suite run --division open {LENET}"
OF_CHAINER = "suite run --division open --workload lenet --framework chainer"
OF_THE_SUITE = {
    "suite repotr runs": "Did you mean 'report'",
    "suite run --workload lenet": "Missing option '--division'",
    "suite run --division close --workload lenet": "'closed', 'open'",
    "suite run --division open --workload LeNet": "did you mean 'lenet'",
    "suite run --division open --workload lenet --framework torch": "did you mean 'pytorch'",
    "suite run --division open --workload lenet --device orinn": "did you mean 'orin'",
    "suite run --division open --workload lenet --device orin": "--device auto",
    "suite run --division open --workload lenet --framework fake": (
        "suite data prepare mnist --download"
    ),
    "suite run --division open --workload lenet --framework fake --data nowhere": (
        "neither a data set"
    ),
    f"{RUN} --epochs 0": "--epochs must be at least 1",
    f"{RUN} --epochs three": "--epochs must be a whole number, not 'three'",
    f"{RUN} --batch-size 1e3": "--batch-size must be a whole number, not '1e3'",
    f"{RUN} --silence 1": "--silence must be at least",
    f"{RUN} --epoch 3": "did you mean '--epochs'? See",
    "suite --division open": "No such option: --division. The command comes first",
    "suite help": "Did you mean `suite --help`",
    "suite data list": "Did you mean `suite list data-sets`",
    "suite explain nope": "There is no rule 'nope'; `suite list rules`",
    "suite check twice.txt": "is neither a folder nor a tar archive",
    "suite submissions status empty": "give the folder that holds the rounds",
    "suite submit --check-only empty": "make one with `suite package`",
    f"{RUN} --output /proc/run": "is not on a disk and cannot hold files",
    "suite report empty --output twice.txt": "empty holds no run directory",
    "suite figure stalls nowhere --output twice.txt": "nowhere does not exist",
    f"{RUN} --accelerator gpu": "'cuda'",
    f"{RUN} --accelerator cuda": "use --accelerator cpu",
    f"{RUN} --lr 0.1": "No such option: --lr. See",
    f"{RUN} --learning-rate -1": "must be a finite number above 0",
    f"{RUN} --seed -1": "--seed must be between",
    f"{RUN} --org 'Müller GmbH & Co'": "'muller-gmbh-co' would do",
    f"{RUN} --nodes 2": "needs --hostfile FILE",
    f"{RUN} --hostfile nowhere.txt": "nowhere.txt cannot be read",
    f"{RUN} --hostfile twice.txt": "is named twice",
    f"{RUN} --boards nowhere.txt": "error: nowhere.txt cannot be read",
    f"{RUN} lenet": "To choose a workload, type `--workload lenet`",
    "suite run resnet18 --division open": "To choose a workload, type `--workload resnet18`",
    "suite attach run trace.csv": "No such command 'attach'. Did you mean `suite power attach`?",
    "suite export empty --output -": "--output needs a file or folder, not standard output (-)",
    "suite audit empty --output -": "--output needs a file or folder, not standard output (-)",
    f"{RUN} --meters cpuu": "cpuu",
    f"{RUN} --witness lab:8731": "lab:8731",
    "suite run --division open --workload lenet --framework fake --data /etc": (
        "/etc does not hold MNIST handwritten digits: /etc/train-images-idx3-ubyte is missing"
    ),
    "suite run --division open --workload lenet --framework fake --data ../home/data/digits": (
        "type `--data digits=../home/data/digits` or `--data mnist=../home/data/digits`"
    ),
    "suite data verify mnist --from /etc": "/etc does not hold MNIST",
    "suite data prepare gld23k --download": (
        "error: The data set 'gld23k' cannot be downloaded; prepare it with `suite data prepare"
    ),
    "suite data prepare mnst": "did you mean 'mnist'",
    "suite data prepare mnist --synthetic --seed -1": "--seed must be at least 0",
    "suite data prepare mnist --from /etc": "train-images-idx3-ubyte",
    "suite data prepare cifar10 --from /etc": (
        "Neither /etc nor a folder in it has data_batch_1.bin"
    ),
    "suite data prepare imagefolder": "--from DIR",
    "suite data verify cifar10": "suite data prepare cifar10",
    "suite check nowhere": "nowhere does not exist",
    "suite check empty": "empty",
    "suite report empty --output site": "empty",
    "suite report nowhere": "nowhere does not exist",
    "suite finish empty": "empty",
    "suite check empty --json --sarif": "two formats",
    "suite implementation new 'My LeNet' --language c": "lower-case letters",
    "suite implementation new my-lenet --language rust": "'python'",
    "suite implementation test nowhere": "nowhere is not a folder",
    "suite run --division open --workload lenet --implementation empty --data digits": (
        "empty has no framework.toml"
    ),
    f"{RUN} --output twice.txt": "twice.txt exists",
    f"{RUN} --resume nowhere": "nowhere does not exist",
    f"{RUN} --resume empty": "empty is not a run directory",
    "suite package empty --org lab --availability available": "empty",
    "suite submissions status": "submissions",
    "suite submissions stat": "Did you mean 'status'",
    "suite submit empty": "--check-only",
    "suite explain log-chian": "did you mean 'log-chain'",
    "suite list data sets": "Did you mean 'data-sets'",
    "suite sweep --study batchsize": "did you mean 'batch-size'",
    "suite sweep --study linpack --dry-run": "leave --dry-run out",
    "suite sweep --workload lenet": "--vary batch_size=16,32",
    "suite sweep --vary batchsize=8,16 --workload lenet": "did you mean 'batch_size'?",
    "suite sweep --vary batch_size=8,x --workload lenet": "is not a whole number",
    "suite sweep --vary framework=fake,pytorhc --workload lenet --data digits": (
        "did you mean 'pytorch'"
    ),
    "suite sweep --file nowhere.toml --workload lenet": "nowhere.toml cannot be read",
    f"suite sweep --vary threads=1 {LENET} --output twice.txt": "is not a folder",
    f"suite sweep --vary cpu_quota=999 {LENET}": "limits nothing",
    f"suite sweep --vary meters=ina3221 {LENET}": ("'ina3221' cannot be read here"),
    f"suite sweep --vary batch_size=9999 {LENET}": ("exceeds the 1438 training samples"),
    "suite sweep --vary threads=1 --cool-to -300 --workload lenet": "above 0",
    "suite sweep --vary threads=1 --boards words.txt --workload lenet": (
        "stands after the host name"
    ),
    "suite power set MAXM": "There is no power mode 'MAXM'",
    "suite power set": "Name a mode or a setting",
    "suite power set --cores 100000": "this machine has",
    "suite verify-model lenet": "suite env create pytorch",
    "suite verify-model lenet --framework chainer --precision bf16-mixed": (
        "choose another --precision"
    ),
    "suite verify-model lenet --precision tf32 --framework pytorch": "use --accelerator cuda",
    "suite quick lenet lenet": "is named twice",
    "suite quick lenet --epochs 99": "type --epochs 10 or fewer",
    "suite audit empty": "empty",
    "suite audit nowhere": "nowhere does not exist",
    "suite reproduce empty --org lab": "empty holds no run directory",
    "suite power attach empty twice.txt --covers socket": (
        "choose one of board, module, wall, chip"
    ),
    "suite power attach empty trace.csv": "Missing option '--covers'",
    "suite env create pytoch": "did you mean 'pytorch'",
    "suite env create pytorch --interpreter /bin/true": "does not work as a Python",
    "suite env create pytorch --interpreter nowhere": "nowhere is not an interpreter",
    "suite env create pytorch --interpreter nowhere --dry-run": "nowhere is not an interpreter",
    "suite witness serve --port 99999": "65535",
    "suite cluster doctor": "--hostfile FILE",
    "suite figure throughput": "Missing argument 'paths'",
    "suite new meter Meter!": "Meter!",
    "suite nonce lock --division closed --workload lenett --org lab": "did you mean 'lenet'",
    "suite nonce lock --division open --workload lenet --org lab": "add --division closed",
    "suite nonce lock --division closed --workload lenet": "name yours with --org",
    "suite nonce lock --division closed --workload lenet --org lab --framework fake --dry-run": (
        "could never comply with the closed division (closed-framework)"
    ),
    "suite night lenet --framework fake --dry-run": (
        "could never comply with the closed division (closed-framework)"
    ),
    "suite run --division open --workload lenet-adapt --framework fake --data digits": (
        "trains whole models only"
    ),
    "suite run --division open --workload lenet --implementation empty --framework fake": (
        "--framework and --implementation both choose the implementation"
    ),
    "suite sweep --vary threads=1 --workload lenet --implementation empty --framework fake": (
        "--framework and --implementation both choose the implementation"
    ),
    "suite verify-model lenet --implementation empty --framework pytorch": (
        "--framework and --implementation both choose the implementation"
    ),
    "suite run --division open --resume nowhere": "give its --workload",
    "suite run --division open --workload lenet --memory-budget 100MB --dry-run": (
        "use --memory-budget"
    ),
    f"{OF_CHAINER} --memory-budget 1GB --dry-run": ("use --framework pytorch"),
    f"{RUN} --isolation vm": "'namespace', 'podman'",
    f"{RUN} --isolation docker": "--isolation namespace, which needs no engine",
    "suite run --division open --workload lenet --framework pytorch --data digits": (
        "suite env create pytorch"
    ),
    f"{RUN} --accumulate 0": "at least 1",
    "suite run --division open --workload resnet18 --accumulate 2 --normalisation synchronised": (
        "leave --accumulate out"
    ),
    "suite run --division open --workload resnet18 --shares speed": "--normalisation synchronised",
    "suite run --division open --workload lenet --shares speed --collective native": (
        "leave --collective native out"
    ),
    "suite run --division open --workload lenet --shares speed --stall-analysis": (
        "leave --shares out"
    ),
    "suite run --division open --workload lenet --accumulate 2 --memory-budget 2GB": (
        "leave --memory-budget or --accumulate out"
    ),
    "suite run --division open --workload lenet --accelerator cpu --timing asynchronous": (
        "both timings are the same"
    ),
    f"{RUN} --ranks-per-node 2 --timing asynchronous": "waits in every step",
    f"suite sweep {LENET} --vary memory_mb=2GB": ("without a unit"),
    f"suite sweep {LENET} --vary memory_mb=1": ("choose 4 to 1,000,000,000 million bytes"),
    f"suite sweep {LENET} --vary neighbours=0,-1": ("choose 0 to 64"),
    "suite env create pytorch=2.9.1": "as pytorch==2.9.1",
    "suite paper make f1": "suite paper list",
    "suite paper make jetson-2A": "did you mean 'jetson-2a'",
    "suite paper make jetson-7": "a power sensor",
    "suite paper make pi-1a nowhere": "nowhere does not exist",
    "suite paper make pi-1a --output twice.txt": "twice.txt could not be written",
    "suite paper make jetson-3a --with third=/media/ssd": "second=PATH",
    "suite paper check jetson-7": "states no value",
}
MISTAKES = OF_THE_SUITE | {
    command: said
    for module in modules_named("mistakes").values()
    for command, said in module.MISTAKES.items()
}
"""What was typed, and words that must be said; the exit code is 2."""

INVALID = {RUN.replace("open", "closed"): "(closed-data, closed-framework). Change"}
"""Runs that would not comply: the exit code is 1."""


def type_in(command: str) -> tuple[str, int]:
    """What the command says on standard error (else on standard output), and its exit code."""
    from suite.cli.app import main

    said, printed = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", shlex.split(command)),
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(printed),
    ):
        try:
            main()
        except SystemExit as end:
            return said.getvalue().strip() or printed.getvalue().strip(), int(end.code or 0)
    return printed.getvalue().strip(), 0


@contextlib.contextmanager
def a_strangers_folder() -> Iterator[Path]:
    """An empty home with the digits data set, and a working folder with an empty folder and
    hostfiles that are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "work")
        (place / "empty").mkdir(parents=True)
        (place / "twice.txt").write_text("localhost\nlocalhost\n")
        (place / "words.txt").write_text("bad host name\n")
        before = Path.cwd()
        with patch.dict(os.environ, {"SUITE_HOME": str(Path(folder, "home"))}):
            os.chdir(place)
            try:
                type_in("suite data prepare digits")
                yield place
            finally:
                os.chdir(before)


def row(command: str, said: str, code: int, place: Path) -> str:
    """The page's row of a mistake that was typed in a stranger's folder."""
    shown = said.replace(str(place.parent), "…").replace("\n", " ").replace("|", "\\|")
    return f"| `{command}` | {shown} | {code} |"


def main() -> None:
    """Write the page's table."""
    with a_strangers_folder() as place:
        rows = [row(command, *type_in(command), place) for command in MISTAKES | INVALID]
    above = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text("\n".join([above + HEADING, *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
