"""Where the task takes place and in what words: worlds, vocabularies, experts, demonstrations."""
