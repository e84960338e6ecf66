#include "cli/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace manta::cli {
namespace {

/// Whole, and without buffering of our own: two programs may share the terminal.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader has gone; there is nobody to tell
    text.remove_prefix(std::size_t(written));
  }
}

}  // namespace

double Console::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Console::say(std::string_view text) const {
  write_all(2, fmt::format("[{:6.1f}s] {}\n", elapsed_seconds(), text));
}

void Console::warn(std::string_view text) const { say(fmt::format("warning: {}", text)); }

void Console::output(std::string_view text) const { write_all(1, text); }

void print_error(std::string_view text) { write_all(2, fmt::format("manta: {}\n", text)); }

}  // namespace manta::cli
