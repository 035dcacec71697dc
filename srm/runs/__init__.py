"""What is run: a run is a folder, written by one process and read by everybody else."""
