"""What a process may take at most, as far as the platform knows how."""

from __future__ import annotations


def lower_limit(kind: str, soft: int, hard: int) -> None:
    """Lower a limit of this process, such as `RLIMIT_CPU`; a platform without it leaves it to others."""
    try:
        import resource

        number = getattr(resource, kind)
        most = resource.getrlimit(number)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(number, (soft, hard))
    except (ImportError, AttributeError, ValueError, OSError):  # Windows, a kind unknown there, macOS and address space
        return
