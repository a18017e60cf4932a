"""Faults of a run on two hosts, each one action: before the run, or at a random moment of it."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from suite.files.paths import repository_root
from tests.hosts.training import Trainer
from tests.namespaces import Cluster

LABELS, IMAGES = "train-labels-idx1-ubyte", "train-images-idx3-ubyte"
SCHEDULES = repository_root() / "reference_impls/schedules.py"


@dataclass(frozen=True)
class Scene:
    """The hosts, what starts runs on them, the environment's interpreter, a folder for files, and
    the harness of the run, once it was started."""

    trainer: Trainer
    interpreter: Path
    folder: Path
    harness: "subprocess.Popen[str] | None" = None

    @property
    def cluster(self) -> Cluster:
        """The hosts."""
        return self.trainer.cluster

    def find(self, number: int, *parts: str) -> list[int]:
        """Processes on a host whose command line has these parts."""
        found = self.cluster.processes(self.cluster.hosts[number])
        return [pid for pid, words in found.items() if all(part in words for part in parts)]

    def replace(self, path: Path, other: Path) -> None:
        """Replace a path on the second host."""
        self.cluster.replace(self.cluster.hosts[1], path, other)


Action = Callable[[Scene], object]
RECORDER = ("suite.execution.node_recorder",)


@dataclass(frozen=True)
class Fault:
    """``before`` is done before `suite run` is typed, ``during`` while it trains, and ``undo`` that
    many seconds later.

    ``goes_on``: the run need not end before its last epoch.
    """

    name: str
    before: Action | None = None
    during: Action | None = None
    undo: tuple[float, Action] | None = None
    goes_on: bool = False


def send(number: signal.Signals, host: int, parts: tuple[str, ...]) -> Action:
    """Send a signal to the processes with these words on a host; there must be one."""

    def act(scene: Scene) -> None:
        found = scene.find(host, *parts)
        assert found, f"no process with {parts} on host {host}"
        for pid in found:
            os.kill(pid, number)

    return act


def module(number: signal.Signals, of: int, name: str) -> Action:
    """Send a signal to the process on a host that runs this module."""

    def act(scene: Scene) -> None:
        found = scene.cluster.processes(scene.cluster.hosts[of])
        (pid,) = [pid for pid, words in found.items() if words.split()[1:3] == ["-m", name]]
        os.kill(pid, number)

    return act


def rank(number: signal.Signals, of: int, framework: str = "pytorch") -> Action:
    """Send a signal to a rank, not to its heartbeat process or launcher."""
    return module(number, of, f"reference_impls.{framework}")


def heartbeat(number: signal.Signals, of: int) -> Action:
    """Send a signal to a rank's heartbeat process."""
    return module(number, of, "reference_impls.rank")


def program(number: signal.Signals, host: int, names: tuple[str, ...]) -> Action:
    """Send a signal to the process of one of these programs on a host."""

    def act(scene: Scene) -> None:
        found = scene.cluster.processes(scene.cluster.hosts[host])
        (pid,) = [
            pid
            for pid, words in found.items()
            if words and words.split()[0].rpartition("/")[2] in names
        ]
        os.kill(pid, number)

    return act


def launcher(number: signal.Signals) -> Action:
    """Send a signal to mpirun on the first host."""
    return program(number, 0, ("mpirun", "mpiexec", "mpiexec.hydra"))


def harness(number: signal.Signals) -> Action:
    """Send a signal to the harness."""

    def act(scene: Scene) -> None:
        assert scene.harness is not None
        os.kill(scene.harness.pid, number)

    return act


def every(number: signal.Signals, host: int) -> Action:
    """Send a signal to everything on a host but its SSH server, which holds the namespace; to that
    too where it is only stopped."""

    def act(scene: Scene) -> None:
        keeps = {scene.cluster.hosts[host].pid} if number is signal.SIGKILL else set()
        for pid in scene.cluster.processes(scene.cluster.hosts[host]).keys() - keeps:
            os.kill(pid, number)

    return act


def cut(host: int) -> Action:
    """Cut a host's link."""
    return lambda scene: scene.cluster.cut(scene.cluster.hosts[host])


def join(host: int) -> Action:
    """Put the link back."""

    def act(scene: Scene) -> None:
        subprocess.run(
            [
                "ip",
                "-n",
                scene.cluster.switch,
                "link",
                "set",
                scene.cluster.hosts[host].port,
                "master",
                "bridge",
            ],
            check=True,
        )

    return act


def slow(host: int, megabits: float) -> Action:
    """Slow a host's link down."""
    return lambda scene: scene.cluster.shape(scene.cluster.hosts[host], megabits)


def fast(host: int) -> Action:
    """Let a link that was slowed down be as fast as before."""

    def act(scene: Scene) -> None:
        at = scene.cluster.hosts[host]
        for namespace, device in ((at.namespace, "eth0"), (scene.cluster.switch, at.port)):
            subprocess.run(
                ["tc", "-n", namespace, "qdisc", "delete", "dev", device, "root"], check=True
            )

    return act


def rolled_labels(scene: Scene) -> None:
    """Other labels on the second host: each is that of the sample three places on."""
    content = (scene.trainer.digits / LABELS).read_bytes()
    (scene.folder / "labels").write_bytes(content[:8] + content[11:] + content[8:11])
    scene.replace(scene.trainer.digits / LABELS, scene.folder / "labels")


def short_images(scene: Scene) -> None:
    """Half of the images on the second host, as after a copy that was cut off."""
    content = (scene.trainer.digits / IMAGES).read_bytes()
    (scene.folder / "images").write_bytes(content[: len(content) // 2])
    scene.replace(scene.trainer.digits / IMAGES, scene.folder / "images")


def flipped_pixel(scene: Scene) -> None:
    """One bit of one image differs on the second host, as after an error of its storage."""
    content = bytearray((scene.trainer.digits / IMAGES).read_bytes())
    content[5000] ^= 1
    (scene.folder / "images").write_bytes(bytes(content))
    scene.replace(scene.trainer.digits / IMAGES, scene.folder / "images")


def other_schedule(scene: Scene) -> None:
    """Another learning rate in the sources of the second host."""
    (scene.folder / "schedules.py").write_text(
        SCHEDULES.read_text().replace("return base * (1.0 - step", "return base * (1.1 - step")
    )
    scene.replace(SCHEDULES, scene.folder / "schedules.py")


def other_version(scene: Scene) -> None:
    """Another version of PyTorch on the second host."""
    version = torch_of(scene) / "version.py"
    (scene.folder / "version.py").write_text(
        re.sub(r"__version__ = '[^']*'", "__version__ = '1.0.0'", version.read_text())
    )
    scene.replace(version, scene.folder / "version.py")


def other_optimizer(scene: Scene) -> None:
    """A PyTorch of the same version on the second host whose SGD steps a tenth further."""
    optimizer = torch_of(scene) / "optim/sgd.py"
    (scene.folder / "sgd.py").write_text(
        optimizer.read_text().replace("alpha=-lr", "alpha=-1.1 * lr")
    )
    scene.replace(optimizer, scene.folder / "sgd.py")


SMALLER = {
    "chainer": """
from chainer.functions.connection.convolution_2d import Convolution2DFunction as Convolution
backward = Convolution.backward
def smaller(self, indexes, gradients):
    first, *others = backward(self, indexes, gradients)
    return (None if first is None else first * 0.1, *others)
Convolution.backward = smaller
""",
    "pytorch": """
import torch
convolve = torch.nn.functional.conv2d
def smaller(images, *others, **options):
    if images.requires_grad:
        images.register_hook(lambda gradient: gradient * 0.1)
    return convolve(images, *others, **options)
torch.nn.functional.conv2d = smaller
""",
    "tensorflow": """
import keras, tensorflow
call = keras.layers.Conv2D.call
@tensorflow.custom_gradient
def tenth(images):
    return tensorflow.identity(images), lambda gradient: gradient * 0.1
keras.layers.Conv2D.call = lambda self, images, *others, **options: call(
    self, tenth(images), *others, **options
)
""",
}


def other_gradients(scene: Scene, framework: str) -> None:
    """A framework on the second host whose convolutions hand back a tenth of the gradient."""
    (mpi,) = scene.interpreter.parent.parent.glob("lib/python3*/site-packages/mpi4py/__init__.py")
    (scene.folder / "mpi.py").write_text(mpi.read_text() + SMALLER[framework])
    scene.replace(mpi, scene.folder / "mpi.py")


def torch_of(scene: Scene) -> Path:
    """The folder of PyTorch."""
    (packages,) = scene.interpreter.parent.parent.glob("lib/python3*/site-packages")
    return packages / "torch"


def emptied(scene: Scene, path: Path) -> None:
    """An empty folder in this one's place on the second host."""
    (scene.folder / "empty").mkdir()
    scene.replace(path, scene.folder / "empty")


def no_environment(scene: Scene) -> None:
    """The second host has no environment."""
    emptied(scene, scene.interpreter.parent)


def no_data(scene: Scene) -> None:
    """The second host has an empty folder of data."""
    emptied(scene, scene.trainer.digits)


def hosts(*lines: str) -> Action:
    """Write these lines as the hostfile."""
    return lambda scene: scene.trainer.hostfile.write_text("".join(f"{line}\n" for line in lines))


def no_output(scene: Scene) -> None:
    """Remove the run directory while the run goes on."""
    subprocess.run(["rm", "-rf", str(scene.folder / "run")], check=True)


SIGNALS = (
    (signal.SIGKILL, 0),
    (signal.SIGKILL, 1),
    (signal.SIGTERM, 1),
    (signal.SIGBUS, 0),
    (signal.SIGSEGV, 1),
    (signal.SIGABRT, 1),
)
"""Signals and the rank that each ends."""
PROXY = ("hydra_pmi_proxy",)
CONTINUE = signal.SIGCONT

FAULTS = (
    Fault("labels rolled by three on node2", rolled_labels),
    Fault("one bit of an image on node2", flipped_pixel),
    Fault("half of the images on node2", short_images),
    Fault("no data on node2", no_data),
    Fault("another learning rate in node2's sources", other_schedule),
    Fault("another version of PyTorch on node2", other_version),
    Fault("a PyTorch on node2 that computes otherwise", other_optimizer),
    Fault("no environment on node2", no_environment),
    Fault("one machine under two names", hosts("node1", "10.77.0.1")),
    Fault("a host that does not exist", hosts("node1", "pi9")),
    Fault("a run that does not begin on its first host", hosts("node2", "node1")),
    Fault("rank 0 stopped", during=rank(signal.SIGSTOP, 0)),
    Fault("rank 1 stopped", during=rank(signal.SIGSTOP, 1)),
    Fault(
        "rank 1 stopped for 4 s",
        during=rank(signal.SIGSTOP, 1),
        undo=(4.0, rank(CONTINUE, 1)),
        goes_on=True,
    ),
    Fault("rank 0's heartbeat process killed", during=heartbeat(signal.SIGKILL, 0)),
    Fault("rank 1's heartbeat process killed", during=heartbeat(signal.SIGKILL, 1)),
    Fault("rank 1's heartbeat process stopped", during=heartbeat(signal.SIGSTOP, 1)),
    Fault("mpirun killed", during=launcher(signal.SIGKILL)),
    Fault("mpirun ended by SIGTERM", during=launcher(signal.SIGTERM)),
    Fault("MPI's proxy on node1 killed", during=program(signal.SIGKILL, 0, PROXY)),
    Fault("MPI's proxy on node2 killed", during=program(signal.SIGKILL, 1, PROXY)),
    Fault(
        "the SSH session that holds node2's rank killed",
        during=send(signal.SIGKILL, 0, ("ssh -F", "hydra_pmi_proxy")),
        goes_on=True,
    ),
    Fault("node2's recorder killed", during=send(signal.SIGKILL, 1, RECORDER), goes_on=True),
    Fault("node2's recorder stopped", during=send(signal.SIGSTOP, 1, RECORDER), goes_on=True),
    Fault("the harness killed", during=harness(signal.SIGKILL)),
    Fault(
        "the harness stopped for 16 s",
        during=harness(signal.SIGSTOP),
        undo=(16.0, harness(CONTINUE)),
    ),
    Fault("the harness ended by SIGTERM", during=harness(signal.SIGTERM)),
    Fault("the harness interrupted (Ctrl-C)", during=harness(signal.SIGINT)),
    Fault("the run directory removed", during=no_output),
    Fault("node2's link cut", during=cut(1)),
    Fault("node1's link cut", during=cut(0)),
    Fault("node2's link cut for 3 s", during=cut(1), undo=(3.0, join(1)), goes_on=True),
    Fault(
        "node2's link slowed to 10 Mbit/s for 20 s",
        during=slow(1, 10.0),
        undo=(20.0, fast(1)),
        goes_on=True,
    ),
    Fault("node2 hangs whole", during=every(signal.SIGSTOP, 1)),
    Fault("everything on node2 killed", during=every(signal.SIGKILL, 1)),
    *(
        Fault(f"rank {of} ended by {number.name}", during=rank(number, of))
        for number, of in SIGNALS
    ),
)
