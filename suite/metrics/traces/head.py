"""The head of a logger's file: encoding, delimiter, header and first rows."""

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.metrics.traces import logs
from suite.metrics.traces.trace_format import MAX_COLUMNS, UNITS, open_unpacked

HEAD_BYTES, HEAD_LINES = 2**16, 400
DELIMITERS = ",;\t|"
COMMENTS = "#%"
POWERMETRICS = "*** Sampled system activity ("
OF_PROMETHEUS = re.compile(r"# (HELP|TYPE) ")
"""Its comments name the metric, not the columns."""
OF_JSON = re.compile(r"""[^,;\t"]*\{\s*["']\w+["']\s*:""")
SUMMARY = re.compile(r'"?[^,;\t|={]+ = [-+\d.,]+"?\s*')
"""Intel Power Gadget's averages below its rows."""
MIN_ROWS_SHARE = 2 / 3
"""Of the lines from the first row on, where blanks stand between cells: else it is prose."""
MIN_PAIRS = 4
"""Names and values at the head of a longer row."""
NO_TABLE = (
    "{path} is not a table: too few of its first {lines} lines have a column that holds "
    "only a number (JSON, name:value, blocks of lines and text between rows are not read). Write"
    " a CSV file with a row for each reading."
)
STARTS_TIME = re.compile(
    r"\d|(mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ ,.]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Head:
    """The first lines: their cells, the header's names (numbers from 1 without a header), and what
    was found before the first row. ``repeats_header``: some loggers write the header for each
    reading; the rows are without it."""

    encoding: str
    delimiter: str
    comment: str | None
    skip_lines: int
    names: tuple[str, ...]
    has_header: bool
    rows: tuple[tuple[str, ...], ...]
    log: str = ""
    repeats_header: bool = False


def read_head(path: Path) -> Head:
    """The head of a file; raises SuiteError for one that is no text in columns."""
    try:
        with open_unpacked(path) as stream:
            data = stream.read(HEAD_BYTES)
            is_cut = bool(stream.read(1))
    except (OSError, EOFError) as error:
        raise SuiteError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error
    encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data:
        raise SuiteError(
            f"{path} is not text in UTF-8 or a one-byte encoding (it is a binary file, or UTF-16);"
            " export it as CSV in UTF-8."
        )
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        encoding, text = "latin-1", data.decode("latin-1")
    lines = text.splitlines()[: -1 if is_cut else None][:HEAD_LINES]
    if log := logs.kind_of(lines):
        names = logs.log_names(log, lines)
        lines = logs.log_table(log, text, names).splitlines()
        found = tuple(tuple(line.split(logs.DELIMITER)) for line in lines)
        if not found:
            raise SuiteError(f"{path} has no line of {log} with readings; export it again.")
        return Head(encoding, logs.DELIMITER, None, 0, names, True, found, log)
    if any(POWERMETRICS in line for line in lines):
        raise SuiteError(
            f"{path} is not a table: powermetrics writes a block of lines for each sample. Write "
            "a CSV file with the time and the power in mW of each sample, such as Combined Power."
        )
    if sum(bool(OF_JSON.match(line)) for line in lines) > len(lines) / 2:
        raise SuiteError(NO_TABLE.format(path=path, lines=len(lines)))
    comment = next(
        (sign for sign in COMMENTS if any(line.startswith(sign) for line in lines)), None
    )
    plain = [
        (number, line)
        for number, line in enumerate(lines)
        if line.strip()
        and not (comment and line.startswith(comment))
        and not SUMMARY.fullmatch(line)
    ]
    if len(plain) < 2:
        raise SuiteError(f"{path} has fewer than two rows; export the logger's readings as CSV.")
    delimiter = _delimiter([line for _, line in plain])
    cells = [(number, _cells(line, delimiter)) for number, line in plain]
    widths = [len(row) for _, row in cells[len(cells) // 2 :]]
    width = max(widths, key=lambda each: (widths.count(each), each))
    if width > MAX_COLUMNS:
        raise SuiteError(f"{path} has {width} columns; the limit is {MAX_COLUMNS}.")
    body = [(number, row) for number, row in cells if len(row) == width]
    first = next(
        (
            place
            for place, (_, row) in enumerate(body)
            if any(is_number(cell) or looks_like_time(cell) or is_amount(cell) for cell in row)
        ),
        None,
    )
    below = [] if first is None else [row for number, row in cells if number >= body[first][0]]
    if first is None or (delimiter == " " and len(body) - first < MIN_ROWS_SHARE * len(below)):
        raise SuiteError(NO_TABLE.format(path=path, lines=len(plain)))
    rows = tuple(row for _, row in body[first:])
    above = body[first - 1][1] if first else _header_of_other_width(path, cells, body[0][0], rows)
    names, has_header = _names(above, lines, comment, delimiter, rows)
    own = tuple(row for row in rows if row != names)
    return Head(
        encoding,
        delimiter,
        comment,
        body[first][0],
        names,
        has_header,
        own,
        repeats_header=len(own) < len(rows),
    )


def _header_of_other_width(
    path: Path,
    cells: Sequence[tuple[int, tuple[str, ...]]],
    first_line: int,
    rows: Sequence[tuple[str, ...]],
) -> tuple[str, ...] | None:
    """The line before the first row where it is a header and the rows end with empty cells; None
    where it is none. Raises SuiteError for a header that names fewer or more columns."""
    above = [row for number, row in cells if number < first_line][-1:]
    header, width = above[0] if above else (), len(rows[0])
    if len(header) < 2 or not all(re.match(r"[^\W\d_]|[%/]", name) for name in header):
        return None
    if len(header) < width and not any(any(row[len(header) :]) for row in rows):
        return (*header, *[""] * (width - len(header)))
    raise SuiteError(
        f"The header of {path} has {len(header)} columns ({', '.join(header[:5])[:80]}), and its"
        f" rows have {width} ({', '.join(rows[0][:5])[:80]}): either the numbers have a decimal "
        "comma although commas separate the columns, or a column was added. Export the file with"
        " one name for each column; if that line is not a header, delete it."
    )


def _names(
    header: tuple[str, ...] | None,
    lines: Sequence[str],
    comment: str | None,
    delimiter: str,
    rows: Sequence[tuple[str, ...]],
) -> tuple[tuple[str, ...], bool]:
    """The header's names: the line before the first row, or the last comment with as many columns;
    numbers from 1 without either."""
    width = len(rows[0])
    if header is None and comment is not None:
        commented = [
            _cells(line.lstrip(comment).strip(), delimiter)
            for line in lines
            if line.startswith(comment) and not OF_PROMETHEUS.match(line)
        ]
        header = next((row for row in reversed(commented) if len(row) == width and width > 1), None)
    if header is None and (pairs := _pair_names(rows)):
        return pairs, True
    if header is None:
        return tuple(str(place + 1) for place in range(width)), False
    return tuple(name or str(place + 1) for place, name in enumerate(header)), True


def _pair_names(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The names of rows with name and value in turn (PTDaemon: Time,…,Watts,…); none for others.
    Of several analysers PTDaemon's client writes the sum first: what follows has no name."""
    cells, width = list(zip(*rows, strict=True)), len(rows[0])
    pairs = 0
    while 2 * pairs + 1 < width and _is_name(cells[2 * pairs]):
        pairs += 1
    if len(rows) < 2 or pairs < 2 or (2 * pairs < width and pairs < MIN_PAIRS):
        return ()
    return tuple(
        rows[0][place - 1] if place % 2 and place < 2 * pairs else str(place + 1)
        for place in range(width)
    )


def _is_name(cells: tuple[str, ...]) -> bool:
    return len(set(cells)) == 1 and not is_number(cells[0]) and not looks_like_time(cells[0])


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter of the later half of the first lines."""
    sample = "\n".join(lines[len(lines) // 2 :][:100])
    counts = {sign: [line.count(sign) for line in sample.split("\n")] for sign in DELIMITERS}
    even = [
        sign
        for sign, found in counts.items()
        if min(found) > 0 and (len(set(found)) == 1 or sign != ",")
    ]
    for sign in (";", "\t", "|", ","):
        if sign in even:
            return sign
    if not any(map(any, counts.values())) and all(" " in line for line in sample.split("\n")):
        return "," if all(map(is_amount, sample.split("\n"))) else " "
    try:
        return csv.Sniffer().sniff(sample, DELIMITERS + " ").delimiter
    except csv.Error:
        return ","


def _cells(line: str, delimiter: str) -> tuple[str, ...]:
    line = line.strip() if delimiter == " " else line
    return tuple(
        cell.strip()
        for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    )


def is_number(cell: str) -> bool:
    """Whether a cell is a number with a decimal point or comma."""
    return bool(re.fullmatch(r"[-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?", cell))


def is_amount(cell: str) -> bool:
    """Whether a cell is a number with its unit, as in 13.61 W."""
    number, _, unit = cell.strip().partition(" ")
    return is_number(number) and unit in UNITS


def looks_like_time(cell: str) -> bool:
    """Whether a cell has a time of day."""
    return bool(re.search(r"\d:\d\d", cell)) and bool(STARTS_TIME.match(cell))


def last_rows(path: Path, head: Head) -> list[tuple[str, ...]]:
    """The rows at the file's end."""
    tail = b""
    with open_unpacked(path) as stream:
        if path.suffix != ".gz":
            stream.seek(max(0, path.stat().st_size - HEAD_BYTES))
        while data := stream.read(HEAD_BYTES):
            tail = (tail + data)[-HEAD_BYTES:]
    rows = (
        _cells(line, head.delimiter) for line in tail.decode(head.encoding, "replace").splitlines()
    )
    return [row for row in rows if len(row) == len(head.names)]
