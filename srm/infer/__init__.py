"""Holes: what a few demonstrations say they are worth."""
