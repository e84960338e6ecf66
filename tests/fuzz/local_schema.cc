// The API server's passes over objects: CRD schemas from anyone, decoding and strategic merge of
// built-in types.
#include "fuzz/fuzz.h"
#include "local/apiserver/crd.h"
#include "local/apiserver/crd_structural.h"
#include "local/apiserver/decode.h"
#include "local/apiserver/field_set.h"
#include "local/apiserver/json_path.h"
#include "local/apiserver/strategic_merge.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::local;

static constexpr std::string_view kNames[] = {"a", "b", "name", "kind", "spec", "metadata"};

static Json schema(Input& in, int depth) {
  JsonObject out;
  const auto type = in.one_of({"object", "array", "string", "integer", "number", "boolean"});
  if (!in.rarely(8)) out["type"] = type;
  if (type == "object" && depth > 0) {
    JsonObject properties;
    for (int n = in.number(0, 3); n > 0; --n) properties[in.one_of(kNames)] = schema(in, depth - 1);
    out[in.rarely(4) ? "additionalProperties" : "properties"] =
        in.rarely(4) ? schema(in, depth - 1) : Json(std::move(properties));
    if (in.flag()) out["required"] = JsonArray{Json(in.one_of(kNames))};
    if (in.rarely(4)) out["x-kubernetes-preserve-unknown-fields"] = true;
  }
  if (type == "array" && depth > 0) {
    out["items"] = schema(in, depth - 1);
    if (in.flag()) out["x-kubernetes-list-type"] = in.one_of({"set", "map", "atomic"});
    if (in.flag()) out["x-kubernetes-list-map-keys"] = JsonArray{Json(in.one_of(kNames))};
    if (in.rarely(4)) out["maxItems"] = in.number(0, 3);
  }
  if (in.rarely(4)) out["nullable"] = true;
  if (in.rarely(3)) out["default"] = in.json(2);
  if (in.rarely(4)) out["enum"] = JsonArray{in.json(1), in.json(0)};
  if (in.rarely(6)) out["pattern"] = in.one_of({"^[a-z]+$", "(", "a|b", ".*"});
  if (in.rarely(6)) out["minimum"] = in.number(-2, 3);
  if (in.rarely(6)) out["maxLength"] = in.number(0, 3);
  if (in.rarely(6)) out["x-kubernetes-int-or-string"] = true;
  if (in.rarely(6))
    out["x-kubernetes-validations"] = JsonArray{JsonObject{
        {"rule", in.one_of({"self == oldSelf", "has(self.a)", "self.size() < 2", "self > 1"})}}};
  if (in.rarely(12)) out[in.one_of({"type", "items", "properties"})] = in.json(1);
  return out;
}

static Json object_like(Input& in, int depth) {
  if (depth == 0 || in.rarely(4)) return in.json(1);
  if (in.rarely(3)) {
    JsonArray out;
    for (int n = in.number(0, 3); n > 0; --n) out.push_back(object_like(in, depth - 1));
    return out;
  }
  JsonObject out;
  for (int n = in.number(0, 4); n > 0; --n) out[in.one_of(kNames)] = object_like(in, depth - 1);
  return out;
}

static void check_custom(Input& in) {
  FieldErrors problems;
  const auto text = schema(in, 3);
  const auto arena = std::make_shared<SchemaArena>();
  check_schema(text, "schema", problems);
  const auto* compiled = compile_schema(text, arena, "schema", problems);
  if (!compiled) return FUZZ_CHECK(!problems.empty(), dump_json(text));
  auto object = object_like(in, 4);
  const auto shown = dump_json(text) + "\n" + dump_json(object);
  // Pruning and defaulting are settled after one pass.
  std::vector<std::string> removed, removed_again;
  prune(object, *compiled, removed);
  Json pruned = object;
  prune(pruned, *compiled, removed_again);
  FUZZ_CHECK(pruned == object && removed_again.empty(), shown);
  apply_defaults(object, *compiled);
  Json defaulted = object;
  apply_defaults(defaulted, *compiled);
  FUZZ_CHECK(defaulted == object, shown, dump_json(object), dump_json(defaulted));
  FieldErrors errors;
  validate_structure(object, nullptr, *compiled, errors);
  if (errors.empty()) {
    validate_rules(object, nullptr, *compiled, errors);
    validate_rules(object, &object, *compiled, errors);
  }
  for (const auto& cause : errors.causes()) FUZZ_CHECK(!cause.message.empty(), shown);
}

static Json pod_like(Input& in, int depth) {
  static constexpr std::string_view kFields[] = {"metadata",
                                                 "name",
                                                 "labels",
                                                 "spec",
                                                 "containers",
                                                 "env",
                                                 "value",
                                                 "image",
                                                 "ports",
                                                 "key",
                                                 "status",
                                                 "volumes",
                                                 "finalizers",
                                                 "$patch",
                                                 "containerPort",
                                                 "resources",
                                                 "limits",
                                                 "cpu",
                                                 "$retainKeys",
                                                 "$setElementOrder/containers",
                                                 "$deleteFromPrimitiveList/finalizers",
                                                 "ownerReferences",
                                                 "uid",
                                                 "tolerations"};
  if (depth == 0 || in.rarely(4))
    return in.flag() ? in.word({"a", "replace", "delete"}) : in.json(0);
  if (in.rarely(3)) {
    JsonArray out;
    for (int n = in.number(0, 3); n > 0; --n) out.push_back(pod_like(in, depth - 1));
    return out;
  }
  JsonObject out;
  for (int n = in.number(1, 4); n > 0; --n) out[in.one_of(kFields)] = pod_like(in, depth - 1);
  return out;
}

static void check_builtin(Input& in) {
  static BuiltinTypes types;
  const auto* pod = types.find("core.v1.Pod");
  FUZZ_CHECK(pod != nullptr);
  std::vector<std::string> unknown, none;
  const auto object = pod_like(in, 6);
  auto decoded = decode_builtin(object, *pod, unknown);
  if (!decoded) return FUZZ_CHECK(!decoded.error().message.empty(), dump_json(object));
  // What was decoded decodes to itself.
  const auto again = decode_builtin(*decoded, *pod, none);
  FUZZ_CHECK(again.has_value(), dump_json(object), dump_json(*decoded));
  FUZZ_CHECK(none.empty() && *again == *decoded, dump_json(object), dump_json(*decoded),
             dump_json(*again));
  auto target = *decoded;
  const auto patch = pod_like(in, 6);
  if (strategic_merge(target, patch, *pod)) (void)decode_builtin(target, *pod, unknown);
  // An empty patch changes nothing.
  target = *decoded;
  FUZZ_CHECK(strategic_merge(target, JsonObject{}, *pod) && target == *decoded,
             dump_json(*decoded));
}

// Server-side apply's view of an object: the fields it sets, laid over another.
static void check_fields(Input& in) {
  static BuiltinTypes types;
  const auto* pod = types.find("core.v1.Pod");
  const auto applied = pod_like(in, 6), live = pod_like(in, 6);
  const auto shown = dump_json(applied) + "\n" + dump_json(live);
  const auto fields = fields_of(applied, pod);
  PathReader reader(applied, pod);
  Json again(JsonObject{});
  for (const auto& path : members_of(fields)) {
    FUZZ_CHECK(!path_text(path).empty(), shown);
    FUZZ_CHECK(set_contains(fields, path), shown, path_text(path));
    (void)reader.at(path);  // of items with equal keys the first
    set_add(again, path);
    FUZZ_CHECK(set_contains(again, path), shown, path_text(path));
  }
  FUZZ_CHECK(members_of(again) == members_of(fields), shown, dump_json(fields), dump_json(again));
  for (const auto& path : members_of(fields)) set_remove(again, path);
  FUZZ_CHECK(again.get_object().empty(), shown, dump_json(again));
  // Whatever somebody wrote into managedFields.
  const auto odd = in.json(4);
  for (const auto& path : members_of(odd)) (void)reader.at(path);
  Json merged = live;
  remove_members(merged, odd, pod);
  remove_members(merged, fields, pod);
  merge_applied(merged, applied, pod);
  Json twice = merged;
  merge_applied(twice, applied, pod);
  FUZZ_CHECK(twice == merged, shown, dump_json(merged), dump_json(twice));
  (void)json_path(live, in.text(60));
}

FUZZ(data) {
  Input in(data);
  if (in.rarely(3))
    check_fields(in);
  else if (in.flag())
    check_custom(in);
  else
    check_builtin(in);
}
