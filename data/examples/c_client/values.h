/* Values of JSON and of a canonical scheme, in memory that is released at once; what cannot be parsed is refused. */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEME = 1, RECORD, WORDS };
static const char *const REFUSED[] = {"", "scheme", "record", "words"};
static jmp_buf failed;
static void refuse(int what) { longjmp(failed, what); }

static void *blocks;
static void *room(size_t size) {
    void **block = calloc(1, size + 32);
    if (!block) exit(3);
    return *block = blocks, blocks = block, (char *)block + 16;
}
static char *copy(const char *from, size_t size) { return memcpy(room(size), from, size); }  /* ends in a zero byte */

/* text is also the numeral of a number, and true or false */
typedef struct Value {
    enum { NIL, BOOLEAN, NUMBER, TEXT, LIST, TABLE } kind;
    char *key, *text;
    struct Value *first, *next;
} Value;
static const char *at;  /* what is parsed next */
static int cause;       /* what is refused if it cannot be parsed */

static Value *get(const Value *table, const char *key) {
    Value *one = table && table->kind == TABLE ? table->first : NULL;
    while (one && strcmp(one->key, key)) one = one->next;
    return one;
}
static Value *put(Value *parent, char *key, int kind, char *text) {
    Value **end = &parent->first, *child = room(sizeof *child);
    if (key && get(parent, key)) refuse(cause);
    while (*end) end = &(*end)->next;
    return child->kind = kind, child->key = key, child->text = text, *end = child;
}
static void blanks(void) { at += strspn(at, " \t\r\n"); }
static void expect(char letter) { blanks(); if (*at++ != letter) refuse(cause); }
static uint32_t four_digits(void) {
    char digits[5] = {0}, *end;
    uint32_t code = (uint32_t)strtoul(strncpy(digits, at, 4), &end, 16);
    if (end != digits + 4) refuse(cause);
    return at += 4, code;
}
static char *string(void) {
    static const char *escapes = "\"\"\\\\//b\bf\fn\nr\rt\t";
    expect('"');
    char *text = room(strlen(at)), *end = text;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 32) refuse(cause);
        if (*at != '\\') { *end++ = *at; continue; }
        const char *escape = *++at == 'u' ? NULL : strchr(escapes, *at);
        if (escape) { *end++ = escape[1]; continue; }
        if (*at++ != 'u') refuse(cause);
        uint32_t code = four_digits();
        if (code >> 10 == 0xd800 >> 10 && at[0] == '\\' && at[1] == 'u')  /* the first half of a pair */
            at += 2, code = (code << 10) + four_digits() - 0x35fdc00;
        int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        *end++ = (char)(more ? (0xf80 >> more & 0xff) | code >> 6 * more : code);
        while (more--) *end++ = (char)(0x80 | (code >> 6 * more & 63));
        at--;
    }
    return at++, text;
}
static Value *parse(Value *parent, char *key) {
    blanks();
    if (*at == '"') return put(parent, key, TEXT, string());
    if (*at == '[' || *at == '{') {
        char end = *at++ == '[' ? ']' : '}', *name = NULL;
        Value *value = put(parent, key, end == ']' ? LIST : TABLE, NULL);
        for (blanks(); *at != end; blanks()) {
            if (end == '}') name = string(), expect(':');
            parse(value, name), blanks();
            if (*at != end) expect(',');
        }
        return at++, value;
    }
    size_t size = strcspn(at, " \t\r\n,]}");
    if (!size) refuse(cause);
    int kind = *at == 'n' ? NIL : *at == 't' || *at == 'f' ? BOOLEAN : NUMBER;
    return at += size, put(parent, key, kind, copy(at - size, size));
}
static char *key_of(void) {
    size_t size = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    if (*at == '"') return string();
    if (!size) refuse(cause);
    return at += size, copy(at - size, size);
}
static Value *parse_scheme(const char *text) {
    Value *root = room(sizeof *root), *table = root;
    root->kind = TABLE;
    for (at = text, blanks(); *at; blanks()) {
        if (*at != '[') { char *key = key_of(); expect('='), parse(table, key); continue; }
        table = root;
        do {
            char *key = (at++, key_of());
            table = get(table, key) ? get(table, key) : put(table, key, TABLE, NULL);
        } while (*at == '.');
        expect(']');
    }
    return root;
}

