// crdgen DIR          writes the CustomResourceDefinitions
// crdgen --check DIR  exits 1 when a file there differs from what would be written
#include "ray/crd.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  return !out.fail();
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (!check && (argc != 2 || argv[1][0] == '-')) {
    fmt::print(stderr, "usage: crdgen [--check] DIR\n");
    return 2;
  }
  const std::filesystem::path folder = argv[argc - 1];
  int result = 0;
  for (const auto& crd : manta::ray::ray_crds()) {
    const auto path = folder / crd.file;
    const auto text = manta::ray::crd_yaml(crd);
    if (check && read_file(path) != text) {
      fmt::print(stderr, "{} is stale; run: crdgen {}\n", path.string(), folder.string());
      result = 1;
    } else if (!check && !write_file(path, text)) {
      fmt::print(stderr, "cannot write {}: {}\n", path.string(), std::strerror(errno));
      result = 1;
    }
  }
  return result;
}
