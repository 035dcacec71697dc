"""Runs beside each other: curves over seeds, their statistics, and the page, figures and tables made of them."""
