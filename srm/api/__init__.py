"""The front door: one function for each stage. Each takes values or their names, and returns a value.

    load -> check        demonstrations -> propose, infer        learn, train -> resume -> evaluate, compare

A machine is a `Machine`, the path of an `.srm` file, or a name of the library. A task is a `Task` or its name. Demonstrations are
`Demonstrations` or the path of a file. Everything that a command of `srm` has a flag for has a keyword here.

Nothing here changes a setting of PyTorch or of the process for good, and no second process is started unless `cores` asks for one, so
that a script needs no `if __name__ == "__main__"`. Ctrl-C stops a run after its round, with a checkpoint, and raises `KeyboardInterrupt`.
"""
