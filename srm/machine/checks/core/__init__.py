"""What every question is made of, and the questions about rules, nodes, holes and the constraint."""
