"""Whether two machines pay the same, whatever happens."""
