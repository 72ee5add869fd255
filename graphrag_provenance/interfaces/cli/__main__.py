"""`python -m graphrag_provenance.interfaces.cli`: the same as `gprov`."""

from graphrag_provenance.interfaces.cli.app import main

main()
