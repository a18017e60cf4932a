"""What went wrong, said once, in a sentence a person can act on."""


class SuiteError(Exception):
    """Something could not be done (exit code 2).

    The message is one sentence or two: what happened, where, and what to type or change next.
    """
