"""The studio: a page in the browser where a person designs a reward by doing. It plays, compares, edits and watches."""
