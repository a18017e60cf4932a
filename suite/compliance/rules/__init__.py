"""The rules, one module per subject; ``suite.compliance.registry`` finds every module here.

A module holds ``RULES``. Its ``ORDER`` says when its rules are checked, lowest first; a module
without one comes last.
"""
