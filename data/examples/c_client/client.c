/*
 * A client of randomized response, unary encoding and dyadic wave, written from data/guide/reference/client_specification.md.
 *
 *     cc -std=gnu11 -O2 -Wall -Wextra -o client client.c -lm
 *     ./client                 reads cases and prints reports, for `ldpflow conformance ./client`
 *     ./client --secure        the same with words from the operating system, which the words of a case are not
 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "sha256.h"
#include "values.h"

static const int64_t WORD = (int64_t)1 << 32;

/* ---- bytes as text */
static char *base64url(const uint8_t *data, size_t size) {
    static const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char *text = room(size / 3 * 4 + 4), *end = text;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)data[i] << 16 | (i + 1 < size ? data[i + 1] << 8 : 0) | (i + 2 < size ? data[i + 2] : 0);
        for (size_t j = 0; j < 4 && j <= size - i; j++) *end++ = letters[three >> (18 - 6 * j) & 63];
    }
    return text;
}

/* ---- what a scheme holds */
static const char *text_or(const Value *table, const char *key, const char *otherwise) {
    Value *value = get(table, key);
    if (value ? value->kind != TEXT : !otherwise) refuse(SCHEME);
    return value ? value->text : otherwise;
}
static int is(const Value *table, const char *key, const char *otherwise, const char *text) {
    return !strcmp(text_or(table, key, otherwise), text);
}
static int64_t whole(const Value *value, int64_t least, int64_t most) {
    char *end = "";
    int64_t number = value && value->kind == NUMBER ? strtoll(value->text, &end, 10) : least - 1;
    if (*end || number < least || number > most) refuse(SCHEME);
    return number;
}
static int length(const Value *list) {
    int count = 0;
    if (!list || list->kind != LIST) refuse(SCHEME);
    for (Value *one = list->first; one; one = one->next) count++;
    return count;
}
static int64_t entry(const Value *list, int place, int64_t least, int64_t most) {
    Value *one = list->first;
    while (one && place--) one = one->next;
    return whole(one, least, most);
}

typedef struct { int64_t width, heavy, light, harmonic, outputs, law; } Level;
typedef struct { int64_t inputs, categories, finest, bits, yes, no; int levels; Level level[12]; } Design;

/* The integers of an attribute's mechanism; refuses the scheme where they break its promise. */
static Design design_of(const Value *attribute) {
    Design d = {.levels = 1, .finest = 1};
    Value *client = get(attribute, "client");
    double ratio = 0, epsilon = 0;
    if (is(attribute, "mechanism", NULL, "randomized_response")) {
        d.inputs = d.categories = whole(get(client, "categories"), 2, 10000);
        int64_t light = whole(get(client, "weight_out"), 1, WORD), heavy = whole(get(client, "weight_in"), light + 1, WORD);
        d.level[0] = (Level){1, heavy, light, 0, d.inputs, 65536};
        if (heavy + (d.inputs - 1) * light > WORD) refuse(SCHEME);
        ratio = (double)heavy / (double)light;
    } else if (is(attribute, "mechanism", NULL, "unary_encoding")) {
        d.inputs = d.categories = whole(get(client, "categories"), 2, 10000);
        d.bits = whole(get(client, "coin_bits"), 1, 32);
        d.yes = whole(get(client, "weight_true"), 2, ((int64_t)1 << d.bits) - 1);
        d.no = whole(get(client, "weight_other"), 1, d.yes - 1);
        double total = ldexp(1, (int)d.bits), yes = (double)d.yes, no = (double)d.no;
        ratio = yes * (total - no) / (no * (total - yes));
    } else if (is(attribute, "mechanism", NULL, "dyadic_wave")) {
        Value *law = get(client, "level_law"), *turns = get(client, "harmonics"), *widths = get(client, "widths");
        Value *heavies = get(client, "weights_in"), *lights = get(client, "weights_out");
        int64_t cells = whole(get(client, "cells"), 2, 1024), sum = 0;
        d.levels = length(law);
        if (cells & (cells - 1) || d.levels < 1 || d.levels > 12 || length(widths) != d.levels || length(heavies) != d.levels
            || length(lights) != d.levels || (turns && length(turns) != d.levels)) refuse(SCHEME);
        for (int i = 0; i < d.levels; i++) {
            int64_t k = turns ? entry(turns, i, 0, 4096) : i ? (int64_t)1 << i : 0, width = entry(widths, i, 1, 4096);
            int64_t light = entry(lights, i, 1, WORD), heavy = entry(heavies, i, light + 1, WORD);
            int64_t outputs = k ? cells : cells + width - 1;
            d.level[i] = (Level){width, heavy, light, k, outputs, entry(law, i, 1, 65536)};
            int64_t total = width * heavy + (outputs - width) * light;
            if (k & (k - 1) || width % 2 == 0 || width >= outputs || total >= WORD) refuse(SCHEME);
            d.finest = k > d.finest ? k : d.finest, sum += d.level[i].law, ratio = fmax(ratio, (double)heavy / (double)light);
        }
        if ((d.inputs = cells * d.finest) > 4096 || sum != 65536) refuse(SCHEME);
    } else refuse(SCHEME);
    for (char *part = (char *)text_or(attribute, "epsilon", NULL), *end; *part; part = *end ? end + 3 : end) {
        int is_log = !strncmp(part, "ln ", 3);
        double number = strtod(part + 3 * is_log, &end);
        if (*end == '/') number /= strtod(end + 1, &end);
        if (*end && strncmp(end, " + ", 3)) refuse(SCHEME);
        epsilon += is_log ? log(number) : number;
    }
    if (!(epsilon > 0 && epsilon <= 64 && ratio > 1 && ratio <= exp(epsilon) * (1 + 1e-9))) refuse(SCHEME);
    return d;
}

/* ---- from values to cells */
static char *trimmed(const char *text) {
    size_t size = strlen(text += strspn(text, " \t\n\v\f\r"));
    while (size && strchr(" \t\n\v\f\r", text[size - 1])) size--;
    return copy(text, size);
}
static char *integer(const char *text, size_t size) {  /* -?[0-9]{1,40} without leading zeros, or NULL */
    size_t sign = *text == '-', zeros = strspn(text + sign, "0");
    if (size <= sign || size > sign + 40 || strspn(text + sign, "0123456789") < size - sign) return NULL;
    if (zeros >= size - sign) return "0";
    char *plain = copy(text + zeros, size - zeros);
    return *plain = sign ? '-' : *plain, plain;
}
static int spelled(const Value *table, const char *text) {
    Value *code = get(get(table, "codes"), text);
    int place = 0;
    for (Value *one = get(table, "categories")->first; one; one = one->next, place++)
        if (!strcmp(one->text, code ? code->text : text)) return place;
    return -1;
}
static int category(const Value *table, const Value *value) {
    int found = -1, is_missing = value->kind == NIL;
    Value *lists[] = {get(table, "categories"), get(table, "codes")};
    if (value->kind == LIST || value->kind == TABLE) refuse(RECORD);
    char *text = is_missing ? "" : trimmed(value->text), *point = strchr(text, '.'), digits[32], *best = NULL;
    double number = value->kind == NUMBER ? strtod(value->text, NULL) : 0.5;
    if (fabs(number) < 9007199254740992.0 && number == floor(number)) sprintf(text = digits, "%.0f", number + 0.0);
    else if (value->kind == NUMBER) text = "";
    else if ((found = is_missing ? -1 : spelled(table, value->text)) >= 0) return found;
    else if (point && point[1] && !point[1 + strspn(point + 1, "0")] && integer(text, (size_t)(point - text))) *point = 0;
    for (int i = 0; i < 2; i++)
        for (Value *one = lists[i] ? lists[i]->first : NULL; one && *text; one = one->next) {
            char *name = i ? one->key : one->text, *same = value->kind == NUMBER ? integer(name, strlen(name)) : trimmed(name);
            if (!same || strcmp(same, text)) continue;
            if (value->kind != NUMBER) found = found == -1 || found == spelled(table, name) ? spelled(table, name) : -2;
            else if (!best || (i && get(lists[1], best) && strcmp(name, best) < 0)) found = spelled(table, best = name);
        }
    if (found >= 0) return found;
    if (value->kind == TEXT) {
        char *known = room(strlen(text) + 3);
        sprintf(known, "|%s|", text);
        for (char *letter = known; *letter; letter++) *letter = (char)tolower((unsigned char)*letter);
        is_missing = strstr("||na|n/a|nan|null|none|", known) != NULL;
    }
    if (is_missing ? !is(table, "missing", "refuse", "category") : !is(table, "outside", "refuse", "other")) refuse(RECORD);
    return spelled(table, is_missing ? "missing" : "other");
}
/* A whole number or "a/b"; this client refuses schemes with more than 53 bits of either. */
static void fraction(const Value *value, int64_t *top, int64_t *bottom) {
    char *end = value && (value->kind == NUMBER || value->kind == TEXT) ? value->text : "?";
    *top = strtoll(end, &end, 10), *bottom = *end == '/' ? strtoll(end + 1, &end, 10) : 1;
    if (*end || *bottom < 1 || llabs(*top) >> 53 || *bottom >> 53) refuse(SCHEME);
}
static int numeral(const char *text, double *x) {
    char *from = trimmed(text), *start = from, *end;
    from += strspn(from, "+-") == 1;
    return (isdigit((unsigned char)*from) || (*from == '.' && isdigit((unsigned char)from[1])))
        && strspn(from, "0123456789.eE+-") == strlen(from) && (*x = strtod(start, &end), !*end);
}
static int number_cell(const Value *table, const Value *value, int64_t inputs) {
    int64_t a, b, c, d, spare = is(table, "missing", "refuse", "category") ? inputs / 4 : 0;
    fraction(get(table, "lower"), &a, &b), fraction(get(table, "upper"), &c, &d);
    __int128 top = (__int128)c * b - (__int128)a * d, bottom = (__int128)b * d, m = top, n = bottom;
    for (__int128 rest; n; m = n, n = rest) rest = m % n;
    if (top <= 0 || (top /= m) >> 53 || (bottom /= m) >> 53) refuse(SCHEME);
    if (!value) return 0;
    double lower = (double)a / (double)b, upper = (double)c / (double)d, width = (double)top / (double)bottom, x = 0, code;
    int is_number = (value->kind == NUMBER || value->kind == TEXT) && numeral(value->text, &x);
    int is_missing = value->kind == NIL || (value->kind == TEXT && (!*value->text || get(get(table, "codes"), value->text)));
    for (Value *one = get(table, "codes") ? get(table, "codes")->first : NULL; one && is_number; one = one->next)
        is_missing |= numeral(one->key, &code) && code == x;
    if (is_missing && spare) return (int)inputs - 1;
    if (is_missing || !is_number || (is(table, "outside", "clip", "refuse") && (x < lower || x > upper))) refuse(RECORD);
    double cells = (double)(inputs - spare);
    return (int)fmin(floor((fmin(fmax(x, lower), upper) - lower) / width * cells), cells - 1);
}
/* The cell of a record's value; without a record the domain is checked: inputs are 0 of a label. */
static int cell_of(Value *table, const Value *record, int64_t inputs) {
    const char *column = text_or(table, "column", table->key);
    Value *value = get(record, column) ? get(record, column) : get(record, table->key);
    if (record && !value) refuse(RECORD);
    if (inputs && is(table, "type", NULL, "numeric")) return number_cell(table, value, inputs);
    if (record) return category(table, value);
    int count = length(get(table, "categories"));
    if (is(table, "missing", "refuse", "category") && spelled(table, "missing") < 0)
        put(get(table, "categories"), NULL, TEXT, "missing"), count++;
    if (count < 2 || (inputs && count != inputs)) refuse(SCHEME);
    return count;
}

/* ---- words: given ones, a keyed stream's, or the operating system's */
typedef struct { Value *given; int kind, used; uint8_t seed[40], buffer[32]; } Source;
enum { GIVEN, KEYED, SECURE };
static int64_t next_word(Source *source) {
    uint32_t word = 0;
    if (source->kind == SECURE) return getrandom(&word, 4, 0) == 4 ? word : (exit(3), 0);
    if (source->kind == GIVEN) {
        if (!source->given) refuse(WORDS);
        return word = (uint32_t)strtoul(source->given->text, NULL, 10), source->given = source->given->next, word;
    }
    if (source->used % 8 == 0) sha256(source->seed, 40, source->buffer), source->seed[32]++;  /* few words: one byte counts */
    for (int i = 3; i >= 0; i--) word = word << 8 | source->buffer[source->used % 8 * 4 + i];
    return source->used++, word;
}
static int64_t below(Source *source, int64_t n) {
    for (;;) {
        int64_t word = next_word(source);
        if (word < WORD - WORD % n) return word % n;
    }
}
static Source public_stream(const char *token, const char *digest, const char *name) {
    Source source = {.kind = KEYED};
    uint8_t key[32], *text = room(120 + strlen(name)), *end = text;
    const void *parts[] = {key, digest, name};
    size_t sizes[] = {32, 64, strlen(name)};
    sha256(token, strlen(token), key);
    for (int part = 0; part < 3; part++) {
        for (int i = 0; i < 4; i++) *end++ = (uint8_t)(sizes[part] >> 8 * i);
        end = (uint8_t *)memcpy(end, parts[part], sizes[part]) + sizes[part];
    }
    return sha256(text, (size_t)(end - text), source.seed), source;
}

/* ---- one report */
static uint8_t *packed(uint8_t *end, int64_t value, int64_t highest) {
    do *end++ = (uint8_t)value; while (value >>= 8, highest >>= 8);
    return end;
}
static char *payload(const Design *d, int cell, Source *source, Source *levels) {
    int number = 0;
    if (d->levels > 1)
        for (int64_t drawn = below(levels, 65536); drawn >= d->level[number].law; number++) drawn -= d->level[number].law;
    const Level *level = &d->level[number];
    int64_t size = (d->categories + 31) / 32, last = ((int64_t)1 << (d->categories - 32 * (size - 1))) - 1;
    uint8_t *bytes = room((size_t)(4 * size + 16)), *end = bytes;
    int64_t inside = level->width * level->heavy, drawn, output;
    if (d->levels > 1) *end++ = (uint8_t)number;
    if (d->bits) {
        int64_t *bits = room((size_t)(8 * size));
        for (int bit = 0; bit < d->bits; bit++)
            for (int i = 0; i < size; i++) {
                int64_t word = next_word(source) ^ (WORD - 1);
                bits[i] = d->no >> bit & 1 ? bits[i] | word : bits[i] & word;
            }
        bits[size - 1] &= last, bits[cell / 32] &= ~((int64_t)1 << cell % 32);
        bits[cell / 32] |= (int64_t)(below(source, (int64_t)1 << d->bits) < d->yes) << cell % 32;
        for (int i = 0; i < size; i++) end = packed(end, bits[i], i < size - 1 ? WORD - 1 : last);
        return base64url(bytes, (size_t)(end - bytes));
    }
    drawn = below(source, inside + (level->outputs - level->width) * level->light);
    if (d->categories) {
        output = drawn < inside ? cell : (drawn - inside) / level->light;
        output += drawn >= inside && output >= cell;
    } else {
        int64_t cells = d->inputs / d->finest, k = level->harmonic, phase = cell / (d->finest / (k ? k : 1)) % cells;
        output = drawn < inside ? drawn / level->heavy : level->width + (drawn - inside) / level->light;
        output = (output + (k ? phase + cells - level->width / 2 : phase)) % level->outputs;
    }
    return base64url(bytes, (size_t)(packed(end, output, level->outputs - 1) - bytes));
}
/* Make every attribute's first connected one its group: units in the order of their first attributes. */
static void connect(const Value *attributes, const Value *pairs, int *group, int count) {
    for (const Value *pair = pairs ? pairs->first : NULL; pair; pair = pair->next) {
        int ends[2] = {0, 0}, i = 0;
        for (const Value *one = attributes->first; one; one = one->next, i++) {
            if (!strcmp(pair->first->text, one->key)) ends[0] = i;
            if (!strcmp(pair->first->next->text, one->key)) ends[1] = i;
        }
        int one = group[ends[0]], other = group[ends[1]];
        for (i = 0; i < count; i++) if (group[i] == one || group[i] == other) group[i] = one < other ? one : other;
    }
}

/* Print the report of one record, or leave by `refuse` with nothing printed and, before the id, nothing drawn. */
static void report(Value *scheme, const char *digest, const Value *record, const char *round, const char *token,
                   Source *source) {
    Value *attributes = get(scheme, "attributes"), *labels = get(scheme, "labels"), *one;
    int count = 0, units = 0, chosen = -1, i;
    if (!attributes) refuse(SCHEME);
    for (one = attributes->first; one; one = one->next) count++;
    Design *designs = room(sizeof *designs * (size_t)count);
    int *cells = room(sizeof *cells * (size_t)count), *group = room(sizeof *group * (size_t)count);
    whole(get(scheme, "format"), 1, 1);
    if (get(scheme, "draws")) whole(get(scheme, "draws"), 1, 1);
    for (one = attributes->first, i = 0; one; one = one->next, i++) {
        int is_number = is(one, "type", NULL, "numeric");
        if (get(one, "of") || get(one, "bins") || get(one, "step") || (is_number && get(one, "values"))
            || !strncmp(text_or(one, "unit", ""), "days since", 10)) refuse(SCHEME);
        designs[i] = design_of(one), group[i] = i, cell_of(one, NULL, designs[i].inputs);
    }
    for (one = labels ? labels->first : NULL; one; one = one->next) cell_of(one, NULL, 0);
    for (one = attributes->first, i = 0; one; one = one->next, i++) cells[i] = cell_of(one, record, designs[i].inputs);
    for (one = labels ? labels->first : NULL; one; one = one->next) cell_of(one, record, 0);

    uint8_t bytes[16], *end = bytes;
    for (i = 0; i < 4; i++) end = packed(end, next_word(source), WORD - 1);
    char *id = base64url(bytes, 16), *answers = "";
    if (is(scheme, "reporting", "all", "one")) {
        connect(attributes, get(scheme, "pairs"), group, count);
        for (i = 0; i < count; i++) units += group[i] == i;
        Source stream = public_stream(token ? token : "", digest, "");
        int64_t number = below(token ? &stream : source, units);
        for (i = 0; i < count; i++) if (group[i] == i && number-- == 0) chosen = i;
    }
    for (one = attributes->first, i = 0; one || (one = labels && i == count ? labels->first : NULL); one = one->next, i++) {
        char *text = NULL;
        Source stream = public_stream(token ? token : "", digest, one->key);
        if (i >= count) end = packed(bytes, cell_of(one, record, 0), length(get(one, "categories")) - 1);
        if (i >= count) text = base64url(bytes, (size_t)(end - bytes));
        else if (chosen < 0 || group[i] == chosen) text = payload(&designs[i], cells[i], source, token ? &stream : source);
        char *more = room(strlen(answers) + strlen(one->key) + (text ? strlen(text) : 0) + 8);
        if (text) sprintf(more, "%s%s\"%s\":\"%s\"", answers, *answers ? "," : "", one->key, text), answers = more;
    }
    printf("{\"format\":1,\"scheme\":\"%s\",\"report\":\"%s\",", digest, id);
    if (token) printf("\"client\":\"%s\",", token);
    printf("\"round\":\"%s\",\"answers\":{%s}}\n", round, answers);
}

/* One case: check the bundle's digests, make the token of the secret, report. */
static void answer(const char *line, int kind) {
    Value *root = room(sizeof *root);
    cause = RECORD, at = line, root->kind = TABLE;
    Value *given = parse(root, "case"), *bundle = get(given, "bundle"), *secret = get(given, "secret");
    const char *text = text_or(bundle, "scheme.toml", NULL);
    uint8_t hash[32], key[64];
    char *digest = room(65), *token = NULL, label[80];
    sha256(text, strlen(text), hash);
    for (int i = 0; i < 32; i++) sprintf(digest + 2 * i, "%02x", hash[i]);
    cause = SCHEME, at = text_or(bundle, "manifest.json", NULL);
    if (!is(parse(root, "manifest"), "digest", NULL, digest) || !is(given, "digest", digest, digest)) refuse(SCHEME);
    if (secret && secret->kind == TEXT) {
        size_t size = strlen(secret->text) / 2;
        for (size_t i = 0; i < size && i < sizeof key; i++) {
            char two[] = {secret->text[2 * i], secret->text[2 * i + 1], 0};
            key[i] = (uint8_t)strtoul(two, NULL, 16);
        }
        memcpy(label, "ldpflow token", 14), memcpy(label + 14, digest, 64);
        hmac(key, size < sizeof key ? size : sizeof key, label, 78, hash), token = base64url(hash, 16);
    }
    Source source = {.kind = kind, .given = get(given, "words") ? get(given, "words")->first : NULL};
    report(parse_scheme(text), digest, get(given, "record"), text_or(given, "round", ""), token, &source);
}

int main(int count, char **arguments) {
    static char *line;
    static size_t size;
    int kind = count > 1 && !strcmp(arguments[1], "--secure") ? SECURE : GIVEN;
    while (getline(&line, &size, stdin) > 0) {
        int what = setjmp(failed);
        if (what) printf("{\"refused\":\"%s\"}\n", REFUSED[what]); else answer(line, kind);
        fflush(stdout);
        for (void *next; blocks; blocks = next) next = *(void **)blocks, free(blocks);
    }
    return 0;
}
