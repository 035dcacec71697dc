"""How machines are drawn: pieces of formulas, cards and panels of them, their places, and the paint."""
