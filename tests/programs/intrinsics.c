/* Proves: instructions that the program asks for by name (gathers, masked loads and stores, stores past the cache) are ordered by what they access. */
/* Without their checks, all of twelve recordings replayed differently. Where the processor does not have AVX2, only the older ones are tried. */
// RUN: %rr %s %t
// SOAK: 2 4
#include "common.h"
#include <immintrin.h>

static _Alignas(64) uint32_t words[128];

static NOINLINE uint64_t load(uint64_t h) __attribute__((target("sse3")));
static NOINLINE uint64_t load(uint64_t h) {
    __m128i x = _mm_lddqu_si128((const __m128i *)(const void *)((char *)words + h % 480));
    return (uint64_t)_mm_cvtsi128_si64(x);
}
static NOINLINE void store_masked(uint64_t h) {
    _mm_maskmoveu_si128(_mm_set1_epi8((char)(h >> 7)), _mm_set1_epi64x((long long)(h * 77)), (char *)words + h % 480);
}
__attribute__((target("avx2"))) static NOINLINE uint64_t gather(uint64_t h) {
    __m256i at = _mm256_and_si256(_mm256_set1_epi32((int)h), _mm256_setr_epi32(127, 63, 31, 125, 126, 7, 93, 119));
    __m256i x = _mm256_i32gather_epi32((const int *)words, at, 4);
    return (uint64_t)_mm256_extract_epi64(x, 1) ^ (uint64_t)_mm256_extract_epi64(x, 2);
}
__attribute__((target("avx2"))) static NOINLINE uint64_t gather_masked(uint64_t h) {
    __m128i at = _mm_set_epi64x((long long)(h % 60), (long long)(h >> 8) % 60);
    __m128i x = _mm_mask_i64gather_epi64(_mm_set1_epi64x(5), (const long long *)(const void *)words, at, _mm_set1_epi64x((long long)h), 8);
    return (uint64_t)_mm_cvtsi128_si64(x);
}
__attribute__((target("avx2"))) static NOINLINE uint64_t masked(uint64_t h) {
    __m256i mask = _mm256_set1_epi64x((long long)(h * 77)), x = _mm256_maskload_epi32((const int *)words + h % 120, mask);
    _mm256_maskstore_epi32((int *)words + (h >> 9) % 120, mask, _mm256_set1_epi32((int)h));
    return (uint64_t)_mm256_extract_epi64(x, 1);
}

static int avx2;

static uint64_t cook(int me) {
    uint64_t s = seed_of(me), h = s;
    for (long i = 0; i < rounds; i++) {
        uint32_t r = rnd(&s);
        switch (r % (avx2 ? 6 : 3)) {
        case 0: h = mix(h, load(h)); break;
        case 1: store_masked(h); break;
        case 2: h = mix(h, words[r >> 8 & 127]), words[r >> 16 & 127] = (uint32_t)h; break;
        case 3: h = mix(h, gather(h)); break;
        case 4: h = mix(h, gather_masked(h)); break;
        case 5: h = mix(h, masked(h)); break;
        }
    }
    return h;
}

int main(int argc, char **argv) {
    avx2 = __builtin_cpu_supports("avx2");
    args(argc, argv, 4, 3000);
    return finish(mix_bytes(together(cook), words, sizeof words));
}
