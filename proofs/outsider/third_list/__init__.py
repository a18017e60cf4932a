"""A third list, of 30 edits of the reference submission of round v0.2; see README.md."""
