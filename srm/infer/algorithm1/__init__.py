"""Algorithm 1 of the paper: a reward net and a Gaussian sampler of the holes learn while a policy is trained."""
