"""A machine from demonstrations: what happened, what of it matters, a sketch, and a text that is proved before anybody sees it."""
