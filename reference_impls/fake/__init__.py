"""A framework of the standard library alone: the harness's test bed, and the example for a vendor's
own implementation."""
