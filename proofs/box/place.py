"""The box: an arm64 Debian with the wheels that a Raspberry Pi installs, and a kernel with the
sensor's driver, in the suite's cache folder.

Each part is made once; deleting the folder removes them all. Everything comes from Debian's archive
and from pip's configured index.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from suite.files.paths import repository_root, suite_home
from suite.files.toml_file import tomllib

# Raspberry Pi OS 12 stands on it, and its wheels are for this Python
RELEASE, PYTHON = "bookworm", "3.11"
MIRROR = "http://deb.debian.org/debian"
LOCK = "reference_impls/locks/pytorch/linux-aarch64-py3.11.txt"  # what a Raspberry Pi installs
DOCS_LEFT_OUT = tuple(
    f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")
)
MODULES = ("virtio_mmio", "netfs", "fscache", "9pnet", "9pnet_virtio", "9p", "i2c-dev")
"""Modules of Debian's kernel for the box's file systems and its I2C bus, in the order of their
needs."""
OWN_MODULES = {"i2c-stub": "drivers/i2c/i2c-stub.c", "ina3221": "drivers/hwmon/ina3221.c"}
"""Modules that Debian's arm64 kernel lacks, by their file in its own source."""
CROSS = "aarch64-linux-gnu-"
COPIED = ("suite", "extensions", "reporter", "reference_impls", "rules", "proofs/box")
"""Folders of the checkout that run in the box."""


def place() -> Path:
    """The folder of the box."""
    return suite_home() / "box"


def root() -> Path:
    """The root file system."""
    return place() / "root"


def make_root() -> None:
    """Debian with Python, from packages; its packages' scripts run under emulation. Some
    minutes."""
    shutil.rmtree(root(), ignore_errors=True)  # an attempt that was interrupted
    options = (
        "--mode=root",
        "--architectures=arm64",
        "--variant=minbase",
        "--include=python3,busybox-static,kmod",
        "--skip=cleanup/apt",
    )
    run("mmdebstrap", *options, *DOCS_LEFT_OUT, RELEASE, str(root()), MIRROR)
    for name in ("suite", "out", "modules", "home/suite"):
        (root() / name).mkdir(parents=True, exist_ok=True)


def make_wheels() -> None:
    """The suite's packages and PyTorch as its lock says, where Debian's Python looks for what an
    administrator installed."""
    project = tomllib.loads((repository_root() / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project["optional-dependencies"]
    needed = ["pip"]  # lists the packages of an environment for a run's record
    needed += [
        one
        for one in (*project["dependencies"], *extras["report"], *extras["digits"])
        if "python_version <" not in one
    ]
    folder = root() / f"usr/local/lib/python{PYTHON}/dist-packages"
    kinds = [
        option
        for glibc in ("_2_28", "_2_17", "2014")
        for option in ("--platform", f"manylinux{glibc}_aarch64")
    ]
    target = (
        "--quiet",
        "--upgrade",
        "--target",
        str(folder),
        "--no-compile",
        "--no-warn-conflicts",
    )
    pip = (
        sys.executable,
        "-m",
        "pip",
        "install",
        *target,
        *kinds,
        "--python-version",
        PYTHON,
        "--only-binary=:all:",
    )
    run(*pip, *needed)
    run(*pip, "--no-deps", "--require-hashes", "-r", str(repository_root() / LOCK))


def make_kernel() -> None:
    """Debian's kernel, unpacked, and the modules that it lacks, compiled for it."""
    packages, tree = place() / "packages", place() / "kernel"
    version = _download_kernel(packages)
    for package in sorted(packages.glob("linux-[ihk]*.deb")):
        run("dpkg-deb", "-x", str(package), str(tree))
    headers, modules = tree / f"usr/src/linux-headers-{version}", place() / "modules"
    makefile = headers / "Makefile"
    makefile.write_text(
        makefile.read_text(encoding="utf-8").replace("/usr/src", f"{tree}/usr/src", 1),
        encoding="utf-8",
    )
    modules.mkdir(exist_ok=True)
    source = next(packages.glob("linux-source-*.deb"))
    wanted = " ".join(f"linux-source-6.1/{file}" for file in OWN_MODULES.values())
    unpack = (
        f"dpkg-deb --fsys-tarfile {source} | tar -xO ./usr/src/linux-source-6.1.tar.xz | tar -xJ"
        f" --strip-components=3 -C {modules} {wanted}"
    )
    run("sh", "-c", unpack)
    _give_the_bus_its_node(modules / "i2c-stub.c")
    (modules / "Kbuild").write_text(
        f"obj-m := {' '.join(f'{name}.o' for name in OWN_MODULES)}\n", encoding="utf-8"
    )
    run(
        "make",
        "-s",
        "-C",
        str(headers),
        f"M={modules}",
        "ARCH=arm64",
        f"CROSS_COMPILE={CROSS}",
        "modules",
    )
    shutil.copy(next((tree / "boot").glob("vmlinuz-*")), place() / "vmlinuz")
    for name in MODULES:
        shutil.copy(next((tree / "lib/modules").rglob(f"{name}.ko")), modules)
    shutil.rmtree(packages)
    shutil.rmtree(tree)


def _download_kernel(packages: Path) -> str:
    """Download the kernel's packages by the lists of the root's own package manager; returns the
    kernel's version."""
    packages.mkdir(exist_ok=True)
    both = (
        "-o",
        "APT::Architecture=arm64",
        "-o",
        "APT::Architectures::=arm64",
        "-o",
        "APT::Architectures::=amd64",
    )
    options = (
        *both,
        "-o",
        f"Dir={root()}",
        "-o",
        "APT::Sandbox::User=root",
        "-o",
        "Acquire::Languages=none",
    )
    run("apt-get", *options, "-qq", "update")
    needs = subprocess.run(
        ["apt-cache", *options, "depends", "linux-image-arm64"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    version = needs.split("Depends: linux-image-")[1].split()[0]
    common = version.removesuffix("arm64") + "common"
    build = f"linux-kbuild-6.1:{subprocess.run(['dpkg', '--print-architecture'], capture_output=True, text=True, check=True).stdout.strip()}"  # noqa: E501
    names = (
        f"linux-image-{version}",
        f"linux-headers-{version}",
        f"linux-headers-{common}",
        build,
        "linux-source-6.1",
    )
    run("apt-get", *options, "-qq", "download", *names, folder=packages)
    return version


def _give_the_bus_its_node(source: Path) -> None:
    """Let i2c-stub's adapter have the node /i2c-stub of the device tree, so that its chips have
    labels and shunts."""
    code, add = source.read_text(encoding="utf-8"), "\tret = i2c_add_adapter(&stub_adapter);\n"
    if code.count(add) != 1:
        raise ValueError(f"{source} is not the i2c-stub that this program knows")
    source.write_text(
        code.replace(
            add, f'\tstub_adapter.dev.of_node = of_find_node_by_path("/i2c-stub");\n{add}'
        ),
        encoding="utf-8",
    )


def make_initramfs() -> None:
    """A first root of busybox and modules, which mounts the box's folders and starts /out/job.sh in
    them."""
    folder = place() / "initramfs"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("bin", "modules", "proc", "sys", "dev", "root"):
        (folder / name).mkdir(parents=True)
    shutil.copy(root() / "bin/busybox", folder / "bin")
    shutil.copy(Path(__file__).with_name("init.sh"), folder / "init")
    (folder / "init").chmod(0o755)
    for name in MODULES:
        shutil.copy(place() / f"modules/{name}.ko", folder / "modules")
    for name in OWN_MODULES:
        shutil.copy(place() / f"modules/{name}.ko", root() / "modules")
    run(
        "sh",
        "-c",
        f"find . | cpio -o -H newc --quiet | gzip -1 >{place()}/initramfs.gz",
        folder=folder,
    )


PARTS: Mapping[str, Callable[[], None]] = {
    "root": make_root,
    "wheels": make_wheels,
    "kernel": make_kernel,
    "initramfs": make_initramfs,
}


MADE_FROM = {"wheels": (LOCK, "pyproject.toml"), "initramfs": ("proofs/box/init.sh",)}
"""Files of the checkout that a part is made from: it is made again when they change."""


def make(*parts: str) -> None:
    """Make these parts of the box that were not finished before, and all that are made of one that
    is new, in the order of PARTS.

    Exits with one sentence when a program fails: a part that is not finished is made again by the
    next call.
    """
    os.umask(0o022)
    place().mkdir(parents=True, exist_ok=True)
    is_new = False
    for name in (each for each in PARTS if each in parts):
        done, made_from = (
            place() / f".{name}",
            _digest(repository_root() / file for file in MADE_FROM.get(name, ())),
        )
        if not is_new and done.exists() and done.read_text(encoding="utf-8") == made_from:
            continue
        print(f"box: making {name} in {place()}", flush=True)
        done.unlink(missing_ok=True)
        try:
            PARTS[name]()
        except subprocess.CalledProcessError as error:
            sys.exit(
                f"error: the box's {name} could not be made: `{error.cmd[0]}` failed, its message"
                " is above. Then run `make prove box` again."
            )
        done.write_text(made_from, encoding="utf-8")
        is_new = True


def sources_digest() -> str:
    """SHA-256 of every file that :func:`copy_checkout` copies; the box's last result is among them,
    so that a finished campaign begins anew."""
    root_folder = repository_root()
    files = (
        file
        for name in COPIED
        for file in sorted((root_folder / name).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    )
    return _digest(files)


def _digest(files: Iterable[Path]) -> str:
    """SHA-256 of names and contents of files of the checkout."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(
            f"{file.relative_to(repository_root())}"
            f" {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()


def copy_checkout(to: Path) -> Path:
    """Copy what runs in the box: edits do not reach a machine that runs for minutes. Returns
    ``to``."""
    for name in COPIED:
        shutil.copytree(
            repository_root() / name, to / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(repository_root() / "proofs/__init__.py", to / "proofs")
    return to


def run(*command: str, folder: Path | None = None) -> None:
    """Run a program; raises CalledProcessError when it fails."""
    subprocess.run(command, check=True, cwd=folder)
