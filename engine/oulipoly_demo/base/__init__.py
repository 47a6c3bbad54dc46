"""What every made-up CLI has: options, a turn, its answer, and the files that it leaves."""
