"""The contract, as scripts/clients.sh makes it of the protobuf files."""
