"""What an episode can earn: whether pay at every step can outweigh a milestone, and atoms that forbid it."""
