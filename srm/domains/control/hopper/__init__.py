"""Gymnasium's Hopper: one leg, three joints, steered by torques in MuJoCo."""
