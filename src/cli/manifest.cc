#include "cli/manifest.h"

#include "base/yaml.h"
#include "local/images/image_index.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

namespace manta::cli {
namespace {

/// "line 3, column 7: …" → "FILE:3:7: …", as compilers say it and editors read it.
std::string with_place(const std::string& source, const std::string& message) {
  std::string_view rest = message;
  const auto skip = [&](std::string_view words) {
    if (!rest.starts_with(words)) return false;
    rest.remove_prefix(words.size());
    return true;
  };
  const auto number = [&] {
    const auto digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    rest.remove_prefix(digits.size());
    return digits;
  };
  (void)skip("YAML: ");
  if (skip("line "))
    if (const auto line = number(); !line.empty() && skip(", column "))
      if (const auto column = number(); !column.empty() && skip(": "))
        return fmt::format("{}:{}:{}: {}", source, line, column, rest);
  return source + ": " + message;
}

/// The field paths that a strict decoding error names: unknown field "spec.foo".
std::vector<std::pair<std::string, std::string>> named_fields(const Error& error) {
  std::vector<std::pair<std::string, std::string>> found;
  // "<nil>" is the server's way of saying that it stopped looking: no field, so no line to show.
  for (const auto& cause : error.causes)
    if (cause.field != "<nil>") found.emplace_back(cause.field, cause.message);
  if (!found.empty()) return found;
  constexpr std::string_view kField = " field \"";
  std::string_view rest = error.message;
  for (std::size_t at; (at = rest.find(kField)) != rest.npos;) {
    const auto before = rest.substr(0, at);
    rest.remove_prefix(at + kField.size());
    for (const std::string_view kind : {"unknown", "duplicate"})
      if (const auto end = rest.find('"'); before.ends_with(kind) && end != rest.npos && end > 0)
        found.emplace_back(rest.substr(0, end), fmt::format("{} field", kind));
  }
  return found;
}

}  // namespace

Result<Manifest> parse_manifest(std::string source, std::string text) {
  auto documents = parse_yaml(text);
  if (!documents) {
    auto error = documents.error();
    error.message = with_place(source, error.message);
    return failed(std::move(error));
  }
  if (documents->empty()) return failed(ErrorCode::Invalid, source + ": it holds no object");
  Manifest manifest{std::move(source), std::move(text), std::move(*documents)};
  for (std::size_t i = 0; i < manifest.documents.size(); ++i) {
    for (const auto* field : {"apiVersion", "kind"}) {
      if (!string_at(manifest.documents[i], {field}).empty()) continue;
      const auto place = find_place(manifest, i, "").value_or(Place{1, 1});
      return failed(ErrorCode::Invalid,
                    fmt::format("{}:{}:{}: document {} has no {}: not a Kubernetes object",
                                manifest.source, place.line, place.column, i + 1, field));
    }
  }
  return manifest;
}

Result<Manifest> load_manifest(const std::string& file) {
  if (file == "-") {
    std::ostringstream text;
    text << std::cin.rdbuf();
    return parse_manifest("standard input", text.str());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return failed(ErrorCode::Invalid, file + ": is a directory, not a manifest");
  auto text = local::read_file(file);
  if (!text) return failed(text.error());
  return parse_manifest(file, std::move(*text));
}

std::string explain_rejection(const Manifest& manifest, std::size_t document, const Error& error) {
  const auto fields = named_fields(error);
  if (fields.empty()) {
    const auto place = find_place(manifest, document, "").value_or(Place{1, 1});
    return fmt::format("{}:{}:{}: {}", manifest.source, place.line, place.column, error.message);
  }
  std::string text;
  for (const auto& [field, message] : fields) {
    const auto place = find_place(manifest, document, field).value_or(Place{1, 1});
    text += fmt::format("{}{}:{}:{}: {}: {}", text.empty() ? "" : "\n", manifest.source, place.line,
                        place.column, field, message);
  }
  return text;
}

}  // namespace manta::cli
