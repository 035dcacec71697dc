"""Policies: given environments and a function that pays a rollout, learn to act. What the pay means is not known here."""
