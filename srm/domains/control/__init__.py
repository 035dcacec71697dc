"""Bodies that are steered, in environments of other packages: a folder for each family of them, which is a domain of its own."""
