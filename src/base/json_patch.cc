// RFC 6902, with RFC 6901 pointers.
#include "base/json.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manta {
namespace {

using Tokens = std::vector<std::string>;

Result<Tokens> parse_pointer(std::string_view text) {
  Tokens tokens;
  if (text.empty()) return tokens;
  if (text[0] != '/')
    return failed(ErrorCode::BadRequest,
                  fmt::format("path {:?} must be empty or start with /", text));
  std::string token;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      tokens.push_back(std::exchange(token, {}));
    } else if (text[i] == '~') {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (next != '0' && next != '1')
        return failed(ErrorCode::BadRequest, fmt::format("path {:?}: ~ must be ~0 or ~1", text));
      token += next == '0' ? '~' : '/';
      ++i;
    } else {
      token += text[i];
    }
  }
  return tokens;
}

std::optional<std::size_t> parse_index(std::string_view token) {
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  if (read.ec != std::errc{} || read.ptr != token.data() + token.size()) return std::nullopt;
  return index;
}

Json* step(Json& at, std::string_view token) {
  if (auto* object = at.if_object()) return object->if_contains(token);
  if (auto* array = at.if_array()) {
    const auto index = parse_index(token);
    if (index && *index < array->size()) return &(*array)[*index];
  }
  return nullptr;
}

Json* lookup(Json& root, const Tokens& tokens, std::size_t count) {
  Json* at = &root;
  for (std::size_t i = 0; i < count && at; ++i) at = step(*at, tokens[i]);
  return at;
}

std::unexpected<Error> missing() {
  return failed(ErrorCode::Invalid, "no such location in the document");
}

Result<void> add(Json& root, const Tokens& tokens, Json value) {
  if (tokens.empty()) {
    root = std::move(value);
    return {};
  }
  Json* parent = lookup(root, tokens, tokens.size() - 1);
  if (!parent) return missing();
  if (auto* object = parent->if_object()) {
    (*object)[tokens.back()] = std::move(value);
    return {};
  }
  auto* array = parent->if_array();
  if (!array) return missing();
  const auto index = tokens.back() == "-" ? array->size() : parse_index(tokens.back());
  if (!index || *index > array->size())
    return failed(ErrorCode::Invalid,
                  fmt::format("index {:?} must be - or at most {}", tokens.back(), array->size()));
  array->insert(array->begin() + *index, std::move(value));
  return {};
}

Result<Json> take(Json& root, const Tokens& tokens) {
  if (tokens.empty()) return std::exchange(root, nullptr);
  Json* parent = lookup(root, tokens, tokens.size() - 1);
  Json* at = parent ? step(*parent, tokens.back()) : nullptr;
  if (!at) return missing();
  Json taken = std::move(*at);
  if (auto* object = parent->if_object())
    object->erase(tokens.back());
  else
    parent->get_array().erase(parent->get_array().begin() + *parse_index(tokens.back()));
  return taken;
}

Result<Tokens> pointer_of(const Json& operation, std::string_view field) {
  const Json* text = find(operation, {field});
  if (!text || !text->is_string())
    return failed(ErrorCode::BadRequest, fmt::format("{:?} is missing or no string", field));
  return parse_pointer(string_at(operation, {field}));
}

bool is_prefix(const Tokens& a, const Tokens& b) {
  return a.size() < b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// What copies may add up to: a dozen of them, each copying what the last one made, would fill the
/// memory. The limits are the API server's.
constexpr std::size_t kMaxCopied = 3u << 20;
constexpr std::size_t kMaxOperations = 10'000;
/// As deep as what is read may nest.
constexpr int kMaxDepth = 128;

bool deeper_than(const Json& value, int depth) {
  if (const auto* object = value.if_object())
    return depth == 0 || std::ranges::any_of(*object, [depth](const auto& member) {
             return deeper_than(member.value(), depth - 1);
           });
  if (const auto* array = value.if_array())
    return depth == 0 || std::ranges::any_of(*array, [depth](const Json& element) {
             return deeper_than(element, depth - 1);
           });
  return false;
}

Result<void> apply(Json& root, const Json& operation, std::size_t& copied) {
  const auto op = string_at(operation, {"op"});
  const auto path = pointer_of(operation, "path");
  if (!path) return failed(path.error());
  if (op == "remove") {
    auto taken = take(root, *path);
    if (!taken) return failed(taken.error());
    return {};
  }
  if (op == "move" || op == "copy") {
    const auto from = pointer_of(operation, "from");
    if (!from) return failed(from.error());
    if (op == "move" && is_prefix(*from, *path))
      return failed(ErrorCode::Invalid, "cannot move a value into itself");
    if (op == "move") {
      auto taken = take(root, *from);
      if (!taken) return failed(taken.error());
      return add(root, *path, std::move(*taken));
    }
    const Json* source = lookup(root, *from, from->size());
    if (!source) return missing();
    copied += dump_json(*source).size();
    if (copied > kMaxCopied)
      return failed(ErrorCode::TooLarge,
                    fmt::format("the copies add up to more than {} bytes", kMaxCopied));
    Json copy = *source;
    return add(root, *path, std::move(copy));
  }
  if (op != "add" && op != "replace" && op != "test")
    return failed(ErrorCode::BadRequest,
                  fmt::format("op {:?} must be add, remove, replace, move, copy or test", op));
  const Json* value = find(operation, {"value"});
  if (!value) return failed(ErrorCode::BadRequest, "\"value\" is missing");
  if (op == "add") return add(root, *path, *value);
  Json* at = lookup(root, *path, path->size());
  if (!at && op == "replace") {
    // RFC 6902 has it fail, kube-apiserver's library does not, and Ray's autoscaler counts on that:
    // it "replaces" a scaleStrategy that no one has written yet. Source: evanphx/json-patch v4.
    const Json* parent = lookup(root, *path, path->size() - 1);
    return parent && parent->is_object() ? add(root, *path, *value) : missing();
  }
  if (!at) return missing();
  if (op == "replace") {
    *at = *value;
    return {};
  }
  if (!(*at == *value))
    return failed(ErrorCode::Invalid, fmt::format("test failed: the value is {}", dump_json(*at)));
  return {};
}

}  // namespace

Result<void> json_patch(Json& target, const Json& operations) {
  const auto* list = operations.if_array();
  if (!list) return failed(ErrorCode::BadRequest, "a JSON patch must be an array of operations");
  if (list->size() > kMaxOperations)
    return failed(ErrorCode::TooLarge,
                  fmt::format("a JSON patch of {} operations; the allowed maximum is {}",
                              list->size(), kMaxOperations));
  Json work = target;
  std::size_t copied = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto applied = apply(work, (*list)[i], copied);
    if (!applied)
      return failed(
          applied.error().in(fmt::format("operation {} ({} {})", i, string_at((*list)[i], {"op"}),
                                         string_at((*list)[i], {"path"}))));
  }
  if (deeper_than(work, kMaxDepth))
    return failed(ErrorCode::Invalid,
                  fmt::format("the patched object is nested more than {} levels deep", kMaxDepth));
  target = std::move(work);
  return {};
}

}  // namespace manta
