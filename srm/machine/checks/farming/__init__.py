"""Whether some way of going round a machine pays without end, and atoms that forbid it."""
