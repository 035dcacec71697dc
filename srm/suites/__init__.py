"""Comparisons: curves over seeds, run side by side in local processes or on a Ray cluster."""
