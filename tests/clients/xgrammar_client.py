#!/usr/bin/env python3
"""xgrammar: grammars compiled, matched, and their token masks, on two libraries.

    xgrammar_client.py --lib OURS

The Python that runs this has the wheel, PyTorch and xgrammar. Of transformers,
which xgrammar imports, it uses the names of three classes; those are here.
"""

import json
import sys
import types

from transcript import check, record, record_error, run

WORDS = ["true", "false", "null", "name", "age", "items", "the", "cat", "dog",
         '{"', '":', '",', '"}', '": "', "\u00e9", "\u4e2d", "\u6587", "  ",
         "\n", "0.", "12", "345", "-1", "e+", "<tool>", "</tool>", "<", "/>",
         "=", "add", "sub", "call"]
VOCABULARY = ["<s>", "</s>", "<pad>"] + [chr(c) for c in range(32, 127)] + WORDS

ARITHMETIC = """
root ::= expr
expr ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= number | "(" expr ")"
number ::= "-"? [0-9]+ ("." [0-9]+)?
"""
RECURSIVE = """
root ::= list
list ::= "[" (item ("," item)*)? "]"
item ::= list | [a-z]+ | "\\"" [^"\\\\]* "\\""
"""
UNICODE = 'root ::= ("\u4e2d" | "\u00e9"){1,3} [\u3040-\u30ff]*'
REPEATED = 'root ::= ("ab"{2,4} "c"?){1,2} [x-z]{3}'
AHEAD = 'root ::= "a" rest "!"\nrest ::= [a-z]* (= "!")'
GRAMMARS = {
    "arithmetic": (ARITHMETIC, ["1+2*3", "(1.5-2)/-3", "((4))", "1+", "a"]),
    "nested lists": (RECURSIVE, ["[]", '[a,[b,"c d"],[]]', "[[", "[a,]"]),
    "other scripts": (UNICODE, ["\u4e2d\u00e9", "\u4e2d\u3042\u30a2", "x"]),
    "repetition": (REPEATED, ["ababxyz", "abababcababzzz", "abxyz"]),
    "choice": ('root ::= "cat" | "car" | "cart" | ""', ["cat", "cart", ""]),
    "look-ahead": (AHEAD, ["abc!", "!", "a!"]),
}

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 3, None]},
                 "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {"node": {
        "type": "object",
        "properties": {"value": {"type": "number"},
                       "next": {"anyOf": [{"$ref": "#/$defs/node"},
                                          {"type": "null"}]}},
        "required": ["value", "next"]}},
    "$ref": "#/$defs/node",
}
CHOICE = {"oneOf": [{"const": "on"}, {"const": "off"}, {"type": "boolean"},
                    {"type": "integer", "minimum": -5, "maximum": 5}]}
DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
TUPLE = {"type": "array", "prefixItems": [{"type": "integer"},
         {"type": "string", "format": "ipv4"}], "items": False}
OPEN = {"type": "object", "patternProperties": {"^x_": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"}}
SCHEMAS = {
    "person": (PERSON, ['{"name": "cat", "age": 42}',
                        '{"name": "d", "age": 7, "tags": ["a", 3, null]}',
                        '{"name": "", "age": 1}', '{"age": 1}',
                        '{"name": "x", "age": 151}']),
    "tree": (TREE, ['{"value": 1.5, "next": null}',
                    '{"value": -2e3, "next": {"value": 0, "next": null}}']),
    "choice": (CHOICE, ['"on"', "true", "-5", "6", '"of"']),
    "date": (DATE, ['"2024-02-29"', '"24-2-9"']),
    "tuple": (TUPLE, ['[1, "127.0.0.1"]', '[1]', '[1, "cat"]']),
    "open": (OPEN, ['{"x_a": 1}', '{"b": true}', '{"x_a": true}']),
    "anything": (True, ['[1, {"a": null}]', "nothing"]),
}
REGEXES = {
    r"[a-c]+\d{2,3}": ["abc12", "a1", "c1234"],
    r"(cat|dog)s?( (cat|dog)s?)*": ["cats dog", "cat  dog"],
    r"\w+@\w+\.(org|net)": ["me@cat.org", "me@cat"],
    r"(?:[^\W\d]|_)+": ["the_cat", "9"],
    r"\u4e2d?[\u00e0-\u00ff]*": ["\u4e2d\u00e9\u00e8"],
}
BAD_GRAMMARS = ["root ::= missing", "root ::= (", "other ::= \"a\"", "",
                'root ::= [z-a]', 'root ::= "a"{3,1}', 'root ::= "\\q"']
BAD_SCHEMAS = ["{", '{"type": "nothing"}', '{"$ref": "#/nowhere"}',
               '{"type": "integer", "minimum": 5, "maximum": 1}']
BAD_REGEXES = ["(", "[", "a{3,1}", "(?=a)b", "*"]


def stand_in_for_transformers():
    module = types.ModuleType("transformers")
    for name in ("PreTrainedTokenizerBase", "PreTrainedTokenizerFast",
                 "LogitsProcessor"):
        setattr(module, name, type(name, (), {}))
    sys.modules["transformers"] = module


def mask_of(xgr, matcher, size):
    """The next tokens' mask, in full, as hexadecimal digits."""
    mask = xgr.allocate_token_bitmask(1, size)
    needed = matcher.fill_next_token_bitmask(mask)
    words = [f"{word & 0xffffffff:08x}" for word in mask[0].tolist()]
    return needed, "".join(words)


def tokens_of(text):
    """The text in tokens, the longest first."""
    tokens = []
    while text:
        token = max((t for t in VOCABULARY if text.startswith(t)), key=len,
                    default=None)
        if token is None:
            return None
        tokens.append(VOCABULARY.index(token))
        text = text[len(token):]
    return tokens


def walk(xgr, compiled, text):
    """Each step of matching a text: by tokens, or by bytes where it has none
    for it."""
    matcher = xgr.GrammarMatcher(compiled, max_rollback_tokens=100)
    steps = [mask_of(xgr, matcher, len(VOCABULARY))]
    tokens = tokens_of(text)
    if tokens is None:
        return steps, matcher.accept_string(text), matcher.is_terminated()
    for token in tokens:
        steps.append((token, matcher.accept_token(token)))
        if not steps[-1][1]:
            return steps
        steps.append(mask_of(xgr, matcher, len(VOCABULARY)))
    steps.append(matcher.find_jump_forward_string())
    steps.append((matcher.accept_token(1), matcher.is_terminated()))
    matcher.rollback(1 + len(tokens) // 2 if steps[-1][0]
                     else len(tokens) // 2)
    steps.append(mask_of(xgr, matcher, len(VOCABULARY)))
    matcher.reset()
    steps.append(mask_of(xgr, matcher, len(VOCABULARY)) == steps[0])
    return steps


def compile_and_walk(xgr, name, compile_it, texts):
    compiled = compile_it()
    record(f"{name}: the grammar", str(compiled.grammar))
    record(f"{name}: its size", compiled.memory_size_bytes)
    for text in texts:
        record(f"{name}: {text!r}", walk(xgr, compiled, text))


def saved_and_walk(xgr, name, compiled, info, texts):
    """Saves a compiled grammar, loads it, and matches with what comes back."""
    saved = compiled.serialize_json()
    record(f"{name}: as JSON", saved)
    back = xgr.CompiledGrammar.deserialize_json(saved, info)
    check(f"{name}: the grammar is the same",
          str(back.grammar) == str(compiled.grammar))
    check(f"{name}: saved again it is the same", back.serialize_json() == saved)
    check(f"{name}: its tokenizer is the same",
          back.tokenizer_info.dump_metadata() == info.dump_metadata())
    record(f"{name}: its size", back.memory_size_bytes)
    for text in texts:
        steps = walk(xgr, back, text)
        record(f"{name}: {text!r}", steps)
        check(f"{name}: {text!r} as before it was saved",
              steps == walk(xgr, compiled, text))


def grammars(xgr, compiler):
    for name, (text, texts) in GRAMMARS.items():
        compile_and_walk(xgr, f"EBNF {name}",
                         lambda text=text: compiler.compile_grammar(text),
                         texts)
    for name, (schema, texts) in SCHEMAS.items():
        text = json.dumps(schema)
        compile_and_walk(
            xgr, f"schema {name}",
            lambda text=text: compiler.compile_json_schema(text), texts)
        compile_and_walk(
            xgr, f"schema {name}, loose",
            lambda text=text: compiler.compile_json_schema(
                text, any_whitespace=False, indent=2, strict_mode=False),
            texts[:1])
    for regex, texts in REGEXES.items():
        compile_and_walk(xgr, f"regex {regex}",
                         lambda regex=regex: compiler.compile_regex(regex),
                         texts)
    compile_and_walk(xgr, "JSON", compiler.compile_builtin_json_grammar,
                     ['{"a": [1, true, null], "b": {"c": "d"}}', "[1,]"])


TOOL = {"type": "object", "properties": {"a": {"type": "integer"}},
        "required": ["a"]}
TAG = {"type": "tag", "begin": "<tool>", "end": "</tool>",
       "content": {"type": "json_schema", "json_schema": TOOL}}
NAME = {"type": "tag", "begin": "<name>", "end": ["</name>", "</>"],
        "content": {"type": "regex", "pattern": "[a-c]+"}}
# The formats of structural tags, and texts to be matched.
TAGS = {
    "one tag": (TAG, []),
    "triggered": ({"type": "triggered_tags", "triggers": ["<tool"],
                   "tags": [TAG]}, ["a cat<tool>{"]),
    "triggered once": ({"type": "triggered_tags", "triggers": ["<tool", "<n"],
                        "tags": [TAG, NAME], "at_least_one": True,
                        "stop_after_first": True, "excludes": ["dog"]},
                       ["<name>abc</>", "cat", "dog"]),
    "a sequence": ({"type": "sequence", "elements": [
        {"type": "const_string", "value": "the "},
        {"type": "regex", "pattern": "(cat|dog)"}, TAG]}, []),
    "one of two": ({"type": "or", "elements": [TAG, NAME]},
                   ["<name>cab</name>", "<name></name>"]),
    "with separators": ({"type": "tags_with_separator", "tags": [TAG, NAME],
                         "separator": ", ", "at_least_one": True},
                        ["<name>a</>, <name>b</>", "<name>a</>,"]),
    "a grammar": ({"type": "grammar", "grammar": RECURSIVE}, ["[a,[]]"]),
    "any text": ({"type": "tag", "begin": "<", "end": "/>",
                  "content": {"type": "any_text", "excludes": ["cat"]}},
                 ["<the dog/>", "<the cat/>"]),
    "optional": ({"type": "sequence", "elements": [
        {"type": "optional", "content": NAME},
        {"type": "star", "content": {"type": "const_string", "value": "a"}},
        {"type": "plus", "content": {"type": "const_string", "value": "b"}}]},
                 ["<name>c</>aab", "b", "a"]),
}


def structural_tags(xgr, compiler, info):
    for name, (form, texts) in TAGS.items():
        tag = {"type": "structural_tag", "format": form}
        texts = ['<tool>{"a": 12}</tool>', 'the cat<tool>{"a": 3}</tool>',
                 '<tool>{"b": 12}</tool>', *texts]
        compile_and_walk(
            xgr, f"structural tag, {name}",
            lambda tag=tag: compiler.compile_structural_tag(tag), texts)
        saved_and_walk(xgr, f"structural tag, {name}, saved",
                       compiler.compile_structural_tag(tag), info, texts)
        grammar = xgr.Grammar.from_structural_tag(tag)
        saved = grammar.serialize_json()
        record(f"structural tag, {name}, its grammar as JSON", saved)
        check(f"structural tag, {name}, its grammar comes back from JSON",
              str(xgr.Grammar.deserialize_json(saved)) == str(grammar))
        # The description has a text of its own.
        described = xgr.StructuralTag.from_json(json.dumps(tag))
        text = described.model_dump_json(by_alias=True)
        record(f"structural tag, {name}, its description", text)
        check(f"structural tag, {name}, described by that",
              str(xgr.Grammar.from_structural_tag(text)) == str(grammar))


def errors(xgr, compiler):
    for number, text in enumerate(BAD_GRAMMARS):
        record_error(f"a bad grammar, {number}", compiler.compile_grammar, text)
    for number, text in enumerate(BAD_SCHEMAS):
        record_error(f"a bad schema, {number}", compiler.compile_json_schema,
                     text)
    for text in BAD_REGEXES:
        record_error(f"a bad regex, {text}", compiler.compile_regex, text)
    record_error("a bad structural tag", compiler.compile_structural_tag,
                 {"type": "structural_tag", "format": {"type": "nothing"}})
    matcher = xgr.GrammarMatcher(compiler.compile_grammar('root ::= "a"'))
    record_error("a token out of range", matcher.accept_token, 10**6)
    record_error("a rollback too far", matcher.rollback, 5)
    import torch
    record_error("a mask of another dtype", matcher.fill_next_token_bitmask,
                 torch.zeros(1, 5))
    record_error("a mask that is too short", matcher.fill_next_token_bitmask,
                 torch.zeros(1, 1, dtype=torch.int32))


def compiled_forms(compiler):
    """Names, compiled grammars and texts, of all kinds but structural tags."""
    for name, (text, texts) in GRAMMARS.items():
        yield f"EBNF {name}", compiler.compile_grammar(text), texts
    for name, (schema, texts) in SCHEMAS.items():
        yield (f"schema {name}",
               compiler.compile_json_schema(json.dumps(schema)), texts)
    for regex, texts in REGEXES.items():
        yield f"regex {regex}", compiler.compile_regex(regex), texts
    yield "JSON", compiler.compile_builtin_json_grammar(), ['{"a": [1]}']


def serialization(xgr, compiler, info):
    for name, compiled, texts in compiled_forms(compiler):
        saved_and_walk(xgr, f"{name}, saved", compiled, info, texts)
    for name, text in {"arithmetic": ARITHMETIC, "lists": RECURSIVE}.items():
        grammar = xgr.Grammar.from_ebnf(text)
        saved = grammar.serialize_json()
        record(f"{name} as JSON", saved)
        check(f"{name} comes back from JSON",
              str(xgr.Grammar.deserialize_json(saved)) == str(grammar))
    saved = info.serialize_json()
    record("the tokenizer as JSON", saved)
    back = xgr.TokenizerInfo.deserialize_json(saved)
    check("the tokenizer comes back from JSON",
          back.serialize_json() == saved
          and back.decoded_vocab == info.decoded_vocab)
    record("its metadata", info.dump_metadata())
    record("its vocabulary", (info.vocab_size, info.decoded_vocab,
                              info.stop_token_ids, info.special_token_ids))
    record("the version of saved grammars", xgr.get_serialization_version())


def damaged_serialization(xgr, compiler, info):
    saved = compiler.compile_grammar(ARITHMETIC).serialize_json()
    whole = json.loads(saved)
    other = xgr.TokenizerInfo(VOCABULARY[:-1], stop_token_ids=[1])
    load = xgr.CompiledGrammar.deserialize_json
    record_error("not JSON", xgr.Grammar.deserialize_json, "{")
    record_error("JSON of something else", xgr.Grammar.deserialize_json, "[]")
    record_error("a compiled grammar, not JSON", load, saved[:-1], info)
    record_error("a compiled grammar, JSON of something else", load, "[]", info)
    record_error("a compiled grammar, another tokenizer", load, saved, other)
    for key in whole:
        damaged = {k: v for k, v in whole.items() if k != key}
        record_error(f"a compiled grammar without {key}", load,
                     json.dumps(damaged), info)
        record_error(f"a compiled grammar with another {key}", load,
                     json.dumps({**whole, key: "v0"}), info)
    record_error("a tokenizer, not JSON", xgr.TokenizerInfo.deserialize_json,
                 "{")
    record_error("a tokenizer, JSON of something else",
                 xgr.TokenizerInfo.deserialize_json, "{}")


def combinations(xgr, compiler):
    cat, dog = (xgr.Grammar.from_ebnf(f'root ::= "{w}" [0-9]')
                for w in ("cat", "dog"))
    for name, grammar in {"union": xgr.Grammar.union(cat, dog),
                          "sequence": xgr.Grammar.concat(cat, dog)}.items():
        compile_and_walk(xgr, f"a {name}",
                         lambda g=grammar: compiler.compile_grammar(g),
                         ["cat1", "cat1dog2"])
    matcher = xgr.GrammarMatcher(compiler.compile_grammar(cat))
    matcher.accept_string("ca")
    fork = matcher.fork()
    fork.accept_string("t")
    record("a fork", (mask_of(xgr, matcher, len(VOCABULARY)),
                      mask_of(xgr, fork, len(VOCABULARY))))
    record("the cache", (compiler.get_cache_size_bytes() > 0,
                         compiler.cache_limit_bytes))
    compiler.clear_cache()
    record("the cache, cleared", compiler.get_cache_size_bytes())


def batches(xgr, compiler):
    import torch
    texts = ['root ::= [a-f]+', 'root ::= "the" " " "cat"', ARITHMETIC]
    matchers = [xgr.GrammarMatcher(compiler.compile_grammar(t)) for t in texts]
    mask = xgr.allocate_token_bitmask(3, len(VOCABULARY))
    batch = xgr.BatchGrammarMatcher(max_threads=2)
    batch.batch_fill_next_token_bitmask(matchers, mask)
    record("masks of a batch", mask.tolist())
    tokens = [VOCABULARY.index(t) for t in ("b", "the", "12")]
    record("tokens of a batch", batch.batch_accept_token(matchers, tokens))
    batch.batch_fill_next_token_bitmask(matchers, mask)
    record("masks after them", mask.tolist())
    logits = torch.zeros(3, len(VOCABULARY))
    xgr.apply_token_bitmask_inplace(logits, mask)
    record("logits under the mask", logits.tolist())
    record("a mask as booleans", xgr.testing.bitmask_to_bool_mask(
        mask, len(VOCABULARY)).sum(dim=1).tolist())


def threads(xgr, info):
    """The compiler's own threads give what one thread gives."""
    from concurrent.futures import ThreadPoolExecutor
    many = xgr.GrammarCompiler(info, max_threads=4)
    with ThreadPoolExecutor(4) as pool:
        compiled = list(pool.map(
            lambda i: many.compile_grammar(
                f'root ::= "{i}" [a-z]{{1,{i % 5 + 1}}}').serialize_json(),
            range(40)))
    record("grammars compiled by threads", compiled)


def main(args):
    del args
    stand_in_for_transformers()
    import xgrammar as xgr
    info = xgr.TokenizerInfo(VOCABULARY, stop_token_ids=[1])
    compiler = xgr.GrammarCompiler(info, max_threads=1)
    grammars(xgr, compiler)
    structural_tags(xgr, compiler, info)
    errors(xgr, compiler)
    serialization(xgr, compiler, info)
    damaged_serialization(xgr, compiler, info)
    combinations(xgr, compiler)
    batches(xgr, compiler)
    threads(xgr, info)


if __name__ == "__main__":
    sys.exit(run(__file__, "xgrammar", main,
                 ["torch", "tvm_ffi", "xgrammar", "pydantic"]))
