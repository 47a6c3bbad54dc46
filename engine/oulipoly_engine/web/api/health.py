"""`GET /health`: the server answers. It says nothing else, for anybody may ask."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()


@router.get("/health")
def health() -> dict[str, bool]:
    """Say that the server answers."""
    return {"ok": True}
