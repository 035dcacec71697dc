"""Symbolic reward machines: say what a task consists of, and infer what each part is worth."""

__version__ = "0.2.0"
