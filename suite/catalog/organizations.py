"""Which organizations are others."""

PROJECT, OF_PROJECT = "project", "reference"
"""The project as a reviewer, and the organization of its own submissions."""


def cannot_vouch(organization: str, signer: str | None) -> frozenset[str | None]:
    """Who is no other organization to a submission: the one that it declares, the one that signed
    it, and of the project's own submissions the project."""
    return frozenset((organization, signer, PROJECT if organization == OF_PROJECT else None))
