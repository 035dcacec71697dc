"""Where the task takes place and in what words: environments, vocabularies, experts, demonstrations."""
