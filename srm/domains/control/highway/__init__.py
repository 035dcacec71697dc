"""highway-env's highway-fast and merge: one car among others, with five actions."""
