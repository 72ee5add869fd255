"""What codes mean, in words for people: the same in a terminal and on a page.

Owns: the sentences. Leaves to others: the codes (`rules`), and what the reasons of an unresolved claim mean, which answers carry too.
"""

from __future__ import annotations

from graphrag_provenance.rules.answers import REASONS as REASONS

WITHHELD = {
    "unknown-policy": "a policy that the store does not know is stated about its evidence",
    "undetermined-policy": "nobody says which policy applies: neither the evidence, nor its source, nor the edge",
    "no-support": "all of its evidence refutes it",
}
"""Why an edge is withheld (`rules.publication.WithheldReason`)."""

GRADES = {
    "exact": "The passage holds these words: the hash of the marked text is the hash stated.",
    "normalised": "The passage holds these words but for spacing and typography: the normalised hash is the hash stated.",
    "absent": "The passage does not hold the quote at this place: its hash is another one.",
    "no-text": "Not checked: no text of this passage is at hand for this reader.",
    "no-span": "Not checked: a hash is stated, and no place in the passage.",
    "no-quote": "Not checked: no quote hash is stated.",
}
"""What a check of a quote found (`rules.quotes.Grade`)."""

CHANGES = {
    "published": "now published",
    "withheld": "now withheld",
    "retracted": "retracted",
    "changed": "changed in content",
}
"""What became of an edge between two runs (`rules.run_diff.Change`)."""

DIFFERS = {
    "policies": "policies", "acl": "access references", "reasons": "reasons", "confidence": "confidence", "current": "currency",
    "disputed": "dispute", "attributes": "attributes", "declared": "declared policies",
}
"""Which part of an edge differs (`rules.run_diff.differing`)."""
