// A file of manifests: its documents, and where in the file a field stands.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manta::cli {

struct Manifest {
  std::string source = {};  // the file's name, for messages
  std::string text = {};
  std::vector<Json> documents = {};
};

/// Reads a file ("-": standard input). Fails with FILE:LINE:COLUMN on broken YAML, and on a
/// document that is no Kubernetes object.
Result<Manifest> load_manifest(const std::string& file);
Result<Manifest> parse_manifest(std::string source, std::string text);

struct Place {
  int line = 0;  // from 1
  int column = 0;
};
/// Where spec.workerGroupSpecs[0].replicas stands in the n-th document; or the nearest parent of it
/// that is there. Nothing when the text cannot be read.
std::optional<Place> find_place(const Manifest& manifest, std::size_t document,
                                std::string_view field);

/// The server's complaint about the n-th document, a line for each field with its place.
std::string explain_rejection(const Manifest& manifest, std::size_t document, const Error& error);

}  // namespace manta::cli
