#include "local/apiserver/crd_structural.h"

#include "local/apiserver/crd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace manta::local {
namespace {

struct Case {
  const char* name;
  const char* schema;  // of a property `a`; "ROOT …": the whole
  const char* want;    // empty: accepted
};

// What a real kube-apiserver 1.37 says of each.
const Case kCases[] = {
    {"Reference", R"({"$ref":"#"})", "s.properties[a].$ref: Forbidden: $ref is not supported"},
    {"Id", R"({"type":"string","id":"x"})", "s.properties[a].id: Forbidden: id is not supported"},
    {"Definitions", R"(ROOT{"type":"object","definitions":{"x":{"type":"string"}}})",
     "s.definitions: Forbidden: definitions is not supported"},
    {"ListOfSchemas", R"({"type":"array","items":[{"type":"string"}]})",
     "s.properties[a].items: Forbidden: items must be a schema object and not an array"},
    {"UniqueItems", R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})",
     "s.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
     "complexity becomes quadratic"},
    {"ListType", R"({"type":"array","x-kubernetes-list-type":"foo","items":{"type":"string"}})",
     R"(s.properties[a].x-kubernetes-list-type: Unsupported value: "foo": supported values: "atomic", "set", "map")"},
    {"ListTypeOfAnObject", R"({"type":"object","x-kubernetes-list-type":"set"})",
     R"(s.properties[a].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified)"},
    {"MapWithoutKeys",
     R"({"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}})",
     "s.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
     "x-kubernetes-list-type is map"},
    {"KeysWithoutMap",
     R"({"type":"array","x-kubernetes-list-map-keys":["y"],"items":{"type":"object"}})",
     "s.properties[a].x-kubernetes-list-type: Required value: must be map if "
     "x-kubernetes-list-map-keys is non-empty"},
    {"KeyThatIsNoProperty",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["z"],"items":{"type":"object"}})",
     R"(s.properties[a].x-kubernetes-list-map-keys: Invalid value: ["z"]: entries must all be names of item properties)"},
    {"KeyThatMayBeAbsent",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y"],"items":{"type":"object","properties":{"y":{"type":"string"}}}})",
     "s.properties[a].items.properties[y].default: Required value: this property is in "
     "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
    {"KeyThatIsAnObject",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y"],"items":{"type":"object","required":["y"],"properties":{"y":{"type":"object"}}}})",
     R"(s.properties[a].items.properties[y].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map)"},
    {"KeyTwice",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y","y"],"items":{"type":"object","required":["y"],"properties":{"y":{"type":"string"}}}})",
     R"(s.properties[a].x-kubernetes-list-map-keys: Invalid value: ["y","y"]: must not contain duplicate entries)"},
    {"MapOfStrings",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y"],"items":{"type":"string"}})",
     R"(s.properties[a].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map)"},
    {"MapType", R"({"type":"object","x-kubernetes-map-type":"foo"})",
     R"(s.properties[a].x-kubernetes-map-type: Unsupported value: "foo": supported values: "atomic", "granular")"},
    {"Type", R"({"type":"foo"})",
     R"(s.properties[a].type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string")"},
    {"AnythingAtTheRoot", R"(ROOT{"type":"object","additionalProperties":{"type":"string"}})",
     "s.additionalProperties: Forbidden: must not be used at the root"},
    {"PreservingNot", R"({"type":"object","x-kubernetes-preserve-unknown-fields":false})",
     "s.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or "
     "undefined"},
    {"TypeInAJunctor", R"({"type":"string","anyOf":[{"type":"string"}]})",
     "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
    {"DefaultInAJunctor", R"({"type":"string","anyOf":[{"default":"x"}]})",
     "s.properties[a].anyOf[0].default: Forbidden: must be undefined to be structural"},
    {"NullableInAJunctor", R"({"type":"string","anyOf":[{"nullable":true}]})",
     "s.properties[a].anyOf[0].nullable: Forbidden: must be false to be structural"},
    {"EmptyRule", R"({"type":"string","x-kubernetes-validations":[{"rule":" "}]})",
     "s.properties[a].x-kubernetes-validations[0].rule: Required value: rule is not specified"},
    {"MessageOfTwoLines",
     R"({"type":"string","x-kubernetes-validations":[{"rule":"self==''","message":"a\nb"}]})",
     R"(s.properties[a].x-kubernetes-validations[0].message: Invalid value: "a\nb": must not contain line breaks)"},
    {"Reason",
     R"({"type":"string","x-kubernetes-validations":[{"rule":"self==''","reason":"foo"}]})",
     R"(s.properties[a].x-kubernetes-validations[0].reason: Unsupported value: "foo": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")"},
    {"Metadata",
     R"(ROOT{"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}})",
     "s.properties[metadata]: Forbidden: must not specify anything other than name and "
     "generateName, but metadata is implicitly specified"},
    {"DefaultOfAnotherType", R"({"type":"string","default":5})",
     R"(s.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer")"},
    {"DefaultWithoutWhatIsRequired",
     R"({"type":"object","default":{},"required":["x"],"properties":{"x":{"type":"string"}}})",
     "s.properties[a].default.x: Required value"},
    {"DefaultOffItsPattern", R"({"type":"string","default":"b","pattern":"^a$"})",
     R"(s.properties[a].default: Invalid value: "b":  in body should match '^a$')"},
    {"DefaultOffItsEnum", R"({"type":"string","enum":["A"],"default":"B"})",
     R"(s.properties[a].default: Unsupported value: "B": supported values: "A")"},
    {"DefaultWithUnknownFields",
     R"({"type":"object","default":{"z":1},"properties":{"x":{"type":"string"}}})",
     R"(s.properties[a].default: Invalid value: {"z":1}: must not have unknown fields)"},
    {"IntOrString",
     R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}],"default":"a"})",
     ""},
    {"PropertiesInAJunctor", R"({"type":"object","anyOf":[{"properties":{"z":{"minimum":1}}}]})",
     ""},
    {"KeyWithADefault",
     R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["y"],"items":{"type":"object","properties":{"y":{"type":"string","default":"a"}}}})",
     ""},
};

class CrdSchema : public testing::TestWithParam<Case> {};
TEST_P(CrdSchema, Row) {
  std::string text = GetParam().schema;
  if (text.starts_with("ROOT"))
    text.erase(0, 4);
  else
    text = fmt::format(R"({{"type":"object","properties":{{"a":{}}}}})", text);
  const auto schema = *parse_json(text);
  FieldErrors errors;
  check_schema(schema, "s", errors);
  if (errors.empty()) compile_schema(schema, std::make_shared<SchemaArena>(), "s", errors);
  std::string said;
  for (const auto& cause : errors.causes())
    said += fmt::format("{}{}: {}", said.empty() ? "" : ", ", cause.field, cause.message);
  EXPECT_EQ(said, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(, CrdSchema, testing::ValuesIn(kCases),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace manta::local
