"""Where the task takes place and in what words: envs, vocabularies, experts, demonstrations."""
