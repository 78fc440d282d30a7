/* boostforest_files.h: reads model files, and checks all that predictions depend on (docs/dev/format.md).
 *
 * The second half of boostforest.h, which includes it: do not include it yourself. Whatever is wrong with a file ends
 * the reading at once (bf_require jumps back to bf_load), so that what comes after a check may rely on it. */
#ifndef BOOSTFOREST_FILES_H
#define BOOSTFOREST_FILES_H

#include <locale.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BF_BOOL, BF_U8, BF_I8, BF_U16, BF_I16, BF_F16, BF_U32, BF_I32, BF_F32, BF_U64, BF_I64, BF_F64, BF_N_TYPES };
static const char bf_types[] = "BOOLU8  I8  U16 I16 F16 U32 I32 F32 U64 I64 F64 "; /* four characters each */

typedef struct {
    const uint8_t* at;
    size_t n;
} bf_span;

typedef struct {
    bf_span data;     /* NULL: it is not there */
    uint64_t n, rows; /* values, and the first dimension */
    int type, is_coded;
} bf_tensor;

typedef struct bf_block {
    struct bf_block* next;
    double align; /* values follow */
} bf_block;

#define BF_CONTEXTS 32

typedef struct {
    jmp_buf failed; /* where bf_require goes */
    int status;     /* and why */
    bf_span header, metadata, coded, data;
    bf_block *kept, *scratch; /* memory of the model, and of loading alone */
    bf_forest* forest;
    uint64_t n_nodes;
    int32_t *left, *order, *open; /* per node; order: those of each tree depth first; open: scratch */
    const uint8_t* lengths;       /* of the next streams of a coded column, which are in `streams` */
    bf_span streams, in;          /* in: what is left of the stream that is decoded */
    uint32_t states[2], turn;
    uint8_t is_known[BF_CONTEXTS];
    uint32_t (*slots)[4096]; /* per context: frequency - 1, place among the symbol's slots, symbol */
} bf_loader;

static void bf_require(bf_loader* l, int condition, int status) {
    if (condition) return;
    l->status = status;
    longjmp(l->failed, 1);
}

/* Memory for n values, zeros. Whoever asks has compared n with the size of the file. */
static void* bf_take(bf_loader* l, bf_block** list, uint64_t n, size_t size) {
    const int fits = n <= (SIZE_MAX / 2 - sizeof(bf_block)) / size;
    bf_block* block = fits ? (bf_block*)calloc(1, sizeof(bf_block) + (size_t)n * size) : NULL;
    bf_require(l, block != NULL, BF_NO_MEMORY);
    block->next = *list;
    *list = block;
    return block + 1;
}

static void bf_free(bf_block* block) {
    for (bf_block* next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
}

static uint64_t bf_bits(const uint8_t* p, size_t size) { /* the lowest byte first */
    uint64_t bits = 0;
    while (size-- > 0) bits = bits << 8 | p[size];
    return bits;
}

static int bf_bit(const uint8_t* bits, uint64_t i) { /* the highest first */
    return bits[i / 8] >> (7 - i % 8) & 1;
}

/* JSON: a cursor moves over the text, and values are found by their names. */

static int bf_char(bf_span* c, char wanted) {
    while (c->n > 0 && strchr(" \n\r\t", *c->at) != NULL) ++c->at, --c->n;
    if (c->n == 0 || *c->at != (uint8_t)wanted) return 0;
    ++c->at, --c->n;
    return 1;
}

/* Any value: what is between the quotes of a string; numbers, lists and objects as they are. */
static bf_span bf_value(bf_loader* l, bf_span* c) {
    const int is_string = (bf_char(c, 0), c->n > 0 && *c->at == '"');
    bf_span value = *c;
    int depth = 0, quoted = 0;
    for (; c->n > 0 && (quoted || depth > 0 || strchr(",:]} \n\r\t", *c->at) == NULL); ++c->at, --c->n) {
        if (*c->at == '"') quoted = !quoted;
        if (quoted && *c->at == '\\' && c->n > 1) ++c->at, --c->n;
        if (!quoted) depth += (*c->at == '{' || *c->at == '[') - (*c->at == '}' || *c->at == ']');
    }
    value.n = (size_t)(c->at - value.at);
    bf_require(l, value.n > 0 && !quoted, BF_HEADER);
    if (is_string) ++value.at, value.n -= 2;
    return value;
}

static int bf_is(bf_span text, const char* wanted) {
    return text.at != NULL && text.n == strlen(wanted) && memcmp(text.at, wanted, text.n) == 0;
}

/* The value of a name in an object, or in what follows one of its values; at is NULL if it has none. */
static bf_span bf_get(bf_loader* l, bf_span object, const char* name) {
    const bf_span none = {NULL, 0};
    const int is_whole = bf_char(&object, '{'), is_empty = is_whole && bf_char(&object, '}');
    for (int more = is_whole ? !is_empty : bf_char(&object, ','); more; more = bf_char(&object, ',')) {
        const bf_span key = bf_value(l, &object);
        bf_require(l, bf_char(&object, ':'), BF_HEADER);
        const bf_span value = bf_value(l, &object);
        if (bf_is(key, name)) return value;
    }
    bf_require(l, is_empty || bf_char(&object, '}'), BF_HEADER);
    return none;
}

static uint64_t bf_count(bf_loader* l, bf_span text) {
    uint64_t count = 0;
    bf_require(l, text.at != NULL && text.n > 0 && text.n <= 18, BF_HEADER);
    for (size_t k = 0; k < text.n; ++k) {
        bf_require(l, text.at[k] >= '0' && text.at[k] <= '9', BF_HEADER);
        count = 10 * count + (text.at[k] - '0');
    }
    return count;
}

/* Tensors: their types and places. */

static int bf_type_of(bf_span text) {
    for (int type = 0; text.at != NULL && text.n <= 4 && type < BF_N_TYPES; ++type)
        if (memcmp(bf_types + 4 * type, text.at, text.n) == 0 && (text.n == 4 || bf_types[4 * type + text.n] == ' '))
            return type;
    return BF_N_TYPES;
}

static size_t bf_size(int type) {
    return type <= BF_I8 ? 1 : type <= BF_F16 ? 2 : type <= BF_F32 ? 4 : 8;
}

/* The tensor of a name as it is in the file, or "coded." and the name; in data: NULL if there is none. */
static bf_tensor bf_find(bf_loader* l, const char* name) {
    char coded[64] = "coded.";
    bf_tensor t = {{NULL, 0}, 1, 1, BF_N_TYPES, 0};
    bf_span entry = bf_get(l, l->header, name);
    if (entry.at == NULL) t.is_coded = (entry = bf_get(l, l->header, strcat(coded, name))).at != NULL;
    if (entry.at == NULL) return t;
    bf_span shape = bf_get(l, entry, "shape"), ends = bf_get(l, entry, "data_offsets");
    int more = bf_char(&shape, '[') && !bf_char(&shape, ']');
    for (int is_first = 1; more; more = bf_char(&shape, ','), is_first = 0) {
        const uint64_t n = bf_count(l, bf_value(l, &shape));
        bf_require(l, n == 0 || t.n <= l->data.n / n, BF_HEADER);
        t.n *= n;
        if (is_first) t.rows = n;
    }
    const uint64_t begin = bf_char(&ends, '[') ? bf_count(l, bf_value(l, &ends)) : l->data.n;
    const uint64_t end = bf_char(&ends, ',') ? bf_count(l, bf_value(l, &ends)) : 0;
    t.type = bf_type_of(bf_get(l, entry, "dtype"));
    bf_require(l, t.type < BF_N_TYPES && begin <= end && end <= l->data.n, BF_HEADER);
    bf_require(l, t.n * bf_size(t.type) == end - begin, BF_HEADER);
    t.data.at = l->data.at + begin, t.data.n = (size_t)(end - begin);
    if (!t.is_coded) return t;
    bf_require(l, l->coded.at != NULL, BF_CODED);
    bf_span said = bf_get(l, l->coded, name); /* ["type", number of values], at most 256 bytes for each that is there */
    bf_require(l, t.type == BF_U8 && bf_char(&said, '['), BF_CODED);
    t.type = bf_type_of(bf_value(l, &said));
    t.n = t.type < BF_N_TYPES && bf_char(&said, ',') ? bf_count(l, bf_value(l, &said)) : UINT64_MAX;
    bf_require(l, t.data.n > 0 && t.n <= 256 * (uint64_t)t.data.n / bf_size(t.type), BF_CODED);
    return t;
}

static int bf_has(bf_loader* l, const char* name) {
    return bf_find(l, name).data.at != NULL;
}

/* A field of the metadata without the backslashes that its quotes have, or the tensor that long ones are in. */
static bf_span bf_field(bf_loader* l, const char* name) {
    char tensor[64] = "metadata.";
    const bf_span value = bf_get(l, l->metadata, name);
    if (value.at == NULL) return bf_find(l, strcat(tensor, name)).data;
    uint8_t* text = (uint8_t*)bf_take(l, &l->scratch, value.n + 1, 1);
    bf_span field = {text, 0};
    for (size_t i = 0; i < value.n; ++i) {
        i += value.at[i] == '\\' && i + 1 < value.n;
        text[field.n++] = value.at[i];
    }
    return field;
}

/* SHA-256 of the file, in which the digits of the checksum count as zeros. */

#define BF_TURN(x, n) ((x) >> (n) | (x) << (32 - (n)))

static void bf_sha_block(uint32_t* h, const uint8_t* block) {
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64] = {0}, v[8];
    for (int i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | block[i];
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (BF_TURN(w[i - 15], 7) ^ BF_TURN(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (BF_TURN(w[i - 2], 17) ^ BF_TURN(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; ++i) {
        const uint32_t a = v[7] + (BF_TURN(v[4], 6) ^ BF_TURN(v[4], 11) ^ BF_TURN(v[4], 25)) +
                           ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        const uint32_t b = (BF_TURN(v[0], 2) ^ BF_TURN(v[0], 13) ^ BF_TURN(v[0], 22)) +
                           ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
}

static void bf_digest(const uint8_t* bytes, size_t n_bytes, size_t seal, char* digits) { /* seal: where they are */
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t block[64];
    for (size_t at = 0; at <= n_bytes + 8; at += 64) { /* the last one has the number of bits in its last eight bytes */
        for (size_t k = 0, i = at; k < 64; ++k, ++i)
            block[k] = i < n_bytes ? (i >= seal && i < seal + 64 ? '0' : bytes[i]) : i == n_bytes ? 0x80 : 0;
        for (size_t k = 0; k < 8 && n_bytes + 8 < at + 64; ++k)
            block[56 + k] = (uint8_t)((uint64_t)n_bytes * 8 >> (56 - 8 * k));
        bf_sha_block(h, block);
    }
    for (int k = 0; k < 64; ++k) digits[k] = "0123456789abcdef"[h[k / 8] >> (28 - 4 * (k % 8)) & 15];
}

/* Columns in fewer bytes: bytes by how often they occur in a context (rANS), see docs/dev/format.md. */

static int bf_byte(bf_loader* l) {
    bf_require(l, l->in.n > 0, BF_CODED);
    --l->in.n;
    return *l->in.at++;
}

static void bf_next_stream(bf_loader* l) {
    const uint64_t n = bf_bits(l->lengths, 8);
    bf_require(l, n <= l->streams.n, BF_CODED);
    l->lengths += 8;
    l->in.at = l->streams.at, l->in.n = (size_t)n;
    l->streams.at += n, l->streams.n -= (size_t)n;
}

/* Reads how often bytes occur in each context, and where the decoder starts. */
static void bf_start(bf_loader* l, int n_contexts) {
    for (int c = 0; c < n_contexts; ++c) {
        int filled = 0;
        for (int symbol = 0; symbol < 256; ++symbol) {
            int n = bf_byte(l);
            if (n == 0) symbol += bf_byte(l);
            if (n >= 128) bf_require(l, (n = (n & 127) << 7 | bf_byte(l)) > 0, BF_CODED);
            bf_require(l, n <= 4096 - filled, BF_CODED);
            for (int k = 0; k < n; ++k)
                l->slots[c][filled++] = (uint32_t)(n - 1) << 20 | (uint32_t)k << 8 | (uint32_t)symbol;
        }
        bf_require(l, filled == 0 || filled == 4096, BF_CODED);
        l->is_known[c] = filled != 0;
    }
    l->turn = 0;
    for (int k = 0; k < 8; ++k) l->states[k / 4] = l->states[k / 4] >> 8 | (uint32_t)bf_byte(l) << 24;
    bf_require(l, l->states[0] >= 1U << 16 && l->states[1] >= 1U << 16, BF_CODED);
}

static uint8_t bf_symbol(bf_loader* l, unsigned context) {
    uint32_t *state = &l->states[l->turn], slot = l->slots[context][*state & 4095];
    bf_require(l, l->is_known[context], BF_CODED);
    *state = ((slot >> 20) + 1) * (*state >> 12) + (slot >> 8 & 4095);
    if (*state < 1U << 16) {
        bf_require(l, l->in.n >= 2, BF_CODED);
        *state = *state << 16 | (uint32_t)bf_bits(l->in.at, 2);
        l->in.at += 2, l->in.n -= 2;
    }
    l->turn ^= 1;
    return slot & 255;
}

static void bf_finish_stream(bf_loader* l) {
    bf_require(l, l->states[0] == 1U << 16 && l->states[1] == 1U << 16 && l->in.n == 0, BF_CODED);
}

/* A context for each of the 31 numbers that occur most often, 0 for others. */
static void bf_contexts(const uint64_t* counts, uint64_t n, uint8_t* context) {
    memset(context, 0, (size_t)n);
    for (int c = 1; c < BF_CONTEXTS; ++c) {
        uint64_t most = n;
        for (uint64_t k = 0; k < n; ++k)
            if (context[k] == 0 && (most == n || counts[k] > counts[most])) most = k;
        if (most < n) context[most] = (uint8_t)c;
    }
}

/* n values of so many bytes, a stream for each of these, the highest first. known: contexts of the values, or NULL. */
static void bf_planes(bf_loader* l, uint64_t n, size_t size, const uint8_t* known, uint8_t* out) {
    for (size_t place = size; place-- > 0;) {
        uint64_t counts[256] = {0};
        uint8_t context[256];
        bf_next_stream(l);
        const int way = bf_byte(l), by_byte_above = way == 2 && place < size - 1;
        bf_require(l, way == 0 ? l->in.n == n : way == 1 || by_byte_above || (way == 3 && known != NULL), BF_CODED);
        if (way > 0) bf_start(l, way == 1 ? 1 : BF_CONTEXTS);
        for (uint64_t i = 0; i < n && by_byte_above; ++i) ++counts[out[i * size + place + 1]];
        bf_contexts(counts, 256, context);
        for (uint64_t i = 0; i < n; ++i) {
            uint8_t* to = out + i * size + place;
            *to = way == 0 ? l->in.at[i] : bf_symbol(l, by_byte_above ? context[to[1]] : way == 3 ? known[i] : 0);
        }
        if (way > 0) bf_finish_stream(l);
    }
}

/* Thresholds as numbers in a table of those that their feature often has; features[i] is that of value i. */
static void bf_decode_table(bf_loader* l, uint64_t n, const int32_t* features, uint8_t* out) {
    const uint64_t d = (uint64_t)l->forest->n_features;
    uint8_t *sizes = (uint8_t*)bf_take(l, &l->scratch, d, 4), *context = (uint8_t*)bf_take(l, &l->scratch, d, 1);
    uint8_t *numbers = (uint8_t*)bf_take(l, &l->scratch, n, 2), *known = (uint8_t*)bf_take(l, &l->scratch, n, 1);
    uint64_t* first = (uint64_t*)bf_take(l, &l->scratch, d + 1, sizeof *first);
    uint64_t *counts = (uint64_t*)bf_take(l, &l->scratch, d, sizeof *counts), n_others = 0;
    bf_planes(l, d, 4, NULL, sizes);
    for (uint64_t i = 0; i < d; ++i) first[i + 1] = first[i] + bf_bits(sizes + 4 * i, 4);
    bf_require(l, first[d] <= n, BF_CODED);
    uint8_t* table = (uint8_t*)bf_take(l, &l->scratch, first[d], 8);
    bf_planes(l, first[d], 8, NULL, table);
    for (uint64_t i = 0; i < n; ++i) ++counts[features[i]];
    bf_contexts(counts, d, context);
    for (uint64_t i = 0; i < n; ++i) known[i] = context[features[i]];
    bf_planes(l, n, 2, known, numbers);
    for (uint64_t i = 0; i < n; ++i) n_others += bf_bits(numbers + 2 * i, 2) == 0;
    uint8_t* others = (uint8_t*)bf_take(l, &l->scratch, n_others, 8);
    bf_planes(l, n_others, 8, NULL, others);
    for (uint64_t i = 0; i < n; ++i) {
        const uint64_t number = bf_bits(numbers + 2 * i, 2), j = first[features[i]];
        bf_require(l, number <= first[features[i] + 1] - j, BF_CODED);
        memcpy(out + 8 * i, number == 0 ? others : table + 8 * (j + number - 1), 8);
        others += number == 0 ? 8 : 0;
    }
}

/* Rows of some values. Ways 5 to 7: bits say whether a row differs from the one before, and the rows that do follow.
 * place: where each row belongs; NULL: they are in order. */
static void bf_decode_rows(bf_loader* l, int way, uint64_t n_rows, size_t n_bytes, size_t size, const int64_t* place,
                           uint8_t* out) {
    uint8_t* bits = (uint8_t*)bf_take(l, &l->scratch, n_rows / 8 + 1, 1);
    int32_t* features = (int32_t*)bf_take(l, &l->scratch, way == 7 ? n_rows : 0, sizeof *features);
    uint64_t n = 0;
    memset(bits, 0xff, (size_t)(n_rows / 8 + 1));
    if (way >= 5 && way <= 7) bf_planes(l, (n_rows + 7) / 8, 1, NULL, bits);
    bf_require(l, n_rows == 0 || bf_bit(bits, 0), BF_CODED);
    for (uint64_t i = 0; i < n_rows; ++i) {
        if (way == 7 && bf_bit(bits, i)) features[n] = l->forest->feature[place[i]];
        n += bf_bit(bits, i);
    }
    uint8_t* values = (uint8_t*)bf_take(l, &l->scratch, n, n_bytes);
    if (way == 7)
        bf_decode_table(l, n, features, values);
    else
        bf_planes(l, n * (n_bytes / size), size, NULL, values);
    for (uint64_t i = 0; i < n_rows; ++i) {
        values += i > 0 && bf_bit(bits, i) ? n_bytes : 0;
        memcpy(out + (place == NULL ? i : (uint64_t)place[i]) * n_bytes, values, n_bytes);
    }
}

/* Inner nodes: in their order or, by_level, tree by tree those of the least depth first. Returns their number. */
static uint64_t bf_inner_nodes(bf_loader* l, int by_level, int64_t* place) {
    int32_t *depth = l->open, *first = (int32_t*)bf_take(l, &l->scratch, l->n_nodes + 1, sizeof *first);
    uint64_t n = 0;
    for (int32_t t = 0; t < l->forest->n_trees; ++t) { /* first: per depth the inner nodes before it */
        const int64_t start = l->forest->tree_start[t], n_nodes = l->forest->tree_start[t + 1] - start;
        const int32_t* left = l->left + start;
        memset(first, 0, (size_t)n_nodes * sizeof *first);
        depth[0] = 0;
        for (int64_t i = 0; i < n_nodes; ++i) {
            if (left[i] == 0) continue;
            depth[left[i]] = depth[left[i] + 1] = by_level ? depth[i] + 1 : 0;
            ++first[depth[i] + 1];
        }
        for (int64_t k = 1; k < n_nodes; ++k) first[k] += first[k - 1];
        for (int64_t i = 0; i < n_nodes; ++i)
            if (left[i] != 0) place[n + (uint64_t)first[depth[i]]++] = start + i;
        n += (uint64_t)(n_nodes - 1) / 2;
    }
    return n;
}

/* Trees depth first, left before right, into `order`; with bits (is a node split?) `all` left children follow. */
static void bf_walk(bf_loader* l, int32_t* all, const uint8_t* bits) {
    uint8_t* is_seen = (uint8_t*)bf_take(l, &l->scratch, l->n_nodes, 1);
    for (int32_t t = 0; t < l->forest->n_trees; ++t) {
        const int64_t start = l->forest->tree_start[t], n = l->forest->tree_start[t + 1] - start;
        int32_t *open = l->open, *left = all + start, next = 1;
        int64_t n_open = 1;
        open[0] = 0;
        for (int64_t i = start; i < start + n; ++i) {
            const int32_t node = n_open > 0 ? open[--n_open] : 0;
            bf_require(l, !is_seen[start + node]++, BF_TREES);
            if (bits != NULL && bf_bit(bits, (uint64_t)i)) left[node] = next, next += 2;
            l->order[i] = node;
            if (left[node] == 0) continue;
            bf_require(l, left[node] > node && left[node] < n - 1, BF_TREES);
            open[n_open++] = left[node] + 1;
            open[n_open++] = left[node];
        }
        bf_require(l, n_open == 0, BF_TREES);
    }
}

/* A coefficient in units that are 2^shift times as small, rounded, within what eight bits hold. */
static int bf_shifted(int value, int shift) {
    if (shift >= 0) return (int)bf_clip(value * (shift >= 8 ? 256 : 1 << shift), -127, 127);
    return shift < -8 ? 0 : (value + (1 << (-shift - 1))) >> -shift;
}

static unsigned bf_context_of(uint32_t size) { /* half octaves */
    unsigned octave = 0;
    while (size >> octave > 1) ++octave;
    const unsigned context = size < 2 ? size : 2 * octave + (size >> (octave - 1) & 1);
    return context < 25 ? context : 25;
}

/* Coefficients of eight bits: models in an order in which neighbours are alike, in contexts of how large they are. */
static void bf_decode_params(bf_loader* l, int has_differences, int8_t* out) {
    const bf_forest* f = l->forest;
    uint32_t* sizes = NULL;
    int64_t n_sizes = -1;
    bf_next_stream(l);
    bf_start(l, 26);
    for (int64_t tree = 0; tree < f->n_trees; ++tree) {
        const int64_t start = f->tree_start[tree], n = f->tree_start[tree + 1] - start;
        const int64_t group = 1 + f->n_inputs[tree], per_model = group * f->n_outputs;
        const int8_t *before = NULL, *exponent_before = NULL;
        if (n_sizes != per_model) {
            sizes = (uint32_t*)bf_take(l, &l->scratch, (uint64_t)(n_sizes = per_model), sizeof *sizes);
            for (int64_t j = 0; j < per_model; ++j) sizes[j] = 64;
        }
        for (int64_t i = 0; i < n; ++i) {
            const int64_t node = f->sum_path[tree] ? i : l->order[start + i];
            const int64_t model = f->sum_path[tree] ? node - (n > 1) : f->left[start + node];
            if (f->sum_path[tree] ? model < 0 : f->feature[start + node] >= 0) continue;
            const int8_t* exponent = f->params.exponent + f->first_model[tree] + model * f->n_outputs;
            int8_t* own = out + f->first_param[tree] + model * per_model;
            uint32_t here = 64;
            for (int64_t j = 0; j < per_model; ++j) {
                const int8_t value = (int8_t)bf_symbol(l, bf_context_of((3 * sizes[j] + 2 * here) / 8));
                const int expected = has_differences && before != NULL
                                         ? bf_shifted(before[j], exponent_before[j / group] - exponent[j / group])
                                         : 0;
                own[j] = (int8_t)(uint8_t)(value + expected);
                sizes[j] = (3 * sizes[j] + 16 * (uint32_t)abs(value) + 2) / 4;
                here = (7 * here + 16 * (uint32_t)abs(value) + 4) / 8;
            }
            before = own, exponent_before = exponent;
        }
    }
    bf_finish_stream(l);
}

/* Puts a coded column into memory for its values, the lowest byte of each first. */
static void bf_decode(bf_loader* l, const char* name, const bf_tensor* t, uint8_t* out) {
    const int way = t->data.at[0], is_params = strcmp(name, "params") == 0 && t->type == BF_I8;
    const int is_split = (way == 1 || way == 6 || (way == 7 && strcmp(name, "threshold") == 0)) && l->left != NULL;
    const size_t size = bf_size(t->type), n_planes = size + (way == 5 || way == 6);
    const size_t n_streams = way == 7 ? 23 : way >= 2 && way <= 4 ? 1 : n_planes;
    bf_require(l, t->data.n >= 1 + 8 * n_streams, BF_CODED);
    l->lengths = t->data.at + 1;
    l->streams.at = l->lengths + 8 * n_streams, l->streams.n = t->data.n - 1 - 8 * n_streams;
    if (way == 0) {
        bf_decode_rows(l, way, t->n, size, size, NULL, out);
    } else if (is_split && t->n == l->n_nodes) {
        int64_t* place = (int64_t*)bf_take(l, &l->scratch, t->n / 2 + 1, sizeof *place);
        memset(out, strcmp(name, "feature") == 0 ? 0xff : 0, (size_t)t->n * size); /* leaves have -1 or 0 */
        bf_decode_rows(l, way, bf_inner_nodes(l, way > 1, place), size, size, place, out);
    } else if (way == 2 && strcmp(name, "left") == 0) {
        bf_next_stream(l);
        bf_require(l, l->in.n == (l->n_nodes + 7) / 8, BF_CODED);
        bf_walk(l, (int32_t*)(void*)out, l->in.at);
    } else if (way == 5) {
        const uint64_t n_rows = strcmp(name, "absent") == 0 ? (uint64_t)l->forest->n_trees : t->n;
        bf_require(l, t->n > 0 && t->n % n_rows == 0, BF_CODED);
        bf_decode_rows(l, way, n_rows, (size_t)(t->n / n_rows) * size, size, NULL, out);
    } else if (way == 8 && t->type == BF_I64 && t->n > 0) {
        bf_decode_rows(l, way, t->n - 1, size, size, NULL, out + size);
        for (uint64_t i = 1, total = 0; i < t->n; ++i) {
            total += bf_bits(out + 8 * i, 8);
            for (int k = 0; k < 8; ++k) out[8 * i + (uint64_t)k] = (uint8_t)(total >> 8 * k);
        }
    } else {
        bf_require(l, (way == 3 || way == 4) && is_params, BF_CODED);
        bf_decode_params(l, way == 4, (int8_t*)out);
    }
}

/* The values of a tensor, which must be there, in the right type and number. */
static void* bf_read(bf_loader* l, const char* name, int type, uint64_t n) {
    const bf_tensor t = bf_find(l, name);
    const size_t size = bf_size(type);
    const int one = 1;
    bf_require(l, t.data.at != NULL && t.type == type && t.n == n, BF_TENSOR);
    const int is_native = t.is_coded && t.data.at[0] == 2; /* children, counted here */
    uint8_t* out = (uint8_t*)bf_take(l, &l->kept, n, size);
    if (t.is_coded)
        bf_decode(l, name, &t, out);
    else
        memcpy(out, t.data.at, t.data.n);
    for (uint64_t i = 0; *(const char*)&one == 0 && !is_native && i < n; ++i) /* the highest byte is first here */
        for (size_t k = 0; k < size / 2; ++k) {
            const uint8_t byte = out[i * size + k];
            out[i * size + k] = out[(i + 1) * size - 1 - k];
            out[(i + 1) * size - 1 - k] = byte;
        }
    return out;
}

static const double* bf_doubles(bf_loader* l, const char* name, uint64_t n) { /* that are finite */
    const double* values = (const double*)bf_read(l, name, BF_F64, n);
    for (uint64_t i = 0; i < n; ++i) bf_require(l, isfinite(values[i]) != 0, BF_TENSOR);
    return values;
}

/* Ends of parts: each has at least so many, and the last is the total. Starts have a 0 in front. */
static const int64_t* bf_ends(bf_loader* l, const char* name, uint64_t n, int has_zero, int64_t least, uint64_t total) {
    const int64_t *all = (const int64_t*)bf_read(l, name, BF_I64, n + (uint64_t)has_zero), *ends = all + has_zero;
    bf_require(l, !has_zero || all[0] == 0, BF_TENSOR);
    for (uint64_t i = 0; i < n; ++i) {
        const int64_t before = i > 0 ? ends[i - 1] : 0;
        bf_require(l, ends[i] >= before && ends[i] - before >= least, BF_TENSOR);
    }
    bf_require(l, (n > 0 ? (uint64_t)ends[n - 1] : 0) == total, BF_TENSOR);
    return all;
}

static float bf_half(uint16_t bits) {
    const int power = bits >> 10 & 31, digits = bits & 1023;
    const float size = power == 31 ? (digits ? NAN : INFINITY)
                                   : ldexpf((float)(digits + (power ? 1024 : 0)), (power ? power : 1) - 25);
    return bits >> 15 ? -size : size;
}

/* Coefficients, or ends of clip ranges, which may be infinite. */
static bf_values bf_read_values(bf_loader* l, const char* name, uint64_t n, int is_finite, const int8_t* exponent) {
    const int type = bf_find(l, name).type;
    const void* values = bf_read(l, name, type, n);
    float* floats = (float*)bf_take(l, &l->kept, type == BF_F16 ? n : 0, sizeof(float));
    for (uint64_t i = 0; type == BF_F16 && i < n; ++i) floats[i] = bf_half(((const uint16_t*)values)[i]);
    bf_values out = {NULL, NULL, NULL, exponent};
    if (type == BF_F64) out.f64 = (const double*)values;
    if (type == BF_F32) out.f32 = (const float*)values;
    if (type == BF_F16) out.f32 = floats;
    if (type == BF_I8 && exponent != NULL) out.i8 = (const int8_t*)values;
    bf_require(l, out.f64 != NULL || out.f32 != NULL || out.i8 != NULL, BF_TENSOR);
    for (uint64_t i = 0; out.i8 == NULL && i < n; ++i) {
        const double value = bf_range(&out, (int64_t)i);
        bf_require(l, is_finite ? isfinite(value) != 0 : !isnan(value), BF_TENSOR);
    }
    return out;
}

/* Where the models and coefficients of trees are; returns the number of models, times outputs. */
static uint64_t bf_read_shapes(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n_trees = bf_find(l, "kind").n, n_hidden = bf_has(l, "hidden") ? bf_find(l, "hidden").n : 0;
    const int64_t n_all = (int64_t)bf_find(l, "params").n;
    int32_t* n_inputs = (int32_t*)bf_take(l, &l->kept, n_trees, sizeof(int32_t));
    int64_t *first_model = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t)), n_models = 0;
    int64_t *first_param = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t)), n_params = 0;
    bf_require(l, n_trees > 0, BF_TREES);
    bf_require(l, n_trees < INT32_MAX, BF_TOO_LARGE);
    f->n_trees = (int32_t)n_trees;
    f->kind = (const uint8_t*)bf_read(l, "kind", BF_U8, n_trees);
    f->sum_path = (const uint8_t*)bf_read(l, "sum_path", BF_BOOL, n_trees);
    f->tree_start = bf_ends(l, "tree_start", n_trees, 1, 1, l->n_nodes);
    f->hidden = bf_has(l, "hidden") ? bf_doubles(l, "hidden", n_hidden) : NULL;
    f->first_hidden = bf_has(l, "hidden") ? bf_ends(l, "hidden_start", n_trees, 1, 0, n_hidden)
                                          : (const int64_t*)bf_take(l, &l->kept, n_trees + 1, sizeof(int64_t));
    for (int32_t t = 0; t < f->n_trees; ++t) {
        const int64_t n = f->tree_start[t + 1] - f->tree_start[t], own = f->sum_path[t] ? n - (n > 1) : (n + 1) / 2;
        const int64_t layer = f->first_hidden[t + 1] - f->first_hidden[t], per_unit = 1 + (int64_t)f->n_seen;
        const int64_t units = layer / per_unit;
        bf_require(l, f->kind[t] != 255, BF_NETWORKS);
        bf_require(l, f->kind[t] <= BF_HIDDEN && f->sum_path[t] <= (f->n_outputs == 1), BF_TREES);
        bf_require(l, f->kind[t] == BF_HIDDEN ? units > 0 && units * per_unit == layer : layer == 0, BF_TREES);
        bf_require(l, n < INT32_MAX && units < INT32_MAX, BF_TOO_LARGE);
        n_inputs[t] = f->kind[t] == BF_HIDDEN ? (int32_t)units : f->kind[t] == BF_LINEAR ? f->n_seen : 0;
        bf_require(l, own * f->n_outputs <= (n_all - n_params) / (1 + n_inputs[t]), BF_TREES);
        f->most_inputs = n_inputs[t] > f->most_inputs ? n_inputs[t] : f->most_inputs;
        first_model[t] = n_models, first_param[t] = n_params;
        n_models += own * f->n_outputs;
        n_params += own * f->n_outputs * (1 + (int64_t)n_inputs[t]);
    }
    f->n_inputs = n_inputs, f->first_model = first_model, f->first_param = first_param;
    bf_require(l, n_params == n_all, BF_TREES);
    return (uint64_t)n_models;
}

static void bf_read_trees(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = l->n_nodes = bf_find(l, "left").n, n_models = bf_read_shapes(l);
    const int8_t* exponent = NULL;
    l->order = (int32_t*)bf_take(l, &l->scratch, n, sizeof(int32_t));
    l->open = (int32_t*)bf_take(l, &l->scratch, n + 2, sizeof(int32_t));
    int32_t* left = (int32_t*)bf_read(l, "left", BF_I32, n);
    bf_walk(l, left, NULL);
    f->left = l->left = left; /* what is coded by splits needs it, and thresholds need their features */
    f->feature = (const int32_t*)bf_read(l, "feature", BF_I32, n);
    f->missing_left = (const uint8_t*)bf_read(l, "missing_left", BF_U8, n);
    for (uint64_t i = 0; i < n; ++i) {
        const int is_feature = f->feature[i] >= 0 && f->feature[i] < f->n_features;
        bf_require(l, (left[i] == 0 ? f->feature[i] == -1 : is_feature) && f->missing_left[i] <= 1, BF_TREES);
    }
    f->threshold = bf_doubles(l, "threshold", n);
    l->left = NULL; /* leaves get numbers now: nothing else may be coded by splits */
    for (int32_t t = 0; t < f->n_trees; ++t)
        for (int64_t i = f->tree_start[t], n_leaves = 0; i < f->tree_start[t + 1]; ++i)
            if (left[i] == 0) left[i] = (int32_t)n_leaves++;
    if (memchr(f->sum_path, 1, (size_t)f->n_trees) != NULL) {
        f->lower = bf_read_values(l, "lower", n, 0, NULL);
        f->upper = bf_read_values(l, "upper", n, 0, NULL);
        for (int64_t i = 0; i < (int64_t)n; ++i)
            bf_require(l, bf_range(&f->lower, i) <= bf_range(&f->upper, i), BF_TREES);
    }
    if (bf_find(l, "params").type == BF_I8) exponent = (const int8_t*)bf_read(l, "exponent", BF_I8, n_models);
    f->params.exponent = exponent; /* which decoding coefficients needs */
    f->params = bf_read_values(l, "params", bf_find(l, "params").n, 1, exponent);
}

static size_t bf_put(uint32_t c, char* out) { /* as UTF-8; a lone half of a pair as three bytes */
    const int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int k = n - 1; k > 0; --k, c >>= 6) out[k] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
    return (size_t)n;
}

/* Text of a number: as few digits as give the same one. */
static void bf_print(const bf_tensor* t, uint64_t i, char* out, size_t n) {
    const size_t size = bf_size(t->type);
    const uint64_t bits = bf_bits(t->data.at + i * size, size);
    const uint32_t word = (uint32_t)bits;
    const int is_double = t->type == BF_F64, unused = 64 - 8 * (int)size;
    double value;
    float single;
    memcpy(&single, &word, sizeof single);
    memcpy(&value, &bits, sizeof value);
    single = t->type == BF_F16 ? bf_half((uint16_t)bits) : single;
    if (t->type == BF_BOOL) {
        snprintf(out, n, bits ? "True" : "False");
    } else if (is_double || t->type == BF_F16 || t->type == BF_F32) {
        int digits = 0;
        do snprintf(out, n, "%.*g", ++digits, is_double ? value : (double)single);
        while (digits < 17 && (is_double ? strtod(out, NULL) != value : (float)strtod(out, NULL) != single));
        if (strspn(out, "-0123456789") == strlen(out)) strcat(out, ".0");
        if (strchr(out, *localeconv()->decimal_point) != NULL) *strchr(out, *localeconv()->decimal_point) = '.';
    } else if (t->type == BF_U8 || t->type == BF_U16 || t->type == BF_U32 || t->type == BF_U64) {
        snprintf(out, n, "%llu", (unsigned long long)bits);
    } else {
        snprintf(out, n, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    }
}

static const char* const* bf_read_classes(bf_loader* l) {
    const bf_tensor t = bf_find(l, "classes");
    const int is_number = bf_is(bf_field(l, "classes"), "\"number\"");
    bf_require(l, t.data.at != NULL && t.rows > 0 && (is_number ? t.n == t.rows : t.type == BF_U32), BF_TENSOR);
    bf_require(l, t.rows < INT32_MAX, BF_TOO_LARGE);
    const char** names = (const char**)bf_take(l, &l->kept, t.rows, sizeof(char*));
    char* text = (char*)bf_take(l, &l->kept, is_number ? 32 * t.rows : 4 * t.n + t.rows, 1);
    for (uint64_t i = 0; i < t.rows; ++i) {
        names[i] = text;
        if (is_number) bf_print(&t, i, text, 32);
        for (uint64_t k = 0; k < t.n / t.rows && !is_number; ++k) {
            const uint32_t c = (uint32_t)bf_bits(t.data.at + 4 * (i * (t.n / t.rows) + k), 4);
            bf_require(l, c <= 0x10ffff, BF_TENSOR);
            if (c > 0) text += bf_put(c, text);
        }
        text += is_number ? 32 : 1;
    }
    l->forest->n_classes = (int32_t)t.rows;
    return names;
}

static void bf_read_target(bf_loader* l) {
    static const char* const losses[] = {"huber", "absolute_error", "quantile", "poisson", "gamma", "tweedie", "aft"};
    bf_forest* f = l->forest;
    const bf_span loss = bf_field(l, "loss"), name = bf_get(l, l->metadata, "estimator");
    int k = 0;
    f->factor = 1;
    f->n_outputs = 1;
    if (bf_is(name, "BoostTreeClassifier") || bf_is(name, "BoostForestClassifier")) {
        f->class_names = bf_read_classes(l);
        f->n_outputs = f->n_classes > 2 ? f->n_classes : 1;
        f->link = f->n_classes > 2 ? BF_SOFTMAX : BF_SIGMOID;
        return;
    }
    bf_require(l, bf_is(name, "BoostTreeRegressor") || bf_is(name, "BoostForestRegressor"), BF_HEADER);
    if (loss.at != NULL && !bf_is(loss, "null")) {
        while (k < 7 && bf_get(l, loss, losses[k]).at == NULL) ++k;
        bf_require(l, k < 7, BF_LOSS);
        f->link = k < 3 ? BF_IDENTITY : k < 6 ? BF_LOG : BF_EXP_OF_MEAN;
    }
    f->target_mean = *bf_doubles(l, "target_mean", 1);
    f->target_scale = *bf_doubles(l, "target_scale", 1);
    bf_require(l, f->target_scale > 0, BF_TENSOR);
}

/* A level that is a number; NaN if no double is equal to it, text is then not a way to write one either. */
static double bf_parse_number(bf_loader* l, const char* text) {
    const size_t n = strlen(text);
    char digits[512], *end;
    bf_require(l, n > 0 && n <= 400 && strspn(text, "0123456789+-.eE") == n, BF_TABLE);
    memcpy(digits, text, n + 1);
    if (strchr(digits, '.') != NULL) *strchr(digits, '.') = *localeconv()->decimal_point;
    const double value = strtod(digits, &end);
    bf_require(l, *end == 0, BF_TABLE);
    if (strspn(text, "-0123456789") < n) return value;
    if (isfinite(value)) snprintf(digits, sizeof digits, "%.0f", value);
    return isfinite(value) && (strcmp(digits, text) == 0 || value == 0) ? value : NAN;
}

/* Texts of all levels, and the numbers that those stand for which are not text. */
static void bf_read_levels(bf_loader* l, uint64_t n, const char** texts) {
    const uint64_t n_bytes = bf_find(l, "level_text").n;
    const int64_t* ends = bf_ends(l, "level_end", n, 0, 0, n_bytes);
    const char* from = (const char*)bf_read(l, "level_text", BF_U8, n_bytes);
    char* text = (char*)bf_take(l, &l->kept, n_bytes + n, 1);
    for (uint64_t i = 0; i < n; ++i) {
        const size_t begin = i > 0 ? (size_t)ends[i - 1] : 0, size = (size_t)ends[i] - begin;
        texts[i] = (char*)memcpy(text + begin + i, from + begin, size);
        bf_require(l, strlen(texts[i]) == size, BF_ZERO_IN_TEXT);
    }
}

static void bf_read_columns(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = bf_find(l, "column_kind").n, n_levels = bf_find(l, "level_end").n;
    const uint64_t n_means = bf_find(l, "level_means").n,
                   n_basis = bf_has(l, "class_basis") ? bf_find(l, "class_basis").n : 0;
    const uint8_t* kind = (const uint8_t*)bf_read(l, "column_kind", BF_U8, n);
    const uint8_t* missing = (const uint8_t*)bf_read(l, "level_missing", BF_BOOL, n);
    const uint8_t* is_text = (const uint8_t*)bf_read(l, "level_is_text", BF_BOOL, n);
    const int64_t* start = bf_ends(l, "level_start", n, 1, 0, n_levels);
    const double* means = bf_doubles(l, "level_means", n_means);
    const int64_t n_targets = n_basis > 0 ? (int64_t)(n_basis / (uint64_t)f->n_outputs) : f->n_outputs;
    const char** texts = (const char**)bf_take(l, &l->kept, n_levels, sizeof(char*));
    double* numbers = (double*)bf_take(l, &l->kept, n_levels, sizeof(double));
    bf_column* columns = (bf_column*)bf_take(l, &l->kept, n, sizeof(bf_column));
    int64_t n_features = 0, n_used = 0;
    bf_require(l, n_targets > 0 && n_targets < INT32_MAX && n_basis % (uint64_t)f->n_outputs == 0, BF_TABLE);
    bf_require(l, n < INT32_MAX && n_levels < INT32_MAX, BF_TOO_LARGE);
    bf_read_levels(l, n_levels, texts);
    for (uint64_t j = 0; j < n; ++j) {
        const int64_t first = start[j], n_known = start[j + 1] - first, levels = n_known + missing[j];
        bf_column* c = &columns[j];
        bf_require(l, kind[j] <= BF_MEANS || kind[j] > 6, BF_COLUMNS); /* 4 to 6: left out, dates, text */
        bf_require(l, kind[j] <= BF_MEANS && missing[j] <= 1 && (kind[j] >= BF_ONE_HOT) == (levels > 0), BF_TABLE);
        bf_require(l, !is_text[j] || n_known > 0, BF_TABLE);
        for (int64_t i = first; i < first + n_known; ++i) {
            if (!is_text[j]) numbers[i] = bf_parse_number(l, texts[i]);
            bf_require(l, !is_text[j] || i == first || strcmp(texts[i - 1], texts[i]) < 0, BF_TABLE);
        }
        c->kind = kind[j], c->n_levels = (int32_t)levels, c->missing = missing[j];
        c->texts = levels > 0 ? texts + first : NULL;
        c->numbers = levels > 0 && !is_text[j] ? numbers + first : NULL;
        c->n_features = kind[j] == BF_MEANS    ? (int32_t)n_targets
                        : kind[j] < BF_ONE_HOT ? 1 + kind[j]
                        : levels == 2          ? 1
                                               : (int32_t)levels;
        n_features += c->n_features;
        if (kind[j] != BF_MEANS) continue;
        c->means = means + n_used;
        bf_require(l, levels <= ((int64_t)n_means - n_used) / n_targets, BF_TABLE);
        n_used += levels * n_targets;
    }
    f->columns = columns;
    f->n_columns = (int32_t)n;
    bf_require(l, n_features == f->n_features && n_used == (int64_t)n_means, BF_TABLE);
}

static long bf_escaped(bf_span c) { /* \uXXXX; -1: it is not that */
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    long value = 0;
    if (c.n < 6 || c.at[0] != '\\' || c.at[1] != 'u') return -1;
    for (int k = 2; k < 6; ++k) {
        const char* at = (const char*)memchr(digits, c.at[k], 32);
        if (at == NULL) return -1;
        value = 16 * value + (at - digits) % 16;
    }
    return value;
}

/* A string of JSON without its escapes. */
static const char* bf_text(bf_loader* l, bf_span c) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char *text = (char*)bf_take(l, &l->kept, (uint64_t)c.n + 1, 1), *out = text;
    for (size_t n_read; c.n > 0; c.at += n_read, c.n -= n_read) {
        const char* plain = c.n > 1 && c.at[0] == '\\' ? (const char*)memchr(from, c.at[1], 8) : NULL;
        const long one = bf_escaped(c);
        const bf_span rest = {c.at + 6, c.n - 6};
        const long two = one >> 10 == 0x36 ? bf_escaped(rest) : -1; /* the other half of a pair */
        n_read = two >> 10 == 0x37 ? 12 : one >= 0 ? 6 : plain != NULL ? 2 : 1;
        if (n_read < 6) *out++ = plain != NULL ? to[plain - from] : (char)c.at[0];
        if (n_read == 6) out += bf_put((uint32_t)one, out);
        if (n_read == 12) out += bf_put((uint32_t)(0x10000 + ((one & 0x3ff) << 10 | (two & 0x3ff))), out);
    }
    return text;
}

static const char* const* bf_read_names(bf_loader* l, int32_t n) {
    bf_span names = bf_field(l, "feature_names");
    const int has_names = bf_char(&names, '[');
    const char** texts = (const char**)bf_take(l, &l->kept, (uint64_t)n, sizeof(char*));
    for (int32_t i = 0; i < n; ++i) {
        char* own = (char*)bf_take(l, &l->kept, 16, 1);
        snprintf(own, 16, "x%d", (int)i);
        bf_require(l, !has_names || i == 0 || bf_char(&names, ','), BF_TABLE);
        texts[i] = has_names ? bf_text(l, bf_value(l, &names)) : own;
    }
    bf_require(l, !has_names || bf_char(&names, ']'), BF_TABLE);
    return texts;
}

static void bf_read_table(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = bf_find(l, "feature_mean").n;
    bf_require(l, n > 0 && bf_has(l, "feature_mean"), BF_TENSOR);
    bf_require(l, n < INT32_MAX, BF_TOO_LARGE);
    f->n_features = f->n_columns = f->n_seen = (int32_t)n;
    f->mean = bf_doubles(l, "feature_mean", n);
    f->scale = bf_doubles(l, "feature_scale", n);
    for (uint64_t i = 0; i < n; ++i) bf_require(l, f->scale[i] > 0, BF_TENSOR);
    if (bf_has(l, "fill")) {
        bf_require(l, n <= 256, BF_TABLE);
        f->fill = bf_doubles(l, "fill", n * (n + 1));
    }
    if (bf_has(l, "model_features")) {
        f->n_seen = (int32_t)bf_find(l, "model_features").n;
        f->seen = (const int32_t*)bf_read(l, "model_features", BF_I32, (uint64_t)f->n_seen);
        for (int32_t i = 0; i < f->n_seen; ++i)
            bf_require(l, f->seen[i] > (i > 0 ? f->seen[i - 1] : -1) && f->seen[i] < f->n_features, BF_TABLE);
    }
    if (bf_has(l, "column_kind")) bf_read_columns(l);
    bf_require(l, bf_count(l, bf_field(l, "n_features")) == (uint64_t)f->n_columns, BF_TABLE);
    f->column_names = bf_read_names(l, f->n_columns);
}

static void bf_read_knots(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = bf_find(l, "knot_x").n, n_outputs = (uint64_t)f->n_outputs;
    const double *x = bf_doubles(l, "knot_x", n), *y = bf_doubles(l, "knot_y", n);
    const int64_t* start = bf_ends(l, "knot_start", n_outputs, 1, 1, n);
    double* knots = (double*)bf_take(l, &l->kept, 2 * n, sizeof(double));
    int32_t* counts = (int32_t*)bf_take(l, &l->kept, n_outputs, sizeof(int32_t));
    for (uint64_t i = 0; i < n_outputs; ++i) {
        const int64_t first = start[i], own = start[i + 1] - first;
        for (int64_t k = first; k < first + own; ++k) {
            bf_require(l, y[k] > 0 && y[k] < 1, BF_STAGES);
            bf_require(l, k == first || (x[k - 1] <= x[k] && y[k - 1] <= y[k]), BF_STAGES);
            knots[first + k] = x[k];
            knots[first + k + own] = y[k];
        }
        counts[i] = (int32_t)own;
    }
    f->knots = knots;
    f->n_knots = counts;
}

static void bf_read_stages(bf_loader* l) {
    bf_forest* f = l->forest;
    const int has_stages = bf_has(l, "stage_end");
    const uint64_t n = has_stages ? bf_find(l, "stage_end").n : 1;
    int64_t* units = (int64_t*)bf_take(l, &l->kept, n, sizeof(int64_t));
    double* step = (double*)bf_take(l, &l->kept, 1, sizeof(double));
    bf_require(l, n > 0 && n <= (uint64_t)f->n_trees, BF_STAGES);
    units[0] = f->n_trees, step[0] = 1;
    f->n_stages = (int32_t)n;
    f->stage_end = has_stages ? bf_ends(l, "stage_end", n, 0, 1, (uint64_t)f->n_trees) : units;
    f->stage_step = has_stages ? bf_doubles(l, "stage_step", n) : step;
    for (uint64_t i = 0; i < n && has_stages; ++i) units[i] = f->stage_end[i] - (i > 0 ? f->stage_end[i - 1] : 0);
    f->stage_units = units;
    if (bf_has(l, "stage_units")) f->stage_units = (const int64_t*)bf_read(l, "stage_units", BF_I64, n);
    for (uint64_t i = 0; i < n; ++i)
        bf_require(l, f->stage_units[i] > 0 && f->stage_units[i] <= units[i] && f->stage_step[i] >= 0, BF_STAGES);
    if (bf_has(l, "calibration_factor")) f->factor = *bf_doubles(l, "calibration_factor", 1);
    bf_require(l, f->factor > 0, BF_STAGES);
    if (bf_has(l, "knot_start") && f->n_classes > 0) bf_read_knots(l);
}

/* Errors of training rows; trees of a boosted bag have one seed, and share a row of bits. */
static void bf_read_intervals(bf_loader* l) {
    bf_forest* f = l->forest;
    const uint64_t n = bf_find(l, "residuals").n, n_trees = (uint64_t)f->n_trees;
    const uint8_t* seeds = (const uint8_t*)bf_read(l, "tree_seeds", BF_U64, n_trees);
    int64_t *rows = (int64_t*)bf_take(l, &l->kept, n_trees, sizeof(int64_t)), t = 0;
    bf_require(l, n < INT32_MAX, BF_TOO_LARGE);
    f->residuals = bf_doubles(l, "residuals", n);
    f->absent = (const uint8_t*)bf_read(l, "absent", BF_U8, n_trees * ((n + 7) / 8));
    if (bf_has(l, "residual_weight")) f->residual_weight = bf_doubles(l, "residual_weight", n);
    for (uint64_t i = 0; i < n; ++i)
        bf_require(l, f->residuals[i] >= 0 && (f->residual_weight == NULL || f->residual_weight[i] > 0), BF_STAGES);
    for (int32_t stage = 0; stage < f->n_stages; ++stage)
        for (const int64_t first = t; t < f->stage_end[stage]; ++t) {
            const int is_bag = f->stage_units[stage] < f->stage_end[stage] - first;
            rows[t] = is_bag && t > first && memcmp(seeds + 8 * t, seeds + 8 * (t - 1), 8) == 0 ? -1 : t;
        }
    f->absent_row = rows;
    f->n_residuals = (int32_t)n;
}

static void bf_read_file(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    const uint64_t length = n_bytes > 8 ? bf_bits(bytes, 8) : UINT64_MAX;
    char digits[64];
    bf_require(l, n_bytes > 8 && length <= n_bytes - 8 && length <= 1 << 24, BF_NOT_A_MODEL);
    l->header.at = bytes + 8, l->header.n = (size_t)length;
    l->data.at = bytes + 8 + length, l->data.n = n_bytes - 8 - (size_t)length;
    l->metadata = bf_get(l, l->header, "__metadata__");
    if (l->metadata.at == l->header.at + 16) { /* in the front, as they are written: tensors are behind them */
        l->header.at = l->metadata.at + l->metadata.n;
        l->header.n = (size_t)(l->data.at - l->header.at);
    }
    bf_require(l, l->metadata.at != NULL, BF_NOT_A_MODEL);
    bf_require(l, bf_is(bf_get(l, l->metadata, "format"), "boostforest"), BF_NOT_A_MODEL);
    const uint64_t version = bf_count(l, bf_get(l, l->metadata, "format_version"));
    bf_require(l, version > 0, BF_HEADER);
    bf_require(l, version <= 5, BF_NEWER);
    const bf_span seal = bf_get(l, l->metadata, "sha256");
    bf_require(l, seal.n == 64 && memcmp(seal.at - 10, "\"sha256\":\"", 10) == 0, BF_CHECKSUM);
    bf_digest(bytes, n_bytes, (size_t)(seal.at - bytes), digits);
    bf_require(l, memcmp(digits, seal.at, 64) == 0, BF_CHECKSUM);
    bf_require(l, !bf_has(l, "network"), BF_NETWORKS);
    bf_require(l, !bf_has(l, "monotonic_cst"), BF_CONSTRAINTS);
    bf_require(l, !bf_has(l, "sparse_chosen"), BF_COLUMNS);
    bf_require(l, !bf_has(l, "target_end"), BF_TARGETS);
    l->coded = bf_field(l, "coded");
    l->forest = (bf_forest*)bf_take(l, &l->kept, 1, sizeof(bf_forest));
    l->slots = (uint32_t (*)[4096])bf_take(l, &l->scratch, BF_CONTEXTS, sizeof *l->slots);
    bf_read_target(l);
    bf_read_table(l);
    bf_read_trees(l);
    bf_read_stages(l);
    if (bf_has(l, "residuals") && l->forest->n_classes == 0) bf_read_intervals(l);
}

static int bf_try(bf_loader* l, const uint8_t* bytes, size_t n_bytes) {
    if (setjmp(l->failed) != 0) return 0;
    bf_read_file(l, bytes, n_bytes);
    return 1;
}

BF_API bf_forest* bf_load(const void* bytes, size_t n_bytes, int* status) {
    bf_loader l;
    memset(&l, 0, sizeof l);
    if (bf_try(&l, (const uint8_t*)bytes, n_bytes)) {
        l.forest->memory = l.kept;
    } else {
        bf_free(l.kept);
        l.forest = NULL;
    }
    bf_free(l.scratch);
    if (status != NULL) *status = l.status;
    return l.forest;
}

BF_API bf_forest* bf_open(const char* path, int* status) {
    FILE* file = fopen(path, "rb");
    uint8_t *bytes = NULL, *more = NULL;
    size_t n = 0, room = 1 << 16;
    int failed = BF_NO_FILE;
    while (file != NULL && n == (bytes == NULL ? 0 : room)) { /* until less than was asked for is there */
        more = (uint8_t*)realloc(bytes, room *= 2);
        if (more == NULL) break;
        bytes = more;
        n += fread(bytes + n, 1, room - n, file);
    }
    if (file != NULL && more == NULL) failed = BF_NO_MEMORY;
    if (file != NULL && more != NULL && !ferror(file)) failed = BF_OK;
    bf_forest* forest = failed == BF_OK ? bf_load(bytes, n, &failed) : NULL;
    if (file != NULL) fclose(file);
    free(bytes);
    if (status != NULL) *status = failed;
    return forest;
}

BF_API void bf_close(bf_forest* forest) {
    if (forest != NULL) bf_free((bf_block*)forest->memory);
}

#endif
