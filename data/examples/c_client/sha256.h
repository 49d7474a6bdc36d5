/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104) of whole texts. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t turn(uint32_t x, int by) { return x >> by | x << (32 - by); }
static void sha256(const void *data, size_t size, uint8_t out[32]) {
    static uint32_t k[64];
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint32_t w[64], v[8];
    for (int prime = 2, n = 0, divisor; !k[63]; prime++) {  /* the first 32 bits of the cube roots of 64 primes */
        for (divisor = 2; prime % divisor; divisor++) continue;
        if (divisor == prime) k[n++] = (uint32_t)floor(ldexp(fmod(cbrt(prime), 1), 32));
    }
    size_t padded = (size + 72) / 64 * 64;
    uint8_t *whole = calloc(1, padded), *text = whole;
    if (!whole) exit(3);
    memcpy(text, data, size);
    text[size] = 0x80;
    for (int i = 0; i < 8; i++) text[padded - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    for (; padded; padded -= 64, text += 64) {
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)text[4 * i] << 24 | text[4 * i + 1] << 16 | text[4 * i + 2] << 8 | text[4 * i + 3];
        for (int i = 16; i < 64; i++)
            w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7]
                 + (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6]))
                         + k[i] + w[i];
            uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += one, v[0] = one + two;
        }
        for (int i = 0; i < 8; i++) h[i] += v[i];
    }
    free(whole);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(h[i / 4] >> (24 - i % 4 * 8));
}
static void hmac(const uint8_t *key, size_t size, const void *data, size_t length, uint8_t out[32]) {
    uint8_t block[64] = {0}, *inner = calloc(1, 64 + length), outer[96];
    if (!inner) exit(3);
    if (size > 64) sha256(key, size, block); else memcpy(block, key, size);
    for (int i = 0; i < 64; i++) inner[i] = block[i] ^ 0x36, outer[i] = block[i] ^ 0x5c;
    memcpy(inner + 64, data, length);
    sha256(inner, 64 + length, outer + 64), sha256(outer, 96, out), free(inner);
}
