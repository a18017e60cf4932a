"""Typical mistakes at the command line. ``python -m tests.suite.cli.mistakes`` types each and
prints the table of docs/mistakes.md."""

import contextlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

MISTAKES: tuple[tuple[str, str, int], ...] = (
    ("suite repotr runs", "Did you mean 'report'", 2),
    ("suite run --workload lenet", "Missing option '--division'", 2),
    ("suite run --division close --workload lenet", "'closed', 'open'", 2),
    ("suite run --division open --workload LeNet", "did you mean 'lenet'", 2),
    ("suite run --division open --workload lenet --framework torch", "did you mean 'pytorch'", 2),
    ("suite run --division open --workload lenet --device orinn", "did you mean 'orin'", 2),
    ("suite run --division open --workload lenet --device orin", "--device auto", 2),
    (
        "suite run --division open --workload lenet --framework fake",
        "suite data prepare mnist --download",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data nowhere",
        "neither a data set",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --epochs 0",
        "--epochs must be at least 1",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --epochs three",
        "Invalid value for '--epochs'",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits"
            " --batch-size 1e3"
        ),
        "Invalid value for '--batch-size'",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits"
            " --accelerator gpu"
        ),
        "'cuda'",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits"
            " --accelerator cuda"
        ),
        "use --accelerator cpu",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --lr 0.1",
        "No such option: --lr",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits"
            " --learning-rate -1"
        ),
        "must be a positive number",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --seed -1",
        "--seed must be between",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --org"
            " 'Müller GmbH & Co'"
        ),
        "'muller-gmbh-co' would do",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --nodes 2",
        "needs --hostfile FILE",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --hostfile"
            " nowhere.txt"
        ),
        "nowhere.txt cannot be read",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --hostfile"
            " twice.txt"
        ),
        "is named twice",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --meters cpuu",
        "cpuu",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --witness"
            " lab:8731"
        ),
        "lab:8731",
        2,
    ),
    (
        "suite run --division closed --workload lenet --framework fake --data digits",
        "--allow-invalid",
        1,
    ),
    ("suite data prepare mnst", "did you mean 'mnist'", 2),
    ("suite data prepare mnist --from /etc", "train-images-idx3-ubyte", 2),
    (
        "suite data prepare cifar10 --from /etc",
        "Neither /etc nor a folder in it has data_batch_1.bin",
        2,
    ),
    ("suite data prepare imagefolder", "--from DIR", 2),
    ("suite data verify cifar10", "suite data prepare cifar10", 2),
    ("suite check nowhere", "nowhere does not exist", 2),
    ("suite check empty", "empty", 2),
    ("suite report empty --output site", "empty", 2),
    ("suite report nowhere", "nowhere does not exist", 2),
    ("suite finish empty", "empty", 2),
    ("suite check empty --json --sarif", "two formats", 2),
    ("suite implementation new 'My LeNet' --language c", "lower-case letters", 2),
    ("suite implementation new my-lenet --language rust", "'python'", 2),
    ("suite implementation test nowhere", "nowhere is no folder", 2),
    (
        "suite run --division open --workload lenet --implementation empty --data digits",
        "empty has no framework.toml",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --output"
            " twice.txt"
        ),
        "twice.txt exists",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --resume"
            " nowhere"
        ),
        "nowhere does not exist",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --resume empty",
        "empty is no run directory",
        2,
    ),
    ("suite package empty --org lab --availability available", "empty", 2),
    ("suite submissions status", "submissions", 2),
    ("suite submissions stat", "Did you mean 'status'", 2),
    ("suite submit empty", "--check-only", 2),
    ("suite explain log-chian", "did you mean 'log-chain'", 2),
    ("suite list data sets", "Did you mean 'data-sets'", 2),
    ("suite sweep --study batchsize --workload lenet", "did you mean 'batch-size'", 2),
    ("suite sweep --workload lenet", "--vary batch_size=16,32", 2),
    ("suite sweep --vary batchsize=8,16 --workload lenet", "did you mean 'batch_size'", 2),
    ("suite sweep --vary batch_size=8,x --workload lenet", "is not a whole number", 2),
    (
        "suite sweep --vary framework=fake,pytorhc --workload lenet --data digits",
        "did you mean 'pytorch'",
        2,
    ),
    ("suite sweep --file nowhere.toml --workload lenet", "nowhere.toml cannot be read", 2),
    (
        (
            "suite sweep --vary threads=1 --workload lenet --framework fake --data digits --output"
            " twice.txt"
        ),
        "is not a folder",
        2,
    ),
    (
        "suite sweep --vary cpu_quota=999 --workload lenet --framework fake --data digits",
        "it limits nothing",
        2,
    ),
    (
        "suite sweep --vary meters=ina3221 --workload lenet --framework fake --data digits",
        "'ina3221' cannot be read here",
        2,
    ),
    (
        "suite sweep --vary batch_size=9999 --workload lenet --framework fake --data digits",
        "name at most 1438",
        2,
    ),
    ("suite sweep --vary threads=1 --cool-to -300 --workload lenet", "above 0", 2),
    (
        "suite sweep --vary threads=1 --boards words.txt --workload lenet",
        "stands after the host name",
        2,
    ),
    ("suite power set MAXM", "There is no power mode 'MAXM'", 2),
    ("suite power set", "Name a mode or a setting", 2),
    ("suite power set --cores 100000", "this machine has", 2),
    ("suite verify-model lenet", "suite env create pytorch", 2),
    (
        "suite verify-model lenet --framework chainer --precision bf16-mixed",
        "choose another --precision",
        2,
    ),
    ("suite verify-model lenet --precision tf32 --framework pytorch", "use --accelerator cuda", 2),
    ("suite quick lenet lenet", "is named twice", 2),
    ("suite quick lenet --epochs 99", "type --epochs 10 or fewer", 2),
    ("suite audit empty", "empty", 2),
    ("suite audit nowhere", "nowhere does not exist", 2),
    ("suite reproduce empty --org lab", "empty holds no run directory", 2),
    (
        "suite power attach empty twice.txt --covers socket",
        "known are chip, chips, module, board, wall",
        2,
    ),
    ("suite power attach empty trace.csv", "Missing option '--covers'", 2),
    ("suite env create pytoch", "did you mean 'pytorch'", 2),
    ("suite env create pytorch --interpreter /bin/true", "does not answer as a Python does", 2),
    ("suite env create pytorch --interpreter nowhere", "nowhere is not an interpreter", 2),
    (
        "suite env create pytorch --interpreter nowhere --dry-run",
        "nowhere is not an interpreter",
        2,
    ),
    ("suite predict nowhere.csv", "nowhere.csv cannot be read", 2),
    ("suite witness serve --port 99999", "65535", 2),
    ("suite cluster doctor", "--hostfile FILE", 2),
    ("suite figure throughput", "suite figure --list", 2),
    ("suite new meter Meter!", "Meter!", 2),
    ("suite nonce lock --division open --workload lenett", "did you mean 'lenet'", 2),
    ("suite memory plan lenet --budget 2GB", "did you mean 'workload-lenet'", 2),
    ("suite memory plan resnet18 --budget 2GB --batch 0", "the smallest is 1", 2),
    ("suite memory plan resnet18 --budget orinn", "did you mean 'orin'", 2),
    ("suite memory plan resnet18 --budget 2G", "write a number and a unit", 2),
    ("suite memory plan resnet18 --budget 300MB", "give at least", 2),
    ("suite memory plan resnet18 --budget 2GB --image 0", "has no pixels", 2),
    ("suite memory plan resnet18 --budget 2GB --optimizer adamw", "sgd-momentum", 2),
    ("suite memory study --networks '' --output twice.txt", "twice.txt exists", 2),
    ("suite memory study --networks resnet19", "choose of resnet18", 2),
    (
        "suite run --division open --workload lenet --memory-budget 100MB --dry-run",
        "use --memory-budget",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework chainer --memory-budget 1GB"
            " --dry-run"
        ),
        "use --framework pytorch",
        2,
    ),
    (
        "suite run --division open --workload lenet --framework fake --data digits --isolation vm",
        "'namespace', 'podman'",
        2,
    ),
    (
        (
            "suite run --division open --workload lenet --framework fake --data digits --isolation"
            " docker"
        ),
        "--isolation namespace needs no engine",
        2,
    ),
    (
        "suite sweep --workload lenet --framework fake --data digits --vary memory_mb=2GB",
        "without a unit",
        2,
    ),
    (
        "suite sweep --workload lenet --framework fake --data digits --vary memory_mb=1",
        "name 4 million bytes",
        2,
    ),
    (
        "suite sweep --workload lenet --framework fake --data digits --vary neighbours=0,-1",
        "name 0 to 64",
        2,
    ),
    ("suite env create pytorch=2.9.1", "as pytorch==2.9.1", 2),
    ("suite viewpoint", "Missing argument 'run'", 2),
    ("suite viewpoint nowhere", "nowhere does not exist", 2),
    ("suite viewpoint empty", "train one with `suite run", 2),
    ("suite viewpoint empty --views 0..60", "with commas", 2),
    ("suite viewpoint empty --sure 90", "0.95 is one", 2),
    ("suite viewpoint empty --storage lots", "write a number and a unit", 2),
    ("suite viewpoint empty --seed 5000000000", "less than or equal to 4294967295", 2),
    ("suite concurrent --train lenet", "give --train and --infer", 2),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --rate 0"
        ),
        "--rate a number above 0",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --rate 1000 --duration 1h"
        ),
        "the longest --duration at this rate",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --infer-batch '1;4'"
        ),
        "write them with commas",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --infer-batch 4000"
        ),
        "fewer than a batch of 4000; use a smaller batch",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --duration 10"
        ),
        "30s or 10m",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --arrivals bursty"
        ),
        "neither uniform nor poisson nor a file",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --schedule interleaved"
        ),
        "'managed'",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --cpus 99999"
        ),
        "usable are",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --nice -30"
        ),
        "--nice",
        2,
    ),
    (
        (
            "suite concurrent --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --output twice.txt"
        ),
        "twice.txt exists",
        2,
    ),
    ("suite concurrent --train lenet tune --p99 300ms", "Options come after the subcommand", 2),
    ("suite concurrent turne --p99 300ms", "Did you mean 'tune'", 2),
    ("suite concurrent show empty", "make one with `suite concurrent", 2),
    (
        (
            "suite concurrent tune --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --p99 300"
        ),
        "--p99 '300' is not a duration",
        2,
    ),
    (
        (
            "suite concurrent tune --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --p99 0ms"
        ),
        "give a limit above 0",
        2,
    ),
    (
        (
            "suite concurrent tune --train lenet --infer lenet --framework fake --data digits"
            " --infer-data digits --p99 300ms --max-watts -20"
        ),
        "give a power above 0",
        2,
    ),
    ("suite paper make f1", "suite paper list", 2),
    ("suite paper make jetson-2A", "did you mean 'jetson-2a'", 2),
    ("suite paper make jetson-7", "a power sensor", 2),
    ("suite paper make pi-1a nowhere", "nowhere does not exist", 2),
    ("suite paper make pi-1a --output twice.txt", "twice.txt could not be written", 2),
    ("suite paper make jetson-3a --with third=/media/ssd", "second=PATH", 2),
    ("suite paper check jetson-7", "states no value", 2),
)
"""What was typed, words that must be said, and the exit code."""


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


def main() -> None:
    """Print the table."""
    print("| typed | said | exit code |\n|---|---|---|")
    with a_strangers_folder() as place:
        for command, _, _ in MISTAKES:
            said, code = type_in(command)
            shown = said.replace(str(place.parent), "…").replace("\n", " ").replace("|", "\\|")
            print(f"| `{command}` | {shown} | {code} |", flush=True)


if __name__ == "__main__":
    main()
