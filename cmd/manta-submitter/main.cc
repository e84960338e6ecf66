// manta-submitter [flags] [--] ENTRYPOINT…: src/submitter/README.md.
#include "submitter/run.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace {

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(file, text.data(), text.size());
    if (written <= 0) return;  // nobody reads any more
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return manta::submitter::run(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
      {.environment = [](std::string_view name) -> std::optional<std::string> {
         const char* value = std::getenv(std::string(name).c_str());
         return value ? std::optional<std::string>(value) : std::nullopt;
       },
       .out = [](std::string_view text) { write_all(STDOUT_FILENO, text); },
       .err = [](std::string_view text) { write_all(STDERR_FILENO, text); },
       .sleep = [](std::chrono::milliseconds span) { std::this_thread::sleep_for(span); }});
}
