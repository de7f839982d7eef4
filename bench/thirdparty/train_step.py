"""A training step of the translator in PyTorch, timed the way bench/harness/engine.ts asks.

python3 train_step.py THREADS; questions on standard input and answers on standard output, a line
of JSON each. The model is the one tutorials build: a decoder module that is called once a step, with
additive attention over an LSTM encoder; corrected where they are not, so that source padding is packed
in the encoder and masked in the attention.
"""

import json
import math
import os
import random
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
except ImportError as missing:
    print(json.dumps({"error": f"{missing}. pip install torch==2.13.0"}))
    sys.exit()

PAD, START = 0, 2
WARM_RUNS = 4


class Encoder(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, dropout):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.LSTM(embedding, hidden, batch_first=True)

    def forward(self, source, lengths):
        embedded = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        return outputs, hidden, cell


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.attn = nn.Linear(2 * hidden, hidden)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, hidden, outputs, mask):
        hidden = hidden.unsqueeze(1).repeat(1, outputs.shape[1], 1)
        energy = torch.tanh(self.attn(torch.cat((hidden, outputs), dim=2)))
        return F.softmax(self.v(energy).squeeze(2).masked_fill(~mask, -math.inf), dim=1)


class Decoder(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, dropout):
        super().__init__()
        self.attention = Attention(hidden)
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.dropout = nn.Dropout(dropout)
        self.rnn = nn.LSTM(embedding + hidden, hidden, batch_first=True)
        self.fc_out = nn.Linear(2 * hidden, vocabulary)

    def forward(self, token, hidden, cell, outputs, mask):
        embedded = self.dropout(self.embedding(token.unsqueeze(1)))
        weights = self.attention(hidden[-1], outputs, mask).unsqueeze(1)
        context = torch.bmm(weights, outputs)
        output, (hidden, cell) = self.rnn(torch.cat((embedded, context), dim=2), (hidden, cell))
        scores = self.fc_out(torch.cat((output.squeeze(1), context.squeeze(1)), dim=1))
        return scores, hidden, cell


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary, embedding, hidden, dropout):
        super().__init__()
        self.vocabulary = vocabulary
        self.encoder = Encoder(vocabulary, embedding, hidden, dropout)
        self.decoder = Decoder(vocabulary, embedding, hidden, dropout)

    def forward(self, source, lengths, target, teacher_forcing):
        batch, steps = target.shape
        scores = torch.zeros(steps, batch, self.vocabulary)
        outputs, hidden, cell = self.encoder(source, lengths)
        mask = torch.arange(source.shape[1]) < lengths.unsqueeze(1)
        token = target[:, 0]
        for step in range(1, steps):
            scores[step], hidden, cell = self.decoder(token, hidden, cell, outputs, mask)
            forced = random.random() < teacher_forcing
            token = target[:, step] if forced else scores[step].argmax(1)
        return scores


class Training:
    """Everything that one step needs: model, optimiser and a batch of random tokens."""

    def __init__(self, spec):
        torch.manual_seed(1)
        random.seed(1)
        vocabulary = spec["vocabulary"]
        self.teacher_forcing = spec["teacherForcing"]
        self.model = Seq2Seq(vocabulary, spec["embedding"], spec["hidden"], spec["dropout"])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=spec["rate"])
        self.source = torch.randint(START, vocabulary, (spec["batch"], spec["source"]))
        self.target = torch.randint(START, vocabulary, (spec["batch"], spec["target"]))
        self.lengths = torch.full((spec["batch"],), spec["source"])

    def step(self):
        self.optimizer.zero_grad()
        scores = self.model(self.source, self.lengths, self.target, self.teacher_forcing)
        wanted = self.target.transpose(0, 1)[1:].reshape(-1)
        loss = F.cross_entropy(scores[1:].flatten(0, 1), wanted, ignore_index=PAD)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimizer.step()
        return loss.item()


class Engine:
    def __init__(self, threads):
        torch.set_num_threads(threads)
        self.training = None
        self.left = processor_time()

    def answer(self, question):
        if question["ask"] == "prepare":
            self.training = Training(question["spec"])
            values = {"length": 1, "at": [self.training.step()]}
            for _ in range(WARM_RUNS):
                self.training.step()
            return {"values": values}
        if question["ask"] == "burst":
            return self.burst(question["milliseconds"])
        self.training = None
        return {}

    def burst(self, milliseconds):
        begin, busy = time.perf_counter(), processor_time()
        resting = busy - self.left
        samples = []
        while not samples or time.perf_counter() - begin < milliseconds / 1000:
            before = time.perf_counter()
            self.training.step()
            samples.append((time.perf_counter() - before) * 1000)
        threads_asleep()
        return {"samples": samples, "busy": processor_time() - busy, "resting": resting}


def threads_asleep():
    """As in engine-process.ts: waits until no thread looks for work any more."""
    for _ in range(30):
        before = processor_time()
        time.sleep(0.003)
        if processor_time() - before < 0.75:
            return


def processor_time():
    """Milliseconds, over all threads."""
    return time.process_time() * 1000


def main():
    engine = Engine(int(sys.argv[1]))
    # Whatever prints goes to the other stream: standard output belongs to the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        engine.left = processor_time()

    reply({"version": torch.__version__})
    for line in sys.stdin:
        try:
            reply(engine.answer(json.loads(line)))
        except Exception as error:  # the run goes on without this bench
            reply({"error": f"{type(error).__name__}: {error}"})


main()
