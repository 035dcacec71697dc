"""The text of a machine: its grammar, how it is read, how it is laid out, and what is said of its mistakes."""
