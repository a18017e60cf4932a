"""Containers by podman: the command that starts an implementation in one, and what has to be there.

podman has no daemon: where the process that becomes podman adopts orphans
(:func:`suite.launch.process.start_process`), the container's processes stay its descendants, and
meters find them as those of a bare run.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.files.shell_command import with_sudo
from suite.launch.command import answer_of, last_line
from suite.launch.environments import Environment, as_it_is

IMAGE = "localhost/edge-training-suite"
SHORT_S = 60.0
SYSTEM = Path("/usr")
SHARED_MEMORY = "1g"
"""Of /dev/shm, where loading workers pass mini-batches on; podman's own 64 MB are too few."""

PROCESSES = 32_768
"""podman's own limit of processes, and its highest."""


@dataclass(frozen=True)
class Shared:
    """Folders of the machine that the container sees at the same paths: sources, environment and
    data to read, the run's own to write."""

    read: tuple[Path, ...]
    written: tuple[Path, ...]


def paths_to_mount(
    interpreter: Path,
    data: Path,
    written: Iterable[Path],
    folder: Path | None = None,
    also_read: Iterable[Path] = (),
) -> Shared:
    """What an implementation needs: sources (``folder`` of one outside the checkout), its
    interpreter's environment, the data set; its outputs."""
    roots = [
        repository_root(),
        *_homes_of(interpreter),
        data,
        *([] if folder is None else [folder]),
        *also_read,
    ]
    kept = [root.absolute() for root in roots if not root.absolute().is_relative_to(SYSTEM)]
    return Shared(tuple(dict.fromkeys(kept)), tuple(path.absolute() for path in written))


def container_command(command: Sequence[str], folder: Path, mounts: Shared) -> list[str]:
    """The command in a container without a network, with the caller's environment variables and
    limits of resources."""
    volumes = [f"--volume={path}:{path}:ro" for path in mounts.read] + [
        f"--volume={path}:{path}" for path in mounts.written
    ]
    limits = [f"--ulimit={name}={soft}:{hard}" for name, (soft, hard) in _limits().items()]
    options = [
        "--rm",
        "--network=none",
        "--env-host",
        "--pids-limit=-1",
        f"--shm-size={SHARED_MEMORY}",
        f"--workdir={folder}",
        *limits,
        *volumes,
    ]
    runtime = _runtime()
    podman = ["podman", *([] if runtime is None else [f"--runtime={runtime}"])]
    return [*podman, "--cgroup-manager=cgroupfs", "run", *options, "--entrypoint=", IMAGE, *command]


def refuse_podman() -> None:
    """Raise SuiteError where there is no podman, no image, or no container that starts; the
    sentence says what to type."""
    if shutil.which("podman") is None:
        raise SuiteError(
            "podman is not installed here",
            "apt-get install podman runc, or use --isolation namespace, which needs no engine",
        )
    asked = ["podman", "image", "exists", IMAGE]
    if subprocess.run(asked, capture_output=True, timeout=SHORT_S).returncode != 0:
        raise SuiteError(
            f"podman has no image {IMAGE} here",
            "build it in a checkout with `sh tools/container.sh`, or use --isolation namespace",
        )
    root = repository_root()
    tried = subprocess.run(
        container_command(["true"], root, Shared((root,), ())),
        capture_output=True,
        text=True,
        timeout=SHORT_S,
    )
    if tried.returncode != 0:
        said = last_line(tried.stderr, "no message")
        as_root = "" if os.geteuid() == 0 else f"type `{with_sudo()}`, or "
        raise SuiteError(
            f"podman cannot start a container here ({said})",
            f"{as_root}use --isolation namespace",
        )


def refuse_other_python(environment: Environment) -> None:
    """Raise SuiteError where the environment's interpreter is another one in a container: what is
    below /usr is the image's."""
    refuse_podman()
    interpreter, root = environment.interpreter, Path("/")
    mounts = paths_to_mount(interpreter, repository_root(), ())
    here = as_it_is(environment)
    inside = as_it_is(environment, partial(container_command, folder=root, mounts=mounts))
    others = sorted(dict(here.packages.items() - inside.packages.items()))
    if inside.python == here.python and not others:
        return
    found = "does not start" if inside.python is None else f"is Python {inside.python}"
    without = f" without this machine's {', '.join(others[:3])}" if inside.python and others else ""
    raise SuiteError(
        f"In a container {interpreter} {found}{without} (here Python {here.python})",
        "use a Python outside /usr, such as one of `uv python install`, or --isolation namespace",
    )


def describe_podman() -> dict[str, object]:
    """What a run's record says: podman's version, the runtime, and the image by name and digest."""
    image = answer_of("podman", "image", "inspect", "--format={{.Id}}", IMAGE)
    return {
        "program": answer_of("podman", "--version"),
        "runtime": _runtime() or "podman's own",
        "image": IMAGE,
        "image_id": image,
    }


def _runtime() -> str | None:
    """runc where there is one: crun, which podman prefers, refuses machines with both versions of
    cgroups."""
    return "runc" if shutil.which("runc") else None


def _limits() -> dict[str, tuple[int, int]]:
    """The caller's own, where podman would ask for more than a limited user or machine may have."""
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = PROCESSES if most == resource.RLIM_INFINITY else min(PROCESSES, most)
    return {"nofile": resource.getrlimit(resource.RLIMIT_NOFILE), "nproc": (processes, processes)}


@cache
def _homes_of(interpreter: Path) -> tuple[Path, ...]:
    """The interpreter's environment and the installation that it was made from."""
    if interpreter == Path(sys.executable):
        return Path(sys.prefix), Path(sys.base_prefix)
    script = "import sys; print(sys.prefix); print(sys.base_prefix)"
    told = subprocess.run(
        [str(interpreter), "-c", script],
        capture_output=True,
        text=True,
        timeout=SHORT_S,
        check=True,
    ).stdout
    return tuple(map(Path, told.splitlines()))
