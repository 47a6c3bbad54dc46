"""The parts of the facade about accounts, pools, quota and the ledger."""
