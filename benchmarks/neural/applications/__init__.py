"""Three applications of thesis ch. 9, each searched in minutes of one core: text, a segmenter, a generator."""
