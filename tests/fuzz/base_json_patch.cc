// Patches: RFC 7386 against a reading of its pseudocode, RFC 6902 by its laws.
#include "fuzz/fuzz.h"

using namespace manta;
using namespace manta::fuzz;

// RFC 7386, section 2, as it stands there.
static Json merged(const Json& target, const Json& patch) {
  if (!patch.is_object()) return patch;
  JsonObject result = target.is_object() ? target.get_object() : JsonObject();
  for (const auto& [name, value] : patch.get_object()) {
    if (value.is_null()) {
      if (result.contains(name)) result.erase(name);
    } else {
      const auto* old = result.if_contains(name);
      result[name] = merged(old ? *old : Json(nullptr), value);
    }
  }
  return result;
}

static std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

// A pointer into the document and what it points at; sometimes a step too far.
static std::pair<std::string, const Json*> pointer(Input& in, const Json& document) {
  std::string path;
  const Json* at = &document;
  while (in.number(0, 3) != 0) {
    if (const auto* object = at->if_object(); object && !object->empty()) {
      const auto& member =
          *(object->begin() + in.number<std::ptrdiff_t>(0, static_cast<int>(object->size()) - 1));
      path += "/" + escaped(member.key());
      at = &member.value();
    } else if (const auto* array = at->if_array(); array && !array->empty()) {
      const auto index = in.number<std::size_t>(0, array->size() - 1);
      path += "/" + std::to_string(index);
      at = &(*array)[index];
    } else {
      break;
    }
  }
  if (in.rarely(4)) return {path + "/" + in.text(), nullptr};
  return {path, at};
}

static Json operation(Input& in, const Json& document) {
  JsonObject op;
  op["op"] = in.one_of({"add", "remove", "replace", "move", "copy", "test", "nonsense"});
  op["path"] = pointer(in, document).first;
  if (in.flag()) op["from"] = pointer(in, document).first;
  if (in.flag()) op["value"] = in.json(2);
  return op;
}

static Json one(std::string_view op, std::string_view path, const Json& value) {
  return JsonArray{JsonObject{{"op", op}, {"path", path}, {"value", value}}};
}

FUZZ(data) {
  Input in(data);
  const Json document = in.json(4);
  const Json patch = in.json(4);

  Json target = document;
  merge_patch(target, patch);
  FUZZ_CHECK(target == merged(document, patch), dump_json(document), dump_json(patch),
             dump_json(target));
  Json twice = target;
  merge_patch(twice, patch);
  FUZZ_CHECK(twice == target, dump_json(document), dump_json(patch));

  JsonArray operations;
  for (int n = in.number(0, 4); n > 0; --n) operations.push_back(operation(in, document));
  Json together = document;
  const auto applied = json_patch(together, operations);
  if (!applied) FUZZ_CHECK(together == document, dump_json(document), dump_json(Json(operations)));
  // A list is its operations one after the other.
  Json apart = document;
  bool all = true;
  for (const auto& op : operations) all = all && json_patch(apart, JsonArray{op}).has_value();
  FUZZ_CHECK(all == applied.has_value(), dump_json(document), dump_json(Json(operations)));
  if (all) FUZZ_CHECK(apart == together, dump_json(document), dump_json(Json(operations)));

  const auto [path, at] = pointer(in, document);
  if (at) {
    Json probe = document;
    FUZZ_CHECK(json_patch(probe, one("test", path, *at)), dump_json(document), path);
    FUZZ_CHECK(json_patch(probe, one("replace", path, patch)), dump_json(document), path);
    FUZZ_CHECK(json_patch(probe, one("test", path, patch)), dump_json(probe), path);
    FUZZ_CHECK(json_patch(probe, one("replace", path, *at)) && probe == document,
               dump_json(document), path);
  }
  Json whatever = document;
  if (!json_patch(whatever, in.json())) FUZZ_CHECK(whatever == document, dump_json(document));
}
