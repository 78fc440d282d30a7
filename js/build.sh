#!/usr/bin/env bash
# Builds boostforest.wasm with Emscripten, into the folder that is named or beside this file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
output=${1:-$here}
functions=_malloc,_free,_bf_load,_bf_close,_bf_error,_bf_n_results
functions+=,_bf_text_level,_bf_number_level,_bf_work,_bf_predict_rows,_bf_interval
emcc -std=c99 -Wall -Wextra -Wpedantic -Werror -O3 -I "$here/../src/boostforest/include" "$here/boostforest.c" \
    -o "$output/boostforest.wasm" --no-entry -s STANDALONE_WASM=1 -s ALLOW_MEMORY_GROWTH=1 -s MAXIMUM_MEMORY=4GB \
    -s SUPPORT_LONGJMP=wasm \
    -s "EXPORTED_FUNCTIONS=$functions"
