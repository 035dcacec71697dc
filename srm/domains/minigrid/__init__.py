"""Everything that knows MiniGrid: its vocabulary, events and encoding, its rules compiled, and its expert."""
