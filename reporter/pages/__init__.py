"""One module per kind of page: what it says, from frames; how it looks is in the templates."""
