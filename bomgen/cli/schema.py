"""`bomgen schema`: the JSON Schemas."""

from __future__ import annotations

import click

SCHEMAS = ("plan", "bom", "part", "prices", "diff")


@click.command()
@click.argument("name", type=click.Choice(SCHEMAS), default="plan")
@click.argument("kind", required=False)
def schema(name: str, kind: str | None) -> None:
    """Print the JSON Schema of plans, bom.json, price books, differences, or part files (of one KIND, or of all)."""
    from bomgen.resources import folder

    schemas = folder("schemas")
    if name == "plan":
        import json

        from bomgen.schema import document

        click.echo(json.dumps(document(name), indent=2, ensure_ascii=False))
        return
    if name != "part":
        click.echo((schemas / f"{name}.schema.json").read_text(encoding="utf-8"), nl=False)
        return
    kinds = sorted(path.name.removesuffix(".schema.json") for path in (schemas / "part").glob("*.json"))
    if kind is None:
        import json

        texts = {}
        for part in kinds:
            text = (schemas / "part" / f"{part}.schema.json").read_text("utf-8")
            texts[part] = json.loads(text.replace("#/$defs/", f"#/$defs/{part}/$defs/"))
        click.echo(
            json.dumps(
                {
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "title": "A part file of any kind",
                    "anyOf": [{"$ref": f"#/$defs/{part}"} for part in kinds],
                    "$defs": texts,
                },
                indent=2,
                ensure_ascii=False,
            )
        )
        return
    if kind not in kinds:
        raise click.UsageError(f"no kind of part '{kind}'; there are {', '.join(kinds)}")
    click.echo((schemas / "part" / f"{kind}.schema.json").read_text(encoding="utf-8"), nl=False)
