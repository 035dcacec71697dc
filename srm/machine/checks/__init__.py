"""The questions that `srm.machine.checks.check` asks of a machine, one module for each family."""
