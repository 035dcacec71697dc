"""The posterior over a machine's holes: prior, likelihood, sampler, and what they say of each hole."""
