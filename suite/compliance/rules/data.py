"""Data: the set that its definition describes, the files that were read, and the page cache's
state."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.data_record import DATA, DataRecord, read_data_record
from suite.bundle.layout import READINGS, RUN, SUMMARY, SYSTEM
from suite.bundle.node_records import NODES, read_nodes
from suite.catalog.data_sets import DataSetDefinition, Pictures, load_data_set, load_data_sets
from suite.catalog.divisions import Division
from suite.catalog.frameworks import is_own
from suite.compliance.rule import (
    CLOSED,
    BundleContext,
    OfBundle,
    OfRequest,
    RequestContext,
    Rule,
    Violation,
    Violations,
)
from suite.compliance.values import is_number
from suite.errors import SuiteError
from suite.files.digest import FileDigest

ORDER = 22  # after the request as a whole

MAX_RESIDENT_RATIO = 0.5
MIN_START_S, MAX_START_S = 0.05, 1800.0
"""From the digests to init_start, beside the reading: an interpreter starts in 0.05 s or more; a
baseload, emptying the page cache and loading a framework from an SD card take minutes. Honest runs:
0.27 to 12.0 s in all."""
MAX_PREPARED_S = 300.0
"""From the digests to the log's first event of a run on one rank, beside reading the files twice:
the page cache is emptied after what waits to be written, a receipt is asked for, a power pulse
takes 13 s. Honest runs: 0.25 to 2.0 s in all."""
# of SHA-256 and MD5 together, on the fastest core; of the slowest card
MAX_DIGEST_BYTES_PER_S, MIN_DIGEST_BYTES_PER_S = 4e9, 1e6
MAX_PICTURE_S = 0.1  # to open and read one of many small files
# a file system that compresses reads a fifth of MNIST
MAPPED, MIN_MAPPED_RATIO, MIN_READ_RATIO = ("idx", "cifar10"), 0.5, 0.1
GENERATED, IN_MEMORY = "synthetic", "memory"


@lru_cache(maxsize=16)
def _definition(name: str) -> DataSetDefinition | None:
    try:
        return load_data_set(name)
    except SuiteError:
        return None


def _as_defined(context: RequestContext) -> Violations:
    """Check sizes, classes and layout against rules/datasets; generated data have sizes of their
    own."""
    data = context.request.data
    definition = _definition(data.name)
    if definition is None:
        known = ", ".join(each.name for each in load_data_sets())
        yield Violation(
            context.file, f"a data set that rules/datasets defines ({known})", repr(data.name)
        )
        return
    names = (
        ("layout", "classes")
        if data.synthetic is True
        else ("layout", "classes", "train_samples", "eval_samples")
    )
    for name in names:
        expected, found = getattr(definition, name), getattr(data, name)
        is_part = name == "train_samples" and _may_be_incomplete(context, definition)
        if expected is not None and found != expected and not (is_part and 0 < found < expected):
            yield Violation(
                context.file,
                f"data.{name} = {expected!r}, as {definition.title} has",
                repr(found),
                fix=f"train on all of {definition.name!r}, or name the data set that was used",
            )


def _may_be_incomplete(context: RequestContext, definition: DataSetDefinition) -> bool:
    """Whether nobody has all pictures of the data set: nothing pins them, and the open division
    takes those that are left."""
    return (
        context.division is Division.OPEN
        and not context.round.is_before_v03
        and bool(definition.tables)
        and definition.pictures is None
    )


def _folder(context: RequestContext) -> Violations:
    """Check that the folder does not bear the name of another data set in the same layout, or of
    generated data."""
    data = context.request.data
    definition = _definition(data.name)
    if definition is None or not isinstance(data.directory, str):
        return
    folder = data.directory.rstrip("/").rpartition("/")[2].lower()
    words = set(re.findall(r"[a-z]+[0-9]*", folder))
    others = [] if data.synthetic is True else [GENERATED]
    for other in (*others, *definition.mistaken_for):
        if other in words or ("-" in other and other in folder):
            yield Violation(
                context.file,
                f"a data folder without {other!r} in its name, because the request names"
                f" {definition.title}",
                f"the folder {folder!r}, with {other!r} in its name",
            )


def _digests(context: BundleContext) -> Violations:
    """Compare the digests that the harness took before the run with the published ones."""
    definition, data = _definition(context.request.data.name), context.request.data
    if definition is None or data.verified is not True:
        return
    if not (context.bundle.path / DATA).exists():
        yield Violation(DATA, "the digests of the files that the run read", "no such file")
        return
    record = read_data_record(context.bundle)
    if record.name != data.name:
        yield Violation(DATA, f"the files of {data.name!r}", f"the files of {record.name!r}")
        return
    found = {file.name: file for file in record.files}
    for file in definition.files:
        yield from _file(
            file.name,
            {"size_bytes": file.size_bytes, "sha256": file.sha256, "md5": file.md5},
            found.get(file.name),
        )
    for table in definition.tables:
        yield from _file(table.name, {"md5": table.md5}, found.get(table.name))
    yield from _pictures(context, definition, record)


def _pictures(
    context: BundleContext, definition: DataSetDefinition, record: DataRecord
) -> Violations:
    """Check number and digest of the pictures: as many as samples where they are pinned, none where
    the data set has no pictures of its own."""
    pinned = definition.pictures
    if pinned is not None and not proves_pictures(pinned, record):
        yield Violation(
            DATA,
            f"images with the digest {pinned.sha256} over all images",
            f"{record.pictures} images with the digest {record.pictures_sha256}",
        )
    samples = context.request.data.train_samples + context.request.data.eval_samples
    if pinned is not None and record.pictures < samples:
        yield Violation(
            DATA,
            f"at least {samples} images, one for each training and evaluation sample",
            f"{record.pictures} images",
        )
    if pinned is None and (record.pictures != 0 or record.pictures_sha256 is not None):
        yield Violation(
            DATA,
            f"no digests of images: rules/datasets has none for {definition.title}",
            f"{record.pictures} images with the digest {str(record.pictures_sha256)[:80]}",
        )


def proves_pictures(pinned: Pictures, record: DataRecord) -> bool:
    """Whether a record's digest is that of the pinned files, or of their pixels."""
    return record.pictures_sha256 == pinned.sha256 or (
        pinned.decoded_sha256 is not None
        and record.pictures_decoded_sha256 == pinned.decoded_sha256
    )


def _digest_times(context: BundleContext) -> Violations:
    """Check when the digests were taken: right before the run, and long enough before it to read
    the files.

    Rank 0 may run on another machine than the harness, whose monotonic clocks cannot be compared.
    """
    start = context.log.first("init_start")
    if not (context.bundle.path / DATA).exists() or start is None or start.mono_ns is None:
        return
    if start.metadata.get("boot") != context.system.get("boot"):
        return
    record = read_data_record(context.bundle)
    before_s = (start.mono_ns - record.taken_ns) * SECONDS_PER_NS
    size_bytes = sum(file.size_bytes for file in record.files)
    min_s = MIN_START_S + size_bytes / MAX_DIGEST_BYTES_PER_S
    max_s = MAX_START_S + size_bytes / MIN_DIGEST_BYTES_PER_S + record.pictures * MAX_PICTURE_S
    if not min_s <= before_s <= max_s:
        yield Violation(
            DATA,
            f"taken_ns {min_s:.2f} to {max_s:.0f} s before init_start: the time to read"
            f" {size_bytes} bytes and to start the implementation",
            f"taken_ns is {abs(before_s):.6g} s {'before' if before_s >= 0 else 'after'}"
            " init_start",
        )
        return
    first_ns = context.log.events[0].mono_ns
    # the harness begins this log; of several ranks the first may do so
    if context.request.parallel.ranks == 1 and first_ns is not None:
        before_s = (first_ns - record.taken_ns) * SECONDS_PER_NS
        max_s = 2 * (max_s - MAX_START_S) + MAX_PREPARED_S
        if before_s > max_s:
            yield Violation(
                DATA,
                f"taken_ns at most {max_s:.0f} s before the log's first event: enough time to read"
                f" {size_bytes} bytes",
                f"taken_ns is {before_s:.1f} s before that event",
            )


def _file(name: str, published: Mapping[str, Any], found: FileDigest | None) -> Violations:
    if found is None:
        yield Violation(DATA, f"the digest of {name}", "none")
        return
    for key, value in published.items():
        if value is not None and getattr(found, key) != value:
            yield Violation(
                DATA, f"{name}: {key} = {value}, as published", repr(getattr(found, key))
            )


def _cache(context: BundleContext) -> Violations:
    """Check the cache's first reading and the disk's bytes of a run with an emptied page cache."""
    start = context.log.first("run_start")
    if context.request.cache_cleared is not True or start is None or start.mono_ns is None:
        return
    if context.system.get("storage_medium") == IN_MEMORY:
        yield Violation(
            RUN,
            f"cache_cleared = false, because the data stay in {IN_MEMORY} (storage_medium in"
            f" {SYSTEM})",
            "cache_cleared = true",
        )
    for node in read_nodes(context.bundle):
        if (node.page_cache or {}).get("is_cold") is False:
            yield Violation(
                NODES,
                f"an empty page cache on {node.host[:100]} before the run, as {RUN} says"
                " (cache_cleared)",
                "page_cache.is_cold = false",
            )
    resident = context.bundle.channels().get("page-cache", "resident")
    if (
        len(resident)
        and resident.t_ns[0] < start.mono_ns
        and resident.values[0] > MAX_RESIDENT_RATIO
    ):
        seconds = (start.mono_ns - int(resident.t_ns[0])) * 1e-9
        yield Violation(
            READINGS,
            f"at most {MAX_RESIDENT_RATIO:.0%} of the data in the page cache before run_start"
            " (cache_cleared)",
            f"{resident.values[0]:.0%} in the page cache {seconds:.1f} s before run_start",
        )
    read = context.bundle.channels().get("disk", "read_bytes")
    if context.request.batches == "read" and len(read) > 1 and read.values[-1] <= read.values[0]:
        yield Violation(
            READINGS,
            f"bytes read from the disk after the page cache was emptied (cache_cleared in {RUN})",
            f"0 bytes in {len(read)} readings of the disk that holds the data set",
        )


def _filled(context: BundleContext) -> Violations:
    """Check, where the suite's own readers map the files into memory, that an epoch reads what it
    neither finds nor leaves in the page cache."""
    data = context.request.data
    if (
        context.request.batches != "read"
        or data.synthetic
        or data.layout not in MAPPED
        or not is_own(context.request.framework)
    ):
        return
    definition = _definition(data.name)
    size_bytes = sum(file.size_bytes for file in definition.files) if definition is not None else 0
    for epoch in context.bundle.json(SUMMARY).get("epochs", ()):
        resident = [epoch.get(name) for name in ("resident_start_ratio", "resident_end_ratio")]
        read_bytes = epoch.get("disk_read_bytes")
        if not epoch.get("is_whole") or not all(map(is_number, (*resident, read_bytes))):
            continue
        if max(resident) >= MIN_MAPPED_RATIO or read_bytes >= MIN_READ_RATIO * size_bytes:
            continue
        yield Violation(
            READINGS,
            f"in epoch {epoch.get('epoch')}, at least"
            f" {MIN_READ_RATIO * size_bytes / 2**20:.0f} MiB read from the disk, or at least"
            f" {MIN_MAPPED_RATIO:.0%} of the data in the page cache at its start or end, because"
            " the suite's readers read the files through the page cache",
            f"{read_bytes / 2**20:.1f} MiB read; {resident[0]:.0%} of the data in the page cache"
            f" at the start, {resident[1]:.0%} at the end",
        )
        return


RULES = (
    Rule(
        "data-as-defined",
        "A run's data set has the number of samples, the classes and layout of its definition;"
        " generated data have the definition's classes and layout. An open run may use fewer"
        " training samples of a data set whose images are no longer all available. The data folder"
        " is not named after another data set with the same layout. Only a folder with generated"
        " data may have `synthetic` in its name.",
        "A run on half of a data set cannot be compared with others. If somebody trained on"
        " Fashion-MNIST in place of MNIST, the files' names and sizes would not show it, because"
        " they are the same; the folder's name may show it.",
        "train on the whole data set, or name the data set that was used (with --data, and in the"
        " folder's name)",
        (OfRequest("data-as-defined", _as_defined), OfRequest("data-folder", _folder)),
    ),
    Rule(
        "data-digests",
        "A closed run records the digest of every file that it reads, and the digests equal those"
        " of the published data set. In every division, the time from the start of computing the"
        " digests (taken_ns in data.json) to init_start is long enough to read all the files, and"
        " at most half an hour longer than a slow SD card needs for that (1 MB/s, and 0.1 s per"
        " image). If a run has one rank, the time from taken_ns to the log's first event is at most"
        " five minutes plus twice the time that a slow SD card needs.",
        "The harness reads and hashes the files right before it starts the implementation. A mere"
        " statement that the files were verified proves nothing, and digests from another day do"
        " not show which files this run read.",
        "run `suite data verify`, then run again; do not edit data.json",
        (
            OfBundle("data-digests", _digests, CLOSED),
            OfBundle("data-digested-before", _digest_times),
        ),
    ),
    Rule(
        "page-cache",
        "If a run records an emptied page cache, then its records and readings show this: the data"
        " are on a disk, at most half of them are in the page cache before run_start, and the run"
        " reads from the disk. If the suite's own readers map the files, every epoch reads at least"
        " a tenth of the data from the disk, or at least half of the data are in the page cache at"
        " the start or the end of the epoch.",
        "If the data are in the page cache before the run, the first epoch and the time to target"
        " are shorter. When the suite's readers use a mapped file, the kernel reads missing data"
        " from the disk into the page cache. An epoch with neither such reads nor data in the page"
        " cache did not use the files.",
        "let `suite run` empty the page cache, and hand in the run's records and readings as they"
        " were written",
        (OfBundle("cache-as-recorded", _cache), OfBundle("cache-fills", _filled)),
    ),
)
