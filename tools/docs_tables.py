"""Fills the generated tables of docs/: ``python -m tools.docs_tables``.

A page has a table where it has the marks ``<!-- generated: NAME -->`` and ``<!-- end -->``; NAME is
a key of :data:`TABLES`.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

from reference_impls import contract, definitions
from reporter.data import frames
from reporter.papers.presets import PRESETS
from suite.catalog.audit_tolerances import AuditTolerances, load_all_audit_tolerances
from suite.catalog.devices import Device, Identity, RecordedMachine, load_devices
from suite.catalog.extensions import ExtensionPart, extension_modules
from suite.catalog.frameworks import Framework, load_frameworks, locks_folder
from suite.catalog.power import Tier, load_power_rules
from suite.cli.json_output import JsonFormat, json_formats
from suite.errors import SuiteError
from suite.files.generated import Writers, fill_generated, generated_places, markdown_table
from suite.files.paths import repository_root
from suite.files.redaction import ROOTS
from suite.launch.obstacles import refuse_jetson, refuse_python
from suite.launch.recipe import Platform, package_name, read_lock, recipe
from suite.meters.meter import Meter
from suite.meters.registry import meter_classes
from tools.test_vectors import probe_keys, vectors

FORMS_OF_NAMES = {
    "a home folder": ("/home/jane", "/root/…", "/Users/jane", "/media/jane"),
    "a URL with a user name or a private host": (
        "http://jane:secret@plug.example.org",
        "http://plug/rpc",
    ),
    "a MAC address": ("b8:27:eb:12:34:56", "enxb827eb123456"),
    "an IP address": ("192.168.1.20", "fe80::ba27:ebff:fe12:3456"),
    "an e-mail address or an account": ("jane@example.org", "jane@janes-pi"),
    "a host's name": ("janes-pi4.local", "hostname: janes-pi"),
    "a serial number": ("Serial Number: 10000000a1b2c3d4", "GPU-1a2b3c4d-…"),
}
"""Every kind of suite.files.name_forms, with examples."""


def pages(root: Path | None = None) -> Iterator[Path]:
    """The pages of docs/ that have a generated table."""
    for path in sorted(((root or repository_root()) / "docs").glob("**/*.md")):
        if generated_places(path.read_text(encoding="utf-8")):
            yield path


def write(root: Path | None = None) -> None:
    """Fill every generated table of the checkout."""
    for path in pages(root):
        path.write_text(fill_generated(path.read_text(encoding="utf-8"), TABLES), encoding="utf-8")


def channels_of(meter: type[Meter]) -> str:
    """The channels of a meter as Markdown: the first paragraph of its class's docstring, without
    the word "Channels"."""
    paragraph = (inspect.getdoc(meter) or "").partition("\n\n")[0]
    return re.sub(r"^Channels?:? ", "", " ".join(paragraph.split()).replace("``", "`"))


def _meters() -> str:
    rows = [
        (f"`{meter.name}`", f"{meter.period_s:g} s", meter.description, channels_of(meter))
        for meter in meter_classes()
    ]
    return markdown_table(("meter", "period", "reads", "channels"), rows)


def _roots() -> str:
    """What the paths of a bundle are relative to."""
    return markdown_table(
        ("root", "stands for"), [(f"`{root}`", meaning) for root, meaning in ROOTS.items()]
    )


def _redacted_forms_text() -> str:
    """What names a person or a network by its form, in words."""
    return markdown_table(
        ("found by its form", "examples"),
        [
            (kind, ", ".join(f"`{each}`" for each in examples))
            for kind, examples in FORMS_OF_NAMES.items()
        ],
    )


def _boards() -> str:
    """One row per profile: what it covers, how it is recognised, its modes, and what is read from
    its recorded machine."""
    rows = [
        (
            f"`{device.name}`",
            device.title,
            _recognised_by(device.identity),
            ", ".join(mode.name for mode in device.power_modes) or "governor and limits",
            *_read_from(device.recorded),
            _covered_by_sensors(device),
        )
        for device in load_devices()
    ]
    return markdown_table(
        (
            "profile",
            "covers",
            "recognised by",
            "modes",
            "recorded machine",
            "its power mode",
            "its total power",
            "what its own sensors cover",
        ),
        rows,
    )


def _covered_by_sensors(device: Device) -> str:
    """What each total of the board's own sensors covers, and whose word it is."""
    recorded = device.recorded
    names = () if recorded is None else recorded.expected.totals
    found = [
        f"{rule.name}: {rule.coverage.value}{_indirectly(rule.tier)} ({rule.reference})"
        for rule in load_power_rules()
        if rule.name in names or set(rule.channels) <= set(device.power_rails)
    ]
    return "; ".join(found) or "unknown: no sensor whose scope is documented"


def _indirectly(tier: Tier) -> str:
    return ", an estimate" if tier is Tier.ESTIMATE else ""


def _recognised_by(identity: Identity) -> str:
    names = [f"`{part}`" for part in (*identity.compatible, *identity.dmi, *identity.cpu_model)]
    return ", ".join(names) or "nothing: the fallback"


def _read_from(recorded: RecordedMachine | None) -> tuple[str, str, str]:
    if recorded is None:
        return ("none", "", "")
    name = next(iter((*recorded.compatible, recorded.cpu_model, *recorded.dmi)), None)
    expected = recorded.expected
    power = expected.power_total or "no sensor that is a file"
    if expected.program_total is not None:
        power = f"{expected.program_total}, which a program reads"
    watts = "" if expected.power_w is None else f": {expected.power_w:g} W"
    return (f"`{name}`, {recorded.memory_gb} GB", expected.power_mode or "", power + watts)


def _tree() -> str:
    """Every package, and the modules beside packages in suite/ and reporter/, with the first
    sentence of its docstring."""
    root = repository_root()
    paths = [
        path
        for top in ("suite", "extensions", "reporter", "reference_impls")
        for path in sorted((root / top).rglob("*.py"), key=_position)
    ]
    lines = [
        _line(path.relative_to(root), path)
        for path in paths
        if path.name == "__init__.py" or path.parent.name in ("suite", "reporter")
    ]
    return "\n".join(["```text", *lines, "```"])


def _position(path: Path) -> tuple[str, ...]:
    return path.parent.parts if path.name == "__init__.py" else path.parts


def _line(relative: Path, path: Path) -> str:
    sentence = re.split(
        r"(?<=\.)\s|\n\n", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    )[0]
    place = relative.parent if relative.name == "__init__.py" else relative
    name = "  " * (len(place.parts) - 1) + place.name + ("/" if place.suffix == "" else "")
    return f"{name:18} {' '.join(sentence.split())}"


def _audit_tolerances() -> str:
    """A column for each range of steps; pairs of a workload with equal tolerances share a row."""
    every = load_all_audit_tolerances()
    last_steps = sorted({last for tolerances in every for last in tolerances.last_steps})
    pairs_of: dict[tuple[str, ...], list[str]] = {}
    for tolerances in every:
        for pair in tolerances.pairs:
            values = (_tolerance_at(tolerances, pair.frameworks, last) for last in last_steps)
            pairs_of.setdefault((tolerances.name, *values), []).append(
                " and ".join(pair.frameworks)
            )
    rows = [(row[0], ", ".join(pairs), *row[1:]) for row, pairs in pairs_of.items()]
    return markdown_table(
        ("workload", "run and replay", *(f"to step {last}" for last in last_steps)), rows
    )


def _tolerance_at(tolerances: AuditTolerances, pair: tuple[str, ...], step: int) -> str:
    value = tolerances.per_step(pair[0], pair[-1], step)[-1]
    return "—" if value is None else f"{value:g}"


def _figures() -> str:
    """Every preset of `suite figure`."""
    rows = [
        (
            f"`{one.name}`",
            one.title,
            one.needs,
            f"`{one.make}`",
        )
        for one in PRESETS
    ]
    return markdown_table(("name", "shows", "needs", "for example"), rows)


def _locks() -> str:
    """One row per lock: what it is for, and its sizes."""
    rows = []
    for framework in load_frameworks():
        for path in (
            sorted(locks_folder(framework).glob("*.txt"))
            if framework.environment_of is None
            else ()
        ):
            found = read_lock(path)
            main = next(
                pin.split()[0]
                for pin in found.pins
                if package_name(pin) in {package_name(name) for name in framework.packages}
            )
            sizes = (f"{size / 1e6:,.0f} MB" for size in (found.download_bytes, found.disk_bytes))
            rows.append(
                (framework.title, f"`{path.stem}`", f"`{main}`", str(len(found.pins)), *sizes)
            )
    return markdown_table(
        ("framework", "platform", "version", "packages", "to download", "on disk"), rows
    )


SYSTEMS = (
    ("Raspberry Pi OS 12, Debian 12 on ARM", Platform("aarch64", (3, 11), False), None),
    ("Raspberry Pi OS 13, Debian 13 on ARM", Platform("aarch64", (3, 13), False), None),
    ("Ubuntu 24.04 on ARM", Platform("aarch64", (3, 12), False), None),
    ("Ubuntu 26.04 on ARM", Platform("aarch64", (3, 14), False), None),
    ("JetPack 5, with uv's Python", Platform("aarch64", (3, 11), True, 11), 35),
    ("JetPack 6", Platform("aarch64", (3, 10), True, 12), 36),
    ("JetPack 7", Platform("aarch64", (3, 12), True, 13), 38),
    ("Ubuntu 24.04 on x86-64", Platform("x86_64", (3, 12), False), None),
    ("Ubuntu 24.04 on x86-64 with an NVIDIA GPU", Platform("x86_64", (3, 12), True), None),
    ("Ubuntu 26.04 on x86-64", Platform("x86_64", (3, 14), False), None),
)
"""Systems as they are delivered: platform, and the release of Jetson Linux."""


def _systems() -> str:
    """What `suite env create FRAMEWORK` says first, once for all systems where it says so."""
    told: dict[tuple[str, str], list[str]] = {}
    for system, place, release in SYSTEMS:
        for framework in load_frameworks():
            if framework.needs_environment and framework.environment_of is None:
                text = _environment_text(framework, place, release)
                told.setdefault((framework.title, text), []).append(system)
    rows = [
        ("; ".join(systems), framework, text)
        for (framework, text), systems in sorted(told.items(), key=lambda each: each[0][0])
    ]
    return markdown_table(("system", "framework", "what one reads"), rows)


def _environment_text(framework: Framework, place: Platform, release: int | None) -> str:
    try:
        refuse_python(framework, place.python, "python3")
        refuse_jetson(framework, release)
    except SuiteError as refused:
        return str(refused)
    return recipe(framework, place).statement


_FIELD = re.compile(
    r"((?:^    # .*\n)*)^    (\w+): ([^#=\n]+?)(?: = [^#\n]+?)?(?:  # (.*))?$", re.MULTILINE
)
_TYPES = (
    ("Optional[", "null or "),
    ("List[", "list of "),
    ("]", ""),
    ("str", "text"),
    ("int", "whole number"),
    ("float", "number"),
    ("bool", "true or false"),
)


def _request() -> str:
    """Every key of request.json, from the contract's classes and their comments."""
    nested = {
        name: kind
        for name, kind in get_type_hints(contract.Request).items()
        if hasattr(kind, "_fields")
    }
    rows = []
    for name, kind, comment in _fields(contract.Request):
        if name in nested:
            rows += [
                (f"`{name}.{inner}`", _plain_type(of), _plain_comment(about))
                for inner, of, about in _fields(nested[name])
            ]
        else:
            rows.append((f"`{name}`", _plain_type(kind), _plain_comment(comment)))
    return markdown_table(("key", "type", "meaning"), rows)


def _fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """Names and types of a class's fields, and the comment above or behind each."""
    for above, name, of, behind in _FIELD.findall(inspect.getsource(kind)):
        yield name, of, behind or " ".join(above.replace("    # ", "").split())


def _plain_type(kind: str) -> str:
    for old, new in _TYPES:
        kind = kind.replace(old, new)
    return kind


def _plain_comment(comment: str) -> str:
    version = str(contract.CONTRACT_VERSION)
    return comment.replace("None:", "null:").replace("CONTRACT_VERSION", version)


def _columns() -> str:
    """Every frame of `reporter.load`: a row per meaning, and once what an entry shares with
    its runs."""
    parts = []
    for name in (
        "runs",
        "points",
        "figures",
        "epochs",
        "entries",
        "entry_figures",
        "linpacks",
        "broken",
    ):
        columns_of: dict[str, list[str]] = {}
        for column, about in getattr(frames, name.upper()).items():
            is_shared = name == "entries" and frames.RUNS.get(column) == about
            columns_of.setdefault("as in `runs`" if is_shared else about, []).append(f"`{column}`")
        rows = [(", ".join(columns), about) for about, columns in columns_of.items()]
        parts.append(f"## `{name}`\n\n{markdown_table(('column', 'holds'), rows)}")
    return "\n\n".join(parts)


def _facts() -> str:
    return markdown_table(
        ("key", "value"), [(f"`{fact.key}`", fact.meaning) for fact in definitions.FACTS]
    )


def _events() -> str:
    rows = [
        (
            f"`{event.key}`",
            event.event_type,
            event.needed,
            event.when,
            event.value or "null",
            ", ".join(f"`{name}`" for name in event.metadata),
        )
        for event in definitions.EVENTS
    ]
    return markdown_table(("key", "event_type", "needed", "when", "value", "metadata"), rows)


def _files() -> str:
    return markdown_table(
        ("file", "written by", "needed", "content"),
        [(f"`{file.name}`", file.by, file.needed, file.content) for file in definitions.FILES],
    )


def _steps() -> str:
    return markdown_table(
        ("column", "meaning"),
        [(f"`{name}`", meaning) for name, meaning in definitions.STEP_MEANINGS],
    )


def _timings() -> str:
    rows = [(f"`{name}`", waits, timed) for name, waits, timed in definitions.TIMINGS]
    return markdown_table(("`--timing`", "the loop waits for the device", "timed"), rows)


def _probe_files() -> str:
    rows = [("inputs", f"`{name}`", content) for name, content in definitions.PROBE_INPUTS]
    return markdown_table(
        ("folder", "file", "content"),
        rows + [("output", f"`{name}`", content) for name, content in definitions.PROBE_OUTPUTS],
    )


def _json_formats() -> str:
    """One row per key of every format, those of extensions too."""
    rows = []
    of_extensions = {
        each.name: each
        for _, module in extension_modules(ExtensionPart.COMMAND)
        for each in vars(module).values()
        if isinstance(each, JsonFormat)
    }
    for _, one in sorted((json_formats() | of_extensions).items()):
        for place, (key, about) in enumerate(one.keys.items()):
            label = f"`{one.label}`" + (", in `rows`" if one.is_list else "") if place == 0 else ""
            rows.append(
                (
                    label,
                    one.printed_by if place == 0 else "",
                    f"`{key}`" + (" (may be absent)" if key in one.optional else ""),
                    about,
                )
            )
    return markdown_table(("format", "printed by", "key", "holds"), rows)


TABLES: Writers = {
    "test-vectors": vectors,
    "probe-request-keys": probe_keys,
    "request-keys": _request,
    "log-facts": _facts,
    "log-events": _events,
    "run-files": _files,
    "step-columns": _steps,
    "timings": _timings,
    "probe-files": _probe_files,
    "audit-tolerances": _audit_tolerances,
    "boards": _boards,
    "locks": _locks,
    "systems": _systems,
    "meters": _meters,
    "columns": _columns,
    "figures": _figures,
    "json": _json_formats,
    "tree": _tree,
    "roots": _roots,
    "named": _redacted_forms_text,
}


if __name__ == "__main__":
    write()
