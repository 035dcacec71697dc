"""Machines of other tools, read from their files without running them."""
