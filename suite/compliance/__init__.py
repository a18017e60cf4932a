"""The rules as code, and the checker that applies them to requests and bundles."""
