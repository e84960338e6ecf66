#include "local/controllers/job_pod.h"

#include "kube/object.h"

namespace manta::local {

Json build_job_pod(const JobView& job) {
  const auto& key = job.meta.key;
  JsonObject labels = object_at(job.spec, {"template", "metadata", "labels"});
  for (const auto* prefix : {"batch.kubernetes.io/", ""}) {
    labels[std::string(prefix) + "controller-uid"] = job.meta.uid;
    labels[std::string(prefix) + "job-name"] = key.name;
  }
  // As the API server cuts generated names, so that five more characters fit a label.
  std::string prefix = key.name.substr(0, 57) + "-";
  JsonObject meta{
      {"generateName", prefix}, {"namespace", key.namespace_}, {"labels", std::move(labels)}};
  if (const auto& notes = object_at(job.spec, {"template", "metadata", "annotations"});
      !notes.empty())
    meta["annotations"] = notes;
  JsonArray finalizers = array_at(job.spec, {"template", "metadata", "finalizers"});
  finalizers.emplace_back(kJobTracking);
  meta["finalizers"] = std::move(finalizers);
  meta["ownerReferences"] = JsonArray{to_json(kube::OwnerRef{.apiVersion = "batch/v1",
                                                             .kind = "Job",
                                                             .name = key.name,
                                                             .uid = job.meta.uid,
                                                             .controller = true,
                                                             .blockOwnerDeletion = true})};
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", std::move(meta)},
                    {"spec", object_at(job.spec, {"template", "spec"})}};
}

}  // namespace manta::local
