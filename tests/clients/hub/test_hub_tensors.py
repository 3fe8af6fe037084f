"""The headers of all files of a sharded model, as HfApi requests them: all at once, and by ranges of the files."""

import json
import random
import struct

import cairn
import pytest
from huggingface_hub import CommitOperationAdd
from huggingface_hub.errors import HfHubHTTPError
from people import People

INDEX = "model.safetensors.index.json"


@pytest.fixture
def people(start, issuer, admin, tmp_path):
    return People(start(token_key=issuer.folder), admin, tmp_path / "home")


def tensors(*names, more=b"", **metadata):
    """A file of tensors with these names, of 1,000 numbers each."""
    head = {"__metadata__": metadata} if metadata else {}
    head |= {name: {"dtype": "F32", "shape": [10, 100], "data_offsets": [4000 * i, 4000 * i + 4000]} for i, name in enumerate(names)}
    text = json.dumps(head).encode() + more
    return struct.pack("<Q", len(text)) + text + random.Random(names[0]).randbytes(4000 * len(names))


def index(metadata=None, **map):
    return json.dumps({"metadata": metadata or {"total_size": 4000 * len(map)}, "weight_map": map}).encode()


def commit(people, files, repo="ann/one"):
    people.api().create_repo(repo, exist_ok=True)
    people.api().create_commit(repo, [CommitOperationAdd(path, data) for path, data in files.items()], commit_message="files")


def refused(people, status, rule, path=INDEX, who="ann"):
    reply = people.ask("GET", f"/api/models/ann/one/safetensors-metadata/{path}", who)
    assert cairn.is_hub_error(reply, status, rule), reply
    return reply


def test_all_heads_at_once(people):
    names = [f"layer.{i}" for i in range(60)]
    parts = {f"model-{i:05}-of-00003.safetensors": names[20 * i : 20 * i + 20] for i in range(3)}
    files = {part: tensors(*within, format="pt") for part, within in parts.items()}
    files |= {INDEX: index(**{name: part for part, within in parts.items() for name in within})}
    files |= {f"sub/{path}": data for path, data in files.items()}
    commit(people, files)
    api = people.api()
    by_ranges = api.get_safetensors_metadata("ann/one")
    at_once = api.get_sharded_safetensors_metadata("ann/one")
    assert at_once == by_ranges and at_once.metadata == {"total_size": 240000} and at_once.parameter_count == {"F32": 60000}
    assert set(at_once.files_metadata) == set(parts) and at_once.files_metadata["model-00000-of-00003.safetensors"].metadata == {"format": "pt"}
    assert api.get_sharded_safetensors_metadata("ann/one", filename=f"sub/{INDEX}") == at_once, "names are relative to the folder of the index"


def test_invalid_indexes_of_tensors_are_refused(people):
    files = {INDEX: index(a="a.safetensors"), "other.json": index(a="gone.safetensors"), "none.json": b"{}", "text": b"text", "list.json": b"[1]"}
    files |= {"map.json": b'{"weight_map":"a"}', "a.safetensors": tensors("a"), "outside.json": index(a="../a.safetensors", b="/a.safetensors", c="")}
    files |= {"not.json": index(a="text"), "long.json": index(a="long"), "long": struct.pack("<Q", 1 << 60) + b"x", "many.json": index(**{f"a{i}": f"f{i}" for i in range(257)})}
    files |= {"large.json": index(a="x" * (4 << 20)), "values.json": index(**{f"a{i}": "a.safetensors" for i in range(50001)})}
    files |= {"bent.json": index(a="bent"), "bent": tensors("a", more=b"}")}
    commit(people, files)
    assert people.ask("GET", f"/api/models/ann/one/safetensors-metadata/{INDEX}").json()["headers"]["a.safetensors"]["a"]["shape"] == [10, 100]
    for path in ("other.json", "outside.json", "gone.json", "a/b", "%2e%2e/x"):
        refused(people, 404, "entry.unknown", path)
    for path in ("none.json", "text", "list.json", "map.json", "values.json", "a.safetensors"):
        refused(people, 400, "tensors.index", path)
    for path in ("not.json", "bent.json"):
        refused(people, 400, "tensors.head", path)
    for path in ("long.json", "many.json", "large.json"):
        refused(people, 413, "tensors.limit", path)
    with pytest.raises(HfHubHTTPError, match="more than 256 files"):
        people.api().get_sharded_safetensors_metadata("ann/one", filename="many.json")


def test_heads_of_tensors_need_read_access(people):
    commit(people, {INDEX: index(a="a.safetensors"), "a.safetensors": tensors("a")})
    people.api().update_repo_settings("ann/one", gated="auto")
    assert people.ask("GET", f"/api/models/ann/one/safetensors-metadata/{INDEX}", "bob").headers["X-Error-Code"] == "GatedRepo"
    people.api().update_repo_settings("ann/one", gated=False, private=True)
    for who in ("bob", "nobody"):
        assert people.ask("GET", f"/api/models/ann/one/safetensors-metadata/{INDEX}", who).headers["X-Error-Code"] == "RepoNotFound"
    assert people.ask("GET", f"/api/models/ann/one/safetensors-metadata/{INDEX}", "reading ann").status == 200


def test_parameters_of_a_model(people):
    """The property "safetensors" has the parameters by type, at the requested revision: of one file, or of all files of the model's index."""
    api = people.api()
    ask = lambda **more: api.model_info("ann/one", expand=["safetensors", "sha"], **more).safetensors  # noqa: E731
    commit(people, {"other.safetensors": tensors("o")})
    assert ask() is None
    shards = {"a.safetensors": tensors("a", "b"), "b.safetensors": tensors("c").replace(b'"F32", "shape": [10, 100]', b'"F16", "shape": [10, 200]')}
    commit(people, {INDEX: index(a="a.safetensors", b="a.safetensors", c="b.safetensors"), **shards})
    assert ask() == {"parameters": {"F32": 2000, "F16": 2000}, "total": 4000}
    sharded = api.model_info("ann/one").sha
    commit(people, {"model.safetensors": tensors("whole")})
    assert ask() == {"parameters": {"F32": 1000}, "total": 1000} and ask(revision=sharded).total == 4000
    assert api.model_info("ann/one").safetensors is None, "the property comes only on request, because the files must be read for it"
    assert next(iter(api.list_models(expand=["safetensors"]))).safetensors is None
    for bad in (b"text", struct.pack("<Q", 1 << 60), tensors("a", more=b"}")):
        commit(people, {"model.safetensors": bad})
        assert ask() is None
    people.api().delete_file("model.safetensors", "ann/one")
    for bad in (b"[1]", index(**{f"a{i}": f"f{i}" for i in range(257)}), index(a="gone.safetensors")):
        commit(people, {INDEX: bad})
        assert ask() is None


def test_parameters_of_a_gated_model_need_read_access(people):
    commit(people, {"model.safetensors": tensors("a")})
    people.ask("PUT", "/api/models/ann/one/settings", "ann", {"gated": "auto"})
    assert "safetensors" not in people.ask("GET", "/api/models/ann/one?expand=safetensors", "bob").json()
    assert people.ask("GET", "/api/models/ann/one?expand=safetensors").json()["safetensors"] == {"parameters": {"F32": 1000}, "total": 1000}
