"""The pages' templates: browsers mend a tag that is not closed, and show less than is there."""

import re

from suite.files.paths import repository_root

JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.S)
OPEN_TAG = re.compile(r"<[a-zA-Z/][^<>]*(?=<|\Z)")


def test_every_tag_of_a_template_is_closed() -> None:
    root = repository_root()
    templates = [
        *root.glob("reporter/templates/*.html"),
        *root.glob("extensions/*/templates/*.html"),
    ]
    found = {
        f"{path.relative_to(root)}: {tag}"
        for path in templates
        for tag in OPEN_TAG.findall(JINJA.sub("", path.read_text(encoding="utf-8")))
    }
    assert templates and not found
