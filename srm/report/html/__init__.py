"""HTML as values, and the scripts and the style that all pages share."""
