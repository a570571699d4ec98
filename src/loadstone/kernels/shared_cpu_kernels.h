// Vectors of the machine at hand, and the register kernels that the fused pass is made of: see shared_cpu.cc.

#pragma once

#include <cstdint>
#include <limits>

// Accumulators, two vectors a row, must fit into the registers: 32 of them with AVX-512, 16 below.
#if defined(__AVX512F__)
constexpr int LANES = 16, ROWS = 12;
#elif defined(__AVX__)
constexpr int LANES = 8, ROWS = 6;
#else
constexpr int LANES = 4, ROWS = 6;
#endif
constexpr int WIDTH = 2 * LANES;

typedef float Vec __attribute__((vector_size(LANES * 4)));
// Unsigned, because a shift of a signed number may overflow.
typedef uint32_t Word __attribute__((vector_size(LANES * 4)));

constexpr float INF = std::numeric_limits<float>::infinity();

static Vec load(const float* p) { Vec v; __builtin_memcpy(&v, p, sizeof v); return v; }
static void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }

static float highest_of(Vec v) {
  float lane[LANES];
  store(lane, v);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
  return lane[0];
}

static float sum_of(Vec v) {
  float sum = 0;
  for (int lane = 0; lane < LANES; ++lane) sum += v[lane];
  return sum;
}

// c[ROWS][N * LANES] (+)= a[ROWS][depth] b[depth][N * LANES]; a may be given by its transpose.
template <int N, bool ADD, bool TRANSPOSED = false>
static void product(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t depth, float* c,
                    int64_t c_stride) {
  Vec sum[ROWS][N];
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) sum[r][v] = ADD ? load(c + r * c_stride + v * LANES) : Vec{};
  for (int64_t k = 0; k < depth; ++k) {
    Vec row[N];
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) row[v] = load(b + k * b_stride + v * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < N; ++v) sum[r][v] += (TRANSPOSED ? a[k * a_stride + r] : a[r * a_stride + k]) * row[v];
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) store(c + r * c_stride + v * LANES, sum[r][v]);
}

// c[ROWS][2] += a[ROWS][depth] b[depth][2], each sum as LANES partial sums. b lies in panels of WIDTH along the depth,
// `panel` apart, with its two columns WIDTH apart: the way in which the first product has its outputs.
static void dots(const float* a, int64_t a_stride, const float* b, int64_t panel, int64_t depth, float* c,
                 int64_t c_stride) {
  Vec sum[ROWS][2];
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) sum[r][0] = load(c + r * c_stride), sum[r][1] = load(c + r * c_stride + LANES);
  for (int64_t k = 0; k < depth; k += LANES) {
    const float* place = b + k / WIDTH * panel + k % WIDTH;
    const Vec first = load(place), second = load(place + WIDTH);
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; ++r) {
      const Vec row = load(a + r * a_stride + k);
      sum[r][0] += row * first;
      sum[r][1] += row * second;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < ROWS; ++r) store(c + r * c_stride, sum[r][0]), store(c + r * c_stride + LANES, sum[r][1]);
}

// exp(x) for x <= 0, within 2 units in the last place; 0 below -87. Not-a-number passes through.
static Vec exponential(Vec x) {
  const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  Vec shifted = x * 1.44269504f + round;
  Vec n = shifted - round;
  Vec r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  Vec y = 1.0f + r * (1.0f + r * (0.499999940f + r * (0.166666761f + r * (4.16663848e-2f + r * (8.33336171e-3f
          + r * (1.39338802e-3f))))));
  Vec scale = (Vec)(((Word)shifted << 23) + 0x3f800000u);
  return (x < -87.0f) ? Vec{} : y * scale;
}
