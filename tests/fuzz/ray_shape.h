// Documents of the shapes that ray.io's types and the Kubernetes types they embed have, with a
// wrong type here and there. See src/ray/k8s_shapes.h.
#pragma once

#include "fuzz/fuzz.h"
#include "ray/k8s_shapes.h"
#include "ray/schema.h"

#include <map>

namespace manta::fuzz {

class ShapedInput {
 public:
  /// `wrong`: one value in so many has another type; 0: none.
  ShapedInput(Input& in, unsigned wrong) : in_(in), wrong_(wrong) {}

  Json make(const ray::Shape& shape, int depth = 12) {
    if (wrong_ != 0 && in_.rarely(wrong_)) return in_.json(2);
    using enum ray::ShapeKind;
    switch (shape.kind) {
      case String:
        if (!shape.values.empty() && !in_.rarely(8)) return Json(one(shape.values));
        return Json(in_.text());
      case Bool:
        return in_.flag();
      case Int32:
        return Json(in_.rarely(8) ? in_.any<std::int32_t>() : in_.number<std::int32_t>(-1, 4));
      case Int64:
        return Json(in_.rarely(8) ? in_.any<std::int64_t>() : in_.number<std::int64_t>(0, 9000));
      case Number:
        return in_.flag()      ? Json(in_.number<std::int64_t>(0, 3))
               : in_.rarely(4) ? Json(in_.flag() ? 1e300 : -1e-300)
                               : Json(0.5);
      case Time:
        return in_.word({"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+02:00"});
      case Quantity:
        return in_.rarely(4) ? Json(in_.number<std::int64_t>(0, 9))
                             : in_.word({"1", "500m", "2Gi", "1e3", "0.5", "1000m", "0", "-1"});
      case IntOrString:
        return in_.flag() ? Json(in_.number<std::int64_t>(0, 9000)) : in_.word({"http", "25%"});
      case Any:
        return in_.json(2);
      case Map: {
        JsonObject object;
        for (int n = in_.number(0, 3); n > 0; --n)
          object[depth > 0 ? std::string(map_key()) : "cpu"] = make(*shape.element, depth - 1);
        return object;
      }
      case List: {
        JsonArray array;
        if (depth > 0)
          for (int n = in_.number(0, 3); n > 0; --n)
            array.push_back(make(*shape.element, depth - 1));
        return array;
      }
      case Object: {
        JsonObject object;
        // A few of its many keys, chosen by number, so that a short input reaches the last as well.
        if (depth > 0 && !shape.keys.empty())
          for (int n = in_.number(0, 5); n > 0; --n) {
            const auto& key = shape.keys[in_.number<std::size_t>(0, shape.keys.size() - 1)];
            object[key.name] = make(*key.shape, depth - 1);
          }
        for (const auto& key : shape.keys)
          if (key.required && !object.contains(key.name) && !in_.rarely(10))
            object[key.name] = make(*key.shape, depth - 1);
        return object;
      }
      case Ref:
        return make(ray::resolve(shape), depth);
    }
    return nullptr;
  }

 private:
  std::string_view one(const std::vector<std::string>& values) {
    return values[in_.number<std::size_t>(0, values.size() - 1)];
  }
  std::string_view map_key() {
    return in_.one_of({"cpu", "memory", "nvidia.com/gpu", "a", "num-cpus", "port", "resources",
                       "dashboard-host", "ray.io/ft-enabled", "ray.io/overwrite-container-cmd",
                       "redis-password", "block", "labels", "x.y/z", "object-store-memory"});
  }
  Input& in_;
  unsigned wrong_;
};

/// A whole object; its name is there except now and then.
template <class Spec, class Status>
Json make_kind(Input& in, std::string_view kind, unsigned wrong) {
  static const ray::Shape spec = ray::shape_of(ray::type_of<Spec>());
  static const ray::Shape status = ray::shape_of(ray::type_of<Status>());
  ShapedInput shaped(in, wrong);
  JsonObject meta{{"name", in.rarely(12) ? Json(in.text()) : Json("a")}, {"namespace", "b"}};
  if (in.flag()) meta["uid"] = in.text();
  static const ray::Shape strings = *ray::parse_shape("map<str>");
  if (in.flag()) meta["annotations"] = shaped.make(strings);
  if (in.flag()) meta["labels"] = shaped.make(strings);
  JsonObject object{{"apiVersion", "ray.io/v1"},
                    {"kind", kind},
                    {"metadata", std::move(meta)},
                    {"spec", shaped.make(spec)}};
  if (in.flag()) object["status"] = shaped.make(status);
  return object;
}

inline Json make_ray_cluster(Input& in, unsigned wrong) {
  return make_kind<ray::RayClusterSpec, ray::RayClusterStatus>(in, "RayCluster", wrong);
}
inline Json make_ray_job(Input& in, unsigned wrong) {
  return make_kind<ray::RayJobSpec, ray::RayJobStatus>(in, "RayJob", wrong);
}
inline Json make_ray_service(Input& in, unsigned wrong) {
  return make_kind<ray::RayServiceSpec, ray::RayServiceStatus>(in, "RayService", wrong);
}
inline Json make_ray_cron_job(Input& in, unsigned wrong) {
  return make_kind<ray::RayCronJobSpec, ray::RayCronJobStatus>(in, "RayCronJob", wrong);
}

}  // namespace manta::fuzz
