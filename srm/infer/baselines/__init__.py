"""What inference is compared with: values by rule of thumb or by chance, and imitation without a machine."""
