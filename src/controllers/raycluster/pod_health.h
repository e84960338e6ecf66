// When a Ray Pod has to be replaced.
#pragma once

#include "controllers/raycluster/seen.h"
#include "kube/views.h"

#include <string>

namespace manta::controllers::raycluster {

struct PodVerdict {
  bool remove = false;
  std::string why = {};  // upstream's sentence, for events and logs
};

/// True to remove: the Pod is finished, or nothing on its node will start the Ray container again.
/// `node_type` is head or worker. Answers every Pod. Source: spec/02 §3.1.
PodVerdict judge_pod(const kube::PodView& pod, std::string_view node_type);

/// How the Ray container ended, in the text form of Kubernetes' Go types; "nil" while it has not.
std::string terminated_text(const kube::PodView& pod);

/// "<ns>/<name>; Pod status: …; Pod restart policy: …; Ray container terminated status: …".
std::string describe_pod(const kube::PodView& pod);

/// The Pod whose trouble is to be told, or null: the head's first, since without it nothing else
/// counts, then by name, so that the text is the same at every look.
const kube::PodView* troubled_pod(const Pods& pods);

}  // namespace manta::controllers::raycluster
