"""The metadata in the head of a repository's README.md (its card) is shown, listed and found, by the stock library."""

import contextlib
import json
import sqlite3

import cairn
import pytest
from hub_calls import commit, deleted, done, make, stored, text, upload

README = """---
license: MIT
language:
- en
- no
library_name: transformers
pipeline_tag: text-generation
tags: [nice, "2024"]
datasets: ann/table
base_model: team/base
released: 2024-05-01
scores: {mean: 0.5, n: 3, none: ~}
model-index:
- name: one
  results:
  - task: {type: text-generation}
    dataset: {type: x, name: x, args: {split: [a, b]}}
    metrics: [{type: bleu, value: 21.5}]
---
# One
"""
TAGS = ["transformers", "text-generation", "nice", "2024", "dataset:ann/table", "base_model:team/base", "license:MIT", "en", "no"]


def readme(people, body, repo="models/ann/one", **more):
    return done(commit(people, text("README.md", body), repo=repo, **more))


def ids(found):
    return sorted(one.id for one in found)


def test_a_card_is_shown(people):
    make(people)
    sha = readme(people, README)
    info = people.api().model_info("ann/one")
    assert (info.pipeline_tag, info.library_name, info.tags, info.sha) == ("text-generation", "transformers", TAGS, sha)
    data = people.ask("GET", "/api/models/ann/one").json()["cardData"]
    assert data["language"] == ["en", "no"] and data["released"] == "2024-05-01" and data["scores"] == {"mean": 0.5, "n": 3, "none": None}
    assert info.card_data.license == "MIT" and info.card_data.eval_results[0].metric_value == 21.5
    listed = next(iter(people.api("nobody").list_models(cardData=True)))
    assert (listed.id, listed.pipeline_tag, listed.library_name, listed.tags) == ("ann/one", "text-generation", "transformers", TAGS)
    assert listed.card_data.license == "MIT"
    plain = people.ask("GET", "/api/models").json()[0]
    assert plain["tags"] == TAGS and "cardData" not in plain and "siblings" not in plain and "sha" not in plain


def test_a_card_follows_main(people):
    """The card changes with a commit, a merge, a reset branch and a deletion of main. A card on another branch counts only there."""
    make(people)
    first = readme(people, README)
    found = lambda **by: ids(people.api().list_models(**by))  # noqa: E731
    assert found(filter="nice") == ["ann/one"]
    assert people.ask("POST", "/api/models/ann/one/branch/dev", body={}).status == 200
    readme(people, "---\ntags: [other]\n---\n", revision="dev")
    assert found(filter="other") == [] and people.api().model_info("ann/one", revision="dev").tags == ["other"]
    readme(people, "---\ntags: [other]\n---\n")
    assert found(filter="other") == ["ann/one"] and found(filter="nice") == []
    assert people.api().model_info("ann/one", revision=first).tags == TAGS
    assert people.ask("POST", "/api/models/ann/one/branch/main", body={"startingPoint": first, "overwrite": True}).status == 200
    assert found(filter="nice") == ["ann/one"] and people.api().model_info("ann/one").tags == TAGS
    pull = people.api().create_pull_request("ann/one", title="better")
    readme(people, "---\ntags: [merged]\n---\n", revision=f"refs%2Fpr%2F{pull.num}")
    assert found(filter="merged") == []
    people.api().merge_pull_request("ann/one", pull.num)
    assert found(filter="merged") == ["ann/one"]
    done(commit(people, deleted("README.md")))
    assert found(filter="merged") == [] and people.api().model_info("ann/one").tags == []


def test_lists_are_narrowed(people):
    make(people, "ann/a")
    make(people, "ann/b", private=True)
    make(people, "team/c")
    make(people, "ann/d")
    readme(people, "---\nlicense: mit\nlanguage: en\npipeline_tag: fill-mask\ntags: [x, Y]\ndatasets: [ann/t]\n---\n", "models/ann/a")
    readme(people, "---\nlicense: mit\ntags: [x]\n---\n", "models/ann/b")
    readme(people, "---\nlicense: apache-2.0\nlibrary_name: peft\ntags: [x, fill-mask]\n---\n", "models/team/c")
    assert people.ask("PUT", "/api/models/ann/d/settings", "ann", {"gated": "auto"}).status == 200
    ann, nobody = people.api(), people.api("nobody")
    assert ids(ann.list_models(filter="x")) == ["ann/a", "ann/b", "team/c"] and ids(nobody.list_models(filter="x")) == ["ann/a", "team/c"]
    assert ids(ann.list_models(filter=["x", "license:mit"])) == ["ann/a", "ann/b"] and ids(ann.list_models(filter="y")) == ["ann/a"]
    assert ids(ann.list_models(pipeline_tag="fill-mask")) == ["ann/a"] and ids(ann.list_models(filter="fill-mask")) == ["ann/a", "team/c"]
    assert ids(ann.list_models(trained_dataset="ann/t")) == ["ann/a"] and ids(ann.list_models(filter="z" * 300)) == []
    assert ids(ann.list_models(gated=True)) == ["ann/d"] and ids(ann.list_models(gated=False)) == ["ann/a", "ann/b", "team/c"]
    ask = lambda query, who="ann": sorted(one["id"] for one in people.ask("GET", f"/api/models?{query}", who).json())  # noqa: E731
    assert ask("library=peft") == ["team/c"] and ask("language=en") == ["ann/a"] and ask("license=mit&filter=x,y") == ["ann/a"]
    assert ask("private=true") == ["ann/b"] and ask("private=true", "bob") == [] and ask("private=false&filter=x") == ["ann/a", "team/c"]
    page = people.ask("GET", "/api/models?filter=x&expand=tags&limit=1&sort=id")
    assert "filter=x" in page.headers["Link"] and "expand=tags" in page.headers["Link"]
    assert ids(ann.list_models(filter="x", limit=2, sort="created_at", expand=["tags"])) == ["ann/b", "team/c"]
    for query, code in (("filter=1,2,3,4,5,6,7", 400), ("gated=perhaps", 400), ("expand=nothing", 400), ("num_parameters=min:1", 501), ("inference_provider=all", 501)):
        assert people.ask("GET", f"/api/models?{query}").status == code, query


def test_datasets_and_spaces_have_tags_of_their_own(people):
    make(people, "ann/t", type="dataset")
    readme(people, "---\nlanguage: [de]\ntask_categories: [question-answering]\nsize_categories: n<1K\nlicense: cc0-1.0\n---\n", "datasets/ann/t")
    make(people, "ann/s", type="space", sdk="gradio")
    tags = people.api().dataset_info("ann/t").tags
    assert tags == ["task_categories:question-answering", "language:de", "license:cc0-1.0", "size_categories:n<1K"]
    assert ids(people.api().list_datasets(language="de")) == ["ann/t"] and ids(people.api().list_datasets(task_categories="summarization")) == []
    found = next(iter(people.api().list_datasets(full=True)))
    assert found.card_data.license == "cc0-1.0" and found.sha and {s.rfilename for s in found.siblings} == {".gitattributes", "README.md"}
    assert people.api().space_info("ann/s").card_data.sdk == "gradio" and ids(people.api().list_spaces(filter="gradio")) == ["ann/s"]


def test_expand_answers_the_named_fields(people):
    make(people)
    sha = readme(people, README)
    few = people.ask("GET", "/api/models/ann/one?expand=pipeline_tag&expand=sha").json()
    assert few.keys() == {"_id", "id", "modelId", "pipeline_tag", "sha"} and few["sha"] == sha
    few = people.ask("GET", "/api/models?expand=cardData&expand=downloadsAllTime").json()[0]
    assert few.keys() == {"_id", "id", "modelId", "cardData"}
    info = people.api().model_info("ann/one", expand=["tags", "siblings", "usedStorage", "gated"])
    assert info.tags == TAGS and {s.rfilename for s in info.siblings} == {".gitattributes", "README.md"} and info.sha is None
    full = next(iter(people.api().list_models(full=True)))
    assert full.sha == sha and {s.rfilename for s in full.siblings} == {".gitattributes", "README.md"}
    assert people.ask("GET", "/api/models/ann/one?expand=nothing").status == 400


def test_a_model_without_a_readme_is_told_by_its_configuration(people):
    """Without a README the task of a model comes from its config.json, as transformers' pipeline(model=...) and accelerate's estimate need it."""
    make(people)
    done(commit(people, text("config.json", json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8, "auto_map": {"AutoConfig": "a.B"}}))))
    info = people.api().model_info("ann/one")
    assert (info.library_name, info.pipeline_tag) == ("transformers", "text-generation")
    assert info.config == {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "auto_map": {"AutoConfig": "a.B"}}
    listed = next(iter(people.api().list_models(pipeline_tag="text-generation", fetch_config=True)))
    assert listed.config["model_type"] == "llama" and listed.tags == ["transformers", "text-generation"]
    people.ask("PUT", "/api/models/ann/one/settings", "ann", {"gated": "auto"})
    assert "config" not in people.ask("GET", "/api/models/ann/one", "bob").json() and "config" in people.ask("GET", "/api/models/ann/one").json()


@pytest.mark.parametrize(
    "body",
    [
        "no head",
        "---\nlicense: mit\n",
        "---\n- a\n- list\n---\n",
        "---\na: [1, 2\n---\n",
        "---\na: &x [1]\nb: *x\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\na: \"\\0\"\n---\n",
        "---\na: " + "[" * 40 + "]" * 40 + "\n---\n",
        "---\n? [a]\n: b\n---\n",
        "---\na: \x07\n---\n",
    ],
)
def test_an_invalid_card_lists_nothing(people, body):
    make(people)
    readme(people, README)
    readme(people, body)
    info = people.ask("GET", "/api/models/ann/one").json()
    assert info["tags"] == [] and "cardData" not in info and people.ask("GET", "/api/models?filter=nice").json() == []


def test_a_long_readme_is_read_from_the_store(people):
    make(people)
    body = (README + "x" * 70000).encode()
    sha256, _ = upload(people, body)
    done(commit(people, stored("README.md", sha256, len(body))))
    assert people.api().model_info("ann/one").tags == TAGS and ids(people.api().list_models(filter="nice")) == ["ann/one"]


def test_as_many_tags_as_there_may_be(people):
    make(people)
    readme(people, "---\ntags: " + json.dumps([f"tag-{i:03}" for i in range(150)]) + "\nlanguage: " + json.dumps([f"l{i:03}" for i in range(150)]) + "\n---\n")
    tags = people.api().model_info("ann/one").tags
    assert tags == [f"tag-{i:03}" for i in range(100)] + [f"l{i:03}" for i in range(100)]
    assert ids(people.api().list_models(filter="l099")) == ["ann/one"] and ids(people.api().list_models(filter="tag-120")) == []


def test_a_deleted_repository_takes_its_card_along(people):
    make(people)
    readme(people, README)
    assert people.ask("DELETE", "/api/repos/delete", "ann", {"name": "one", "organization": "ann"}).status == 200
    assert people.ask("GET", "/api/models?filter=nice").json() == []
    make(people)
    assert people.api().model_info("ann/one").tags == []


@pytest.mark.sqlite
def test_cards_of_repositories_from_before_are_read_at_the_start(people):
    """Cards are missing after an upgrade from an older version, or when the daemon was killed between a commit and its card. The next start reads them."""
    make(people)
    readme(people, README)
    people.server.stop()
    with contextlib.closing(sqlite3.connect(people.server.data / "index.sqlite", isolation_level=None)) as index:
        index.execute("DELETE FROM tag")
        index.execute("DELETE FROM card")
    people.server.start()
    assert people.ask("GET", "/api/models/ann/one").json()["tags"] == TAGS, "the card is read at once, though it is not kept yet"
    cairn.wait_until("the card is kept", lambda: people.ask("GET", "/api/models?filter=nice").json() != [])
