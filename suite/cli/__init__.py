"""The command line: parses options, calls `suite.api`, prints. Each command is a module, imported
when it is called."""
