"""transformers, datasets and pandas, given nothing but the address. ./dev test installs them in .venv/libraries."""

import json
import subprocess
import sys
from pathlib import Path

import hf_client
import pytest
from people import People, publish
from upstream import Hub, Repo

LIBRARIES = Path(sys.prefix) / "libraries"

TRANSFORMERS = """
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import AutoConfig, AutoTokenizer, BertConfig, PreTrainedTokenizerFast
words = Tokenizer(WordLevel({"[UNK]": 0, "a": 1, "cat": 2}, unk_token="[UNK]"))
words.pre_tokenizer = Whitespace()
BertConfig(hidden_size=12, num_attention_heads=2).push_to_hub("ann/tiny", private=True)
PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]").push_to_hub("ann/tiny")
print(AutoConfig.from_pretrained("ann/tiny").hidden_size, AutoTokenizer.from_pretrained("ann/tiny")("a cat sat")["input_ids"])
try:
    AutoConfig.from_pretrained("ann/none")
except OSError as e:
    print("is not a local folder" in str(e))
"""

DATASETS = """
import datasets, pandas
rows = datasets.Dataset.from_dict({"a": list(range(1000)), "b": [str(i) for i in range(1000)]})
rows.push_to_hub("ann/table", private=True)
rows.push_to_hub("ann/table", split="test")
got = datasets.load_dataset("ann/table")
print(sorted(got), got["train"][999]["b"], sum(r["a"] for r in datasets.load_dataset("ann/table", split="test", streaming=True)))
frame = pandas.read_parquet("hf://datasets/ann/table/data/train-00000-of-00001.parquet")
frame.to_csv("hf://datasets/ann/table/more/frame.csv")
print(len(frame), len(pandas.read_csv("hf://datasets/ann/table/more/frame.csv")))
pandas.DataFrame({"x": [1, 2]}).to_parquet("hf://buckets/ann/bucket/made/t.parquet")
print(datasets.load_dataset("parquet", data_files="hf://buckets/ann/bucket/made/t.parquet")["train"]["x"][:])
"""


MIRRORED = """
from transformers import AutoConfig
print(AutoConfig.from_pretrained("tiny").hidden_size)
"""

TABLE = """
from datasets import load_dataset
print(load_dataset("far/table")["train"][999]["b"], sum(row["a"] for row in load_dataset("far/table", split="train", streaming=True)))
"""


def run(people, script):
    if not LIBRARIES.exists():
        pytest.skip("there is no .venv/libraries; ./dev test hub_libraries makes it")
    env = hf_client.hub_environment(people.folder, people.server, people.keys["ann"]) | {"PYTHONPATH": str(LIBRARIES)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout.splitlines()


def test_transformers(people):
    assert run(people, TRANSFORMERS) == ["12 [1, 2, 0]", "True"]


def test_a_name_without_an_owner_of_a_mirrored_hub(start, issuer, tmp_path):
    config = json.dumps({"model_type": "bert", "hidden_size": 12, "num_attention_heads": 2}).encode()
    with Hub({"far/tiny": Repo({"config.json": config})}, moved={"tiny": "far/tiny"}) as upstream:
        server = start(mirror=upstream.url, token_key=issuer.folder)
        assert run(People(server, issuer.token("admin"), tmp_path), MIRRORED) == ["12"]


def test_datasets_and_pandas(people):
    people.make("ann/bucket")
    assert run(people, DATASETS) == ["['test', 'train'] 999 499500", "1000 1000", "[1, 2]"]


def test_a_dataset_of_a_mirrored_hub(start, issuer, tmp_path):
    """load_dataset, while it comes and once it is here."""
    upstream = start("upstream")
    rows = "a,b\n" + "".join(f"{i},{i}\n" for i in range(1000))
    publish(upstream, "far/table", [("train.csv", rows.encode())], repo_type="dataset")
    server = start(mirror=upstream.url, token_key=issuer.folder)
    people = People(server, issuer.token("admin"), tmp_path)
    for cache in ("cold", "warm"):
        people.folder = tmp_path / cache
        assert run(people, TABLE) == ["999 499500"]
        if cache == "cold":
            upstream.stop()
