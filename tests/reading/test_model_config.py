"""Model parts from configurations of checkpoints: as the catalogue counts them, used by a plan, and hostile files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.reading.model_config import ReadModel, read_config, read_model

CASES = yaml.safe_load((Path(__file__).parents[1] / "reference" / "model_configs.yaml").read_text(encoding="utf-8"))
LISTS = {
    *("layer_types", "moe_layer_freq", "mlp_layer_types", "indexer_types", "compress_ratios", "layers_block_type"),
    *("sparse_attention_freq", "hybrid_layer_pattern"),
}
SMALL = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
SMALL_PARAMETERS = 2 * 100 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 256) + 5 * 64
PLAN = """\
bomgen: 1
name: own
catalog: [parts/]
workload: {inference: {model: acme-32b, context: 8192, output_tokens: 500, concurrency: 8}}
cluster: {gpu: h200-sxm, gpus: 8}
"""


def whole(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration of the table with its lists written out."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if key in LISTS and isinstance(value, dict):
            found[key] = [
                int(each) if each.isdecimal() else each for each, times in value.items() for _ in range(times)
            ]
        else:
            found[key] = whole(value) if isinstance(value, dict) else value
    return found


def read(config: Any) -> ReadModel:
    """The model part of a configuration."""
    return read_model(read_config(json.dumps(config, indent=2), "config.json"), "acme-32b")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_configuration_counts_as_the_catalogue_does(case: dict[str, Any]) -> None:
    """All and active parameters of a configuration are those of the record, to the last one."""
    model = part_records.model(Catalog().find("model", case["id"]))
    found = read(whole(case["config"]))
    assert not found.problems
    assert (found.parameters, found.active_parameters) == (model.parameters.value, model.active_parameters.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_configuration_has_the_cache_of_the_catalogue(case: dict[str, Any]) -> None:
    """Windows, states, latent vectors and indexers are those of the record."""
    record = Catalog().find("model", case["id"])
    found = read(whole(case["config"]))
    keys = [
        key for key in part_records.SHAPE if key.startswith(("window", "linear", "index", "csa", "hca", "sparse", "kv"))
    ]
    wanted = {key: record.value(key) for key in keys if record.value(key)}
    assert {key: found.data.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("stored", "format"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 4, "type": "int"}}}},
            "int4",
        ),
        ({"quant_method": "unheard-of"}, None),
        ("fp8", None),
        ({"quant_method": "compressed-tensors", "config_groups": {"a": [[]]}}, None),
    ],
)
def test_formats_of_checkpoints(stored: Any, format: str | None) -> None:
    """The format in which a quantised checkpoint is served."""
    assert read(SMALL | {"quantization_config": stored}).data.get("checkpoint") == format


def test_an_unknown_type_is_read_with_a_warning() -> None:
    """Like the Llama family, at the place of its type, with low confidence."""
    found = read(SMALL | {"model_type": "acme"})
    assert found.parameters == SMALL_PARAMETERS
    assert [str(problem) for problem in found.problems] == [
        "config.json:2:3: warning: model_type 'acme' is not known; read like the Llama family: check `parameters` "
        "[model-config]"
    ]
    assert found.data["confidence"] == "low"


def write(place: Path, config: str, *further: str) -> Result:
    """The end of `bomgen catalog model --from`."""
    (place / "config.json").write_text(config, encoding="utf-8")
    return CliRunner().invoke(main, ["catalog", "model", "--from", str(place / "config.json"), *further])


def test_a_part_is_used_by_a_plan(tmp_path: Path) -> None:
    """The file that is written is a part that a plan finds by its name."""
    (tmp_path / "parts" / "model").mkdir(parents=True)
    (tmp_path / "own.yaml").write_text(PLAN, encoding="utf-8")
    written = write(tmp_path, json.dumps(SMALL), "-o", str(tmp_path / "parts" / "model" / "acme-32b.yaml"))
    assert written.exit_code == 0, written.output
    checked = CliRunner().invoke(main, ["check", str(tmp_path / "own.yaml")])
    assert checked.exit_code == 0, checked.output


HOSTILE = {
    "not-json": "bomgen: 1",
    "cut-off": '{"hidden_size": 12',
    "empty": "",
    "list": "[]",
    "none-of-a-language-model": '{"sample_size": 64}',
    "text-as-number": json.dumps(SMALL | {"num_hidden_layers": "2"}),
    "list-as-number": json.dumps(SMALL | {"vocab_size": [1]}),
    "truth-as-number": json.dumps(SMALL | {"num_attention_heads": True}),
    "negative": json.dumps(SMALL | {"hidden_size": -64}),
    "too-large": json.dumps(SMALL | {"hidden_size": 10**12}),
    "a-number-of-a-million-digits": '{"hidden_size": ' + "9" * 10**6 + "}",
    "infinite": '{"num_hidden_layers": Infinity, "hidden_size": 64}',
    "nested-lists": "[" * 10**6,
    "nested-mappings": '{"text_config":' * 10**5,
    "contradiction": json.dumps(SMALL | {"num_key_value_heads": 8}),
    "sizes-by-layer": json.dumps(SMALL | {"block_configs": [{}]}),
    "no-vocabulary": json.dumps({key: value for key, value in SMALL.items() if key != "vocab_size"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_refused_in_a_line(name: str, tmp_path: Path) -> None:
    """With its place, exit code 1 and no file."""
    ended = write(tmp_path, HOSTILE[name], "-o", str(tmp_path / "out.yaml"))
    assert ended.exit_code == 1
    assert not isinstance(ended.exception, PlanErrors)
    assert f"{tmp_path / 'config.json'}:1:" in ended.output
    assert ": error: " in ended.output
    assert not (tmp_path / "out.yaml").exists()


KEPT = {"quantization_config": {"quant_method": "fp8", "ignore": ["model.layers.0.*"]}}


@pytest.mark.parametrize(
    "layers",
    [
        {"num_hidden_layers": 10**9},
        {"num_hidden_layers": 10**9, "num_local_experts": 4},
        {"num_hidden_layers": 10**9} | KEPT,
    ],
)
def test_a_large_number_costs_nothing(layers: dict[str, int]) -> None:
    """No loop runs over the layers that a file says it has, and no such model is written."""
    with pytest.raises(PlanErrors) as errors:
        read(SMALL | layers | {"num_experts_per_tok": 2})
    assert {problem.rule for problem in errors.value.problems} == {"range"}


@pytest.mark.parametrize(
    ("key", "most"),
    [("num_hidden_layers", 2000), ("hidden_size", 10**6), ("num_attention_heads", 10**4), ("intermediate_size", 10**7)],
)
def test_a_shape_that_no_model_has_is_an_error_at_its_key(key: str, most: int) -> None:
    """The bounds are those of a part file."""
    with pytest.raises(PlanErrors) as errors:
        read(SMALL | {key: most + 1})
    [problem] = errors.value.problems
    text = json.dumps(SMALL | {key: most + 1}, indent=2)
    assert (problem.rule, problem.message) == ("range", f"{most + 1} is too large; at most {most}")
    assert text.splitlines()[problem.mark.line - 1].strip().startswith(f'"{key}"')


@pytest.mark.parametrize("name", ["true", "null", "1e5", "2024", "- a", "a: b", "my model", "a #b", "Llama-3.1"])
def test_a_name_is_text_whatever_it_is(name: str, tmp_path: Path) -> None:
    """A name that YAML would read as something else is quoted."""
    out = tmp_path / f"{name}.yaml"
    write(tmp_path, json.dumps(SMALL), "-o", str(out))
    assert yaml.safe_load(out.read_text("utf-8"))["name"] == name


def test_a_tower_without_patches_is_not_counted() -> None:
    """Sizes that a configuration leaves out divide nothing."""
    tower = {"model_type": "siglip_vision_model", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 2}
    assert read(SMALL | {"vision_config": tower | {"image_size": 224}}).parameters == read(SMALL).parameters


def test_usage(tmp_path: Path) -> None:
    """Other kinds, other options and unreadable files are wrong usage."""
    for arguments in (["gpu", "--from", "a"], ["model", "--audit", "--from", "a"], ["model", "-o", "b.yaml"]):
        assert CliRunner().invoke(main, ["catalog", *arguments]).exit_code == 2
    missing = CliRunner().invoke(main, ["catalog", "model", "--from", str(tmp_path / "none.json")])
    assert (missing.exit_code, "cannot read the configuration" in missing.output) == (2, True)
