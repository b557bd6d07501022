#!/bin/sh
# Builds the fuzzers for OSS-Fuzz, in the project's folder. OSS-Fuzz sets the
# variables: compilers, flags, libFuzzer, and the folders for objects and for
# results. Every fuzzer gets its options, corpus and dictionary under its name.
set -eu
here=tests/hostile/fuzz
compile() { # compile NAME FLAGS...
  name=$1
  shift
  # CFLAGS are several words.
  # shellcheck disable=SC2086
  $CC $CFLAGS -I. "$@" -c "$here/$name.c" -o "$WORK/$name.o"
}

compile runtime
while read -r fuzzer; do
  compile "$fuzzer" -DFUZZ_MUTATE
  runtime=$WORK/runtime.o
  [ "$fuzzer" != states ] || runtime= # states.c has its own runtime
  # OSS-Fuzz requires the C++ compiler for linking.
  # shellcheck disable=SC2086
  $CXX $CXXFLAGS "$WORK/$fuzzer.o" $runtime $LIB_FUZZING_ENGINE \
    -lpthread -ldl -o "$OUT/$fuzzer"
  cp "$here/oss-fuzz/all.options" "$OUT/$fuzzer.options"
  python3 -m zipfile -c "$OUT/${fuzzer}_seed_corpus.zip" \
    "$here/corpus/$fuzzer"/*
  if [ -f "$here/oss-fuzz/$fuzzer.dict" ]; then
    cp "$here/oss-fuzz/$fuzzer.dict" "$OUT"
  fi
done <"$here/fuzzers.txt"
