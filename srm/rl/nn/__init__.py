"""The networks of policies, and how frames are laid out for them."""
