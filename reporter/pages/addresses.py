"""Addresses of the pages of machines and submitters: from their names alone, so that they stay the
same when other entries are added."""

import hashlib
import re

from reporter.data.frames import Row
from reporter.data.machine_names import first_title, profile_of

_PLAIN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_WORDS = 40


def machine_slug(entry: Row) -> str:
    """The profile's name; of a machine without a profile its own name in plain letters, with a
    digest."""
    profile = profile_of(entry)
    return with_digest(first_title(entry)) if profile is None else profile.name


def machine_page(entry: Row) -> str:
    """The machine's page, from the site's root."""
    return f"devices/{machine_slug(entry)}.html"


def submitter_page(organization: str) -> str:
    """The submitter's page, from the site's root."""
    return f"submitters/{submitter_slug(organization)}.html"


def submitter_slug(organization: str) -> str:
    """The organization's name if it is plain and short; else in plain letters, with a digest."""
    return (
        organization
        if _PLAIN.fullmatch(organization) and len(organization) <= MAX_WORDS
        else with_digest(organization)
    )


def with_digest(name: str) -> str:
    """The name's letters and digits, and six digits of its SHA-256, which tell names apart that
    look alike."""
    words = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:MAX_WORDS].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", errors="surrogatepass")).hexdigest()[:6]
    return f"{words}-{digest}" if words else digest
