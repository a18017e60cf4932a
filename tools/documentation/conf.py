"""Sphinx's settings for the documentation site. The source folder is made by
tools.documentation.pages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from suite import __version__

project = "Edge training benchmark suite"
copyright = "the contributors, Apache-2.0"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"{project} {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
highlight_language = "none"
myst_heading_anchors = 4
myst_enable_extensions: list[str] = []
autodoc_member_order = "bysource"
autodoc_typehints = "description"
