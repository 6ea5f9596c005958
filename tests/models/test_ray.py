"""Ray Data on a local cluster, with SmolLM2 in llama.cpp: a worker is killed, and nothing is lost or written twice."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time

import numpy as np
import pytest
import ray

import tokenstile as xgr
from tokenstile.engine import SamplingParams
from tokenstile.integrations.ray import (
    ModelLoader,
    _Columns,
    _Worker,
    generate,
    llama_cpp_model,
    transformers_model,
)
from tokenstile.integrations.writers import Result
from tokenstile.structured_output import StructuredOutputsParams

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "large": {"type": "boolean"}},
    "required": ["city", "large"],
    "additionalProperties": False,
}
ROWS = 24


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=128 << 20)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def dataset(cluster):  # noqa: ARG001 - it must be there
    prompts = [
        {
            "number": number,
            "prompt": f"<|im_start|>user\nA city, as JSON. Number {number}.<|im_end|>\n<|im_start|>assistant\n",
        }
        for number in range(ROWS)
    ]
    return ray.data.from_items(prompts, override_num_blocks=6)


def written(folder):
    """Give all lines of a checkpoint, by the process that wrote them."""
    found = {}
    for path in folder.glob("part-*.jsonl"):
        pid = int(path.name.split("-")[-2])
        found[pid] = [
            json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")
        ]
    return found


def kill_one(folder, killed):
    """Kill the first worker that has written something while there is much left to do."""
    while not killed:
        for pid, lines in written(folder).items():
            if 1 <= len(lines) <= ROWS // 2:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.02)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_is_killed(dataset, gguf, tmp_path):
    arguments = {
        "schema": SCHEMA,
        "model": llama_cpp_model(gguf, num_slots=2, max_length=256, num_threads=1),
        "params": SamplingParams(max_tokens=120, temperature=0.7, seed=1),
        "checkpoint": tmp_path,
        "num_workers": 2,
        "batch_size": 4,
        "num_speculative_tokens": 2,
        "num_cpus": 1,
    }
    killed = []
    killer = threading.Thread(target=kill_one, args=(tmp_path, killed), daemon=True)
    killer.start()
    rows = generate(dataset, **arguments).take_all()
    killer.join(60)
    assert killed, "no worker was killed: the test tells nothing"

    assert sorted(row["number"] for row in rows) == list(range(ROWS))
    for row in rows:
        assert row["finish_reason"] == "stop"
        assert set(json.loads(row["output"])) == {"city", "large"}

    lines = written(tmp_path)
    assert lines[killed[0]], "it had written something before it was killed"
    assert len(lines) >= 3, "another worker came in its place"
    keys = [line["key"] for own in lines.values() for line in own]
    assert len(keys) == len(set(keys)) == ROWS
    by_text = sorted(line["text"] for own in lines.values() for line in own)
    assert by_text == sorted(row["output"] for row in rows)

    # Again: everything is there already, so nothing is written.
    again = generate(dataset, **arguments).take_all()
    assert {row["number"]: row["output"] for row in again} == {row["number"]: row["output"] for row in rows}
    assert written(tmp_path) == lines


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["llama_cpp", "transformers"])
def test_one_bad_prompt_does_not_end_the_job(cluster, gguf, tmp_path, kind, request):  # noqa: ARG001 - it must be there
    """The rows are known by a column, so that equal prompts have outputs of their own."""
    options = {"num_slots": 2, "max_length": 64}
    if kind == "llama_cpp":
        model = llama_cpp_model(gguf, num_threads=1, **options)
    else:
        model = transformers_model(str(request.getfixturevalue("hf_folder")), **options)
    rows = [{"id": at, "prompt": prompt} for at, prompt in enumerate(["word " * 100, "The cat", "The cat"])]
    found = generate(
        ray.data.from_items(rows),
        structure=StructuredOutputsParams(regex="( [a-z]{3}){5}"),
        params=SamplingParams(temperature=2.0),
        model=model,
        checkpoint=tmp_path,
        num_workers=1,
        id_column="id",
    ).take_all()
    found.sort(key=lambda row: row["id"])
    assert [row["finish_reason"] for row in found] == ["error", "stop", "stop"]
    assert "room for 64" in found[0]["error"]
    assert found[0]["output"] == found[1]["error"] == ""
    assert found[1]["output"] != found[2]["output"]
    assert all(re.fullmatch("( [a-z]{3}){5}", row["output"]) for row in found[1:])


class Noting:
    """A writer that notes what it is asked for, and writes the spelling."""

    def __init__(self):
        self.asked = []

    def warm(self, structure):
        assert structure

    def write(self, prompts, structure, params):  # noqa: ARG002 - a writer's
        self.asked += prompts
        for key in prompts:
            yield key, Result(structure.chosen_spelling, "stop")


@pytest.fixture
def spelling_of_process():
    before = xgr.get_default_spelling()
    yield xgr.set_default_spelling
    xgr.set_default_spelling(before)


def test_a_spelling_has_keys_of_its_own(tmp_path, spelling_of_process):
    """What was written in one spelling is not read for the other, whether a job or its process has chosen it."""
    batch = {"prompt": np.array(["a", "b"], dtype=object)}
    writer = Noting()

    def write(spelling):
        worker = _Worker(
            model=ModelLoader("noting", lambda: writer),
            checkpoint=str(tmp_path),
            structure=StructuredOutputsParams(json=SCHEMA, spelling=spelling),
            params=SamplingParams(),
            columns=_Columns("prompt", None, None, "output"),
            num_speculative_tokens=0,
        )
        return list(worker(batch)["output"])

    assert write("canonical") == ["canonical"] * 2
    assert write("any") == ["any"] * 2
    assert len(set(writer.asked)) == 4
    for process in ("canonical", "any"):
        spelling_of_process(process)
        assert write(None) == [process] * 2
        assert write(None) == [process] * 2
        assert write("any") == ["any"] * 2
    # With and without a choice they are other jobs, and each was written once.
    assert len(writer.asked) == len(set(writer.asked)) == 8


@pytest.mark.parametrize("chosen", [None, "canonical", "any"])
def test_workers_get_the_spelling_of_the_caller(chosen, tmp_path, spelling_of_process):
    """They are other processes, with a default of their own."""

    class Dataset:
        def map_batches(self, worker, fn_constructor_kwargs, **_):  # noqa: ARG002 - as of Ray
            return fn_constructor_kwargs["structure"]

    structure = StructuredOutputsParams(json=SCHEMA, spelling=chosen)
    arguments = {"model": ModelLoader("noting", Noting), "checkpoint": tmp_path, "structure": structure}
    assert generate(Dataset(), **arguments).spelling == chosen
    spelling_of_process("any")
    assert generate(Dataset(), **arguments).spelling == (chosen or "any")


def test_what_is_wrong_comes_out_at_once(dataset, gguf, tmp_path):
    model = llama_cpp_model(gguf)
    with pytest.raises(xgr.GrammarError):
        generate(dataset, schema={"type": 7}, model=model, checkpoint=tmp_path)
    with pytest.raises(xgr.InvalidArgumentError, match="schema"):
        generate(dataset, model=model, checkpoint=tmp_path)


@pytest.fixture
def worker(gguf, tmp_path):
    """A worker of no cluster, for rows of any kind."""

    def make(messages=None, row_id="number"):
        return _Worker(
            model=llama_cpp_model(gguf, num_slots=2, max_length=256, num_threads=1),
            checkpoint=str(tmp_path),
            structure=StructuredOutputsParams(choice=["Paris", "Rome"]),
            params=SamplingParams(max_tokens=8),
            columns=_Columns("prompt", messages, row_id, "output"),
            num_speculative_tokens=0,
        )

    return make


def test_a_changed_prompt_is_another_row(worker):
    def ask(text):
        return worker()({"number": np.array([1]), "prompt": np.array([text], dtype=object)})

    before = ask("The capital of France is ")
    again = ask("The capital of France is ")
    after = ask("The capital of Italy is ")
    assert before["output"] == again["output"] == ["Paris"]
    assert after["output"] == ["Rome"]


def test_a_prompt_that_is_missing(worker):
    prompts = np.array([None, "The capital of France is ", 5], dtype=object)
    done = worker()({"number": np.arange(3), "prompt": prompts})
    assert done["finish_reason"] == ["error", "stop", "error"]
    assert done["error"] == ["the prompt is None, and no text", "", "the prompt is 5, and no text"]


def test_messages_go_through_the_chat_template(worker):
    chats = np.empty(2, dtype=object)
    chats[0] = [{"role": "user", "content": "What is the capital of France?"}]
    chats[1] = [{"role": "user"}]
    done = worker(messages="chat")({"number": np.arange(2), "chat": chats})
    assert done["finish_reason"] == ["stop", "error"]
    assert done["output"][0] in {"Paris", "Rome"}
    assert "role and content" in done["error"][1]
