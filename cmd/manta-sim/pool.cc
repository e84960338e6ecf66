// A seed makes and drops tens of millions of small JSON values on one thread; with the C library's
// allocator that is a third of its time. This one keeps a list of free pieces for each size, and
// gives none back: a process that runs seeds needs at the end what it needed at its largest.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MANTA_SIM_NO_POOL  // those watch the C library's
#endif
#endif

#ifndef MANTA_SIM_NO_POOL

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

constexpr std::size_t kStep = 16;         // sizes differ by this
constexpr std::size_t kLargest = 4096;    // larger pieces are the C library's
constexpr std::size_t kBlock = 1 << 16;   // pieces of one size share a block
constexpr std::size_t kAll = 1ull << 36;  // of address space; memory only as it is used

struct Piece {
  Piece* next;
};

// One thread runs seeds, and nothing else in this process allocates beside it.
struct Pool {
  std::byte* begin = nullptr;
  std::byte* unused = nullptr;
  std::array<Piece*, kLargest / kStep + 1> free = {};
  std::array<std::uint16_t, kAll / kBlock> steps_of_block = {};

  bool owns(const void* piece) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(piece) - begin) < kAll && begin;
  }

  bool refill(std::size_t steps) {
    if (!begin) {
      void* made = mmap(nullptr, kAll, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) return false;
      begin = unused = static_cast<std::byte*>(made);
    }
    if (unused + kBlock > begin + kAll) return false;
    auto* block = std::exchange(unused, unused + kBlock);
    steps_of_block[static_cast<std::size_t>(block - begin) / kBlock] =
        static_cast<std::uint16_t>(steps);
    const auto size = steps * kStep;
    for (std::size_t at = kBlock / size; at-- > 0;) {
      auto* piece = reinterpret_cast<Piece*>(block + at * size);
      piece->next = std::exchange(free[steps], piece);
    }
    return true;
  }

  void* take(std::size_t size) {
    const auto steps = size == 0 ? 1 : (size + kStep - 1) / kStep;
    if (size > kLargest || (!free[steps] && !refill(steps))) {
      if (void* piece = std::malloc(size)) return piece;
      throw std::bad_alloc();
    }
    return std::exchange(free[steps], free[steps]->next);
  }

  void give_back(void* piece) {
    if (!owns(piece)) return std::free(piece);
    const auto block = static_cast<std::size_t>(static_cast<std::byte*>(piece) - begin) / kBlock;
    auto* freed = static_cast<Piece*>(piece);
    freed->next = std::exchange(free[steps_of_block[block]], freed);
  }
};

constinit Pool pool;

}  // namespace

void* operator new(std::size_t size) { return pool.take(size); }
void operator delete(void* piece) noexcept { pool.give_back(piece); }
void operator delete(void* piece, std::size_t) noexcept { pool.give_back(piece); }

#endif
