"""Faults that the rules of suite.compliance.rules.data find, by check."""

from collections.abc import Callable
from typing import Any

from suite.bundle.data_record import DATA
from suite.compliance.rules.data import IN_MEMORY
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, in_turn, recomputed, unsealed
from tests.faults.edits.file_edits import change_file, delete, resealed, set_node
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.reading_edits import scale_readings, set_constant
from tests.faults.edits.table_edits import empty_cache

SIZES = (
    ("data.train_samples", 30_000),
    ("data.train_samples", 70_000),
    ("data.eval_samples", 1_000),
    ("data.classes", 11),
    ("data.layout", "cifar10"),
)


FOLDERS = ("$DATA/fashion-mnist", "$DATA/synthetic", "$DATA/KMNIST/")


def _other_digest(content: Any) -> None:
    content["files"][0]["sha256"] = "0" * 64


def _in_memory(bundle: EditableBundle) -> None:
    bundle.system["storage_medium"] = IN_MEMORY


def _later(seconds: float) -> Callable[[Any], None]:
    return lambda content: content.update(taken_ns=content["taken_ns"] + round(seconds * 1e9))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "data-as-defined": tuple(
        fault
        for name, value in SIZES
        for fault in both(f"{name} = {value!r} everywhere", set_everywhere(name, value))
    ),
    "data-folder": tuple(
        fault
        for name in FOLDERS
        for fault in both(f"the folder {name}", set_everywhere("data.directory", name))
    ),
    "data-digests": (
        unsealed(f"{DATA} lost, the manifest made to fit", resealed(delete(DATA))),
        *both("another digest of the training images", change_file(DATA, _other_digest)),
        *both("the last file not read", change_file(DATA, lambda content: content["files"].pop())),
        *both(
            "the MD5 of another file",
            change_file(DATA, lambda content: content["files"][0].update(md5="0" * 32)),
        ),
        *both(
            "pictures of MNIST",
            change_file(
                DATA, lambda content: content.update(pictures=70_000, pictures_sha256="5" * 64)
            ),
        ),
        *both(
            "files of another data set",
            change_file(DATA, lambda content: content.update(name="digits")),
        ),
    ),
    "data-digested-before": tuple(
        fault
        for name, seconds in (
            ("after the run", 3600),
            ("ten hours earlier", -36_000),
            ("ten minutes earlier", -600),
            ("a microsecond before the log", 19.999999),
        )
        for fault in both(f"digests {name}", change_file(DATA, _later(seconds)))
    ),
    "cache-as-recorded": (
        recomputed(
            "the cache said to be emptied, all data in memory",
            in_turn(
                scale_readings("page-cache", "", 0.0, plus=1.0),
                set_everywhere("cache_cleared", True),
            ),
        ),
        *both(
            "the cache said to be emptied of data in a file system in memory",
            in_turn(set_everywhere("cache_cleared", True), _in_memory),
        ),
        recomputed(
            "the cache said to be emptied, no byte read",
            in_turn(set_constant("disk", "read_bytes"), set_everywhere("cache_cleared", True)),
        ),
        recomputed(
            "the cache said to be emptied, and that of the second node not",
            in_turn(
                set_everywhere("cache_cleared", True),
                set_node(1, page_cache={"asked": "cold", "is_cold": False}),
            ),
            ranks=2,
        ),
    ),
    "cache-fills": (
        recomputed("nothing of the data in memory, hardly a byte read", empty_cache()),
    ),
}
