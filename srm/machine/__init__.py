"""What is wanted: machines as values. Symbols only; no arrays, no networks, no environment."""
