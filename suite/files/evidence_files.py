"""How a site has the files of the runs that it shows."""

import enum


class EvidenceFiles(str, enum.Enum):
    """How the files of bundles come to the pages of runs: copied, as hard links (where the site
    lies on the bundles' file system), or packed in one archive per run."""

    COPY = "copy"
    LINK = "link"
    ARCHIVE = "archive"
