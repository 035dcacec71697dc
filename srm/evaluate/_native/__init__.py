"""The evaluator in C, and a machine as the arrays that it walks."""
