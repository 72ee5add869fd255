"""The oracle: a second, brute-force answer to every read, and the comparison of the two (spec 2, proof)."""
