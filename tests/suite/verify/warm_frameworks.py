"""Runs programs of frameworks in processes that are forked from one that has imported the
framework: the import is half of a short program's CPU time."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment

SERVER = """
import importlib, json, os, runpy, sys
importlib.import_module(sys.argv[1])
for line in sys.stdin:
    module, words, variables = json.loads(line)
    if os.fork() == 0:
        os.dup2(2, 1)
        os.environ.update(variables)
        sys.argv = [module, *words]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        sys.stderr.flush()
        os._exit(0)
    print(os.wait()[1], flush=True)
"""


class WarmFrameworks:
    """A process for each framework; they end when their input is closed."""

    def __init__(self) -> None:
        self.servers: dict[str, subprocess.Popen[str]] = {}

    def run_to_end(
        self,
        command: Sequence[str],
        folder: Path,
        what: str,
        *_: object,
        variables: Mapping[str, str],
        **__: object,
    ) -> None:
        """What suite.launch.command.run_to_end does with ``python -m MODULE``, on one thread."""
        interpreter, module, words = command[0], command[2], command[3:]
        if interpreter not in self.servers:
            package = ".".join(module.split(".")[:2])
            self.servers[interpreter] = subprocess.Popen(
                [interpreter, "-c", SERVER, f"{package}.implementation"],
                cwd=repository_root(),
                env={**child_environment(1), **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        server = self.servers[interpreter]
        assert server.stdin is not None and server.stdout is not None
        print(json.dumps([module, words, dict(variables)]), file=server.stdin, flush=True)
        assert server.stdout.readline() == "0\n", f"{what} failed: see its standard error"

    def close(self) -> None:
        """End the processes."""
        for server in self.servers.values():
            server.communicate()
