"""What a machine says about trajectories."""
