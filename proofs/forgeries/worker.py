"""Trains many requests in one process per framework and precision, because starting a framework
takes longer than ten steps of LeNet-5."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from reference_impls import contract
from suite.catalog.frameworks import Framework
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment
from suite.verify import replaying


@contextmanager
def persistent_workers() -> Iterator[None]:
    """Let audits train in workers, which end with the block."""
    workers: dict[str, subprocess.Popen[str]] = {}

    def train(
        request: contract.Request, framework: Framework, module: str, start: Path | None
    ) -> None:
        assert start is None, "forgeries are replayed from the initial weights"
        path = Path(request.output_directory) / contract.REQUEST_NAME
        write_json(path, contract.request_to_dict(request))
        if module not in workers:
            command = [
                str(find_environment(framework).interpreter),
                str(Path(__file__).with_name("serve.py")),
                module,
            ]
            workers[module] = subprocess.Popen(
                command,
                cwd=repository_root(),
                env=child_environment(request.threads),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        worker = workers[module]
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(f"{path}\n")
        worker.stdin.flush()
        answer = worker.stdout.readline().strip()
        if answer != "done":
            workers.pop(module).kill()  # the next replay starts another
            raise SuiteError(f"The replay in {framework.title} ended with: {answer}")

    try:
        with mock.patch.object(replaying, "_train", train):
            yield
    finally:
        for worker in workers.values():
            assert worker.stdin is not None
            worker.stdin.close()
            worker.wait()
