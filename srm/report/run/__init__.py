"""The page of one run: of `srm learn`, or of `srm infer`."""
