"""Operations that are done in steps."""
