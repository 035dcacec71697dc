"""Gymnasium's LunarLander, with four actions and with engines that are throttled."""
