"""The questions that `srm.machine.check` asks of a machine, one module for each family."""
