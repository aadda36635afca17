// Loads and stores of the first `count` lanes, at most 16, by AVX-512's masks: lanes left out are zero
// or stay as they are, and their memory is not touched. For vector.inl.
#define FORESHARD_MASKED_PARTS

inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}
inline __m512 load_part(const float* p, std::int64_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), p);
}
inline void store_part(float* p, __m512 x, std::int64_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), x);
}
inline __m256i load_part(const std::uint16_t* p, std::int64_t count) {
  return _mm256_maskz_loadu_epi16(first_lanes(count), p);
}
inline void store_part(std::uint16_t* p, __m256i x, std::int64_t count) {
  _mm256_mask_storeu_epi16(p, first_lanes(count), x);
}
