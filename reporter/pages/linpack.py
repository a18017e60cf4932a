"""The LINPACK records that a figure's bars lead to."""

from collections.abc import Iterator
from pathlib import Path

import jinja2

from reporter.pages.shared import Page, PageKind, SiteContents


def linpack_records(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """linpack/<id>.json: each record as it was sealed."""
    for record in contents.frames.linpacks.to_dict("records"):
        yield Page(f"linpack/{record['linpack_id']}.json", Path(record["path"]).read_bytes())


PAGE_KIND = PageKind(linpack_records, 50)
